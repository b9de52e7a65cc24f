//! Compares a transaction log with what its snapshot changed.

use std::collections::{BTreeMap, BTreeSet};

use icefield_format::{ChunkId, ChunkIndex, NodeId, NodeKind, SpecVersion, TransactionLog};

use super::{Contents, Located};

/// A range of a chunk object: id, first byte and length.
type Range = (ChunkId, u64, u64);

/// A chunk that lies elsewhere and that its log does not name.
pub(super) struct Moved {
    pub(super) node: NodeId,
    pub(super) index: ChunkIndex,
    pub(super) was: Range,
    pub(super) is: Range,
}

impl Moved {
    /// Returns the places of a chunk, if its bytes may be the same in both.
    fn of(node: NodeId, index: &ChunkIndex, was: &Located, is: &Located) -> Option<Self> {
        let (&Located::Native(old, from, length), &Located::Native(new, to, as_long)) = (was, is)
        else {
            return None;
        };
        (length == as_long).then(|| Self {
            node,
            index: index.clone(),
            was: (old, from, length),
            is: (new, to, length),
        })
    }
}

/// Returns where a log does not say what changed between its snapshot and the one before, and which chunks changed unsaid unless
/// they hold the same bytes.
pub(super) fn compare(
    log: &TransactionLog,
    parent: &Contents,
    child: &Contents,
) -> (Vec<String>, Vec<Moved>) {
    let mut problems = Vec::new();
    let id = log.id();
    for kind in [NodeKind::Group, NodeKind::Array] {
        let [new, deleted, updated] = match kind {
            NodeKind::Group => [
                set(log.new_groups()),
                set(log.deleted_groups()),
                set(log.updated_groups()),
            ],
            NodeKind::Array => [
                set(log.new_arrays()),
                set(log.deleted_arrays()),
                set(log.updated_arrays()),
            ],
        };
        let moved = set(log.moved_nodes().map(|moved| moved.id()));
        let mut came = only_in(child, parent, kind);
        let mut went = only_in(parent, child, kind);
        if log.spec_version() == SpecVersion::V2 {
            // They are named apart.
            came.retain(|node| !moved.contains(node));
            went.retain(|node| !moved.contains(node));
        }
        // Before an amended snapshot was amended, it may have had nodes that neither it nor its parent has.
        let brief: BTreeSet<NodeId> = (new.intersection(&deleted))
            .filter(|id| !parent.nodes.contains_key(*id) && !child.nodes.contains_key(*id))
            .copied()
            .collect();
        let is_v2 = log.spec_version() == SpecVersion::V2;
        if is_v2 {
            came.extend(&brief);
            went.extend(&brief);
        }
        if new != came {
            problems.push(format!("log {id}: new {kind:?} {new:?}, not {came:?}"));
        }
        if deleted != went {
            problems.push(format!(
                "log {id}: deleted {kind:?} {deleted:?}, not {went:?}"
            ));
        }
        let mut must = BTreeSet::new();
        for (node, before) in parent.nodes.iter().filter(|(_, (of, _))| *of == kind) {
            match child.nodes.get(node) {
                // A node that moved is logged as gone and come.
                _ if came.contains(node) => {}
                Some(after) if before != after => {
                    must.insert(*node);
                }
                Some(_) => {}
                None if updated.contains(node) => {
                    problems.push(format!("log {id}: updated {node}, which went"));
                }
                None => {}
            }
        }
        if !updated.is_superset(&must) || !updated.is_disjoint(&came) {
            problems.push(format!(
                "log {id}: updated {kind:?} {updated:?}, not {must:?}"
            ));
        }
    }
    moves(log, parent, child, &mut problems);
    let moved = chunks(log, parent, child, &mut problems);
    (problems, moved)
}

fn moves(log: &TransactionLog, parent: &Contents, child: &Contents, problems: &mut Vec<String>) {
    let id = log.id();
    let said: BTreeMap<NodeId, [String; 2]> = log
        .moved_nodes()
        .map(|it| (it.id(), [it.from().to_owned(), it.to().to_owned()]))
        .collect();
    let is_v2 = log.spec_version() == SpecVersion::V2;
    let moved: BTreeMap<NodeId, [String; 2]> = (parent.paths.iter())
        .filter_map(|(node, from)| Some((*node, from, child.paths.get(node)?)))
        .filter(|(_, from, to)| is_v2 && from != to)
        .map(|(node, from, to)| (node, [from.to_string(), to.to_string()]))
        .collect();
    if said != moved {
        problems.push(format!("log {id}: moved {said:?}, not {moved:?}"));
    }
}

fn chunks(
    log: &TransactionLog,
    parent: &Contents,
    child: &Contents,
    problems: &mut Vec<String>,
) -> Vec<Moved> {
    let id = log.id();
    let mut all_moved = Vec::new();
    let logged: BTreeMap<NodeId, BTreeSet<ChunkIndex>> = log
        .updated_chunks()
        .map(|array| (array.node_id(), array.chunks().collect()))
        .collect();
    for node in logged.keys() {
        if !child.grids.contains_key(node) {
            problems.push(format!("log {id}: chunks of {node}, which is no array"));
        }
    }
    let resized = set(log.updated_arrays().chain(log.new_arrays()));
    let (none, no_refs) = (BTreeSet::new(), BTreeMap::new());
    for node in child.grids.keys() {
        let logged = logged.get(node).unwrap_or(&none);
        let before = parent.chunks.get(node).unwrap_or(&no_refs);
        let after = child.chunks.get(node).unwrap_or(&no_refs);
        for (index, chunk) in after {
            let was = before.get(index);
            if was == Some(chunk) || logged.contains(index) {
                continue;
            }
            match was.and_then(|was| Moved::of(*node, index, was, chunk)) {
                Some(moved) => all_moved.push(moved),
                None => problems.push(format!("log {id}: chunk {index} of {node} changed unsaid")),
            }
        }
        for index in before.keys() {
            // A resize drops chunks without naming them.
            if !after.contains_key(index) && !logged.contains(index) && !resized.contains(node) {
                problems.push(format!("log {id}: chunk {index} of {node} went unsaid"));
            }
        }
    }
    all_moved
}

fn set(ids: impl Iterator<Item = NodeId>) -> BTreeSet<NodeId> {
    ids.collect()
}

/// The nodes that are not there under the same path.
fn only_in(here: &Contents, there: &Contents, kind: NodeKind) -> BTreeSet<NodeId> {
    let nodes = here.nodes.iter();
    nodes
        .filter(|(id, (of, _))| *of == kind && here.paths.get(*id) != there.paths.get(*id))
        .map(|(id, _)| *id)
        .collect()
}
