//! Errors of changes that do not fit the state of a repository.

use super::ops_log::OpsLogError;
use crate::error::FormatError;
use crate::id::SnapshotId;

/// The name of the branch that every repository has.
pub const MAIN_BRANCH: &str = "main";

/// The reason why a change does not fit the state of a repository. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepoEditError {
    /// A snapshot is not known.
    #[error("the repository has no snapshot {0}")]
    NoSnapshot(SnapshotId),
    /// A snapshot is known already.
    #[error("the repository has a snapshot {0} already: take another id")]
    SnapshotExists(SnapshotId),
    /// A snapshot would become its own ancestor.
    #[error("snapshot {0} would become its own ancestor: take another parent")]
    OwnAncestor(SnapshotId),
    /// A snapshot that is kept has a parent that is not.
    #[error(
        "snapshot {parent} is the parent of {child}, which is kept: give that another parent first"
    )]
    ParentOfKept {
        /// The snapshot.
        parent: SnapshotId,
        /// Its child.
        child: SnapshotId,
    },
    /// A snapshot that is not kept has a branch or a tag.
    #[error("snapshot {snapshot} has the branch or tag {name:?}: move or delete that first")]
    Named {
        /// The snapshot.
        snapshot: SnapshotId,
        /// The ref.
        name: String,
    },
    /// There is no such branch.
    #[error("the repository has no branch {0:?}")]
    NoBranch(String),
    /// There is no such tag.
    #[error("the repository has no tag {0:?}")]
    NoTag(String),
    /// There is a tag of that name.
    #[error("the repository has a tag {0:?} already: tags do not move")]
    TagExists(String),
    /// There was a tag of that name.
    #[error("a tag {0:?} was deleted, and its name stays taken: take another")]
    DeletedTag(String),
    /// Each repository has this branch.
    #[error("every repository has the branch {MAIN_BRANCH:?}")]
    Main,
    /// The log cannot go on as asked.
    #[error(transparent)]
    Log(#[from] OpsLogError),
    /// A value cannot be written.
    #[error(transparent)]
    Format(#[from] FormatError),
}
