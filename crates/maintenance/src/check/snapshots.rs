//! One snapshot of a history, as far as it is not what its parent is: whoever checks all of them has checked everything
//! once, however many snapshots share a manifest.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{
    Extents, Manifest, ManifestFileInfo, ManifestId, NodeId, NodeRecord, Snapshot, SnapshotId,
    VirtualLocation, layout,
};

use super::compare::{Fresh, Told, in_both, survey};
use super::finding::{Finding, FindingKind};
use super::foreign::{ForeignNeed, ForeignNeeds, VirtualChunks};
use super::logs::{self, Logged};
use super::needed::{Need, Needed};
use super::objects::{Broken, Objects, StoredManifest};
use super::{CheckError, nodes};

/// Manifests fetched at a time.
const FETCHES: usize = 4;
/// Bytes of manifests that are looked through about as fast as another thread takes over.
const AT_ONCE: usize = 256 << 10;

/// What the checks of all snapshots share.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) objects: Arc<Objects>,
    /// None if nobody knows the configuration.
    pub(super) containers: Option<Arc<Vec<VirtualLocation>>>,
    /// Whether foreign objects are to be looked at.
    pub(super) follow: bool,
    pub(super) needed: Mutex<Needed>,
    /// Who needs a chunk object.
    pub(super) sources: Mutex<Vec<(SnapshotId, NodeId)>>,
    pub(super) foreign: Mutex<ForeignNeeds>,
}

/// A snapshot to check.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) snapshot: Arc<Snapshot>,
    /// What it is compared with; without one, all of it is checked.
    pub(super) parent: Option<Arc<Snapshot>>,
    /// Whether it must have a transaction log.
    pub(super) log: bool,
}

/// What came of a snapshot.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) findings: Vec<Finding>,
    /// Manifests that the parent does not have.
    pub(super) manifests: Vec<ManifestId>,
    pub(super) logs: u64,
    pub(super) virtual_chunks: u64,
    /// Whether a manifest could not be read.
    pub(super) unread: bool,
}

/// Checks one snapshot.
pub(super) async fn check(cx: &Context, job: &Job) -> Result<Verdict, CheckError> {
    let mut verdict = Verdict::default();
    let (snapshot, parent) = (&*job.snapshot, job.parent.as_deref());
    nodes::check(snapshot, parent, &mut verdict.findings);
    let logged = match job.log {
        true => log(cx, job, &mut verdict).await?,
        false => None,
    };
    let known = |id: &ManifestId| parent.is_some_and(|it| it.manifest_file(id).is_some());
    let files = snapshot.manifest_files().map(|info| info.id);
    verdict.manifests = files.filter(|id| !known(id)).collect();
    let mut check = SnapshotCheck {
        cx,
        job,
        logged: logged.as_ref(),
        looked: HashSet::new(),
        here: OnceCell::new(),
        before: OnceCell::new(),
        verdict,
    };
    for record in snapshot.nodes() {
        if record.array().is_some() {
            check.array(record).await?;
        }
    }
    check.unused().await?;
    Ok(check.verdict)
}

async fn log(cx: &Context, job: &Job, verdict: &mut Verdict) -> Result<Option<Logged>, CheckError> {
    let id = job.snapshot.id();
    match cx.objects.log(id).await? {
        Ok(log) => {
            verdict.logs += 1;
            let parent = job.parent.as_deref();
            let findings = &mut verdict.findings;
            Ok(Some(logs::check(&log, parent, &job.snapshot, findings)))
        }
        Err(broken) => {
            let kind = match broken {
                Broken::Missing => FindingKind::LogMissing,
                Broken::Damaged(_) => FindingKind::LogDamaged,
            };
            let key = layout::transaction_log_key(id);
            let finding = Finding::new(kind, key, broken.to_string());
            verdict.findings.push(finding.of(id));
            Ok(None)
        }
    }
}

struct SnapshotCheck<'a> {
    cx: &'a Context,
    job: &'a Job,
    logged: Option<&'a Logged>,
    /// Manifests that were held against what the snapshot says of them.
    looked: HashSet<ManifestId>,
    here: OnceCell<HashSet<NodeId>>,
    /// The parent's nodes, by id.
    before: OnceCell<HashMap<NodeId, usize>>,
    verdict: Verdict,
}

impl<'a> SnapshotCheck<'a> {
    fn find(&mut self, finding: Finding) {
        self.verdict
            .findings
            .push(finding.of(self.job.snapshot.id()));
    }

    /// The same node in the parent, wherever it was.
    fn before(&self, record: &NodeRecord<'_>) -> Option<NodeRecord<'a>> {
        let parent = self.job.parent.as_deref()?;
        if let Some(same) = parent.node(&record.node_path())
            && same.id() == record.id()
        {
            return Some(same);
        }
        let by_id = self.before.get_or_init(|| {
            let ids = parent.nodes().map(|node| node.id());
            ids.zip(0..).collect()
        });
        by_id
            .get(&record.id())
            .map(|position| parent.node_at(*position))
    }

    async fn array(&mut self, record: NodeRecord<'_>) -> Result<(), CheckError> {
        let list = |record: &NodeRecord<'_>| -> Vec<(ManifestId, Extents)> {
            let manifests = record
                .array()
                .into_iter()
                .flat_map(|array| array.manifests());
            manifests.map(|it| (it.id(), it.extents())).collect()
        };
        let before = self.before(&record);
        let now = list(&record);
        let then = before.as_ref().map(&list).unwrap_or_default();
        let same_document = before.is_some_and(|before| before.user_data() == record.user_data());
        if now == then && same_document {
            return Ok(());
        }
        let grid = nodes::grid(&record);
        let id_set = |list: &[(ManifestId, Extents)]| -> HashSet<ManifestId> {
            list.iter().map(|(id, _)| *id).collect()
        };
        let (now_ids, then_ids) = (id_set(&now), id_set(&then));
        let gone: Vec<ManifestId> = (then.iter().map(|(id, _)| *id))
            .filter(|id| !now_ids.contains(id))
            .collect();
        let told = self.told(&record);
        self.overlaps(&record, &now, &then_ids).await?;
        let mut fresh = Fresh::new(
            grid.clone(),
            VirtualChunks::new(self.cx.containers.clone(), self.cx.follow),
        );
        // With nothing to compare them with, manifests are looked at one by one.
        let together = !gone.is_empty();
        let (mut new, mut readable) = (Vec::new(), true);
        let cx = self.cx;
        let fetches = now
            .into_iter()
            .filter(|it| !then.contains(it) || !same_document);
        let mut fetches = stream::iter(fetches)
            .map(|(id, extents)| async move {
                Ok::<_, CheckError>((id, extents, cx.objects.manifest(id).await?))
            })
            .buffered(FETCHES);
        while let Some((id, extents, read)) = fetches.try_next().await? {
            let is_new = !then_ids.contains(&id);
            let Some(stored) = self.look_at(id, Some(&record), read, is_new) else {
                readable = false;
                continue;
            };
            self.survey(&record, &stored.manifest, &extents, grid.as_deref());
            if !is_new {
                continue;
            }
            if together {
                new.push(stored.manifest);
            } else {
                fresh = compare(
                    fresh,
                    record.id(),
                    vec![stored.manifest],
                    Vec::new(),
                    told.as_ref(),
                )
                .await?;
            }
        }
        drop(fetches);
        if together {
            let mut old = Vec::with_capacity(gone.len());
            for id in gone {
                match cx.objects.manifest(id).await? {
                    Ok(stored) => old.push(stored.manifest),
                    // Told where it belongs: at the parent.
                    Err(_) => readable = false,
                }
            }
            let told = told.filter(|_| readable);
            fresh = compare(fresh, record.id(), new, old, told.as_ref()).await?;
        }
        self.keep(&record, fresh);
        Ok(())
    }

    /// What the log says of an array's chunks, if all changes must be in it.
    fn told(&self, record: &NodeRecord<'_>) -> Option<Told> {
        let logged = self.logged.filter(|logged| logged.complete)?;
        Some(Told {
            chunks: logged.chunks(&record.id()),
            resized: logged.resized.contains(&record.id()),
        })
    }

    /// Hands on what came new.
    fn keep(&mut self, record: &NodeRecord<'_>, fresh: Fresh) {
        let snapshot = self.job.snapshot.id();
        if fresh.unsaid.count > 0 {
            let key = layout::transaction_log_key(snapshot);
            let rule = "it does not tell that these chunks changed";
            let finding = Finding::new(FindingKind::LogIncomplete, key, rule);
            let finding = finding.at(record.path());
            self.find(finding.chunks(&fresh.unsaid.first, fresh.unsaid.count));
        }
        self.verdict.virtual_chunks += fresh.foreign.count;
        let faults = fresh.foreign.findings(snapshot, record.path());
        self.verdict.findings.extend(faults);
        if !fresh.foreign.needs.is_empty() {
            let path: Arc<str> = record.path().into();
            let mut all = self
                .cx
                .foreign
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            for (object, need) in fresh.foreign.needs {
                let user = Some((snapshot, Arc::clone(&path)));
                let chunks = need.chunks;
                let entry = all.entry(object).or_insert(ForeignNeed {
                    user,
                    chunks: 0,
                    ..need.clone()
                });
                entry.end = entry.end.max(need.end);
                entry.chunks += chunks;
            }
        }
        if fresh.native.is_empty() {
            return;
        }
        let source = {
            let mut sources = self
                .cx
                .sources
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            sources.push((snapshot, record.id()));
            u32::try_from(sources.len() - 1).unwrap_or(u32::MAX)
        };
        let mut needed = self
            .cx
            .needed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for (id, end) in fresh.native {
            needed.add(Need { id, source, end });
        }
    }

    /// Holds a manifest against what the snapshot says of it, once.
    fn look_at(
        &mut self,
        id: ManifestId,
        user: Option<&NodeRecord<'_>>,
        read: Result<StoredManifest, Broken>,
        is_new: bool,
    ) -> Option<StoredManifest> {
        let key = layout::manifest_key(id);
        let info = self.job.snapshot.manifest_file(&id);
        let stored = match read {
            Ok(stored) => stored,
            Err(broken) => {
                self.verdict.unread = true;
                if is_new {
                    let kind = match broken {
                        Broken::Missing => FindingKind::ManifestMissing,
                        Broken::Damaged(_) => FindingKind::ManifestDamaged,
                    };
                    let mut finding = Finding::new(kind, key, broken.to_string());
                    finding.count = info.map_or(1, |info| u64::from(info.num_chunk_refs));
                    finding.path = user.map(|record| record.path().to_owned());
                    self.find(finding);
                }
                return None;
            }
        };
        if let Some(info) = info
            && is_new
            && self.looked.insert(id)
        {
            self.file(&key, info, &stored);
        }
        Some(stored)
    }

    fn file(&mut self, key: &str, info: ManifestFileInfo, stored: &StoredManifest) {
        let (size, refs) = (stored.file_len, stored.manifest.total_refs());
        if size != info.size_bytes {
            let rule = format!(
                "it has {size} bytes, and the snapshot says {}",
                info.size_bytes
            );
            self.find(Finding::new(FindingKind::ManifestSize, key, rule));
        }
        if refs != u64::from(info.num_chunk_refs) {
            let rule = format!(
                "it has {refs} chunk refs, and the snapshot says {}",
                info.num_chunk_refs
            );
            self.find(Finding::new(FindingKind::ManifestCount, key, rule));
        }
        let snapshot = &self.job.snapshot;
        let here = self
            .here
            .get_or_init(|| snapshot.nodes().map(|node| node.id()).collect());
        let strangers = stored
            .manifest
            .arrays()
            .filter(|array| !here.contains(&array.node_id()));
        let strangers: Vec<_> = strangers
            .map(|array| (array.node_id(), array.len()))
            .collect();
        if let Some((first, _)) = strangers.first() {
            let rule = format!("it has refs of node {first}, which the snapshot does not have");
            let count = strangers.iter().map(|(_, refs)| *refs as u64).sum();
            let finding = Finding::new(FindingKind::ManifestUnknownNode, key, rule);
            self.find(finding.times(count));
        }
    }

    fn survey(
        &mut self,
        record: &NodeRecord<'_>,
        manifest: &Manifest,
        extents: &Extents,
        grid: Option<&[u32]>,
    ) {
        let rank = record.array().map_or(0, |array| array.rank());
        let found = survey(manifest.array(&record.id()), extents, rank, grid);
        let key = layout::manifest_key(manifest.id());
        for (kind, several, rule) in [
            (
                FindingKind::ExtentsTooSmall,
                found.outside_extents,
                format!("the extents {extents} do not cover them"),
            ),
            (
                FindingKind::ChunkOutsideGrid,
                found.outside_grid,
                format!("the array has {:?} chunks", grid.unwrap_or_default()),
            ),
            (
                FindingKind::ChunkWrongRank,
                found.wrong_rank,
                format!("the array has {rank} dimensions"),
            ),
        ] {
            if several.count > 0 {
                let finding = Finding::new(kind, &key, rule).at(record.path());
                self.find(finding.chunks(&several.first, several.count));
            }
        }
        if found.is_loose {
            let rule = format!("the extents {extents} claim more than there is");
            let finding = Finding::new(FindingKind::ExtentsTooLarge, &key, rule);
            self.find(finding.at(record.path()));
        }
    }

    /// No two manifests of an array have a chunk in common, nor do their extents.
    async fn overlaps(
        &mut self,
        record: &NodeRecord<'_>,
        now: &[(ManifestId, Extents)],
        then: &HashSet<ManifestId>,
    ) -> Result<(), CheckError> {
        let mut pairs = Vec::new();
        for (at, (id, extents)) in now.iter().enumerate() {
            for (other, theirs) in &now[..at] {
                let is_new = !then.contains(id) || !then.contains(other);
                if is_new && (extents.intersects(theirs) || id == other) {
                    pairs.push((*id, *other, extents));
                }
            }
        }
        for (id, other, extents) in pairs {
            let key = layout::manifest_key(id);
            let rule = format!("its extents {extents} overlap those of manifest {other}");
            let finding = Finding::new(FindingKind::ExtentsOverlap, &key, rule);
            self.find(finding.at(record.path()));
            if id == other {
                continue;
            }
            let read = (
                self.cx.objects.manifest(id).await?,
                self.cx.objects.manifest(other).await?,
            );
            let (Ok(one), Ok(two)) = read else { continue };
            let twice = in_both(&one.manifest, &two.manifest, &record.id());
            if twice.count > 0 {
                let rule = format!("manifest {other} of the same array has them, too");
                let finding = Finding::new(FindingKind::ChunkTwice, key, rule).at(record.path());
                self.find(finding.chunks(&twice.first, twice.count));
            }
        }
        Ok(())
    }

    /// Looks for new manifests that no array names.
    async fn unused(&mut self) -> Result<(), CheckError> {
        let new = self.verdict.manifests.clone();
        if new.is_empty() {
            return Ok(());
        }
        let arrays = self.job.snapshot.nodes().filter_map(|node| node.array());
        let used: BTreeSet<ManifestId> = arrays
            .flat_map(|array| array.manifests())
            .map(|it| it.id())
            .collect();
        for id in new.into_iter().filter(|id| !used.contains(id)) {
            let key = layout::manifest_key(id);
            let rule = "the snapshot lists it, and none of its arrays names it";
            self.find(Finding::new(FindingKind::ManifestUnused, key, rule));
            let read = self.cx.objects.manifest(id).await?;
            self.look_at(id, None, read, true);
        }
        Ok(())
    }
}

/// Compares on a thread that may take its time, if it takes time.
async fn compare(
    mut fresh: Fresh,
    node: NodeId,
    new: Vec<Arc<Manifest>>,
    old: Vec<Arc<Manifest>>,
    told: Option<&Told>,
) -> Result<Fresh, CheckError> {
    let bytes: usize = new.iter().chain(&old).map(|it| it.body_len()).sum();
    let runtime = tokio::runtime::Handle::try_current();
    match (runtime, bytes > AT_ONCE) {
        (Ok(runtime), true) => {
            let told = told.map(|told| Told {
                chunks: told.chunks.clone(),
                resized: told.resized,
            });
            let work = move || {
                fresh.compare(&node, &new, &old, told.as_ref());
                fresh
            };
            let done = runtime.spawn_blocking(work).await;
            done.map_err(|error| CheckError::Aborted(error.to_string()))
        }
        _ => {
            fresh.compare(&node, &new, &old, told);
            Ok(fresh)
        }
    }
}
