//! Repositories, sessions and commits on the Icechunk format.
//!
//! A [`Repository`] is opened on any [`Storage`](icefield_storage::Storage). A [`Session`] reads one snapshot;
//! a writable one holds a *change set*, the uncommitted edits, on top of it. [`Session::commit`] publishes
//! them as a new snapshot: *plan, write, publish*, with one conditional write at the end. Its outcome is a
//! value, a [`CommitOutcome`], because losing a race is the normal life of a commit.
//!
//! Limits: this crate knows no Zarr keys (`a/c/0/1` is a matter of `icefield-zarr-store`), decodes no chunks, and names
//! no backend.
//!
//! ```
//! # use std::sync::Arc;
//! use icefield_core::{ByteRange, CommitOutcome, NodePath, Repository, BranchName, WriteMode};
//!
//! # async fn example(storage: Arc<dyn icefield_storage::Storage>) -> Result<(), Box<dyn std::error::Error>> {
//! let repository = Repository::create(storage).await?;
//! let session = repository.write_session(BranchName::main()).await?;
//! let path = NodePath::parse("/temperature")?;
//! let document = r#"{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int8",
//!     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
//!     "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}"#;
//! session.set_metadata(&path, document.into(), WriteMode::Overwrite).await?;
//! session.set_chunk(&path, &[1], vec![20, 21].into(), WriteMode::Overwrite).await?;
//! match session.commit("two values").await? {
//!     CommitOutcome::Committed(id) => println!("committed as {id}"),
//!     other => println!("not committed: {other:?}"),
//! }
//! let session = repository.read_session(BranchName::main()).await?;
//! let chunk = session.chunk(&path, &[1], ByteRange::All).await?;
//! assert_eq!(chunk.as_deref(), Some(&[20, 21][..]));
//! # Ok(())
//! # }
//! ```

mod change_set;
pub mod collection;
mod commit;
mod conditions;
mod diff;
mod error;
mod file_writer;
mod grid;
mod history;
mod interrupt;
mod metadata;
mod moved;
mod objects;
mod packs;
mod read_plan;
mod rebase;
mod relocation;
pub mod repair;
mod repository;
mod session;
mod settings;
mod splits;
mod virtual_chunks;

#[cfg(feature = "test-suite")]
pub mod test_suite;

pub use icefield_format::{
    ByteRange, ChunkId, ChunkIndex, DecodeLimits, LocationRule, ManifestId, NodeId, NodeKind,
    NodePath, RepositoryConfig, SnapshotId, VirtualLocation,
};
pub use icefield_refs::{
    BranchName, EditOutcome, FetchError, Misspelled, NameError, RefList, RefsError, Refusal,
    Remainder, SnapshotInfo, Stray, StrayProblem, TagName, UnderstoodRefs, UpgradeOptions,
    UpgradeReport, UpgradeStep, micros_of_time, time_of_micros,
};
pub use icefield_storage::{
    Clock, Entropy, ManualClock, SeededEntropy, SystemClock, SystemEntropy, with_causes,
};

pub use change_set::ForkBlobError;
pub use commit::{
    Amend, Commit, CommitOutcome, MERGED_SNAPSHOT, ManifestRewrite, SPLITTING_CONFIG,
};
pub use diff::Diff;
pub use error::{CommitError, RebaseError, RepositoryError, SessionError};
pub use history::ApplyOutcome;
pub use interrupt::{Interrupt, Interrupted};
pub use metadata::document::with_shape_and_attributes;
pub use metadata::{
    ArrayMetadata, ChunkKeyEncoding, MetadataError, NodeMetadata, NodeMetadataError,
};
pub use objects::CacheStatistics;
pub use rebase::{
    BasicSolver, Conflict, ConflictSolver, Detector, RebaseOutcome, Resolution, VersionSelection,
};
pub use repository::{Repository, RepositoryBuilder, Revision, Start};
pub use session::{
    ChunkInfo, ChunkLocation, ChunkRead, CollectionHold, ForkError, LeasePass, MergeOutcome,
    NodeInfo, PreloadReport, Returned, Session, WriteMode,
};
pub use settings::{PackSettings, ReadSettings, Settings};
pub use virtual_chunks::{
    Containers, OpenContainer, VirtualAccess, VirtualChecksum, VirtualChunkError, VirtualRefs,
    VirtualRefsError, VirtualSource,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
