//! Making a repository of spec version 2 out of one of version 1, also while version-1 programs write to it.
//!
//! 1. `repo` is created, if there is none: with all that the files of version 1 say, and read-only. From now on the repository
//!    is one of version 2 that takes no writes.
//! 2. Each file goes, but only once `repo` has what it says: a ref file is *sealed* under the condition that it is as it was
//!    read, and then deleted. What a version-1 program has written meanwhile refuses the seal, is read again and carried over.
//!    A commit that comes after the seal finds its condition broken.
//! 3. When a listing finds no file any more, `repo` takes writes.
//!
//! Each step can be taken again, by several programs at once: one that was stopped is gone on with by calling again. Files that
//! a version-1 program creates after the last step are [remainders](Remainder), which the same call carries over.

mod carried_over;
mod first;
mod remains;
mod report;
mod scan;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use icefield_format::{SnapshotId, SpecVersion};
use icefield_storage::{
    BoxError, DeleteOutcome, Deletion, PlantedBug, PutMode, PutOutcome, Storage, StorageExt,
    planted,
};

use crate::create::Creation;
use crate::ref_files::{RefFiles, SEAL, ref_options};
use crate::spec_v2::{RepoObject, RepoState, is_upgrading};
use crate::walk::Pace;
use crate::{
    BranchName, Edit, EditOutcome, Histories, Ledger, LedgerParts, RefsError, Remainder,
    Remainders, SnapshotInfo, micros_of_time,
};

pub use report::{UpgradeOptions, UpgradeReport, UpgradeStep};

use carried_over::remaining;
use first::Snapshots;
use scan::{FileState, Scan, ScannedFile};

/// Rounds after which an upgrade gives up that meets new files in each.
const ROUNDS: usize = 100;

/// Goes on holding collections back.
pub type Keep = dyn Fn() -> BoxFuture<'static, Result<(), RefsError>> + Send + Sync;

/// An upgrade from spec version 1 to 2 that is about to begin or to continue.
pub struct Upgrade {
    files: Ledger,
    object: Ledger,
    parts: LedgerParts,
    keep: Option<Box<Keep>>,
}

impl fmt::Debug for Upgrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upgrade")
            .field("parts", &self.parts)
            .finish_non_exhaustive()
    }
}

impl Upgrade {
    /// Reads the state of the repository; `None` if there is none. Writes nothing.
    ///
    /// # Errors
    /// [`RefsError::AlreadyUpgraded`], [`RefsError::NotUnderstood`], [`RefsError::SpelledTwice`],
    /// [`RefsError::Config`], [`RefsError::InvalidRepo`], and the errors of the store.
    pub async fn begin(parts: LedgerParts) -> Result<Option<Self>, RefsError> {
        let upgrade = Self {
            files: parts.clone().ledger(SpecVersion::V1)?,
            object: parts.clone().ledger(SpecVersion::V2)?,
            parts,
            keep: None,
        };
        // In this order: what another upgrade has removed by then is in `repo`.
        let scan = upgrade.v1()?.scan().await?;
        match upgrade.repo()?.try_read().await? {
            None if !scan.branches.contains_key(&BranchName::main()) => Ok(None),
            Some(state) if scan.files.is_empty() && !is_upgrading(state.info.status()) => {
                Err(upgrade.already())
            }
            _ => Ok(Some(upgrade)),
        }
    }

    /// Calls `keep` repeatedly while the upgrade runs, to hold back collections. It is called often, and decides itself
    /// when there is something to do.
    #[must_use]
    pub fn keeping(mut self, keep: Box<Keep>) -> Self {
        self.keep = Some(keep);
        self
    }

    async fn keep(&self) -> Result<(), RefsError> {
        match &self.keep {
            Some(keep) => keep().await,
            None => Ok(()),
        }
    }

    fn already(&self) -> RefsError {
        RefsError::AlreadyUpgraded {
            location: self.parts.storage.to_string(),
        }
    }

    fn v1(&self) -> Result<&RefFiles, RefsError> {
        self.files.files("an upgrade")
    }

    fn repo(&self) -> Result<&RepoObject, RefsError> {
        self.object.object("an upgrade")
    }

    /// Returns the report of [`Upgrade::run`] without doing it. Writes nothing.
    ///
    /// # Errors
    /// As [`Upgrade::run`].
    pub async fn plan(&self, options: &UpgradeOptions<'_>) -> Result<UpgradeReport, RefsError> {
        let scan = self.v1()?.scan().await?;
        let files = match options.keep_files {
            true => 0,
            false => scan.files.len() as u64,
        };
        let Some(state) = self.repo()?.try_read().await? else {
            let snapshots = self.snapshots(&scan, None, options).await?;
            let now = micros_of_time(self.parts.clock.now());
            let info = first::state(&scan, &snapshots, now)?;
            return Ok(UpgradeReport {
                files,
                ..UpgradeReport::of(&info)
            });
        };
        // After `repo`: another upgrade may have taken over and removed since what the first look found.
        let scan = self.v1()?.scan().await?;
        let remains = self.remains(&state, &scan).await?;
        Ok(UpgradeReport {
            resumed: true,
            carried_over: remains.iter().map(ToString::to_string).collect(),
            files,
            ..UpgradeReport::of(&state.info)
        })
    }

    /// Upgrades the repository, or goes on with it. No collection of garbage may run meanwhile, which
    /// [`Upgrade::keeping`] sees to.
    ///
    /// # Errors
    /// As [`Upgrade::begin`]; [`RefsError::NoConditions`]; [`RefsError::Fetch`] if a snapshot that a ref reaches cannot be
    /// read, and [`RefsError::Cycle`], both before anything is written; [`RefsError::UpgradeStopped`]: call again.
    pub async fn run(&self, options: &UpgradeOptions<'_>) -> Result<UpgradeReport, RefsError> {
        let (v1, repo) = (self.v1()?, self.repo()?);
        let storage = &self.parts.storage;
        if !storage.capabilities().safe_commits() {
            return Err(RefsError::NoConditions {
                location: storage.to_string(),
            });
        }
        let mut report = UpgradeReport {
            resumed: true,
            ..UpgradeReport::default()
        };
        let mut created = None;
        // The files first: where there is no `repo` afterwards, no upgrade had removed any.
        let scan = v1.scan().await?;
        if repo.try_read().await?.is_none() && self.create(&scan, options).await? {
            report.resumed = false;
            created = Some(scan);
        }
        self.go_on(created, report, options)
            .await
            .map_err(|error| match error {
                RefsError::AlreadyUpgraded { .. } | RefsError::UpgradeStopped { .. } => error,
                error => RefsError::UpgradeStopped {
                    source: error.into(),
                },
            })
    }

    /// Takes over what the files say, and removes them, until there are none. `created` is what `repo` was made of, if this
    /// upgrade has made it.
    async fn go_on(
        &self,
        mut created: Option<Scan>,
        mut report: UpgradeReport,
        options: &UpgradeOptions<'_>,
    ) -> Result<UpgradeReport, RefsError> {
        let mut unknown: Option<BoxError> = None;
        for _ in 0..ROUNDS {
            if let (Some(scan), false) = (created.take(), options.keep_files) {
                // `repo` has all of it. A file that has changed since is not removed.
                unknown = self.remove(&scan, options, &mut report).await?.or(unknown);
            }
            // `repo` first: the files that are there afterwards are at least as new, and what another upgrade has removed
            // by then is in `repo`. What is carried over lands only onto this state.
            let state = self.repo()?.read().await?;
            let scan = self.v1()?.scan().await?;
            let remains = self.remains(&state, &scan).await?;
            if options.keep_files && remains.is_empty() {
                if report.resumed
                    && report.carried_over.is_empty()
                    && !is_upgrading(state.info.status())
                {
                    return Err(self.already());
                }
                return self.end(report).await;
            }
            if !options.keep_files && scan.files.is_empty() {
                return self.end(report).await;
            }
            if self
                .carry_over(&state, remains, options, &mut report)
                .await?
                && !options.keep_files
            {
                unknown = self.remove(&scan, options, &mut report).await?.or(unknown);
            }
        }
        Err(RefsError::UpgradeStopped {
            source: unknown.unwrap_or_else(|| {
                "other programs wrote as fast as their writes were taken over".into()
            }),
        })
    }

    /// Creates `repo`; false if another upgrade was first.
    async fn create(&self, scan: &Scan, options: &UpgradeOptions<'_>) -> Result<bool, RefsError> {
        let snapshots = self.snapshots(scan, None, options).await?;
        let now = micros_of_time(self.parts.clock.now());
        let info = first::state(scan, &snapshots, now)?;
        match self.repo()?.create_with(info).await? {
            Creation::Created(_) => Ok(true),
            Creation::Exists | Creation::NotEmpty(_) => Ok(false),
            Creation::Unknown(source) => Err(RefsError::UpgradeStopped {
                source: source.into(),
            }),
        }
    }

    /// Allows writes.
    async fn end(&self, report: UpgradeReport) -> Result<UpgradeReport, RefsError> {
        match self.repo()?.apply(Edit::EndUpgrade).await? {
            // Another upgrade has ended it.
            EditOutcome::Done(_) | EditOutcome::Refused(_) => {}
            EditOutcome::Unknown(source) => {
                return Err(RefsError::UpgradeStopped {
                    source: source.into(),
                });
            }
        }
        let state = self.repo()?.read().await?;
        Ok(UpgradeReport {
            resumed: report.resumed,
            carried_over: report.carried_over,
            files: report.files,
            ..UpgradeReport::of(&state.info)
        })
    }

    /// Returns what files say that a state of `repo` does not.
    async fn remains(
        &self,
        state: &Arc<RepoState>,
        scan: &Scan,
    ) -> Result<Vec<Remainder>, RefsError> {
        remaining(self.repo()?, state, scan).await
    }

    /// Carries over what a state of `repo` does not have; false if `repo` has another state by now, and nothing was done.
    async fn carry_over(
        &self,
        state: &RepoState,
        mut remains: Vec<Remainder>,
        options: &UpgradeOptions<'_>,
        report: &mut UpgradeReport,
    ) -> Result<bool, RefsError> {
        if remains.is_empty() {
            return Ok(true);
        }
        for remainder in &mut remains {
            if let Remainder::Branch {
                tip: target,
                snapshots,
                ..
            }
            | Remainder::Tag {
                target, snapshots, ..
            } = remainder
            {
                *snapshots = self.missing(*target, state, options).await?;
            }
        }
        let told: Vec<_> = remains.iter().map(ToString::to_string).collect();
        let remainders = Remainders::of(state, remains);
        match self.repo()?.apply(Edit::CarryOver(remainders)).await? {
            EditOutcome::Done(_) => {
                report.carried_over.extend(told);
                Ok(true)
            }
            EditOutcome::Refused(_) => Ok(false),
            EditOutcome::Unknown(source) => Err(RefsError::UpgradeStopped {
                source: source.into(),
            }),
        }
    }

    /// Reads what of the history of a snapshot a state of `repo` does not list, parents first.
    async fn missing(
        &self,
        tip: SnapshotId,
        state: &RepoState,
        options: &UpgradeOptions<'_>,
    ) -> Result<Vec<SnapshotInfo>, RefsError> {
        let mut scan = Scan::default();
        scan.branches.insert(BranchName::main(), tip);
        let snapshots = self.snapshots(&scan, Some(state), options).await?;
        Ok(snapshots.all.into_iter().map(|(info, _)| info).collect())
    }

    /// Reads the histories of all refs, as far as a state of `repo` does not list them.
    async fn snapshots(
        &self,
        scan: &Scan,
        known: Option<&RepoState>,
        options: &UpgradeOptions<'_>,
    ) -> Result<Snapshots, RefsError> {
        let is_known =
            |id: &SnapshotId| known.is_some_and(|state| state.info.snapshots().contains(id));
        let mut histories = Histories::new(self.files.graph(), Pace::long()).until(is_known);
        for target in scan.targets() {
            histories.follow(target);
        }
        while let Some((_, info)) = histories.next().await {
            info?;
            (options.on_step)(UpgradeStep::SnapshotRead);
            self.keep().await?;
        }
        // `main` has what it shares with others.
        let main = BranchName::main();
        let others = scan.branches.iter().filter(|(name, _)| **name != main);
        let branches = scan.branches.get_key_value(&main).into_iter().chain(others);
        let branches = branches.map(|(name, tip)| (Some(name.to_string()), *tip));
        let refs: Vec<_> = branches
            .chain(scan.tags.values().map(|id| (None, *id)))
            .collect();
        let ordered = histories.parents_first(refs.iter().map(|(_, tip)| *tip))?;
        let mut branch_of: HashMap<SnapshotId, Option<String>> = HashMap::new();
        for (branch, tip) in &refs {
            for (id, _) in histories.of(*tip) {
                if branch_of.contains_key(&id) {
                    break;
                }
                branch_of.insert(id, branch.clone());
            }
        }
        let all = ordered.into_iter().filter_map(|id| {
            let info = histories.get(id)?.clone();
            Some((info, branch_of.remove(&id).flatten()))
        });
        Ok(Snapshots { all: all.collect() })
    }

    /// Removes files whose content `repo` has, unless they have changed since they were read. Returns why it is not known of
    /// one whether it was removed.
    async fn remove(
        &self,
        scan: &Scan,
        options: &UpgradeOptions<'_>,
        report: &mut UpgradeReport,
    ) -> Result<Option<BoxError>, RefsError> {
        let storage = &*self.parts.storage;
        let (mut unknown, mut tags_are_gone) = (None, true);
        for file in &scan.files {
            if file.kind == FileState::Tombstone && !tags_are_gone {
                // Without it, the tag would seem to live. The next listing shows whether its file is gone.
                continue;
            }
            self.keep().await?;
            let removed = remove(storage, file).await?;
            tags_are_gone &=
                file.kind != FileState::Tag || matches!(removed, DeleteOutcome::Deleted);
            match removed {
                DeleteOutcome::Deleted => {
                    report.files += 1;
                    (options.on_step)(UpgradeStep::FileRemoved);
                }
                // The next listing shows what it is now.
                DeleteOutcome::Refused => {}
                DeleteOutcome::Unknown(error) => unknown = Some(error.into()),
            }
        }
        storage.sync().await?;
        Ok(unknown)
    }
}

async fn remove(storage: &dyn Storage, file: &ScannedFile) -> Result<DeleteOutcome, RefsError> {
    let mut version = file.version.clone();
    if planted(PlantedBug::UpgradeDeletesMovedRef) {
        return Ok(storage.delete_one(file.key.clone().into()).await?);
    }
    if file.kind == FileState::Replaceable {
        // Stores that do not look at the condition of a deletion look at that of a put.
        let options = ref_options(PutMode::Update(version));
        let seal = icefield_storage::Bytes::from_static(SEAL);
        version = match storage.put(&file.key, seal.into(), options).await {
            Ok(PutOutcome::Written(written)) => written.version,
            Ok(PutOutcome::Refused) => return Ok(DeleteOutcome::Refused),
            Ok(PutOutcome::Unknown(error)) => return Ok(DeleteOutcome::Unknown(error)),
            Err(error) if error.is_not_found() => return Ok(DeleteOutcome::Refused),
            Err(error) => return Err(error.into()),
        };
    }
    let deletion = Deletion {
        key: file.key.clone(),
        version: (storage.capabilities().conditional_delete).then_some(version),
    };
    Ok(storage.delete_one(deletion).await?)
}
