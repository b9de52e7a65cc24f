//! The report of a repair.

use std::ops::Range;

use icefield_core::{ManifestId, SnapshotId};
use serde::Serialize;

use crate::check::collected::CheckReport;
use crate::check::finding::{Finding, FindingKind};

/// The outcome of an edit of a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum RepairOutcome {
    /// The run was a dry one: nothing was done.
    Planned,
    /// The branch points to this snapshot now.
    Done {
        /// The snapshot.
        snapshot: SnapshotId,
    },
    /// Another writer moved the branch since it was checked; nothing was done.
    BranchMoved,
    /// The store gave no answer. The snapshot may be the branch's tip.
    Unknown {
        /// The snapshot to look for.
        snapshot: SnapshotId,
        /// The error of the store.
        reason: String,
    },
    /// The repair was not possible; the branch is as it was.
    Failed {
        /// Why.
        reason: String,
    },
}

/// The parts of an array that were dropped or corrected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArrayLoss {
    /// The path of the array.
    pub path: String,
    /// Native chunks whose objects are missing or too short, by index.
    pub chunks: Vec<Vec<u32>>,
    /// Virtual chunks whose files are missing, too short or changed, by index.
    pub virtual_chunks: Vec<Vec<u32>>,
    /// Manifests that cannot be read, whose chunk refs are gone.
    pub manifests: Vec<ManifestId>,
    /// The number of chunk refs in these manifests, by the record in the snapshot.
    pub refs_of_manifests: u64,
    /// Manifests whose extents are corrected, so that all of their chunks are found; nothing is dropped by that.
    pub extents: Vec<CorrectedExtents>,
}

/// The extents that a repair records in place of wrong ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CorrectedExtents {
    /// The id of the manifest.
    pub manifest: ManifestId,
    /// The smallest box around its chunks of the array: the first index of each dimension, and the one behind the last.
    pub extents: Vec<Range<u32>>,
}

/// The repair of one branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BranchRepair {
    /// The name of the branch.
    pub branch: String,
    /// The damaged snapshot that it points to.
    pub from: SnapshotId,
    /// The parts of arrays that are dropped.
    pub arrays: Vec<ArrayLoss>,
    /// Nodes that are dropped because they lie below an array, each with all below it.
    pub dropped_nodes: Vec<String>,
    /// The groups that are created because nodes lie below them.
    pub created_groups: Vec<String>,
    /// The outcome.
    #[serde(flatten)]
    pub outcome: RepairOutcome,
}

/// A branch that pointed nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RestoredBranch {
    /// The name of the branch.
    pub branch: String,
    /// The new target; none if there is no whole snapshot that no other branch reaches.
    pub snapshot: Option<SnapshotId>,
    /// The outcome.
    #[serde(flatten)]
    pub outcome: RepairOutcome,
}

/// The report of a repair: the findings, the repairs, and the damage that is left.
#[derive(Clone, Debug, Serialize)]
pub struct RepairReport {
    /// The findings before the repair.
    pub check: CheckReport,
    /// The repair of the object `repo`, if it was missing, damaged or of another repository.
    pub repo: Option<RepoRepair>,
    /// How many snapshots a `repo` that was put back does not list, now or by an earlier repair; none once that is settled. Until
    /// then, nothing is collected and nothing expires.
    pub unsettled: Option<u64>,
    /// The files of refs that had the spelling of another kind of store.
    pub renamed: Vec<RenamedRef>,
    /// The branches that pointed to no snapshot.
    pub restored: Vec<RestoredBranch>,
    /// The branches whose tip was damaged.
    pub branches: Vec<BranchRepair>,
    /// The transaction logs that were missing, could not be decoded, or left out changes.
    pub logs: Vec<LogRepair>,
    /// The damage that refs still show, or that keeps the repository from opening. Damage in histories alone is not
    /// listed.
    pub left: Vec<Finding>,
}

/// The repair of the object `repo`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RepoRepair {
    /// Its damage.
    pub was: FindingKind,
    /// The key of the backup that takes its place.
    pub from: String,
    /// The time of the last operation in that backup, in microseconds since 1970. Later operations are lost.
    pub as_of: u64,
    /// The number of newer backups that are not sound.
    pub passed_over: u64,
    /// The key under which the damaged object is kept.
    pub kept_aside: Option<String>,
    /// The outcome.
    #[serde(flatten)]
    pub outcome: LogOutcome,
}

/// A file of a ref that gets the spelling of its store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RenamedRef {
    /// Its key as it was found.
    pub from: String,
    /// The key that it should have.
    pub to: String,
    /// The outcome.
    #[serde(flatten)]
    pub outcome: LogOutcome,
}

/// The repair of a transaction log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogRepair {
    /// The snapshot whose log it is.
    pub log_of: SnapshotId,
    /// Its damage.
    pub was: FindingKind,
    /// The outcome.
    #[serde(flatten)]
    pub outcome: LogOutcome,
}

/// The outcome of the repair of a transaction log, the file of a ref, or the object `repo`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum LogOutcome {
    /// The run was a dry one: nothing was done.
    Planned,
    /// The log names the changes of its snapshot, the file has its own name, or the object is sound.
    Done,
    /// Another program wrote it meanwhile; nothing was done.
    Changed,
    /// The store gave no answer to the write.
    Unknown {
        /// The error of the store.
        reason: String,
    },
    /// The repair was not possible; the log or file is as it was.
    Failed {
        /// Why.
        reason: String,
    },
}
