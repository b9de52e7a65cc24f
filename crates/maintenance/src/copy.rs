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

mod error;
pub(crate) mod needs;
pub(crate) mod objects;
pub(crate) mod plan;
pub(crate) mod receive;
pub(crate) mod refs;
mod rewritten;
pub(crate) mod settings;
pub(crate) mod spec_v1;
mod transfer;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::TryStreamExt;
use icefield_core::{CollectionHold, FetchError, RefsError, Repository, RepositoryError, Settings};
use icefield_format::{DecodeLimits, SnapshotId, SpecVersion};
use icefield_refs::{Histories, Pace, Parents};
use icefield_storage::{Bytes, Storage};
use serde::Serialize;

use crate::Progress;
use crate::downgrade::Rewriter;
use crate::listing::{Kind, listed};

pub use error::CopyError;
pub use plan::RefChoice;
pub use refs::{CopiedRef, RefAction};
pub use settings::ConfigAction;

pub(crate) use settings::{MAX_CONFIG_LEN, put_config, read_config};

use objects::Decoded;
use plan::{Plan, SourceRefs, Step, repository_error};
use refs::RefPlan;
use transfer::Transfer;

/// Bytes of cached metadata in the handle on a destination: every object is looked at once.
const CACHE: u64 = 16 << 20;
/// How much is held, and how much is asked for at a time.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) requests: usize,
    pub(crate) memory: usize,
    pub(crate) limits: DecodeLimits,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            requests: 16,
            memory: 64 << 20,
            limits: DecodeLimits::default(),
        }
    }
}

impl Bounds {
    /// The same for files of a repository of a spec version.
    pub(crate) fn up_to(&self, latest: SpecVersion) -> Self {
        let limits = DecodeLimits {
            latest,
            ..self.limits
        };
        Self {
            limits,
            ..self.clone()
        }
    }
}

/// A copy of a repository to another place, or what such a copy would do.
#[derive(Clone, Debug, Default)]
pub struct CopyRepository {
    chosen: Vec<RefChoice>,
    depth: Option<usize>,
    force: bool,
    dry_run: bool,
    spec_version: Option<SpecVersion>,
    bounds: Bounds,
}

/// Objects of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// How many.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Moved {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.objects += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// What a copy did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CopyReport {
    /// Nothing was written: this is what would be.
    pub dry_run: bool,
    /// There was no repository at the destination before.
    pub created: bool,
    /// The version of the format that the destination has.
    pub spec_version: u8,
    /// Chunk objects that were copied.
    pub chunks: Moved,
    /// Manifests that were copied.
    pub manifests: Moved,
    /// Transaction logs that were copied.
    pub transaction_logs: Moved,
    /// Snapshots that were copied.
    pub snapshots: Moved,
    /// What became of the configuration.
    pub config: ConfigAction,
    /// What became of the metadata of the repository. Spec version 2.
    pub metadata: ConfigAction,
    /// What became of the feature flags. Spec version 2.
    pub flags: ConfigAction,
    /// What became of each ref.
    pub refs: Vec<CopiedRef>,
    /// Snapshots whose ancestors were left behind: in the copy they follow the initial snapshot, and their bytes differ
    /// from the source's.
    pub shortened: Vec<SnapshotId>,
    /// Snapshots that were at the destination already, with fewer ancestors than in the source.
    pub ends_at: Vec<SnapshotId>,
    /// Snapshots whose transaction log is missing in the source; reading needs none.
    pub missing_logs: Vec<SnapshotId>,
}

impl CopyRepository {
    /// Returns a copy of everything that is not there yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Copies only these refs, and no tombstones. Without any, all of them.
    #[must_use]
    pub fn refs(mut self, chosen: impl IntoIterator<Item = RefChoice>) -> Self {
        self.chosen = chosen.into_iter().collect();
        self
    }

    /// Copies only the newest snapshots of each ref, so many, at least one. The oldest of them follows the initial
    /// snapshot in the copy, unless its parent is there already.
    #[must_use]
    pub fn depth(mut self, snapshots: usize) -> Self {
        self.depth = Some(snapshots.max(1));
        self
    }

    /// Moves branches of the destination also if they have commits that the source does not, and replaces another
    /// configuration. Tags never move.
    #[must_use]
    pub fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Makes a repository of this version of the format, that of the source or a later one. Default: that of the source. Files
    /// stay as they are in either case: a repository of spec version 2 may have files of version 1.
    #[must_use]
    pub fn spec_version(mut self, version: SpecVersion) -> Self {
        self.spec_version = Some(version);
        self
    }

    /// Writes nothing.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Sets how many objects are on their way at a time, at least one. Default 16.
    #[must_use]
    pub fn requests(mut self, requests: usize) -> Self {
        self.bounds.requests = requests.max(1);
        self
    }

    /// Sets how many bytes the ids of chunks may take. Default 64 MiB. With less, manifests are read more than once.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.bounds.memory = bytes;
        self
    }

    /// Sets the limits for decoding what is copied.
    #[must_use]
    pub fn decode_limits(mut self, limits: DecodeLimits) -> Self {
        self.bounds.limits = limits;
        self
    }

    /// Copies. If there is no repository at the destination, one is created, as
    /// [`RepositoryBuilder::create`](icefield_core::RepositoryBuilder::create) does it.
    ///
    /// # Concurrency
    /// The refs of the source are those of the beginning; what lands later is left for the next run. Several copies to
    /// one destination, and commits there, are safe: each ref is edited on the condition that it is as it was looked
    /// at. Until then nothing refers to what was copied: a collection of garbage at the destination takes it for such,
    /// so its cutoff must be older than the beginning of the copy; one at the source must keep what the copy reads.
    ///
    /// # Errors
    /// The [`CopyError`] that says whether anything is to be decided. What was written stays, and the next run goes on
    /// from there.
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
        self.bounds.up_to(source.spec_version()).limits
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
                let (initial, limits) = (SnapshotId::INITIAL, &bounds.limits);
                let (file, decoded) = objects::read_file(
                    &**source.storage(),
                    Kind::Snapshot,
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
        // What is there already, and what is written before the refs are, must not be taken for garbage.
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

/// What a copy is to be.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    /// The version of the format that the destination has.
    pub(crate) version: SpecVersion,
    /// Writes files anew, if that is an earlier version than the source's.
    pub(crate) rewriter: Option<&'a Rewriter<'a>>,
}

impl Target<'_> {
    /// Returns the file of a snapshot at the destination.
    pub(crate) fn snapshot(
        &self,
        file: Bytes,
        decoded: &Decoded,
        step: &Step,
    ) -> Result<Bytes, CopyError> {
        let Decoded::Snapshot(snapshot) = decoded else {
            unreachable!("BUG: the kind was asked for")
        };
        match self.rewriter {
            Some(rewriter) => rewriter.snapshot(file, snapshot, step),
            // Spec version 2 tells parents elsewhere.
            None if step.shortened && self.version == SpecVersion::V1 => {
                spec_v1::onto_initial(&file, snapshot)
            }
            None => Ok(file),
        }
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

/// Lets collections at the destination go on, unless a ref may yet land.
pub(crate) async fn release<T>(hold: Option<CollectionHold>, copied: &Result<T, CopyError>) {
    if let Some(hold) = hold
        && !matches!(copied, Err(CopyError::RefUnknown { .. }))
    {
        hold.release().await;
    }
}

/// Refuses a copy onto itself.
pub(crate) fn check_places(
    source: &Repository,
    destination: &dyn Storage,
) -> Result<(), CopyError> {
    match (source.storage().place(), destination.place()) {
        (Some(one), Some(other)) if one == other => Err(CopyError::SamePlace {
            location: destination.to_string(),
        }),
        _ => Ok(()),
    }
}

/// Returns the snapshots that refs of a destination reach, ascending. Others may be what a stopped copy or a collection has
/// left, and lack what they need.
pub(crate) async fn reachable(destination: &Repository) -> Result<Vec<[u8; 12]>, CopyError> {
    let ledger = destination.ledger();
    let list = ledger.list().await.map_err(CopyError::DestinationRefs)?;
    let mut histories = Histories::new(Parents(ledger.graph()), Pace::long());
    // A damaged ref reaches nothing: more is copied then, and the ref itself is refused or replaced by name.
    list.tips().for_each(|tip| histories.follow(tip));
    while let Some((_, read)) = histories.next().await {
        match read {
            Ok(_) | Err(RefsError::Fetch(FetchError::Missing { .. } | FetchError::Format(_))) => {}
            Err(error) => return Err(CopyError::DestinationRefs(error)),
        }
    }
    let mut reached = BTreeSet::new();
    for tip in list.tips() {
        // What leads nowhere is not there.
        let (mut own, mut is_whole) = (Vec::new(), false);
        for (id, parent) in histories.of(tip) {
            is_whole = parent.is_none() || reached.contains(id.as_bytes());
            own.push(*id.as_bytes());
            if is_whole {
                break;
            }
        }
        if is_whole {
            reached.extend(own);
        }
    }
    reached.insert(*SnapshotId::INITIAL.as_bytes());
    Ok(reached.into_iter().collect())
}

/// Lists the snapshots of a destination, ascending.
pub(crate) async fn snapshots(destination: &dyn Storage) -> Result<Vec<[u8; 12]>, CopyError> {
    let list = async {
        let objects = listed(destination, Kind::Snapshot, [0; 12])?;
        objects.map_ok(|(id, _)| id).try_collect().await
    };
    list.await.map_err(CopyError::Destination)
}

pub(crate) fn shortened(plan: &Plan) -> Vec<SnapshotId> {
    let shortened = plan.steps.iter().filter(|step| step.shortened);
    shortened.map(|step| step.id).collect()
}

/// Opens the destination; none if it is not there yet.
pub(crate) async fn open(
    source: &Repository,
    destination: &Arc<dyn Storage>,
) -> Result<Option<Repository>, CopyError> {
    match builder(source, destination).open().await {
        Ok(there) => Ok(Some(there)),
        Err(RepositoryError::NotFound { .. }) => Ok(None),
        Err(error) => Err(CopyError::Open(error)),
    }
}

fn builder(
    source: &Repository,
    destination: &Arc<dyn Storage>,
) -> icefield_core::RepositoryBuilder {
    Repository::builder(Arc::clone(destination))
        .settings(Settings::default().with_cache_bytes(CACHE))
        .clock(Arc::clone(source.clock()))
        .entropy(source.entropy().derive())
}

/// Main of a new repository was left at the initial snapshot, to be moved: that is part of its creation.
pub(crate) fn call_created(refs: &mut [CopiedRef]) {
    for said in refs
        .iter_mut()
        .filter(|said| said.action == RefAction::Moved)
    {
        said.action = RefAction::Created;
    }
}

/// Returns those of the snapshots that were passed over which have fewer ancestors here than in the source.
async fn ends_at(
    source: &Repository,
    there: &Repository,
    plan: &Plan,
) -> Result<Vec<SnapshotId>, CopyError> {
    let mut ends = Vec::new();
    for id in plan.bases.iter().filter(|id| **id != SnapshotId::INITIAL) {
        let ours = source.snapshot_info(*id).await.map_err(repository_error)?;
        let theirs = there.snapshot_info(*id).await.map_err(CopyError::Open)?;
        if ours.parent_id != theirs.parent_id && theirs.parent_id == Some(SnapshotId::INITIAL) {
            ends.push(*id);
        }
    }
    Ok(ends)
}
