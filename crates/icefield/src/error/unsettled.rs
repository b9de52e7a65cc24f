//! Outcomes of commits and edits that are not known to have landed.

use icefield_core::SnapshotId;
use icefield_storage::StorageError;

/// The reason why a commit or an edit of a ref did not land, or is not known to have landed. In all cases but the last
/// two nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unsettled {
    /// Another commit moved the branch first. Rebase the session, or open a new one at the new tip.
    #[error(
        "the branch has moved to snapshot {found} meanwhile: nothing was changed; look at what is new, then do it again"
    )]
    BranchMoved {
        /// Where it points now.
        found: SnapshotId,
    },
    /// A commit that landed meanwhile touched the same nodes or chunks, and the solver left conflicts. The session
    /// keeps its edits.
    #[error("the edits collide with commit {snapshot}: {}; nothing was committed", first(.conflicts))]
    Conflicts {
        /// The other commit.
        snapshot: SnapshotId,
        /// All collisions with it.
        conflicts: Vec<icefield_core::Conflict>,
    },
    /// The branch was deleted. The session keeps its edits; create the branch again, or give the edits up.
    #[error("the branch was deleted meanwhile: nothing was changed")]
    BranchGone,
    /// A branch or tag of this name exists.
    #[error("a ref of this name exists already: choose another name")]
    AlreadyExists,
    /// A tag of this name was deleted. Names of tags are never used again, so that a tag always means one snapshot.
    #[error(
        "a tag of this name was deleted, and the name of a tag is never given again: choose another name"
    )]
    NameTaken,
    /// There is no ref of this name to delete or reset.
    #[error("there is no ref of this name")]
    NotFound,
    /// The store did not answer the write of the ref, so the commit may or may not be on the branch.
    #[error(
        "it is not known whether the commit landed: look for snapshot {snapshot} in the history of the branch"
    )]
    CommitUnknown {
        /// The snapshot to look for.
        snapshot: SnapshotId,
        /// The error of the store.
        source: StorageError,
    },
    /// The store did not answer, so the edit may or may not have landed.
    #[error("it is not known whether the edit landed: read the ref to find out")]
    EditUnknown {
        /// The error of the store.
        source: StorageError,
    },
}

/// Describes the first of several conflicts, and says how many more there are.
fn first(conflicts: &[icefield_core::Conflict]) -> String {
    match conflicts {
        [] => "no details are known".to_owned(),
        [only] => only.to_string(),
        [first, more @ ..] => format!("{first} (and {} more)", more.len()),
    }
}

#[cfg(test)]
mod tests {
    use icefield_core::Conflict;
    use icefield_format::{NodeId, NodePath};

    use super::*;

    #[test]
    fn conflicts_are_told_by_the_first_one() {
        let conflict = |path: &str| Conflict::ZarrMetadataDoubleUpdate {
            path: NodePath::parse(path).unwrap(),
            node: NodeId::from_bytes([0; 8]),
        };
        let told = |paths: &[&str]| {
            let conflicts = paths.iter().map(|path| conflict(path)).collect();
            let snapshot = SnapshotId::from_bytes([0; 12]);
            Unsettled::Conflicts {
                snapshot,
                conflicts,
            }
            .to_string()
        };
        let one = told(&["/a"]);
        assert!(one.contains(&conflict("/a").to_string()), "{one}");
        assert!(!one.contains("more"), "{one}");
        assert!(told(&["/a", "/b", "/c"]).contains("(and 2 more)"));
    }
}
