//! Walks the histories of all refs, each snapshot once, newest first.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use icefield_format::{Snapshot, SnapshotId, SpecVersion, layout};

use super::error::CheckError;
use super::finding::{Finding, FindingKind};
use super::job::Job;
use super::objects::{Broken, Objects, Parents};
use super::refs::{self, Target};

/// The advice for a branch that points nowhere, where `repo` has its history.
const ANCESTOR: &str = "`fsck --repair` moves a branch to the nearest whole ancestor of that snapshot; `branch reset` to any";

/// A snapshot and its parent.
type Step = (Arc<Snapshot>, Option<SnapshotId>);

/// A walk in progress.
#[derive(Debug)]
pub(super) struct HistoryWalk {
    objects: Arc<Objects>,
    parents: Parents,
    targets: VecDeque<Target>,
    /// Snapshots that are listed, whether a ref reaches them or not.
    listed: VecDeque<SnapshotId>,
    /// Whether it has come to those that no ref reaches.
    is_detached: bool,
    /// Whether to go on to parents.
    histories: bool,
    /// Where the walk stands: a snapshot that was not handed out yet.
    current: Option<Step>,
    /// The snapshots of the history at hand.
    path: HashSet<SnapshotId>,
    /// All snapshots, with their parents.
    pub(super) seen: HashMap<SnapshotId, Option<SnapshotId>>,
    /// Snapshots that are named and cannot be read.
    pub(super) broken: HashSet<SnapshotId>,
    /// Snapshots that refs point to and that are not there.
    dangling: HashSet<SnapshotId>,
    pub(super) findings: Vec<Finding>,
    /// How many snapshots no ref reaches.
    pub(super) detached: u64,
}

impl HistoryWalk {
    pub(super) fn new(
        objects: Arc<Objects>,
        parents: Parents,
        targets: &[Target],
        histories: bool,
    ) -> Self {
        Self {
            objects,
            parents,
            targets: targets.iter().cloned().collect(),
            listed: VecDeque::new(),
            is_detached: false,
            histories,
            current: None,
            path: HashSet::new(),
            seen: HashMap::new(),
            broken: HashSet::new(),
            dangling: HashSet::new(),
            findings: Vec::new(),
            detached: 0,
        }
    }

    /// Goes on to the snapshots that are listed and that no ref reaches.
    pub(super) fn with_listed(mut self) -> Self {
        if let Parents::Listed(info) = &self.parents {
            self.listed = info.snapshots().snapshots().map(|it| it.id()).collect();
        }
        self
    }

    /// Returns the next snapshot with its parent; none after the last.
    pub(super) async fn next(&mut self) -> Result<Option<Job>, CheckError> {
        loop {
            if let Some(step) = self.current.take() {
                return Ok(Some(self.step(step).await?));
            }
            let Some(target) = self.targets.pop_front() else {
                let Some(id) = self.listed.pop_front() else {
                    return Ok(None);
                };
                self.detached(id).await?;
                continue;
            };
            if self.seen.contains_key(&target.snapshot) {
                continue;
            }
            self.path.clear();
            match self.objects.step(&self.parents, target.snapshot).await? {
                Ok(step) => self.continue_from(step),
                Err(Broken::Missing) => {
                    self.dangling.insert(target.snapshot);
                    let rule = format!("snapshot {} does not exist", target.snapshot);
                    let mut finding = Finding::new(FindingKind::RefDangling, target.key, rule);
                    if let Parents::Listed(_) = &self.parents {
                        finding = finding.advise(ANCESTOR);
                    }
                    if target.name.starts_with("tag:") {
                        finding = finding.advise(refs::TAG);
                    }
                    finding.tips.push(target.name.clone());
                    self.findings.push(finding.by(target.name));
                }
                Err(Broken::Damaged(why)) => {
                    self.broken(FindingKind::SnapshotDamaged, target.snapshot, why, None);
                    let key = layout::snapshot_key(target.snapshot);
                    if let Some(finding) = self.findings.iter_mut().find(|it| it.key == key) {
                        finding.refs.push(target.name.clone());
                        finding.tips.push(target.name);
                    }
                }
            }
        }
    }

    /// Stands on a snapshot that is listed, unless a history has it.
    async fn detached(&mut self, id: SnapshotId) -> Result<(), CheckError> {
        let told = self.broken.contains(&id) || self.dangling.contains(&id);
        if told || self.seen.contains_key(&id) {
            return Ok(());
        }
        self.path.clear();
        self.is_detached = true;
        match self.objects.step(&self.parents, id).await? {
            Ok(step) => self.continue_from(step),
            Err(broken) => {
                self.broken(FindingKind::DetachedBroken, id, broken.to_string(), None);
            }
        }
        Ok(())
    }

    fn continue_from(&mut self, (snapshot, above): Step) {
        self.compare_with_list(&snapshot);
        self.detached += u64::from(self.is_detached);
        self.path.insert(snapshot.id());
        self.seen.insert(snapshot.id(), above);
        self.current = Some((snapshot, above));
    }

    async fn step(&mut self, (snapshot, above): Step) -> Result<Job, CheckError> {
        let (id, mut parent) = (snapshot.id(), None);
        match above {
            _ if !self.histories => {}
            None if id == SnapshotId::INITIAL => {}
            None => {
                let rule = format!("it has no parent, and is not {}", SnapshotId::INITIAL);
                let finding = Finding::new(FindingKind::NoRoot, layout::snapshot_key(id), rule);
                self.findings.push(finding.of(id));
            }
            Some(above) if self.path.contains(&above) => {
                let rule = format!("its parent {above} is one of its descendants");
                let key = layout::snapshot_key(id);
                let finding = Finding::new(FindingKind::HistoryCycle, key, rule).of(id);
                self.findings.push(match self.is_detached {
                    true => finding.of_detached(),
                    false => finding,
                });
            }
            Some(above) => match self.objects.step(&self.parents, above).await? {
                Ok((found, next)) => {
                    self.compare_times(&snapshot, &found);
                    if !self.seen.contains_key(&above) {
                        self.continue_from((Arc::clone(&found), next));
                    }
                    parent = Some(found);
                }
                Err(broken) => {
                    let (kind, why) = match broken {
                        Broken::Missing => {
                            let why = format!("it is the parent of {id}, and does not exist");
                            (FindingKind::SnapshotMissing, why)
                        }
                        Broken::Damaged(why) => (FindingKind::SnapshotDamaged, why),
                    };
                    let kind = match self.is_detached {
                        true => FindingKind::DetachedBroken,
                        false => kind,
                    };
                    self.broken(kind, above, why, Some(id));
                }
            },
        }
        let listed = match &self.parents {
            Parents::Listed(info) => info.snapshots().get(&id),
            _ => None,
        };
        // In version 1, and in what was upgraded from it, the first snapshot has no log.
        let of_root = listed.is_some() && snapshot.spec_version() != SpecVersion::V1;
        Ok(Job {
            log: self.histories && (above.is_some() || of_root),
            pruned: listed
                .iter()
                .flat_map(|it| it.pruned_ancestor_tx_logs())
                .collect(),
            judge_all: false,
            detached: self.is_detached,
            snapshot,
            parent,
        })
    }

    /// Holds what `repo` says of a snapshot against its file.
    fn compare_with_list(&mut self, snapshot: &Snapshot) {
        let Parents::Listed(info) = &self.parents else {
            return;
        };
        let Some(listed) = info.snapshots().get(&snapshot.id()) else {
            return;
        };
        let limit = icefield_format::DecodeLimits::default().max_metadata;
        let mut differs = Vec::new();
        if listed.flushed_at() != snapshot.flushed_at() {
            differs.push("time");
        }
        if listed.message() != snapshot.message() {
            differs.push("message");
        }
        if listed.metadata(limit).ok() != snapshot.metadata().ok() {
            differs.push("metadata");
        }
        // Files of version 1 name a parent, which expiration may have taken out of the list since.
        if let Some(parent) = snapshot.parent_id()
            && info.snapshots().contains(&parent)
            && listed.parent_id() != Some(parent)
        {
            differs.push("parent");
        }
        if !differs.is_empty() {
            let rule = format!("`repo` gives it another {}", differs.join(", "));
            let key = layout::snapshot_key(snapshot.id());
            let finding = Finding::new(FindingKind::SnapshotDisagrees, key, rule);
            self.findings.push(finding.of(snapshot.id()));
        }
    }

    fn compare_times(&mut self, child: &Snapshot, parent: &Snapshot) {
        if child.flushed_at() <= parent.flushed_at() {
            let rule = format!("it is not younger than its parent {}", parent.id());
            let key = layout::snapshot_key(child.id());
            let finding = Finding::new(FindingKind::NotYounger, key, rule);
            self.findings.push(finding.of(child.id()));
        }
    }

    /// Tells of a snapshot that cannot be read, once.
    fn broken(
        &mut self,
        kind: FindingKind,
        id: SnapshotId,
        why: String,
        child: Option<SnapshotId>,
    ) {
        if self.broken.insert(id) {
            let mut finding = Finding::new(kind, layout::snapshot_key(id), why);
            finding.snapshot = child;
            self.findings.push(finding);
        }
    }
}
