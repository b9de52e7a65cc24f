//! Chunks that both sides seem to have changed, and one of them did not: it wrote what stood there, or moved it to another place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use icefield_format::{ChunkIndex, NodeId, NodePath};

use crate::SessionError;
use crate::change_set::ChangeSet;
use crate::grid::within;
use crate::rebase::{Changes, ChunkSets, WrittenTwice, equal_chunks};
use crate::repository::Shared;
use crate::session::{Base, Session};

/// Forgets chunks that both sides name, on the side where they hold the bytes that they held before.
///
/// Logs tell that neither where a merge took them over, nor where they are not there.
pub(super) async fn forget_unchanged(
    shared: &Arc<Shared>,
    (before, target, edits): (&Arc<Base>, &Arc<Base>, &mut ChangeSet),
    (after, theirs): (&Arc<Base>, &mut Changes),
) -> Result<(), SessionError> {
    let mut doubles = ChunkSets::new();
    for (node, chunks) in &theirs.chunks {
        let Some(table) = edits.chunks_of(node) else {
            continue;
        };
        let both: BTreeSet<ChunkIndex> = (chunks.iter())
            .filter(|index| table.get(index).is_some())
            .cloned()
            .collect();
        if !both.is_empty() {
            doubles.insert(*node, both);
        }
    }
    if doubles.is_empty() {
        return Ok(());
    }
    for (node, same) in unchanged(shared, before, after, &doubles).await? {
        if let Some(chunks) = theirs.chunks.get_mut(&node) {
            chunks.retain(|index| !same.contains(index));
            if chunks.is_empty() {
                theirs.chunks.remove(&node);
            }
        }
    }
    for (node, same) in unchanged(shared, before, target, &doubles).await? {
        edits.forget_chunks(&node, &same);
    }
    Ok(())
}

/// Returns those of the chunks that hold the same bytes in two snapshots.
async fn unchanged(
    shared: &Arc<Shared>,
    before: &Arc<Base>,
    after: &Arc<Base>,
    chunks: &ChunkSets,
) -> Result<ChunkSets, SessionError> {
    let nothing = Arc::default();
    let view = |base| Session::view_of(shared, base, &nothing);
    let (old, new) = (view(before), view(after));
    let (was, is) = (homes(before, chunks), homes(after, chunks));
    let mut pairs = Vec::new();
    for (node, chunks) in chunks {
        let (Some(ours), Some(theirs)) = (was.get(node), is.get(node)) else {
            continue;
        };
        let grids = [before.grid(ours), after.grid(theirs)];
        let in_both = |index: &&ChunkIndex| {
            let mut grids = grids.iter();
            grids.all(|grid| grid.as_ref().is_some_and(|grid| within(index, grid)))
        };
        pairs.extend(chunks.iter().filter(in_both).map(|index| WrittenTwice {
            node: *node,
            index: index.clone(),
            ours: ours.clone(),
            theirs: theirs.clone(),
        }));
    }
    match equal_chunks(&old, &new, pairs).await {
        // Readers that need the chunk find damage: here, it counts as changed.
        Err(SessionError::ChunkMissing { .. } | SessionError::ChunkTruncated { .. }) => {
            Ok(ChunkSets::new())
        }
        found => found,
    }
}

fn homes(base: &Base, wanted: &ChunkSets) -> BTreeMap<NodeId, NodePath> {
    let nodes = base.snapshot().nodes();
    nodes
        .filter(|node| wanted.contains_key(&node.id()))
        .map(|node| (node.id(), node.node_path()))
        .collect()
}
