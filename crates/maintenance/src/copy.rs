//! Copying a repository from one place to another, of whatever kind.
//!
//! Ids stay, and objects are copied byte for byte. What is at the destination is found by listing it and not read again,
//! so that a second copy moves only what is new, and one that was stopped goes on where it was. The order makes that
//! safe: chunk objects, then manifests, then transaction logs, then snapshots with parents first, and refs last, each
//! on the condition that it is as it was looked at. A snapshot at the destination therefore says that everything is
//! there that it needs, and its ancestors as well; it is passed over with all of them.
//!
//! Streams that a copy holds while it waits are boxed: the closures in them would keep its future from being `Send`.
//!
//! Not copied: what no ref reaches, what lies below `icefield/`, and objects that the format does not know.

mod bounds;
mod destination;
mod error;
pub(crate) mod needs;
pub(crate) mod objects;
pub(crate) mod plan;
pub(crate) mod receive;
pub(crate) mod refs;
mod report;
mod rewritten;
pub(crate) mod settings;
pub(crate) mod spec_v1;
mod target;
mod transfer;

use std::sync::Arc;

use icefield_core::{CollectionHold, Repository};
use icefield_format::{DecodeLimits, SnapshotId, SpecVersion};
use icefield_storage::{Bytes, Storage};

use crate::Progress;
use crate::listing::ObjectKind;

pub use bounds::CopyBounds;
pub use error::CopyError;
pub use plan::RefChoice;
pub use refs::{CopiedRef, RefAction};
pub use report::{CopyReport, Moved};
pub use settings::ConfigAction;

pub(crate) use destination::{call_created, check_places, open, reachable, release, snapshots};
pub(crate) use settings::{MAX_CONFIG_LEN, put_config, read_config};
pub(crate) use target::Target;

use destination::{builder, ends_at};
use plan::{Plan, SourceRefs, Step};
use refs::RefPlan;
use transfer::Transfer;

/// A copy of a repository to another place, with the same ids and refs. A copy that was made before is brought up to
/// date: only objects that are new are transferred.
///
/// ```
/// use std::sync::Arc;
/// use icefield_core::Repository;
/// use icefield_maintenance::CopyRepository;
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let source = Repository::create(Arc::new(MemoryStorage::new())).await?;
/// let destination = Arc::new(MemoryStorage::new());
/// let report = CopyRepository::new().run(&source, destination.clone(), &()).await?;
/// assert!(report.created);
///
/// let again = CopyRepository::new().run(&source, destination, &()).await?;
/// assert_eq!(again.snapshots.objects, 0, "nothing is new");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct CopyRepository {
    chosen: Vec<RefChoice>,
    depth: Option<usize>,
    force: bool,
    dry_run: bool,
    spec_version: Option<SpecVersion>,
    bounds: CopyBounds,
}

impl CopyRepository {
    /// Returns a copy of all refs and everything that they reach.
    pub fn new() -> Self {
        Self::default()
    }

    /// Copies only these refs, and no tombstones. The default is all refs.
    #[must_use]
    pub fn refs(mut self, chosen: impl IntoIterator<Item = RefChoice>) -> Self {
        self.chosen = chosen.into_iter().collect();
        self
    }

    /// Copies only this many newest snapshots of each ref, at least one. The oldest of them follows the initial
    /// snapshot in the copy, unless its parent is there already.
    #[must_use]
    pub fn depth(mut self, snapshots: usize) -> Self {
        self.depth = Some(snapshots.max(1));
        self
    }

    /// Moves branches of the destination even if they have commits that the source does not have, and replaces a
    /// different configuration. Tags never move.
    #[must_use]
    pub fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Sets the version of the format of the copy: that of the source, which is the default, or a later one. Files stay
    /// as they are in either case: a repository of spec version 2 may have files of version 1.
    #[must_use]
    pub fn spec_version(mut self, version: SpecVersion) -> Self {
        self.spec_version = Some(version);
        self
    }

    /// Writes nothing; the report counts what would be written.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Sets the bounds on memory and on requests.
    #[must_use]
    pub fn bounds(mut self, bounds: CopyBounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Copies. If there is no repository at the destination, one is created, as
    /// [`RepositoryBuilder::create`](icefield_core::RepositoryBuilder::create) does it.
    ///
    /// # Concurrency
    /// The refs of the source are those of the beginning; commits that land later are left for the next run. Several
    /// copies to one destination, and commits there, are safe: each ref is edited on the condition that it is as it was
    /// read. Until then nothing refers to the copied objects, and a collection of garbage at the destination would
    /// delete them: its cutoff must be older than the beginning of the copy. A collection at the source must keep what
    /// the copy reads.
    ///
    /// # Errors
    /// The [`CopyError`] that says whether anything is to be decided. Objects that were written stay, and the next run
    /// continues from there.
    pub async fn run(
        &self,
        source: &Repository,
        destination: Arc<dyn Storage>,
        progress: &dyn Progress,
    ) -> Result<CopyReport, CopyError> {
        check_places(source, &*destination)?;
        progress.stage("reading refs", None);
        let source = &source.pinned().await.map_err(CopyError::Repository)?;
        let version = self.spec_version.unwrap_or(source.spec_version());
        if version < source.spec_version() {
            return Err(CopyError::EarlierVersion);
        }
        let refs = SourceRefs::read(source, &self.chosen).await?;
        let there = open(source, &destination).await?;
        if let Some(there) = &there {
            receive::check_destination(there, version).await?;
        }
        let target = Target {
            version,
            rewriter: None,
        };
        self.run_to(source, &refs, destination, there, target, progress)
            .await
    }

    pub(crate) fn chosen(&self) -> &[RefChoice] {
        &self.chosen
    }

    pub(crate) fn chosen_depth(&self) -> Option<usize> {
        self.depth
    }

    pub(crate) fn limits_of(&self, source: &Repository) -> DecodeLimits {
        self.bounds.up_to(source.spec_version()).decode_limits
    }

    /// Copies refs of a source that was pinned to a destination that was looked at.
    pub(crate) async fn run_to(
        &self,
        source: &Repository,
        refs: &SourceRefs,
        destination: Arc<dyn Storage>,
        there: Option<Repository>,
        target: Target<'_>,
        progress: &dyn Progress,
    ) -> Result<CopyReport, CopyError> {
        let version = target.version;
        let mut report = CopyReport {
            dry_run: self.dry_run,
            created: there.is_none(),
            spec_version: version as u8,
            ..CopyReport::default()
        };
        let decided =
            RefPlan::decide(refs, &source.ledger().graph(), there.as_ref(), self.force).await?;
        let there = match (there, self.dry_run) {
            (None, false) => {
                let bounds = self.bounds.up_to(source.spec_version());
                let (initial, limits) = (SnapshotId::INITIAL, &bounds.decode_limits);
                let (file, decoded) = objects::read_file(
                    &**source.storage(),
                    ObjectKind::Snapshot,
                    *initial.as_bytes(),
                    limits,
                )
                .await?;
                let file = target.snapshot(file, &decoded, &Step::initial())?;
                report.snapshots.add(file.len() as u64);
                let new = builder(source, &destination).spec_version(version);
                let new = new.initial_snapshot(file).open_or_create().await;
                let new = new.map_err(CopyError::Open)?;
                receive::check_destination(&new, version).await?;
                Some(new)
            }
            (there, _) => there,
        };
        // Decided before there was one, and then another process made it: look again.
        let decided = match report.created && !self.dry_run {
            true => {
                RefPlan::decide(refs, &source.ledger().graph(), there.as_ref(), self.force).await?
            }
            false => decided,
        };
        // Objects that are there already, and those that are written before the refs, must not be taken for garbage.
        let hold = match &there {
            Some(there) if !self.dry_run && decided.targets().next().is_some() => {
                Some(there.hold_collections().await.map_err(CopyError::Open)?)
            }
            _ => None,
        };
        let copied = self.copy_held(
            source,
            &destination,
            (refs, decided),
            there,
            report,
            target,
            hold.as_ref(),
            progress,
        );
        let copied = copied.await;
        release(hold, &copied).await;
        copied
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "it is the second half of one function"
    )]
    async fn copy_held(
        &self,
        source: &Repository,
        destination: &Arc<dyn Storage>,
        (refs, decided): (&SourceRefs, RefPlan),
        there: Option<Repository>,
        mut report: CopyReport,
        target: Target<'_>,
        hold: Option<&CollectionHold>,
        progress: &dyn Progress,
    ) -> Result<CopyReport, CopyError> {
        let plan = self
            .plan(source, refs, &decided, there.as_ref(), progress)
            .await?;
        report.shortened = shortened(&plan);
        if let Some(there) = &there {
            report.ends_at = ends_at(source, there, &plan).await?;
        }
        let bounds = self.bounds.up_to(source.spec_version());
        let transfer = Transfer {
            ledger: source.ledger(),
            source: source.storage(),
            destination,
            target,
            bounds: &bounds,
            dry_run: self.dry_run,
            hold,
            progress,
        };
        transfer.run(&plan, &mut report).await?;
        if target.version == SpecVersion::V1 {
            let config = config_file(source).await?;
            report.config = put_config(config, destination, self.force, self.dry_run).await?;
            report.refs = match there {
                Some(there) if !self.dry_run => {
                    progress.stage("writing refs", None);
                    decided.publish(&there, source).await?
                }
                _ => decided.refs,
            };
        } else {
            let settings = source.ledger().settings().await;
            let settings = settings.map_err(CopyError::SourceRefs)?;
            let snapshots = receive::infos(source, &plan.steps).await?;
            let shortened = plan.steps.iter().filter(|step| step.shortened);
            let brought = receive::Brought {
                snapshots,
                shortened: shortened.map(|step| step.id).collect(),
                settings: &settings,
                deleted: source,
                force: self.force,
            };
            progress.stage("writing refs", None);
            let (refs, set) = brought
                .publish(decided, there.as_ref(), self.dry_run)
                .await?;
            report.refs = refs;
            (report.config, report.metadata, report.flags) = (set.config, set.metadata, set.flags);
        }
        if report.created {
            call_created(&mut report.refs);
        }
        Ok(report)
    }

    /// Finds out what is to be copied.
    async fn plan(
        &self,
        source: &Repository,
        refs: &SourceRefs,
        decided: &RefPlan,
        destination: Option<&Repository>,
        progress: &dyn Progress,
    ) -> Result<Plan, CopyError> {
        let targets: Vec<_> = decided.targets().collect();
        if targets.is_empty() {
            return Ok(Plan::default());
        }
        progress.stage("reading histories", None);
        let there = match destination {
            Some(destination) => reachable(destination).await?,
            None => Vec::new(),
        };
        let is_there = |id: &SnapshotId| there.binary_search(id.as_bytes()).is_ok();
        let mut plan = Plan::read(source, refs.tips(), self.depth, &is_there).await?;
        plan.add_initial(&is_there);
        Ok(plan)
    }
}

/// Returns the configuration of the source as the file of version 1.
async fn config_file(source: &Repository) -> Result<Option<Bytes>, CopyError> {
    if source.spec_version() == SpecVersion::V1 {
        return read_config(source.storage())
            .await
            .map_err(CopyError::Source);
    }
    let settings = source.ledger().settings().await;
    let config = settings.map_err(CopyError::SourceRefs)?.config;
    Ok(config.map(|config| config.encode()).transpose()?)
}

pub(crate) fn shortened(plan: &Plan) -> Vec<SnapshotId> {
    let shortened = plan.steps.iter().filter(|step| step.shortened);
    shortened.map(|step| step.id).collect()
}
