//! Whether a transaction log tells what its snapshot changed.
//!
//! It must tell every change; it may tell more: an amended commit has the log of both. What it does not tell is not judged
//! of the first snapshot after the initial one: expiration leaves such a snapshot with the log of a commit on top of another.
//! Where `repo` names the logs of what expiration took out, all of them together must tell the change, if they reach back to the
//! creation of the root: an expiration in version 1, before an upgrade, names no logs.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use std::sync::Arc;

use icefield_format::{
    ChunkIndex, NodeId, NodeKind, NodeRecord, Snapshot, SnapshotId, TransactionLog, layout,
};

use super::finding::{Finding, FindingKind};
use super::job::Job;

/// The changes of chunks in a log.
#[derive(Debug)]
pub(super) struct Logged {
    /// Whether all changes must be in it.
    pub(super) complete: bool,
    /// Arrays whose chunks may go without being named: a resize drops them.
    pub(super) resized: BTreeSet<NodeId>,
    chunks: BTreeMap<NodeId, Vec<ChunkIndex>>,
}

impl Logged {
    /// The chunks of an array that the log names, sorted; of one that it does not name, none.
    pub(super) fn chunks(&self, node: &NodeId) -> Vec<ChunkIndex> {
        self.chunks.get(node).cloned().unwrap_or_default()
    }
}

/// A node that differs, by path and kind.
struct Difference<'a> {
    id: NodeId,
    kind: NodeKind,
    path: &'a str,
}

impl<'a> Difference<'a> {
    fn of(node: NodeRecord<'a>) -> Self {
        Self {
            id: node.id(),
            kind: node.kind(),
            path: node.path(),
        }
    }
}

#[derive(Default)]
struct Differences<'a> {
    came: Vec<Difference<'a>>,
    went: Vec<Difference<'a>>,
    changed: Vec<Difference<'a>>,
    /// Nodes that are at another path than before.
    moved: Vec<Difference<'a>>,
}

/// Walks both lists of nodes, which ascend by path.
fn differences<'a>(parent: &'a Snapshot, child: &'a Snapshot) -> Differences<'a> {
    let mut found = Differences::default();
    let (mut went, mut came) = (Vec::new(), Vec::new());
    let (mut old, mut new) = (parent.nodes().peekable(), child.nodes().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => old.path().as_bytes().cmp(new.path().as_bytes()),
        };
        let before = (order != Ordering::Greater).then(|| old.next()).flatten();
        let after = (order != Ordering::Less).then(|| new.next()).flatten();
        match (before, after) {
            (Some(before), Some(after)) if before.id() == after.id() => {
                if before.user_data() != after.user_data() {
                    found.changed.push(Difference::of(after));
                }
            }
            (before, after) => {
                went.extend(before);
                came.extend(after);
            }
        }
    }
    let by_id: BTreeMap<NodeId, NodeRecord<'_>> = went.iter().map(|it| (it.id(), *it)).collect();
    for after in came {
        let Some(before) = by_id.get(&after.id()) else {
            found.came.push(Difference::of(after));
            continue;
        };
        found.moved.push(Difference::of(after));
        if before.user_data() != after.user_data() {
            found.changed.push(Difference::of(after));
        }
    }
    let moved: BTreeSet<NodeId> = found.moved.iter().map(|it| it.id).collect();
    let went = went.into_iter().filter(|it| !moved.contains(&it.id()));
    found.went = went.map(Difference::of).collect();
    found
}

/// The changes of nodes in several logs together.
#[derive(Default)]
struct LoggedNodes {
    new: BTreeSet<NodeId>,
    deleted: BTreeSet<NodeId>,
    updated: BTreeSet<NodeId>,
    moved: BTreeSet<NodeId>,
}

impl LoggedNodes {
    fn of(logs: &[Arc<TransactionLog>]) -> Self {
        let mut told = Self::default();
        for log in logs {
            told.new.extend(log.new_groups().chain(log.new_arrays()));
            let deleted = log.deleted_groups().chain(log.deleted_arrays());
            told.deleted.extend(deleted);
            let updated = log.updated_groups().chain(log.updated_arrays());
            told.updated.extend(updated);
            told.moved.extend(log.moved_nodes().map(|it| it.id()));
        }
        told
    }
}

/// Compares what logs say of nodes, and returns what they say of chunks. The last one is that of the snapshot itself.
pub(super) fn check(
    logs: &[Arc<TransactionLog>],
    job: &Job,
    findings: &mut Vec<Finding>,
) -> Logged {
    let (parent, child) = (job.parent.as_deref(), &*job.snapshot);
    let told = LoggedNodes::of(logs);
    let mut roots = child.nodes().filter(|it| it.path() == "/");
    let reach_the_root = !job.pruned.is_empty() && roots.any(|it| told.new.contains(&it.id()));
    let judge_all = job.judge_all || reach_the_root;
    let complete = parent.is_some_and(|parent| judge_all || parent.id() != SnapshotId::INITIAL);
    // A node that was created and deleted in between is in both lists, and one that was updated before it was deleted in another two.
    let passing = |id: &&NodeId| !(told.deleted.contains(*id) && told.new.contains(*id));
    let stays = |id: &&NodeId| !told.deleted.contains(*id);
    let at: BTreeMap<NodeId, &str> = child.nodes().map(|it| (it.id(), it.path())).collect();
    let is_here = |id: &&NodeId| at.contains_key(*id);
    let absent = |ids: &BTreeSet<NodeId>| ids.iter().filter(|id| !is_here(id)).copied().collect();
    let mut lies: Vec<(usize, &str)> = Vec::new();
    if let Some(parent) = parent.filter(|_| complete) {
        let found = differences(parent, child);
        let ids = |list: &[Difference<'_>]| list.iter().map(|it| it.id).collect::<BTreeSet<_>>();
        let (mut came, mut went) = (ids(&found.came), ids(&found.went));
        // In version 1, a rename is a node that goes and one that comes.
        let moved = ids(&found.moved);
        came.extend(moved.intersection(&told.new));
        went.extend(moved.intersection(&told.deleted));
        let created = told.new.difference(&came).filter(passing).count();
        let deleted = told.deleted.difference(&went).filter(passing).count();
        lies.push((created + deleted, "created or deleted were not"));
        silences(&found, &told, child, findings);
    } else {
        let new: BTreeSet<NodeId> = absent(&told.new);
        let created = new.iter().filter(passing).count();
        lies.push((created, "created are not there"));
    }
    let updated: BTreeSet<NodeId> = absent(&told.updated);
    lies.push((
        updated.iter().filter(stays).count(),
        "updated are not there",
    ));
    if let [log] = logs {
        let is_elsewhere = |id: &NodeId, to: &str| at.get(id).is_some_and(|path| *path != to);
        let mut moves = log.moved_nodes();
        let elsewhere = moves
            .by_ref()
            .filter(|it| is_elsewhere(&it.id(), it.to()))
            .count();
        lies.push((elsewhere, "moved are elsewhere"));
    }
    for (count, what) in lies.into_iter().filter(|(count, _)| *count > 0) {
        let rule = format!("{count} nodes that it has as {what}");
        findings.push(finding(FindingKind::LogExcess, child, rule, count));
    }
    chunks(logs, &told, child, complete, findings)
}

/// Tells what differs and is not told.
fn silences(
    found: &Differences<'_>,
    told: &LoggedNodes,
    child: &Snapshot,
    findings: &mut Vec<Finding>,
) {
    let word = |kind| match kind {
        NodeKind::Group => "group",
        NodeKind::Array => "array",
    };
    let anew = |id: &NodeId| told.deleted.contains(id) && told.new.contains(id);
    let is_told = [
        (&found.came, &told.new, "was created"),
        (&found.went, &told.deleted, "was deleted"),
        (&found.changed, &told.updated, "was updated"),
        (&found.moved, &told.moved, "was moved"),
    ];
    let mut unsaid = Vec::new();
    for (list, told_of, what) in is_told {
        let missing = list.iter().filter(|it| {
            let is_new = told.new.contains(&it.id) && what != "was moved";
            !(told_of.contains(&it.id) || is_new || anew(&it.id))
        });
        unsaid.extend(missing.map(|it| (it.path, format!("{} {} {what}", word(it.kind), it.path))));
    }
    if let Some((path, first)) = unsaid.first() {
        let rule = format!("it does not tell that {first}");
        findings.push(finding(FindingKind::LogIncomplete, child, rule, unsaid.len()).at(*path));
    }
}

fn chunks(
    logs: &[Arc<TransactionLog>],
    told: &LoggedNodes,
    child: &Snapshot,
    complete: bool,
    findings: &mut Vec<Finding>,
) -> Logged {
    let arrays = child.nodes().filter(|node| node.kind() == NodeKind::Array);
    let arrays: BTreeSet<NodeId> = arrays.map(|node| node.id()).collect();
    let mut logged = Logged {
        complete,
        resized: (logs.iter())
            .flat_map(|log| log.updated_arrays().chain(log.new_arrays()))
            .collect(),
        chunks: BTreeMap::new(),
    };
    let mut strangers = 0;
    for array in logs.iter().flat_map(|log| log.updated_chunks()) {
        let id = array.node_id();
        if !arrays.contains(&id) {
            // A chunk that an earlier one of them wrote may have been deleted by a later one.
            strangers += usize::from(!told.deleted.contains(&id));
        } else if complete {
            let indices = logged.chunks.entry(id).or_default();
            indices.extend(array.chunks());
        }
    }
    for indices in logged.chunks.values_mut() {
        // Some writers leave them unsorted.
        indices.sort_unstable();
        indices.dedup();
    }
    if strangers > 0 {
        let rule = format!("it tells of chunks of {strangers} arrays that are not there");
        findings.push(finding(FindingKind::LogExcess, child, rule, strangers));
    }
    logged
}

fn finding(kind: FindingKind, child: &Snapshot, rule: String, count: usize) -> Finding {
    let id = child.id();
    let finding = Finding::new(kind, layout::transaction_log_key(id), rule);
    finding.of(id).times(count as u64)
}
