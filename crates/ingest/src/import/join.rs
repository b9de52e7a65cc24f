//! What is put behind an array of one dimension whose last chunk is not full: numbers are decoded, joined, and encoded
//! as they were. NetCDF-4 libraries store a coordinate along an unlimited dimension in chunks that are longer than it.
//!
//! ```text
//! here      | 0 1 2 . |              three elements in a chunk of four
//! source    | 3 4 5 . |
//! joined    | 0 1 2 3 | 4 5 . . |
//! ```

use std::collections::BTreeSet;

use futures::TryStreamExt;
use icefield_core::{ByteRange, NodePath, Session, WriteMode};

use crate::decode::Encoding;
use crate::plan::Join;
use crate::{ChunkEntry, ImportError, PlanError, Source, SourceError};

/// Puts the elements of an array behind those that are there. Returns chunks and bytes that were written.
pub(super) async fn run(
    source: &dyn Source,
    session: &Session,
    join: &Join,
) -> Result<(u64, u64), ImportError> {
    let refused = || {
        ImportError::from(PlanError::PartialChunk {
            path: join.to.clone(),
            dimension: join.dimension.clone(),
            length: join.length,
            chunk: join.chunk,
        })
    };
    let document = session.metadata(&join.to)?.ok_or_else(refused)?;
    let encoding = Encoding::of(&document, join.chunk).ok_or_else(refused)?;
    let element = encoding.element_bytes();
    let chunk_bytes = join.chunk as usize * element;

    let mut next = (join.length / join.chunk) as u32;
    let kept = (join.length % join.chunk) as usize * element;
    let mut pending = plain_here(session, &join.to, next, &encoding)
        .await?
        .ok_or_else(refused)?;
    pending.truncate(kept);

    let (mut left, mut chunks, mut bytes) = (join.array.shape[0], 0, 0);
    for (index, length) in listed(source, join).await? {
        let chunk = [index];
        let read = source.read_chunk(&join.from, &join.array, &chunk, length);
        let mut plain = encoding.plain(&read.await?).ok_or_else(|| {
            let name = source.chunk_name(&join.from, &join.array, &chunk);
            SourceError::damaged(&name, "it cannot be decoded")
        })?;
        let elements = left.min(join.chunk);
        left -= elements;
        plain.truncate(elements as usize * element);
        pending.append(&mut plain);
        while pending.len() >= chunk_bytes || left == 0 && !pending.is_empty() {
            let mut whole = pending;
            pending = whole.split_off(chunk_bytes.min(whole.len()));
            whole.resize(chunk_bytes, 0);
            let encoded = encoding.encoded(whole).ok_or_else(refused)?;
            chunks += 1;
            bytes += encoded.len() as u64;
            session
                .set_chunk(&join.to, &[next], encoded.into(), WriteMode::Overwrite)
                .await?;
            next += 1;
        }
    }
    match left {
        0 => Ok((chunks, bytes)),
        // Of a chunk that is not there, all elements are the fill value: not known here.
        _ => Err(refused()),
    }
}

async fn plain_here(
    session: &Session,
    path: &NodePath,
    index: u32,
    encoding: &Encoding,
) -> Result<Option<Vec<u8>>, ImportError> {
    let chunk = session.chunk(path, &[index], ByteRange::All).await?;
    Ok(chunk.and_then(|chunk| encoding.plain(&chunk)))
}

/// The chunks of the source, from the first one without a gap.
async fn listed(source: &dyn Source, join: &Join) -> Result<Vec<(u32, u64)>, ImportError> {
    let mut found = BTreeSet::new();
    let mut chunks = source.chunks(&join.from, &join.array);
    while let Some(entry) = chunks.try_next().await? {
        if let ChunkEntry::Chunk { index, length } = entry
            && join.array.contains(&index)
        {
            found.insert((index[0], length));
        }
    }
    let in_turn = found.into_iter().zip(0..);
    Ok(in_turn
        .take_while(|((index, _), at)| index == at)
        .map(|(found, _)| found)
        .collect())
}
