//! A check under way: its stages, and what they hand to each other.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{ManifestId, NodeId, SnapshotId, layout};
use icefield_refs::{BranchName, Misspelled};

use super::chunks::{self, BadChunks, Problem};
use super::collected::{CheckReport, Collected, Garbage, Proposal};
use super::damage;
use super::finding::{Finding, FindingKind};
use super::foreign::{self, BadForeign, ForeignNeeds, Locations};
use super::histories::{HistoryWalk, Target};
use super::needed::Needed;
use super::objects::{Objects, Parents};
use super::root::Root;
use super::snapshots::{self, Context, Job, Verdict};
use super::strays::{self, Reached};
use super::{Check, CheckError, Examined, lost, refs, repo, unlisted};
use crate::Progress;

/// Snapshots checked at a time.
const WORKERS: usize = 4;

/// Bytes of a needed chunk in memory.
const NEED_BYTES: usize = 24;

/// The state of a check.
pub(super) struct Run<'a> {
    check: &'a Check,
    progress: &'a dyn Progress,
    objects: Arc<Objects>,
    targets: Vec<Target>,
    root: Root,
    parents: Parents,
    locations: Arc<Locations>,
    collected: Collected,
    report: CheckReport,
    bad: BadChunks,
    bad_foreign: BadForeign,
    garbage: Garbage,
    manifests: HashSet<ManifestId>,
    /// Snapshots of histories, with their parents.
    seen: HashMap<SnapshotId, Option<SnapshotId>>,
    /// Those among them that no ref reaches.
    detached: HashSet<SnapshotId>,
    /// Those among them that cannot be read.
    broken: HashSet<SnapshotId>,
    lost: BTreeMap<BranchName, Option<SnapshotId>>,
    misspelled: Vec<Misspelled>,
    /// Whether there may be refs that cannot be read.
    may_have_more: bool,
}

impl<'a> Run<'a> {
    /// Reads the refs.
    pub(super) async fn begin(
        check: &'a Check,
        progress: &'a dyn Progress,
    ) -> Result<Self, CheckError> {
        progress.stage("reading refs", None);
        let storage = Arc::clone(&check.storage);
        let cache = check.memory_bytes as u64 / 2;
        let root = Root::look(&storage).await?;
        let objects = Objects::new(storage, cache, root.limits(check.limits));
        let objects = Arc::new(objects);
        let found = match &root {
            Root::Files => refs::read(&check.storage, &objects).await?,
            Root::Object(root) => {
                let now = check.clock.now();
                repo::read(&check.storage, root, now).await?
            }
        };
        let mut collected = Collected::new(check.most_findings);
        let whole = check.only.is_none();
        for finding in found.findings {
            if whole || finding.kind.is_general() {
                collected.add(finding);
            }
        }
        let (targets, lost) = match &check.only {
            None => (found.targets, found.lost),
            Some((name, snapshot)) => {
                let (name, key, snapshot) = (name.clone(), name.clone(), *snapshot);
                (
                    vec![Target {
                        name,
                        key,
                        snapshot,
                    }],
                    Vec::new(),
                )
            }
        };
        Ok(Self {
            check,
            progress,
            objects,
            locations: Arc::new(Locations::new(found.config.as_ref(), root.version())),
            parents: found.parents,
            collected,
            report: CheckReport {
                spec_version: root.version() as u8,
                refs: if whole { found.count } else { 1 },
                chunks_read: check.read,
                ..CheckReport::default()
            },
            targets,
            bad: BadChunks::new(),
            bad_foreign: BadForeign::new(),
            garbage: Garbage {
                certain: true,
                ..Garbage::default()
            },
            manifests: HashSet::new(),
            seen: HashMap::new(),
            detached: HashSet::new(),
            broken: HashSet::new(),
            lost: lost.into_iter().map(|name| (name, None)).collect(),
            misspelled: match whole {
                true => found.misspelled,
                false => Vec::new(),
            },
            may_have_more: found.may_have_more,
            root,
        })
    }

    /// Whether garbage and strays are looked for: only a check that follows every ref can tell what is not needed.
    fn is_whole(&self) -> bool {
        self.check.only.is_none() && self.check.histories
    }

    /// Goes through all stages.
    pub(super) async fn finish(mut self) -> Result<Examined, CheckError> {
        let mut from = [0; 12];
        let mut is_first = true;
        loop {
            let next = self.pass(from, is_first).await?;
            is_first = false;
            match next {
                Some(next) => from = next,
                None => break,
            }
        }
        self.dangling_branches();
        let mut unreached = Vec::new();
        if self.is_whole() {
            unreached = self.strays().await?;
        }
        self.unlisted(&unreached).await?;
        self.propose(unreached).await?;
        if self.collected.is_worth_a_look() {
            self.mark_tips().await?;
        }
        self.name_refs();
        if self.report.virtual_chunks > 0 && self.check.virtual_chunks.is_none() {
            let count = self.report.virtual_chunks;
            let rule = "whether their files are there and unchanged was not looked at";
            let finding = Finding::new(FindingKind::VirtualCounted, "", rule);
            self.collected.add(finding.times(count));
        }
        let Self {
            collected,
            mut report,
            objects,
            targets,
            seen,
            bad,
            bad_foreign,
            lost,
            misspelled,
            root,
            parents,
            locations,
            ..
        } = self;
        collected.write_into(&mut report);
        Ok(Examined {
            report,
            objects,
            targets,
            seen,
            bad,
            bad_foreign,
            lost,
            misspelled,
            root,
            parents,
            locations,
        })
    }

    fn context(&self, needed: Needed) -> Context {
        Context {
            objects: Arc::clone(&self.objects),
            locations: Arc::clone(&self.locations),
            follow: self.check.virtual_chunks.is_some(),
            needed: Mutex::new(needed),
            sources: Mutex::default(),
            foreign: Mutex::default(),
        }
    }

    /// Walks all histories, judging only the first time, and compares a part of the chunks that they need with those
    /// that are there. Returns where the next pass begins.
    async fn pass(
        &mut self,
        from: [u8; 12],
        is_first: bool,
    ) -> Result<Option<[u8; 12]>, CheckError> {
        self.progress.stage("checking snapshots", None);
        let most = self.check.memory_bytes / 2 / NEED_BYTES;
        let cx = Arc::new(self.context(Needed::new(from, most)));
        let mut walk = HistoryWalk::new(
            Arc::clone(&self.objects),
            self.parents.clone(),
            &self.targets,
            self.check.histories,
        );
        if self.is_whole() {
            walk = walk.with_listed();
        }
        let walk = Arc::new(tokio::sync::Mutex::new(walk));
        let jobs = stream::try_unfold(Arc::clone(&walk), |walk| async move {
            let job = walk.lock().await.next().await?;
            Ok::<_, CheckError>(job.map(|job| (job, walk)))
        });
        let verdicts = jobs.map_ok(|job| check_on_any_thread(Arc::clone(&cx), job));
        // Its type is hidden, so that the compiler sees that a check may run on any thread.
        let mut verdicts = verdicts.try_buffered(WORKERS).boxed();
        while let Some(verdict) = verdicts.try_next().await? {
            self.progress.advance(1, 0);
            if is_first {
                self.take(verdict);
                let foreign = std::mem::take(&mut *lock(&cx.foreign));
                if foreign.len() > foreign::MOST_TOGETHER {
                    self.look_at_foreign(foreign).await?;
                } else {
                    *lock(&cx.foreign) = foreign;
                }
            }
        }
        drop(verdicts);
        let walk = Arc::into_inner(walk).expect("BUG: the stream that had it is gone");
        let walk = walk.into_inner();
        if is_first {
            walk.findings
                .into_iter()
                .for_each(|it| self.collected.add(it));
            self.report.snapshots = walk.seen.len() as u64;
            self.report.detached = walk.detached;
            self.report.manifests = self.manifests.len() as u64;
            self.seen = walk.seen;
            self.broken = walk.broken;
            let foreign = std::mem::take(&mut *lock(&cx.foreign));
            self.look_at_foreign(foreign).await?;
        }
        let sources = std::mem::take(&mut *lock(&cx.sources));
        let needed = std::mem::replace(&mut *lock(&cx.needed), Needed::new([0; 12], 2));
        self.chunks(needed, from, &sources).await
    }

    fn take(&mut self, verdict: Verdict) {
        self.report.transaction_logs += verdict.logs;
        self.report.virtual_chunks += verdict.virtual_chunks;
        self.garbage.certain &= !verdict.unread;
        self.manifests.extend(verdict.manifests);
        self.detached.extend(verdict.detached);
        for finding in verdict.findings {
            self.collected.add(match verdict.detached {
                Some(_) => finding.of_detached(),
                None => finding,
            });
        }
    }

    async fn look_at_foreign(&mut self, needs: ForeignNeeds) -> Result<(), CheckError> {
        let Some(repository) = self
            .check
            .virtual_chunks
            .as_ref()
            .filter(|_| !needs.is_empty())
        else {
            return Ok(());
        };
        self.progress
            .stage("looking at foreign objects", Some(needs.len() as u64));
        self.report.foreign_objects += needs.len() as u64;
        let found = foreign::look(repository, needs, &mut self.bad_foreign, self.progress).await?;
        for finding in found {
            let of = finding.snapshot.as_ref();
            self.collected
                .add(match of.is_some_and(|id| self.detached.contains(id)) {
                    true => finding.of_detached(),
                    false => finding,
                });
        }
        Ok(())
    }

    /// Compares needed chunks with those that are there.
    async fn chunks(
        &mut self,
        needed: Needed,
        from: [u8; 12],
        sources: &[(SnapshotId, NodeId)],
    ) -> Result<Option<[u8; 12]>, CheckError> {
        let (needs, below) = needed.finish();
        if needs.is_empty() && !self.is_whole() {
            return Ok(below);
        }
        let (storage, progress) = (&self.check.storage, self.progress);
        progress.stage("comparing chunks", None);
        let mut compared = chunks::compare(storage, &needs, from, below, progress).await?;
        self.report.chunks += compared.objects;
        self.report.chunk_bytes += compared.bytes;
        if self.is_whole() {
            let (objects, bytes) = (compared.garbage_objects, compared.garbage_bytes);
            self.garbage.add(layout::CHUNKS, objects, bytes);
            let strays = std::mem::take(&mut compared.strays);
            strays.into_iter().for_each(|it| self.collected.add(it));
        }
        self.remember(&compared.bad);
        if self.check.read {
            progress.stage("reading chunks", Some(compared.objects));
            let unreadable = chunks::read_all(storage, &needs, &self.bad, progress).await?;
            self.remember(&unreadable);
            compared.bad.extend(unreadable);
        }
        let findings = damage::explain(&self.objects, sources, &compared.bad).await?;
        for (finding, bad) in findings.into_iter().zip(&compared.bad) {
            self.collected.add(match bad.need.detached {
                true => finding.of_detached(),
                false => finding,
            });
        }
        Ok(below)
    }

    fn remember(&mut self, bad: &[chunks::BadChunk]) {
        for chunk in bad {
            let size = match chunk.problem {
                Problem::Short(size) => Some(size),
                Problem::Missing | Problem::Unreadable(_) => None,
            };
            self.bad.insert(chunk.need.chunk(), size);
        }
    }

    /// Branches that point to what is no snapshot are lost, too.
    fn dangling_branches(&mut self) {
        let dangling = self
            .targets
            .iter()
            .filter(|it| !self.seen.contains_key(&it.snapshot));
        let names = dangling.filter_map(|it| it.name.strip_prefix("branch:"));
        let names: Vec<BranchName> = names.filter_map(|it| BranchName::parse(it).ok()).collect();
        self.lost.extend(names.into_iter().map(|name| (name, None)));
    }

    /// Returns the snapshots that no ref reaches.
    async fn strays(&mut self) -> Result<Vec<SnapshotId>, CheckError> {
        self.progress.stage("looking for strays", None);
        let snapshots: HashSet<SnapshotId> =
            self.seen.keys().chain(&self.broken).copied().collect();
        let listed = match &self.parents {
            Parents::Listed(info) => Some(info.snapshots().snapshots()),
            _ => None,
        };
        let listed = listed.into_iter().flatten();
        let pruned = listed.flat_map(|it| it.pruned_ancestor_tx_logs()).collect();
        let reached = Reached {
            snapshots: &snapshots,
            manifests: &self.manifests,
            pruned: &pruned,
            ref_files: matches!(self.root, Root::Files),
        };
        let others = strays::look(&self.check.storage, &reached, self.progress).await?;
        others
            .findings
            .into_iter()
            .for_each(|it| self.collected.add(it));
        for (prefix, found) in others.garbage.by_prefix {
            self.garbage.add(&prefix, found.objects, found.bytes);
        }
        // Without its refs and snapshots, it is not known what a repository needs.
        let is_settled = match &self.root {
            Root::Files => true,
            Root::Object(root) => root.wrong.is_none() && !root.unsettled,
        };
        self.garbage.certain &=
            is_settled && self.broken.is_empty() && self.lost.is_empty() && !self.may_have_more;
        if self.garbage.objects > 0 {
            let (objects, bytes) = (self.garbage.objects, self.garbage.bytes);
            let rule = match self.garbage.certain {
                true => format!("they have {bytes} bytes"),
                false => format!(
                    "they have {bytes} bytes; some may belong to what is damaged: collect nothing before that is mended"
                ),
            };
            let finding = Finding::new(FindingKind::Garbage, "", rule);
            self.collected.add(finding.times(objects));
        }
        self.report.garbage = Some(std::mem::take(&mut self.garbage));
        Ok(others.snapshots)
    }

    /// Names what may have been committed after the state that the check goes by, where that is a backup, or was one when it was put
    /// back.
    async fn unlisted(&mut self, unreached: &[SnapshotId]) -> Result<(), CheckError> {
        let Root::Object(root) = &self.root else {
            return Ok(());
        };
        let Some(info) = root
            .info
            .as_ref()
            .filter(|_| root.wrong.is_some() || root.unsettled)
        else {
            return Ok(());
        };
        let cx = self.context(Needed::new([0xFF; 12], 2));
        let looked = unlisted::look(&cx, info, unreached, self.check.most_unlisted).await?;
        for one in &looked.found {
            self.collected.add(one.finding());
        }
        if looked.left_out > 0 {
            let rule = "they are too many to be compared: settle those before them first";
            let finding = Finding::new(FindingKind::SnapshotUnlisted, layout::SNAPSHOTS, rule);
            self.collected.add(finding.times(looked.left_out));
        }
        let listed = info.snapshots();
        let left = unreached.iter().filter(|id| !listed.contains(id)).count();
        if root.wrong.is_none() && left > 0 {
            let rule = "`repo` was put back from a backup, and does not list these snapshots";
            let finding = Finding::new(FindingKind::PutBackUnsettled, layout::REPO, rule);
            self.collected.add(finding.times(left as u64));
        }
        self.report.unlisted = looked.found;
        Ok(())
    }

    /// Looks for places where lost branches could be made again.
    async fn propose(&mut self, unreached: Vec<SnapshotId>) -> Result<(), CheckError> {
        if self.lost.is_empty() || !self.is_whole() {
            return Ok(());
        }
        let reached = lost::of_branches(&self.targets, &self.seen);
        // What only tags reach may be what a branch stood on.
        let stored = self.seen.keys().copied().chain(unreached);
        let candidate = lost::candidate(&self.objects, &self.parents, stored, &reached).await?;
        let pointing: BTreeMap<&str, SnapshotId> = (self.targets.iter())
            .map(|it| (&*it.name, it.snapshot))
            .collect();
        let damaged: BTreeSet<String> = self.collected.damaged_refs();
        for (name, place) in &mut self.lost {
            let label = format!("branch:{name}");
            let candidate = match (&self.parents, pointing.get(&*label)) {
                // Nothing outside of its own history can be what the branch was.
                (Parents::Listed(info), Some(target)) => {
                    lost::ancestor(&self.objects, info, *target, &reached).await?
                }
                _ => candidate,
            };
            *place = candidate.map(|it| it.snapshot);
            self.report.proposals.push(Proposal {
                lost: !pointing.contains_key(&*label) && !damaged.contains(&label),
                branch: name.to_string(),
                snapshot: candidate.map(|it| it.snapshot),
                certain: candidate.is_some_and(|it| it.certain) && !self.may_have_more,
            });
        }
        Ok(())
    }

    /// Says of each finding which refs show it now.
    async fn mark_tips(&mut self) -> Result<(), CheckError> {
        let mut by_tip: BTreeMap<SnapshotId, Vec<String>> = BTreeMap::new();
        for target in &self.targets {
            by_tip
                .entry(target.snapshot)
                .or_default()
                .push(target.name.clone());
        }
        // What is needed is known by now.
        let cx = self.context(Needed::new([0xFF; 12], 2));
        for (tip, names) in by_tip {
            let Ok(snapshot) = self.objects.snapshot(tip).await? else {
                continue;
            };
            let damage = damage::at(&cx, &snapshot, &self.bad, &self.bad_foreign).await?;
            for finding in self.collected.findings_mut() {
                if damage.marks.contains(&finding.mark()) {
                    finding.tips.extend(names.iter().cloned());
                }
            }
        }
        Ok(())
    }

    /// Says of each finding which refs lead to it.
    fn name_refs(&mut self) {
        let mut about: HashMap<SnapshotId, Vec<usize>> = HashMap::new();
        for (at, finding) in self.collected.findings_mut().iter().enumerate() {
            if let Some(snapshot) = finding.snapshot {
                about.entry(snapshot).or_default().push(at);
            }
        }
        let findings = self.collected.findings_mut();
        for target in &self.targets {
            let mut passed = HashSet::new();
            let mut next = Some(target.snapshot);
            while let Some(id) = next.filter(|id| passed.insert(*id)) {
                for at in about.get(&id).into_iter().flatten() {
                    if !findings[*at].refs.contains(&target.name) {
                        findings[*at].refs.push(target.name.clone());
                    }
                }
                next = self.seen.get(&id).copied().flatten();
            }
        }
        for finding in findings {
            for names in [&mut finding.refs, &mut finding.tips] {
                names.sort_unstable();
                names.dedup();
            }
        }
    }
}

/// Checks a snapshot, where there is a runtime on one of its threads.
async fn check_on_any_thread(cx: Arc<Context>, job: Job) -> Result<Verdict, CheckError> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => {
            let task = runtime.spawn(async move { snapshots::check(&cx, &job).await });
            task.await
                .map_err(|error| CheckError::Aborted(error.to_string()))?
        }
        Err(_) => snapshots::check(&cx, &job).await,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
