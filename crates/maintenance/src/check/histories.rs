//! Walks the histories of all refs, each snapshot once, newest first.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use icefield_format::{Snapshot, SnapshotId, layout};
use icefield_refs::Ledger;

use super::CheckError;
use super::finding::{Finding, FindingKind};
use super::objects::{Broken, Objects};
use super::refs;
use super::snapshots::Job;

/// A ref, and where it points.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// `branch:NAME` or `tag:NAME`.
    pub(super) name: String,
    /// Its object.
    pub(super) key: String,
    pub(super) snapshot: SnapshotId,
}

/// A snapshot and its parent.
type Step = (Arc<Snapshot>, Option<SnapshotId>);

/// A walk in progress.
#[derive(Debug)]
pub(super) struct Walk {
    objects: Arc<Objects>,
    ledger: Ledger,
    targets: VecDeque<Target>,
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
    pub(super) findings: Vec<Finding>,
}

impl Walk {
    pub(super) fn new(
        objects: Arc<Objects>,
        ledger: Ledger,
        targets: &[Target],
        histories: bool,
    ) -> Self {
        Self {
            objects,
            ledger,
            targets: targets.iter().cloned().collect(),
            histories,
            current: None,
            path: HashSet::new(),
            seen: HashMap::new(),
            broken: HashSet::new(),
            findings: Vec::new(),
        }
    }

    /// Returns the next snapshot with its parent; none after the last.
    pub(super) async fn next(&mut self) -> Result<Option<Job>, CheckError> {
        loop {
            if let Some(step) = self.current.take() {
                return Ok(Some(self.step(step).await?));
            }
            let Some(target) = self.targets.pop_front() else {
                return Ok(None);
            };
            if self.seen.contains_key(&target.snapshot) {
                continue;
            }
            self.path.clear();
            match self.objects.step(&self.ledger, target.snapshot).await? {
                Ok(step) => self.stand_on(step),
                Err(Broken::Missing) => {
                    let rule = format!("snapshot {} does not exist", target.snapshot);
                    let mut finding = Finding::new(FindingKind::RefDangling, target.key, rule);
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

    fn stand_on(&mut self, (snapshot, above): Step) {
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
                let finding = Finding::new(FindingKind::HistoryCycle, key, rule);
                self.findings.push(finding.of(id));
            }
            Some(above) => match self.objects.step(&self.ledger, above).await? {
                Ok((found, next)) => {
                    self.compare_times(&snapshot, &found);
                    if !self.seen.contains_key(&above) {
                        self.stand_on((Arc::clone(&found), next));
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
                    self.broken(kind, above, why, Some(id));
                }
            },
        }
        Ok(Job {
            log: self.histories && above.is_some(),
            snapshot,
            parent,
        })
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
