//! Refs and settings that files of spec version 1 have and `repo` does not.

use std::fmt;

use icefield_format::{RepositoryConfig, SnapshotId};

use crate::{BranchName, SnapshotInfo, TagName};

/// Something that a file of spec version 1 says and `repo` does not: a version-1 program wrote it after the repository was
/// read for its upgrade.
#[derive(Clone, Debug)]
pub enum Remainder {
    /// A branch points to another snapshot.
    Branch {
        /// The branch.
        name: BranchName,
        /// Where it points.
        tip: SnapshotId,
        /// Those of its history that `repo` does not list, parents before their children.
        snapshots: Vec<SnapshotInfo>,
    },
    /// A tag was created.
    Tag {
        /// The tag.
        name: TagName,
        /// Where it points.
        target: SnapshotId,
        /// As of a branch.
        snapshots: Vec<SnapshotInfo>,
    },
    /// A tag was deleted.
    DeletedTag {
        /// The tag.
        name: TagName,
        /// The snapshot that it pointed to, where its file is there.
        target: Option<SnapshotId>,
    },
    /// The configuration was saved.
    Config(Box<RepositoryConfig>),
}

impl fmt::Display for Remainder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Branch { name, tip, .. } => write!(f, "branch {name} at {tip}"),
            Self::Tag { name, target, .. } => write!(f, "tag {name} at {target}"),
            Self::DeletedTag { name, .. } => write!(f, "the deletion of tag {name}"),
            Self::Config(_) => f.write_str("config.yaml"),
        }
    }
}

/// The changes that [`Edit::CarryOver`](crate::Edit::CarryOver) adds to `repo`, and the state of `repo` that does not have it.
#[derive(Clone, Debug)]
pub struct Remainders {
    pub(crate) remains: Vec<Remainder>,
    /// The time of the newest entry of the operations log. Every edit adds a later one, so that no two states have the same.
    pub(crate) newest_at: u64,
}
