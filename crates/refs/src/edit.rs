//! Edits of refs, what must hold for them to land, and what became of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use icefield_format::{Availability, FeatureFlag, RepositoryConfig, SnapshotId};
use icefield_storage::{BoxError, StorageError, Version};

use crate::{BranchName, Received, RefsError, Remainders, SnapshotInfo, TagName, Tip};

/// One change to the mutable state of a repository, with the condition under which it applies. It lands whole or not at
/// all: see [`Ledger::apply`](crate::Ledger::apply).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Edit {
    /// Creates a branch that does not exist.
    CreateBranch {
        /// The new branch.
        name: BranchName,
        /// Where it points.
        target: SnapshotId,
    },
    /// Moves a branch from exactly this tip to a child of it that no ref has pointed to: a commit.
    Commit {
        /// The branch.
        name: BranchName,
        /// Where it points afterwards.
        snapshot: Box<SnapshotInfo>,
        /// Its transaction log has moves of nodes, which a feature flag can forbid.
        moves_nodes: bool,
        /// Where it must point, in which state, when the edit lands.
        expected: Tip,
    },
    /// Moves a branch from exactly this tip to a snapshot that takes its place, as a child of the parent of the tip. Spec
    /// version 2.
    Amend {
        /// The branch.
        name: BranchName,
        /// Where it points afterwards. The ledger decides its parent.
        snapshot: Box<SnapshotInfo>,
        /// As of a commit.
        moves_nodes: bool,
        /// Where it must point when the edit lands.
        expected: Tip,
    },
    /// Registers a snapshot to which no ref points. Spec version 2.
    Flush {
        /// The snapshot; its parent must be in the repository.
        snapshot: Box<SnapshotInfo>,
    },
    /// Moves a branch from exactly this tip to any snapshot, forwards, backwards or sideways.
    Reset {
        /// The branch.
        name: BranchName,
        /// Where it points afterwards.
        target: SnapshotId,
        /// Where it must point, in which state, when the edit lands.
        expected: Tip,
    },
    /// Deletes a branch that points to exactly this tip. Never `main`.
    DeleteBranch {
        /// The branch.
        name: BranchName,
        /// Where it must point, in which state, when the edit lands.
        expected: Tip,
    },
    /// Creates a tag whose name was never given before.
    CreateTag {
        /// The new tag.
        name: TagName,
        /// Its target, which never changes.
        target: SnapshotId,
    },
    /// Deletes a tag. Its name is never used again.
    DeleteTag {
        /// The tag.
        name: TagName,
    },
    /// Gives a snapshot another parent, as expiration does, and changes nothing else of it. Done, too, if it has that parent
    /// already.
    Reparent {
        /// The snapshot.
        snapshot: SnapshotId,
        /// The parent that it must have when the edit lands.
        expected: SnapshotId,
        /// The parent that it has afterwards.
        parent: SnapshotId,
    },
    /// Stores the configuration. A refusal is [`Refusal::AlreadyExists`]: read it again and decide anew.
    SetConfig {
        /// The configuration.
        config: Box<RepositoryConfig>,
        /// The state in which the stored one must be when the edit lands; none: there must be none.
        expected: Option<Version>,
    },
    /// Replaces the metadata of the repository. Spec version 2.
    SetMetadata {
        /// All of it.
        metadata: BTreeMap<String, serde_json::Value>,
    },
    /// Sets some keys of the metadata of the repository, whatever the others are by then. Spec version 2.
    UpdateMetadata {
        /// The entries that are added or replaced, key by key.
        entries: BTreeMap<String, serde_json::Value>,
    },
    /// Sets whether the repository accepts writes. The one edit that lands whatever the status is. Spec version 2.
    SetStatus {
        /// Whether the repository may be read and written.
        availability: Availability,
        /// The reason for which it is not online.
        reason: Option<String>,
        /// Since when; none for the time of the edit.
        set_at: Option<SystemTime>,
    },
    /// Allows or forbids an operation. Spec version 2.
    SetFlag {
        /// The feature.
        flag: FeatureFlag,
        /// None for its default.
        value: Option<bool>,
    },
    /// Removes old snapshots from histories, and deletes refs with them, all at once. A snapshot that a ref points to
    /// when the edit lands stays. Spec version 2.
    Expire {
        /// The snapshots.
        release: BTreeSet<SnapshotId>,
        /// Branches to be deleted, if they still point to these snapshots.
        branches: Vec<(BranchName, SnapshotId)>,
        /// Tags to be deleted, if they still exist.
        tags: Vec<TagName>,
    },
    /// Removes snapshots that are about to be deleted from the list, and begins the operations log anew with the old
    /// one behind it. A snapshot that a ref points to when the edit lands stays. Spec version 2.
    Collect {
        /// The snapshots.
        drop: BTreeSet<SnapshotId>,
    },
    /// Takes over refs of another repository with their snapshots and settings: all of it or nothing. Refs that are as
    /// they should be already count as done. Spec version 2.
    Receive(Box<Received>),
    /// Takes over what version-1 programs wrote after the repository was read for its upgrade. Refused with
    /// [`Refusal::AlreadyExists`] if `repo` has changed since it was compared with their files. Spec version 2.
    CarryOver(Remainders),
    /// Allows writes to a repository whose upgrade is complete. Refused with [`Refusal::AlreadyExists`] if they are allowed.
    /// Spec version 2.
    EndUpgrade,
}

/// The reason why an edit did not land. The state is as it was, and reading it again tells what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The branch points to another snapshot, or was moved away and back.
    BranchMoved {
        /// Where it points now.
        found: SnapshotId,
    },
    /// The branch does not exist any more.
    BranchGone,
    /// A branch or tag of this name exists.
    AlreadyExists,
    /// A tag of this name existed and was deleted. Choose another name.
    NameTaken,
    /// There is no ref of this name to delete.
    NotFound,
    /// The snapshot has another parent than the expected one.
    ParentChanged {
        /// Its parent now, if it has one.
        found: Option<SnapshotId>,
    },
    /// The repository was upgraded to spec version 2 since it was opened.
    Upgraded,
}

/// The outcome of an [`Edit`]. An error, in contrast, means that nothing was changed.
#[derive(Debug)]
#[must_use = "an edit may have been refused, or its outcome may be unknown"]
pub enum EditOutcome {
    /// The edit landed. The version is that of the object that it wrote, if it wrote one.
    Done(Option<Version>),
    /// The edit did not land and never will.
    Refused(Refusal),
    /// The store gave no answer: the edit may have landed, or may still land. Read the ref to find out, and delete
    /// nothing meanwhile.
    Unknown(StorageError),
}

impl EditOutcome {
    /// A refusal that may be a success whose reply was lost.
    pub(crate) fn unchecked(target: String, source: BoxError) -> Self {
        Self::Unknown(StorageError::Failed {
            action: "check of a refused edit",
            target,
            source,
        })
    }

    /// As [`EditOutcome::unchecked`], of what kept the ref from being read: a refusal may be the answer to a repetition, sent by
    /// a client below us, of a request that landed.
    pub(crate) fn unread(target: String, error: RefsError) -> Self {
        match error {
            RefsError::Storage(source) => Self::Unknown(source),
            error => Self::unchecked(target, error.into()),
        }
    }
}
