//! Transactional, versioned storage for n-dimensional arrays, in the Icechunk format.
//!
//! A [`Repository`] holds a hierarchy of Zarr v3 arrays and every version of it. Read one version through a
//! [`Session`]; write through a writable one and [commit](Session::commit). Readers never see half a commit, and
//! of two writers on one branch one wins, on the local disk as in a bucket.
//!
//! ```
//! use icefield::{BranchName, ByteRange, CommitOutcome, NodePath, WriteMode, ZarrStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), icefield::Error> {
//! let repository = icefield::create("memory:").await?;
//!
//! let session = repository.write_session(BranchName::main()).await?;
//! let store = ZarrStore::new(session.clone());
//! store.set("zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#.into()).await?;
//! match session.commit("a first version").await? {
//!     CommitOutcome::Committed(id) => println!("committed as {id}"),
//!     CommitOutcome::BranchMoved { .. } => println!("another commit was faster: begin again"),
//!     other => println!("find out with `resolve`: {other:?}"),
//! }
//!
//! let revision = icefield::RevisionSpec::parse("main~0")?.resolve(&repository).await?;
//! let session = repository.read_session(revision).await?;
//! assert_eq!(session.nodes(&NodePath::root())?.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Map
//! - **Open**: [`open`], [`create`], [`open_or_create`] take a path or a URL; [`Schemes`] says which URLs there
//!   are, and takes yours. [`Repository::builder`] takes a store that you have made yourself.
//! - **Say which version**: [`RevisionSpec`] for what people type, [`Revision`] for what programs mean.
//! - **Read and write**: [`Session`] by node and chunk, [`ZarrStore`] by Zarr key. With the feature `zarrs`,
//!   arrays of that crate work on a `ZarrStore`.
//! - **Move data in and out**: [`ingest`], with the feature of that name.
//! - **When something fails**: every error becomes an [`Error`], whose [`kind`](Error::kind) says what to do. Losing a
//!   race is no error but an outcome; [`committed`] and [`landed`] turn it into one for callers that prefer that.
//! - **Layers**: [`mod@format`] encodes and decodes files, [`storage`] is the contract of a backend.
//! - **Learn by whole tasks**: the [`cookbook`], with the features `hdf5`, `local`, `maintenance`, `memory` and `rolling`.
//!
//! # Features
//! `local` (default): paths and `file:` URLs. `memory` (default): the location `memory:`. `ingest` (default): import and
//! export; with `hdf5`, of HDF5 and NetCDF-4, with `geotiff` and `dmrpp` of TIFF and of DMR++, too. `alpha` (default): import of repositories of the alpha generation. `s3`, `gcs`, `azure`, `http`: `s3:`, `gs:`, `az:`, and `https:` URLs. `cache`: `DiskCache`, which keeps on a
//! local disk what was read over a network. `rolling`: windows that move
//! along a dimension. `zarrs`: the storage traits of the crate
//! `zarrs`.

#[cfg(feature = "azure")]
mod azure;
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure", feature = "http"))]
#[cfg_attr(
    not(any(feature = "s3", feature = "gcs", feature = "azure")),
    expect(dead_code, reason = "redirects need a part of it")
)]
mod bucket_url;
#[cfg(feature = "ingest")]
mod collection;
#[cfg(all(
    feature = "hdf5",
    feature = "local",
    feature = "maintenance",
    feature = "memory",
    feature = "rolling"
))]
pub mod cookbook;
#[cfg(feature = "ingest")]
mod dataset_url;
#[cfg(feature = "ingest")]
mod destinations;
mod error;
#[cfg(feature = "gcs")]
mod gcs;
mod grants;
#[cfg(feature = "http")]
mod http;
mod location;
mod open;
#[cfg(feature = "http")]
mod redirect;
mod revision;
mod runtime;
#[cfg(feature = "s3")]
mod s3;
mod schemes;
#[cfg(feature = "ingest")]
mod sources;
mod standard;

#[cfg(feature = "alpha")]
pub use icefield_alpha as alpha;
pub use icefield_core::{
    Amend, ApplyOutcome, ArrayMetadata, BasicSolver, BranchName, ByteRange, CacheStatistics,
    ChunkId, ChunkIndex, ChunkInfo, ChunkKeyEncoding, ChunkLocation, ChunkRead, Commit,
    CommitError, CommitOutcome, Conflict, ConflictSolver, DecodeLimits, Detector, Diff,
    EditOutcome, FetchError, ForkBlobError, ForkError, Interrupt, Interrupted, MERGED_SNAPSHOT,
    ManifestId, ManifestRewrite, MergeOutcome, MetadataError, Misspelled, NameError, NodeId,
    NodeInfo, NodeKind, NodeMetadata, NodeMetadataError, NodePath, OpenContainer, PackSettings,
    PreloadReport, ReadSettings, RebaseError, RebaseOutcome, RefList, RefsError, Refusal,
    Remainder, Repository, RepositoryBuilder, RepositoryConfig, RepositoryError, Resolution,
    Returned, Revision, SPLITTING_CONFIG, Session, SessionError, Settings, SnapshotId,
    SnapshotInfo, Start, Stray, StrayProblem, TagName, UnderstoodRefs, UpgradeOptions,
    UpgradeReport, UpgradeStep, VersionSelection, VirtualAccess, VirtualChecksum,
    VirtualChunkError, VirtualLocation, VirtualRefs, VirtualRefsError, VirtualSource, WriteMode,
    micros_of_time, time_of_micros,
};
pub use icefield_format as format;
#[cfg(feature = "ingest")]
pub use icefield_ingest as ingest;
#[cfg(feature = "maintenance")]
pub use icefield_maintenance as maintenance;
#[cfg(feature = "rolling")]
pub use icefield_rolling as rolling;
pub use icefield_storage as storage;
#[cfg(feature = "cache")]
pub use icefield_storage_cache::{
    CacheError, CacheSpec, CachedStorage, DiskCache, DiskCacheStatistics,
};
#[cfg(feature = "local")]
pub use icefield_storage_local::{Fsync, LocalStorage, Locks};
#[cfg(feature = "memory")]
pub use icefield_storage_memory::MemoryStorage;
pub use icefield_zarr_store::{DirListing, ZarrKey, ZarrStore, ZarrStoreError};

#[cfg(feature = "azure")]
pub use azure::ConnectAzure;
#[cfg(feature = "ingest")]
pub use collection::{SourceName, import_name, names_in};
#[cfg(feature = "ingest")]
pub use dataset_url::SourceLocation;
pub use error::outcome::{committed, landed};
pub use error::{Error, ErrorKind, Unsettled};
#[cfg(feature = "gcs")]
pub use gcs::ConnectGcs;
pub use grants::{GrantedBucket, Identity, grant, grant_as};
#[cfg(feature = "http")]
pub use http::ConnectHttp;
pub use location::{Location, LocationError};
#[cfg(feature = "cache")]
pub use open::open_cached;
pub use open::{create, open, open_or_create};
#[cfg(feature = "http")]
pub use redirect::ConnectRedirect;
pub use revision::{RevisionError, RevisionSpec};
pub use runtime::runtime;
#[cfg(feature = "s3")]
pub use s3::ConnectS3;
pub use schemes::{Connect, Schemes};
#[cfg(feature = "ingest")]
pub use sources::{OpenedSource, Purpose, Sources};
#[cfg(feature = "local")]
pub use standard::ConnectLocal;
#[cfg(feature = "memory")]
pub use standard::ConnectMemory;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
