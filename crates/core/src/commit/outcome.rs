//! The outcome of a commit.

use icefield_format::SnapshotId;
use icefield_storage::StorageError;

use crate::rebase::Conflict;

/// The outcome of a commit. Losing a race is part of the normal life of a writer, so it is a value and no error.
///
/// ```
/// use std::sync::Arc;
/// use icefield_core::{BranchName, CommitOutcome, NodePath, Repository, WriteMode};
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
/// let (first, second) = (
///     repository.write_session(BranchName::main()).await?,
///     repository.write_session(BranchName::main()).await?,
/// );
/// let group = r#"{"zarr_format": 3, "node_type": "group"}"#;
/// first.set_metadata(&NodePath::parse("/a")?, group.into(), WriteMode::Overwrite).await?;
/// second.set_metadata(&NodePath::parse("/b")?, group.into(), WriteMode::Overwrite).await?;
///
/// assert!(matches!(first.commit("a").await?, CommitOutcome::Committed(_)));
/// assert!(matches!(second.commit("b").await?, CommitOutcome::BranchMoved { .. }));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "the branch may have moved, or the outcome may be unknown"]
#[non_exhaustive]
pub enum CommitOutcome {
    /// The branch points to the new snapshot. The session is read-only now, at that snapshot.
    Committed(SnapshotId),
    /// Another commit or a reset was first. Nothing was published; the session and its edits are as before,
    /// or, of a commit with rebase that ran out of tries, based on a newer snapshot.
    BranchMoved {
        /// Where the branch stood when the session was opened.
        expected: SnapshotId,
        /// Where it stands now; `None` if it does not exist any more.
        found: Option<SnapshotId>,
    },
    /// Edits collide with a commit that landed meanwhile, and the solver did not settle it. Nothing was
    /// published; the session and its edits are as they were before the last rebase.
    Conflicts {
        /// The commit.
        snapshot: SnapshotId,
        /// All collisions with it.
        conflicts: Vec<Conflict>,
    },
    /// The store did not say whether the branch moved, and reading it did not tell. The commit may still
    /// appear. [`Session::resolve`](crate::Session::resolve) finds out; until then the session takes no writes.
    Unknown {
        /// The snapshot to look for in the history of the branch.
        snapshot: SnapshotId,
        /// The error of the store.
        source: StorageError,
    },
}
