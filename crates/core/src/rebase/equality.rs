//! Whether chunks that both sides wrote are equal. Bytes are fetched only where lengths are equal and the
//! references do not decide.

use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{ByteRange, ChunkIndex, NodeId, NodePath};

use super::detect::ChunkSets;
use crate::SessionError;
use crate::change_set::{ChangeSet, PendingChunk};
use crate::repository::Shared;
use crate::session::{Base, ChunkLocation, Session};

/// Pairs compared at a time.
const COMPARISONS: usize = 16;

/// Returns those of the chunks that hold the same bytes in our edits and in their snapshot, or that both sides
/// deleted.
pub(super) async fn equal_chunks(
    shared: &Arc<Shared>,
    after: &Arc<Base>,
    ours: &Arc<ChangeSet>,
    both: ChunkSets,
) -> Result<ChunkSets, SessionError> {
    let ours_view = Session::view_of(shared, after, ours);
    let theirs_view = Session::view_of(shared, after, &Arc::default());
    let pairs: Vec<(NodeId, NodePath, ChunkIndex)> = both
        .into_iter()
        .filter_map(|(node, chunks)| Some((node, ours.array_path(&node)?.clone(), chunks)))
        .flat_map(|(node, path, chunks)| {
            chunks
                .into_iter()
                .map(move |index| (node, path.clone(), index))
        })
        .collect();
    let mut compared = stream::iter(pairs)
        .map(|(node, path, index)| {
            let (ours, ours_view, theirs_view) = (ours, &ours_view, &theirs_view);
            async move {
                let same = equal(ours, ours_view, theirs_view, node, &path, &index).await?;
                Ok::<_, SessionError>(same.then_some((node, index)))
            }
        })
        .buffer_unordered(COMPARISONS);
    let mut equal = ChunkSets::new();
    while let Some(same) = compared.try_next().await? {
        if let Some((node, index)) = same {
            equal.entry(node).or_default().insert(index);
        }
    }
    Ok(equal)
}

async fn equal(
    ours: &ChangeSet,
    ours_view: &Session,
    theirs_view: &Session,
    node: NodeId,
    path: &NodePath,
    index: &ChunkIndex,
) -> Result<bool, SessionError> {
    let home = ours.moved_from(&node).unwrap_or(path);
    let theirs = theirs_view.chunk_location(home, index).await?;
    let mine = match ours.chunk(&node, index) {
        Some(PendingChunk::Deleted) => return Ok(theirs.is_none()),
        Some(PendingChunk::Set(chunk)) => ChunkLocation::of(chunk),
        None => return Ok(false),
    };
    let Some(theirs) = theirs else {
        return Ok(false);
    };
    if mine.length() != theirs.length() {
        return Ok(false);
    }
    match (&mine, &theirs) {
        (ChunkLocation::Virtual { .. }, _) | (_, ChunkLocation::Virtual { .. }) => {
            Ok(mine == theirs)
        }
        (ChunkLocation::Native { .. }, ChunkLocation::Native { .. }) if mine == theirs => Ok(true),
        _ => {
            let (mine, theirs) = futures::try_join!(
                ours_view.chunk(path, index, ByteRange::All),
                theirs_view.chunk(home, index, ByteRange::All)
            )?;
            Ok(mine == theirs)
        }
    }
}
