//! A check under way: its stages, and what they hand to each other.

mod conclude;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{ManifestId, NodeId, SnapshotId, layout};
use icefield_refs::{BranchName, Misspelled};

use super::chunk_list::{self, ChunkList};
use super::chunks::{self, BadChunks, Problem};
use super::collected::{CheckReport, Collected, Garbage};
use super::damage;
use super::error::CheckError;
use super::examined::Examined;
use super::finding::{Finding, FindingKind};
use super::foreign::{self, BadForeign, ForeignNeeds, Locations};
use super::histories::HistoryWalk;
use super::job::{Context, Job, Verdict};
use super::needed::Needed;
use super::objects::{Objects, Parents};
use super::refs::{self, Target};
use super::repo;
use super::root::Root;
use super::settings::Check;
use super::snapshots;
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
        let root = Root::read(&storage).await?;
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

    fn context(&self, needed: Needed, judges: bool) -> Context {
        Context {
            objects: Arc::clone(&self.objects),
            locations: Arc::clone(&self.locations),
            follow: self.check.virtual_chunks.is_some(),
            judges,
            reads_all: self.check.read,
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
        let mut list = chunk_list::list(&self.check.storage, from)?;
        if self.is_whole() {
            // All that refs need was stored before they were read.
            list = chunk_list::read_ahead(list);
        }
        let most = self.check.memory_bytes / 2 / NEED_BYTES;
        let cx = Arc::new(self.context(Needed::new(from, most), is_first));
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
                    self.compare_foreign(foreign).await?;
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
            self.compare_foreign(foreign).await?;
        }
        let sources = std::mem::take(&mut *lock(&cx.sources));
        let needed = std::mem::replace(&mut *lock(&cx.needed), Needed::new([0; 12], 2));
        self.chunks(needed, list, &sources).await
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

    async fn compare_foreign(&mut self, needs: ForeignNeeds) -> Result<(), CheckError> {
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
        let found =
            foreign::compare(repository, needs, &mut self.bad_foreign, self.progress).await?;
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
        list: ChunkList,
        sources: &[(SnapshotId, NodeId)],
    ) -> Result<Option<[u8; 12]>, CheckError> {
        let (needs, below) = needed.finish();
        if needs.is_empty() && !self.is_whole() {
            return Ok(below);
        }
        let (storage, progress) = (&self.check.storage, self.progress);
        progress.stage("comparing chunks", None);
        let mut compared = chunks::compare(storage, list, &needs, below, progress).await?;
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
}

impl Check {
    /// Returns whether the repository does not open because its object `repo` is missing, damaged or that of another
    /// one. A check finds more; this takes only a few requests.
    ///
    /// # Errors
    /// As [`Check::run`].
    pub async fn is_unusable(&self) -> Result<bool, CheckError> {
        let read = Root::read(&self.storage);
        Ok(match self.interrupt.unless(read).await?? {
            Root::Files => false,
            Root::Object(root) => root.wrong.is_some(),
        })
    }

    /// Checks the repository. It writes nothing. Damage is reported as a [`Finding`](super::Finding) and is no error.
    ///
    /// # Errors
    /// [`CheckError::NoRepository`], [`CheckError::NewerSpecVersion`], and the errors of the store: then nothing is
    /// known about the repository.
    pub async fn run(&self, progress: &dyn Progress) -> Result<CheckReport, CheckError> {
        Ok(self.examine(progress).await?.report)
    }

    // Boxed, it is compiled in this crate alone, and not wherever it is awaited.
    pub(super) fn examine<'a>(
        &'a self,
        progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<Examined, CheckError>> {
        Box::pin(self.examine_here(progress))
    }

    async fn examine_here(&self, progress: &dyn Progress) -> Result<Examined, CheckError> {
        // It only reads.
        let examined = async { Run::begin(self, progress).await?.finish().await };
        self.interrupt.unless(examined).await?
    }
}

/// A task that ends with its caller: a check that is interrupted goes on reading nothing.
struct BoundTask<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for BoundTask<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Checks a snapshot, where there is a runtime on one of its threads.
async fn check_on_any_thread(cx: Arc<Context>, job: Job) -> Result<Verdict, CheckError> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => {
            let task = runtime.spawn(async move { snapshots::check(&cx, &job).await });
            let mut task = BoundTask(task);
            (&mut task.0)
                .await
                .map_err(|error| CheckError::Aborted(error.to_string()))?
        }
        Err(_) => snapshots::check(&cx, &job).await,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
