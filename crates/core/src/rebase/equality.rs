//! Whether chunks that both sides wrote are equal. Bytes are fetched only where lengths are equal and the
//! references do not decide.

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{ByteRange, ChunkIndex, NodeId, NodePath};
use icefield_storage::{PlantedBug, planted};

use super::detect::ChunkSets;
use crate::SessionError;
use crate::session::{ChunkLocation, Session};

/// Pairs compared at a time.
const COMPARISONS: usize = 16;

/// One chunk that both sides wrote, and where each has its array.
#[derive(Debug)]
pub(crate) struct WrittenTwice {
    pub(crate) node: NodeId,
    pub(crate) index: ChunkIndex,
    pub(crate) ours: NodePath,
    pub(crate) theirs: NodePath,
}

/// Returns those of the chunks that hold the same bytes in both views, or are in neither.
pub(crate) async fn equal_chunks(
    ours: &Session,
    theirs: &Session,
    chunks: Vec<WrittenTwice>,
) -> Result<ChunkSets, SessionError> {
    let mut compared = stream::iter(chunks)
        .map(|chunk| async move {
            let same = equal(ours, theirs, &chunk).await?;
            Ok::<_, SessionError>(same.then_some((chunk.node, chunk.index)))
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
    ours: &Session,
    theirs: &Session,
    chunk: &WrittenTwice,
) -> Result<bool, SessionError> {
    let index = &chunk.index;
    let (mine, others) = futures::try_join!(
        ours.chunk_location(&chunk.ours, index),
        theirs.chunk_location(&chunk.theirs, index)
    )?;
    let (mine, others) = match (mine, others) {
        (Some(mine), Some(others)) => (mine, others),
        (mine, others) => return Ok(mine.is_none() && others.is_none()),
    };
    if mine.length() != others.length() {
        return Ok(false);
    }
    match (&mine, &others) {
        (ChunkLocation::Virtual { .. }, _) | (_, ChunkLocation::Virtual { .. }) => {
            Ok(mine == others)
        }
        (ChunkLocation::Native { .. }, ChunkLocation::Native { .. }) if mine == others => Ok(true),
        _ if planted(PlantedBug::EqualLengthsAreEqual) => Ok(true),
        _ => {
            let (mine, others) = futures::try_join!(
                ours.chunk(&chunk.ours, index, ByteRange::All),
                theirs.chunk(&chunk.theirs, index, ByteRange::All)
            )?;
            Ok(mine == others)
        }
    }
}
