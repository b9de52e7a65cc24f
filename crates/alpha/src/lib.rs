//! Reads repositories of the format's alpha generation (September 2024), and imports them into today's.
//!
//! The early specification described data structures and left their encoding open; the code of that time, which was never
//! released, differed from it. An [`AlphaRepository`] reads both [layouts](Layout): refs, histories, snapshots, manifests
//! and chunks. An [`AlphaVersion`] reads one snapshot by paths and coordinates. An [`Import`] makes the same history in a
//! new repository of today.
//!
//! Repositories of this generation are **not written**: nothing can read them any more. What was most delicate of it,
//! the numbered files of branches with their create-if-absent, is here as [`SequenceForm`] and [`advance`], which also
//! make test repositories.
//!
//! ```
//! # use std::sync::Arc;
//! use icefield_alpha::{AlphaRepository, Import};
//! use icefield_core::Repository;
//!
//! # async fn example(
//! #     old: Arc<dyn icefield_storage::Storage>,
//! #     new: Arc<dyn icefield_storage::Storage>,
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//! let source = AlphaRepository::open(old).await?;
//! let (repository, report) = Import::new(source).run(Repository::builder(new)).await?;
//! println!("{} commits, {} chunks", report.commits, report.chunks);
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//! - No bytes make this crate panic, or hold more memory than a multiple of the object's size, which is bounded.
//!   Each error names the object and the rule.
//! - An import reads and checks all snapshots and manifests before it writes. Refs come last, `main` behind the other
//!   branches; before that, the destination is an empty repository to its readers.

mod body;
mod branch;
mod error;
mod fill;
mod history;
mod id;
mod import;
mod layout;
mod manifest;
mod ref_json;
mod refs;
mod repository;
mod sequence;
mod snapshot;
mod version;

pub use branch::{Advance, advance};
pub use error::{AlphaError, Rule};
pub use id::{AlphaId, ID_LEN};
pub use import::{ALPHA, Import, ImportError, ImportReport, Limits, Progress};
pub use layout::Layout;
pub use manifest::{ChunkEntry, Manifest, Payload};
pub use ref_json::RefFile;
pub use refs::{AlphaRefs, AlphaTips, BranchFile};
pub use repository::AlphaRepository;
pub use sequence::SequenceForm;
pub use snapshot::{Ancestor, Node, Snapshot};
pub use version::{AlphaChunk, AlphaVersion};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
