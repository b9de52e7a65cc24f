//! The chunk keys of one array in byte order, held as numbers until they are asked for.

use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use icefield_core::{ChunkInfo, Session, SessionError};

use crate::chunk_keys::compare_as_text;
use crate::chunk_keys::directory;
use crate::prefix::ChunkScope;

/// The chunks of a scope, sorted by key. Takes `4 * rank + 8` bytes of memory a chunk, not the length of its key.
#[derive(Debug)]
pub(super) struct SortedChunks {
    scope: ChunkScope,
    /// Rank numbers a row.
    coordinates: Vec<u32>,
    /// Row numbers in the order of the keys.
    order: Vec<usize>,
}

impl SortedChunks {
    pub(super) async fn load(session: &Session, scope: ChunkScope) -> Result<Self, SessionError> {
        let rank = scope.keys.rank();
        let mut coordinates = Vec::new();
        let mut rows = 0;
        let mut chunks = chunks(session, &scope)?;
        while let Some(chunk) = chunks.try_next().await? {
            coordinates.extend_from_slice(&chunk.index);
            rows += 1;
        }
        let row = |row: usize| &coordinates[row * rank..(row + 1) * rank];
        let mut order: Vec<usize> = (0..rows).collect();
        order.sort_unstable_by(|a, b| compare_as_text(row(*a), row(*b)));
        Ok(Self {
            scope,
            coordinates,
            order,
        })
    }

    pub(super) fn into_keys(self) -> impl Iterator<Item = String> + Send {
        let (keys, rank) = (self.scope.keys, self.scope.keys.rank());
        let directory = directory(&self.scope.array);
        self.order.into_iter().map(move |row| {
            // Two bytes for a small coordinate and its separator, and some to spare.
            let mut key = String::with_capacity(directory.len() + 2 * rank + 8);
            key.push_str(&directory);
            keys.encode(&self.coordinates[row * rank..(row + 1) * rank], &mut key);
            key
        })
    }
}

/// Lists the chunks of a scope as they come. An array that has been deleted meanwhile has none.
pub(super) fn chunks(
    session: &Session,
    scope: &ChunkScope,
) -> Result<BoxStream<'static, Result<ChunkInfo, SessionError>>, SessionError> {
    let chunks = match session.chunks(&scope.array) {
        Ok(chunks) => chunks,
        Err(SessionError::NodeNotFound { .. } | SessionError::NotAnArray { .. }) => {
            return Ok(stream::empty().boxed());
        }
        Err(error) => return Err(error),
    };
    let scope = scope.clone();
    let within = move |chunk: &ChunkInfo| std::future::ready(scope.contains(&chunk.index));
    Ok(chunks.try_filter(within).boxed())
}
