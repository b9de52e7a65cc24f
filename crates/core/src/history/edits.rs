//! The difference of two snapshots as edits of a session.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use icefield_format::{NodeId, NodePath};

use crate::RebaseError;
use crate::change_set::{ChangeSet, PendingChunk, WrittenNode};
use crate::diff::{Elsewhere, Evidence, for_each_change};
use crate::repository::Shared;
use crate::session::Base;

/// Returns the edits that make `to` of `from`. Nodes keep the ids that they have in `to`; a node of `from`
/// that has another path there was moved. Chunks that a repacking moved are not edits.
pub(crate) async fn edits_between(
    shared: &Shared,
    from: &Base,
    to: &Base,
) -> Result<ChangeSet, RebaseError> {
    let mut edits = ChangeSet::default();
    let mut elsewhere = Elsewhere::default();
    let mut homes: HashMap<NodeId, NodePath> = HashMap::new();
    for old in from.snapshot().nodes() {
        let path = old.node_path();
        let stays = to
            .position(&path)
            .is_some_and(|position| to.record(position).id() == old.id());
        if !stays {
            homes.insert(old.id(), path.clone());
            edits.note_deleted(path, old.id(), old.kind());
        }
    }
    for new in to.snapshot().nodes() {
        let (id, path) = (new.id(), new.node_path());
        let written = || -> Result<WrittenNode, RebaseError> {
            Ok(WrittenNode {
                id,
                document: Bytes::copy_from_slice(new.user_data()),
                metadata: to.metadata(new)?,
            })
        };
        let moved = homes.get(&id);
        let home = moved.unwrap_or(&path);
        let old = from.position(home).map(|position| from.record(position));
        let old = old.filter(|old| old.id() == id);
        match old {
            None => edits.create_node(path.clone(), written()?),
            Some(old) => {
                if moved.is_some() {
                    let before = WrittenNode {
                        metadata: from.metadata(old)?,
                        document: Bytes::copy_from_slice(old.user_data()),
                        id,
                    };
                    edits.insert_moved(home, path.clone(), before);
                }
                if old.user_data() != new.user_data() {
                    let before = from.metadata(old)?;
                    edits.update_node(&path, written()?, Some(&before));
                }
            }
        }
        let Some(array) = new.array() else { continue };
        let grid = Arc::clone(&to.metadata(new)?);
        let Some(grid) = grid.array() else { continue };
        let old = old.and_then(|old| old.array());
        for_each_change(&shared.objects, id, old, array, |index, chunk, moved| {
            if grid.contains(index) {
                if let Some(moved) = moved {
                    elsewhere.note(id, index, moved);
                }
                let chunk = chunk.map_or(PendingChunk::Deleted, PendingChunk::Set);
                edits.set_chunk(&path, id, index, chunk);
            }
        })
        .await?;
    }
    let ends = (from.snapshot().id(), to.snapshot().id());
    for (node, same) in elsewhere.same(shared, ends, Evidence::Logs).await? {
        edits.forget_chunks(&node, &same);
    }
    Ok(edits)
}
