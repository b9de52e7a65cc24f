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
    /// It was only asked what would be done.
    Planned,
    /// The branch points to this snapshot now.
    Done {
        /// The snapshot.
        snapshot: SnapshotId,
    },
    /// Another writer moved the branch since it was checked; nothing was done.
    BranchMoved,
    /// The store did not say. The snapshot may be the branch's tip.
    Unknown {
        /// The snapshot to look for.
        snapshot: SnapshotId,
        /// The error of the store.
        reason: String,
    },
    /// It could not be done; the branch is as it was.
    Failed {
        /// Why.
        reason: String,
    },
}

/// The parts of an array that were dropped or corrected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArrayLoss {
    /// Its path.
    pub path: String,
    /// Native chunks whose objects are missing or too short, by index.
    pub chunks: Vec<Vec<u32>>,
    /// Virtual chunks whose files are missing, too short or changed, by index.
    pub virtual_chunks: Vec<Vec<u32>>,
    /// Manifests that cannot be read, whose chunk refs are gone.
    pub manifests: Vec<ManifestId>,
    /// How many refs they had, as the snapshot says.
    pub refs_of_manifests: u64,
    /// Manifests whose extents are corrected, so that all of their chunks are found; nothing is dropped by that.
    pub extents: Vec<CorrectedExtents>,
}

/// Extents that a repair records instead of those that are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CorrectedExtents {
    /// The manifest.
    pub manifest: ManifestId,
    /// The smallest box around its chunks of the array: the first index of each dimension, and the one behind the last.
    pub extents: Vec<Range<u32>>,
}

/// The repair of one branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BranchRepair {
    /// The branch.
    pub branch: String,
    /// The damaged snapshot that it points to.
    pub from: SnapshotId,
    /// The parts of arrays that are dropped.
    pub arrays: Vec<ArrayLoss>,
    /// Nodes that are dropped because they lie below an array, each with all below it.
    pub dropped_nodes: Vec<String>,
    /// Groups that are made because nodes lie below them.
    pub created_groups: Vec<String>,
    /// The outcome.
    #[serde(flatten)]
    pub outcome: RepairOutcome,
}

/// A branch that pointed nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RestoredBranch {
    /// The branch.
    pub branch: String,
    /// Where it is to point; none if there is no whole snapshot that no other branch reaches.
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
    /// The object `repo`, where it was missing, damaged or of another repository.
    pub repo: Option<RepoRepair>,
    /// How many snapshots a `repo` that was put back does not list, now or by an earlier repair; none once that is settled. Until
    /// then, nothing is collected and nothing expires.
    pub unsettled: Option<u64>,
    /// Files of refs that were spelled as in another kind of store.
    pub renamed: Vec<RenamedRef>,
    /// Branches that pointed nowhere.
    pub restored: Vec<RestoredBranch>,
    /// Branches whose tip was damaged.
    pub branches: Vec<BranchRepair>,
    /// Transaction logs that were missing, could not be decoded, or kept changes quiet.
    pub logs: Vec<LogRepair>,
    /// Damage that refs still show, or that keeps the repository from opening. What only histories have is not here.
    pub left: Vec<Finding>,
}

/// The repair of the object `repo`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RepoRepair {
    /// Its damage.
    pub was: FindingKind,
    /// The key of the backup that takes its place.
    pub from: String,
    /// The time of the last operation that is in it, in microseconds since 1970. What was done later is lost.
    pub as_of: u64,
    /// Backups with newer names that are no sound ones.
    pub passed_over: u64,
    /// The key under which what was there is kept.
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
    /// It was only asked what would be done.
    Planned,
    /// The log tells what its snapshot changed; the file has its own name; the object is a sound state.
    Done,
    /// Another program wrote it meanwhile; nothing was done.
    Changed,
    /// The store did not say whether it was written.
    Unknown {
        /// The error of the store.
        reason: String,
    },
    /// It could not be done; the log or file is as it was.
    Failed {
        /// Why.
        reason: String,
    },
}
