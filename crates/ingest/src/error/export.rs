//! Errors of an export.

use std::io;
use std::path::PathBuf;

use icefield_core::{Interrupted, NodePath, SessionError};
use icefield_zarr_fs::TreeError;

/// The reason why an export failed. No directory and no zip file was left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// Something is in the way.
    #[error("{} exists and is not an empty directory: export to another place", .path.display())]
    AlreadyExists {
        /// The destination.
        path: PathBuf,
    },
    /// A prefix with something below it.
    #[error("{place} holds {key} already: export below a prefix with nothing below it")]
    NotEmpty {
        /// The destination.
        place: String,
        /// A key there.
        key: String,
    },
    /// An export to a storage backend broke off.
    #[error(
        "the export broke off, and {place} holds {written} of its objects: delete them, or export to another place"
    )]
    Partly {
        /// The destination.
        place: String,
        /// Objects that were written.
        written: u64,
        /// Why it broke off.
        source: Box<Self>,
    },
    /// Something that the format has no word for.
    #[error("{path} cannot be written as {format}: {reason}")]
    Unsupported {
        /// The node.
        path: NodePath,
        /// The format.
        format: &'static str,
        /// The obstacle.
        reason: String,
    },
    /// The export would put its files among those of the repository.
    #[error("{} lies in the repository {}: export to a place outside it", .path.display(), .repository.display())]
    InsideRepository {
        /// The destination.
        path: PathBuf,
        /// The directory of the repository.
        repository: PathBuf,
    },
    /// There is no directory to make it in.
    #[error("cannot make {}: the directory above it does not exist", .path.display())]
    NoParent {
        /// The destination.
        path: PathBuf,
    },
    /// Several processes cannot write it.
    #[error(
        "{} is written in one pass, and not by several processes: export to a directory or a bucket, or in one process", .path.display()
    )]
    OnePass {
        /// The zip file.
        path: PathBuf,
    },
    /// The description of an export that was begun elsewhere is not understood.
    #[error(
        "what the export was begun with is of another version or damaged: {problem}; begin it again"
    )]
    Begun {
        /// The problem.
        problem: String,
    },
    /// There are no nodes.
    #[error("there is nothing to export: this version has no array and no group")]
    Empty,
    /// A node's name is no file name.
    #[error(
        "{path} cannot be exported: {name:?} is taken in a Zarr directory, or no file can have that name"
    )]
    NodeName {
        /// The node.
        path: NodePath,
        /// The part of its path.
        name: String,
    },
    /// A document could not be edited.
    #[error("the metadata of {path} cannot be rewritten")]
    Document {
        /// The node.
        path: NodePath,
        /// The problem.
        source: serde_json::Error,
    },
    /// The caller raised the interrupt.
    #[error("the export was interrupted: begin it again")]
    Interrupted(#[from] Interrupted),
    /// The operating system refused.
    #[error("cannot write {}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The zip file or the tree could not be written, or cannot hold a key.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The session could not be read.
    #[error(transparent)]
    Session(#[from] SessionError),
}
