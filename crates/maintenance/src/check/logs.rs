//! Whether a transaction log tells what its snapshot changed.
//!
//! It must tell every change; it may tell more. What it does not tell is not judged of the first snapshot after the
//! initial one: expiration leaves such a snapshot with the log of a commit on top of another.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use icefield_format::{ChunkIndex, NodeId, NodeKind, Snapshot, SnapshotId, TransactionLog, layout};

use super::finding::{Finding, FindingKind};

/// What a log tells of chunks.
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

#[derive(Default)]
struct Differences<'a> {
    came: Vec<Difference<'a>>,
    went: Vec<Difference<'a>>,
    changed: Vec<Difference<'a>>,
}

/// Walks both lists of nodes, which ascend by path.
fn differences<'a>(parent: &'a Snapshot, child: &'a Snapshot) -> Differences<'a> {
    let mut found = Differences::default();
    let (mut old, mut new) = (parent.nodes().peekable(), child.nodes().peekable());
    let of = |node: icefield_format::NodeRecord<'a>| Difference {
        id: node.id(),
        kind: node.kind(),
        path: node.path(),
    };
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return found,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => old.path().as_bytes().cmp(new.path().as_bytes()),
        };
        let before = (order != Ordering::Greater).then(|| old.next()).flatten();
        let after = (order != Ordering::Less).then(|| new.next()).flatten();
        match (before, after) {
            (Some(before), Some(after)) if before.id() == after.id() => {
                if before.user_data() != after.user_data() {
                    found.changed.push(of(after));
                }
            }
            (before, after) => {
                found.went.extend(before.map(of));
                found.came.extend(after.map(of));
            }
        }
    }
}

/// Compares what a log says of nodes, and returns what it says of chunks.
pub(super) fn check(
    log: &TransactionLog,
    parent: Option<&Snapshot>,
    child: &Snapshot,
    findings: &mut Vec<Finding>,
) -> Logged {
    let complete = parent.is_some_and(|parent| parent.id() != SnapshotId::INITIAL);
    let ids = |lists: [Vec<NodeId>; 2]| lists.into_iter().flatten().collect::<BTreeSet<_>>();
    let new = ids([log.new_groups().collect(), log.new_arrays().collect()]);
    let deleted = ids([
        log.deleted_groups().collect(),
        log.deleted_arrays().collect(),
    ]);
    let updated = ids([
        log.updated_groups().collect(),
        log.updated_arrays().collect(),
    ]);
    let here: BTreeSet<NodeId> = child.nodes().map(|node| node.id()).collect();
    if let Some(parent) = parent.filter(|_| complete) {
        let found = differences(parent, child);
        let word = |kind| match kind {
            NodeKind::Group => "group",
            NodeKind::Array => "array",
        };
        let mut unsaid = Vec::new();
        for (list, told, what) in [
            (&found.came, &new, "was created"),
            (&found.went, &deleted, "was deleted"),
            (&found.changed, &updated, "was updated"),
        ] {
            let missing = list
                .iter()
                .filter(|it| !told.contains(&it.id) && !new.contains(&it.id));
            unsaid.extend(
                missing.map(|it| (it.path, format!("{} {} {what}", word(it.kind), it.path))),
            );
        }
        if let Some((path, first)) = unsaid.first() {
            let rule = format!("it does not tell that {first}");
            findings.push(finding(FindingKind::LogIncomplete, child, rule, unsaid.len()).at(*path));
        }
        let came: BTreeSet<NodeId> = found.came.iter().map(|it| it.id).collect();
        let went: BTreeSet<NodeId> = found.went.iter().map(|it| it.id).collect();
        let lies = new.difference(&came).count() + deleted.difference(&went).count();
        if lies > 0 {
            let rule = format!("{lies} nodes that it has as created or deleted were not");
            findings.push(finding(FindingKind::LogExcess, child, rule, lies));
        }
    } else {
        let lies = new.difference(&here).count();
        if lies > 0 {
            let rule = format!("{lies} nodes that it has as created are not there");
            findings.push(finding(FindingKind::LogExcess, child, rule, lies));
        }
    }
    let lies = updated.difference(&here).count();
    if lies > 0 {
        let rule = format!("{lies} nodes that it has as updated are not there");
        findings.push(finding(FindingKind::LogExcess, child, rule, lies));
    }
    chunks(log, child, complete, findings)
}

fn chunks(
    log: &TransactionLog,
    child: &Snapshot,
    complete: bool,
    findings: &mut Vec<Finding>,
) -> Logged {
    let arrays = child.nodes().filter(|node| node.kind() == NodeKind::Array);
    let arrays: BTreeSet<NodeId> = arrays.map(|node| node.id()).collect();
    let mut logged = Logged {
        complete,
        resized: log.updated_arrays().chain(log.new_arrays()).collect(),
        chunks: BTreeMap::new(),
    };
    let mut strangers = 0;
    for array in log.updated_chunks() {
        if !arrays.contains(&array.node_id()) {
            strangers += 1;
        } else if complete {
            // Some writers leave them unsorted.
            let mut indices: Vec<ChunkIndex> = array.chunks().collect();
            indices.sort_unstable();
            logged.chunks.insert(array.node_id(), indices);
        }
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
