//! Repairs: a new commit on each damaged branch that leaves out what cannot be read, and says what that was.
//!
//! Nothing is deleted or overwritten but transaction logs that cannot be decoded or leave out a change. So lost objects can
//! be put back from a copy later, and the branch reset. Logs say nothing that two snapshots do not.
//! Files of refs that are spelled as in another kind of store are renamed; what is not understood below `refs/` stays.
//! A branch that points nowhere is moved to the newest whole snapshot that no other branch reaches. In spec version 2, an object
//! `repo` that is not what it should be gives way to its newest sound backup, and is kept aside.

mod commit;
mod logs;
mod renamed;
mod repo;
mod report;
mod restore;

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use icefield_core::{
    BranchName, Interrupted, Refusal, RepositoryBuilder, RepositoryError, SnapshotId,
};
use icefield_refs::RefsError;

use super::collected::CheckReport;
use super::damage;
use super::error::CheckError;
use super::examined::Examined;
use super::finding::{Finding, FindingKind, Severity};
use super::job::Context;
use super::needed::Needed;
use super::settings::Check;
use crate::Progress;

pub use report::{
    ArrayLoss, BranchRepair, CorrectedExtents, LogOutcome, LogRepair, RenamedRef, RepairOutcome,
    RepairReport, RepoRepair, RestoredBranch,
};

/// The key in a commit's metadata under which a repair lists what it dropped.
pub const REPAIR_METADATA: &str = "icefield_repair";

/// The reason why nothing could be repaired. The fate of each branch is a [`RepairOutcome`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepairError {
    /// The check failed.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The repository could not be opened for writing.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// A ref could not be read.
    #[error(transparent)]
    Refs(#[from] RefsError),
    /// The caller asked to end it early.
    #[error(
        "the repair was interrupted: each branch and log is as it was or repaired, run it again to go on"
    )]
    Interrupted(#[from] Interrupted),
    /// A branch that exists was to be restored.
    #[error("branch {branch} is there and not damaged: `branch reset` moves it")]
    NotLost {
        /// The branch.
        branch: BranchName,
    },
    /// There is no snapshot at which the branch could be restored.
    #[error(
        "branch {branch} cannot be made again: there is no whole snapshot that no other branch reaches; `branch create` makes it at any"
    )]
    NothingToRestore {
        /// The branch.
        branch: BranchName,
    },
}

/// A repair that is being described: set its options, then [`run`](Repair::run) it. It commits versions of damaged
/// branches without the unreadable parts, and rewrites transaction logs; it never changes stored snapshots.
///
/// ```
/// use std::sync::Arc;
/// use icefield_core::Repository;
/// use icefield_maintenance::{Check, Repair};
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let storage = Arc::new(MemoryStorage::new());
/// Repository::create(storage.clone()).await?;
/// let repair = Repair::new(Check::new(storage.clone()), Repository::builder(storage));
/// let report = repair.dry_run().run(&()).await?;
/// assert!(report.branches.is_empty() && report.left.is_empty(), "there is no damage");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Repair {
    check: Check,
    builder: RepositoryBuilder,
    restore: Option<BranchName>,
    drop_virtual: bool,
    give_up: bool,
    dry_run: bool,
}

impl Repair {
    /// Returns a repair of the findings of `check`. `builder` opens the repository at the same store, for writing.
    pub fn new(check: Check, builder: RepositoryBuilder) -> Self {
        Self {
            check,
            builder,
            restore: None,
            drop_virtual: false,
            give_up: false,
            dry_run: false,
        }
    }

    /// Restores a branch whose ref is gone, at the newest whole snapshot that no other branch reaches.
    #[must_use]
    pub fn restore_branch(mut self, branch: BranchName) -> Self {
        self.restore = Some(branch);
        self
    }

    /// Also drops virtual chunks whose files the check looked at and found missing, too short or changed.
    #[must_use]
    pub fn drop_virtual_chunks(mut self) -> Self {
        self.drop_virtual = true;
        self
    }

    /// Gives up the snapshots that a `repo` which was put back does not list: garbage can be collected, and snapshots can expire again.
    #[must_use]
    pub fn give_up_unlisted(mut self) -> Self {
        self.give_up = true;
        self
    }

    /// Reports the repairs without doing them.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Checks and repairs.
    ///
    /// # Errors
    /// [`RepairError`]. Nothing was repaired then. If the check is [interruptible](Check::interruptible), so is the
    /// repair.
    pub async fn run(&self, progress: &dyn Progress) -> Result<RepairReport, RepairError> {
        self.boxed(progress).await
    }

    // Boxed, it is compiled in this crate alone, and not wherever it is awaited.
    fn boxed<'a>(
        &'a self,
        progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<RepairReport, RepairError>> {
        Box::pin(self.run_here(progress))
    }

    async fn run_here(&self, progress: &dyn Progress) -> Result<RepairReport, RepairError> {
        let mut examined = self.check.examine(progress).await?;
        progress.stage("repairing", None);
        let repo = self.put_back(&examined).await?;
        let found = match &repo {
            Some(repair) if repair.outcome == LogOutcome::Done => {
                let before = examined.report;
                examined = self.check.examine(progress).await?;
                progress.stage("repairing", None);
                Some(before)
            }
            // Whatever is written now would go by a state that is not stored.
            Some(repair) if repair.outcome != LogOutcome::Planned => {
                let left = left(&examined.report, &[], &[], &[], &[]);
                return Ok(RepairReport {
                    check: examined.report,
                    repo,
                    unsettled: None,
                    renamed: Vec::new(),
                    restored: Vec::new(),
                    branches: Vec::new(),
                    logs: Vec::new(),
                    left,
                });
            }
            _ => None,
        };
        let renamed = self.rename(&examined).await?;
        let restored = self.restore(&examined).await;
        // A branch that is there already may be the last that was missing.
        let unsettled = self.settle(&examined).await?;
        let restored = restored?;
        let branches = self.commit(&examined, &restored, progress).await?;
        let logs = self.logs(&examined, progress).await?;
        let left = left(&examined.report, &renamed, &restored, &branches, &logs);
        Ok(RepairReport {
            check: found.unwrap_or(examined.report),
            repo,
            unsettled,
            renamed,
            restored,
            branches,
            logs,
            left,
        })
    }

    fn context(&self, examined: &Examined) -> Context {
        Context {
            objects: std::sync::Arc::clone(&examined.objects),
            locations: std::sync::Arc::clone(&examined.locations),
            follow: false,
            judges: true,
            reads_all: false,
            needed: std::sync::Mutex::new(Needed::new([0xFF; 12], 2)),
            sources: std::sync::Mutex::default(),
            foreign: std::sync::Mutex::default(),
        }
    }

    /// Repairs the branches that can be read.
    async fn commit(
        &self,
        examined: &Examined,
        restored: &[RestoredBranch],
        progress: &dyn Progress,
    ) -> Result<Vec<BranchRepair>, RepairError> {
        let mut tips: BTreeMap<BranchName, SnapshotId> = BTreeMap::new();
        for target in &examined.targets {
            let name = target.name.strip_prefix("branch:");
            if let Some(name) = name.and_then(|name| BranchName::parse(name).ok()) {
                tips.insert(name, target.snapshot);
            }
        }
        for branch in restored {
            if let (Ok(name), Some(snapshot)) = (BranchName::parse(&branch.branch), branch.snapshot)
            {
                tips.insert(name, snapshot);
            }
        }
        let cx = self.context(examined);
        let mut repository = None;
        let mut branches = Vec::new();
        for (name, tip) in tips {
            self.check.interrupt.check()?;
            let Ok(snapshot) = cx.objects.snapshot(tip).await? else {
                continue;
            };
            let (bad, foreign) = (&examined.bad, &examined.bad_foreign);
            let damage = damage::at(&cx, &snapshot, bad, foreign).await?;
            self.check.interrupt.check()?;
            let Some(mut repair) = commit::plan(&name, &damage, self.drop_virtual) else {
                continue;
            };
            if !self.dry_run {
                if repository.is_none() {
                    repository = Some(self.builder.clone().open().await?);
                }
                if let Some(repository) = &repository {
                    repair.outcome = commit::carry_out(repository, &name, &repair).await;
                }
            }
            branches.push(repair);
            progress.advance(1, 0);
        }
        Ok(branches)
    }
}

/// The outcome of an edit of a ref that was refused.
fn refused(refusal: &Refusal) -> RepairOutcome {
    match refusal {
        Refusal::BranchMoved { .. } | Refusal::BranchGone | Refusal::AlreadyExists => {
            RepairOutcome::BranchMoved
        }
        other => RepairOutcome::Failed {
            reason: format!("{other:?}"),
        },
    }
}

/// Returns the remaining damage that refs show, or that concerns all of the repository.
fn left(
    report: &CheckReport,
    renamed: &[RenamedRef],
    restored: &[RestoredBranch],
    branches: &[BranchRepair],
    logs: &[LogRepair],
) -> Vec<Finding> {
    let is_done = |outcome: &RepairOutcome| matches!(outcome, RepairOutcome::Done { .. });
    let pointing = restored.iter().filter(|it| is_done(&it.outcome));
    let pointing: Vec<String> = pointing.map(|it| format!("branch:{}", it.branch)).collect();
    let mended = branches.iter().filter(|it| is_done(&it.outcome));
    let mended: Vec<String> = mended.map(|it| format!("branch:{}", it.branch)).collect();
    let stays = |finding: &&Finding| {
        if finding.severity != Severity::Damage {
            return false;
        }
        match finding.kind {
            FindingKind::ConfigDamaged
            | FindingKind::RepoObject
            | FindingKind::RepoMissing
            | FindingKind::RepoDamaged
            | FindingKind::RepoForeign
            | FindingKind::RepoAnew
            | FindingKind::RepoMetadataDamaged
            | FindingKind::RefStray => true,
            FindingKind::RefTwice => {
                let mut done = renamed.iter().filter(|it| it.outcome == LogOutcome::Done);
                !done.any(|it| it.to == finding.key)
            }
            FindingKind::LogMissing | FindingKind::LogDamaged | FindingKind::LogIncomplete => {
                let of_this = |it: &&LogRepair| Some(it.log_of) == finding.snapshot;
                let told = logs.iter().find(of_this);
                !told.is_some_and(|it| it.outcome == LogOutcome::Done)
            }
            FindingKind::MainMissing => !pointing.contains(&"branch:main".to_owned()),
            kind => {
                let is_mended = |name: &String| {
                    pointing.contains(name) || (kind.is_dropped() && mended.contains(name))
                };
                finding.tips.iter().any(|name| !is_mended(name))
            }
        }
    };
    report.findings.iter().filter(stays).cloned().collect()
}

impl FindingKind {
    /// Whether a commit of a repair leaves it out, or corrects it.
    fn is_dropped(self) -> bool {
        matches!(
            self,
            Self::NodeBelowArray
                | Self::ExtentsTooSmall
                | Self::ManifestMissing
                | Self::ManifestDamaged
                | Self::ChunkMissing
                | Self::ChunkShort
                | Self::ChunkUnreadable
                | Self::VirtualLocationInvalid
                | Self::VirtualMissing
                | Self::VirtualShort
                | Self::VirtualChanged
        )
    }
}
