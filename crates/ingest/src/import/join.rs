//! What is put behind an array of one dimension whose last chunk is not full: numbers are decoded, joined, and encoded
//! as they were. NetCDF-4 libraries store a coordinate along an unlimited dimension in chunks that are longer than it.
//!
//! ```text
//! here      | 0 1 2 . |              three elements in a chunk of four
//! source    | 3 4 5 . |
//! joined    | 0 1 2 3 | 4 5 . . |    the last one is written when no source follows
//! ```

use std::collections::BTreeMap;

use futures::TryStreamExt;
use icefield_core::{ByteRange, NodePath, Session, WriteMode};

use crate::decode::Encoding;
use crate::plan::Join;
use crate::{ChunkEntry, ImportError, PlanError, Source, SourceError};

/// Last chunks that are not full yet.
#[derive(Debug, Default)]
pub(super) struct Joins {
    open: BTreeMap<NodePath, Open>,
}

#[derive(Debug)]
struct Open {
    encoding: Encoding,
    index: u32,
    /// The elements so far.
    plain: Vec<u8>,
}

/// What was joined.
#[derive(Debug, Default)]
pub(super) struct Joined {
    /// Chunks that were written.
    pub(super) chunks: u64,
    /// Their bytes.
    pub(super) bytes: u64,
    /// The elements that were added, as numbers that compare as they do; `None` if one is not a number.
    pub(super) numbers: Option<Vec<i128>>,
}

impl Joins {
    /// Puts the elements of an array behind those that are there.
    pub(super) async fn add(
        &mut self,
        source: &dyn Source,
        session: &Session,
        join: &Join,
    ) -> Result<Joined, ImportError> {
        let mut open = match self.open.remove(&join.to) {
            Some(open) => open,
            None => opened(session, join).await?,
        };
        let element = open.encoding.element_bytes();
        let chunk_bytes = join.chunk as usize * element;
        let listed = listed(source, join).await?;
        let mut joined = Joined {
            numbers: Some(Vec::new()),
            ..Joined::default()
        };
        let mut left = join.array.shape[0];
        for index in (0..).take_while(|index| u64::from(*index) * join.chunk < join.array.shape[0])
        {
            let mut plain = match listed.get(&index) {
                None => open.encoding.filled(),
                Some(length) => {
                    let chunk = [index];
                    let read = source.read_chunk(&join.from, &join.array, &chunk, *length);
                    open.encoding.plain(&read.await?).ok_or_else(|| {
                        let name = source.chunk_name(&join.from, &join.array, &chunk);
                        SourceError::damaged(&name, "it cannot be decoded")
                    })?
                }
            };
            let elements = left.min(join.chunk);
            left -= elements;
            plain.truncate(elements as usize * element);
            let numbers = open.encoding.numbers(&plain);
            joined.numbers = joined.numbers.zip(numbers).map(|(mut all, more)| {
                all.extend(more);
                all
            });
            open.plain.append(&mut plain);
            while open.plain.len() >= chunk_bytes {
                let rest = open.plain.split_off(chunk_bytes);
                joined.bytes += open.write(session, &join.to).await?;
                joined.chunks += 1;
                open.plain = rest;
                open.index += 1;
            }
        }
        if !open.plain.is_empty() {
            self.open.insert(join.to.clone(), open);
        }
        Ok(joined)
    }

    /// Writes the chunks that stay as they are.
    pub(super) async fn finish(&mut self, session: &Session) -> Result<Joined, ImportError> {
        let mut joined = Joined::default();
        for (path, mut open) in std::mem::take(&mut self.open) {
            joined.bytes += open.write(session, &path).await?;
            joined.chunks += 1;
        }
        Ok(joined)
    }
}

impl Open {
    /// Writes the chunk, behind whose elements there are fill values. Returns its bytes.
    async fn write(&mut self, session: &Session, path: &NodePath) -> Result<u64, ImportError> {
        let mut whole = self.encoding.filled();
        whole[..self.plain.len()].copy_from_slice(&self.plain);
        self.plain.clear();
        let encoded = self.encoding.encoded(whole);
        let encoded = encoded.expect("BUG: joins are planned of what can be encoded");
        let bytes = encoded.len() as u64;
        session
            .set_chunk(path, &[self.index], encoded.into(), WriteMode::Overwrite)
            .await?;
        Ok(bytes)
    }
}

/// The last chunk of the array as it is in the repository.
async fn opened(session: &Session, join: &Join) -> Result<Open, ImportError> {
    let refused = |reason| PlanError::PartialChunk {
        path: join.to.clone(),
        dimension: join.dimension.clone(),
        length: join.length,
        chunk: join.chunk,
        reason,
    };
    let document = session.metadata(&join.to)?.unwrap_or_default();
    let encoding = Encoding::of(&document, join.chunk).ok_or_else(|| refused(NOT_UNDERSTOOD))?;
    let index = (join.length / join.chunk) as u32;
    let mut plain = match session.chunk(&join.to, &[index], ByteRange::All).await? {
        None => encoding.filled(),
        Some(chunk) => encoding
            .plain(&chunk)
            .ok_or_else(|| refused("its last chunk cannot be decoded"))?,
    };
    plain.truncate((join.length % join.chunk) as usize * encoding.element_bytes());
    Ok(Open {
        encoding,
        index,
        plain,
    })
}

/// Why an array is not joined.
pub(crate) const NOT_UNDERSTOOD: &str =
    "its type, fill value or codecs are none that can be joined within a chunk here";

/// The lengths of the chunks of the source.
async fn listed(source: &dyn Source, join: &Join) -> Result<BTreeMap<u32, u64>, ImportError> {
    let mut found = BTreeMap::new();
    let mut chunks = source.chunks(&join.from, &join.array);
    while let Some(entry) = chunks.try_next().await? {
        let ChunkEntry::Chunk { index, length } = entry else {
            continue;
        };
        if !join.array.contains(&index) {
            return Err(ImportError::OutOfGrid {
                name: source.chunk_name(&join.from, &join.array, &index),
                path: join.to.clone(),
                grid: join.array.chunk_counts.clone(),
            });
        }
        found.insert(index[0], length);
    }
    Ok(found)
}
