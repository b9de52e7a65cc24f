//! Chunks that lie elsewhere than they did: whether both places hold the same bytes.
//!
//! A repacking moves chunks and no log names them, so that nothing but the bytes tells a moved chunk from a changed one. Each
//! side is read in the order of its objects, neighbours by one request, and hashed, so that no byte is read again however the chunks
//! were rearranged, unless they overlap. Of the bytes of a chunk, a digest is all that stays in memory.

use std::ops::Range;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{ChunkId, ChunkRef, layout};
use icefield_storage::{Bytes, GetOptions, GetRange, Key, Storage, StorageError};
use sha2::{Digest as _, Sha256};

use crate::ReadSettings;
use crate::read_plan::{Request, Wanted, plan};

/// Bytes of a request. A longer chunk is read in pieces of that many.
const REQUEST: u64 = 2 << 20;
/// Bytes between two chunks that are read along.
const GAP: u64 = 32 << 10;
/// Requests in flight.
const REQUESTS: usize = 4;

type Digest = [u8; 32];

/// An object, and a byte of it.
type Place = (ChunkId, u64);

/// The two places of a chunk, before and after, of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedChunk {
    old: Place,
    new: Place,
    length: u64,
}

impl MovedChunk {
    /// Compares two references of one chunk. Returns its places if both lead to objects of the repository, differ, and may
    /// lead to the same bytes: those of one length.
    pub fn of(old: Option<ChunkRef<'_>>, new: Option<ChunkRef<'_>>) -> Option<Self> {
        let native = |chunk: Option<ChunkRef<'_>>| match chunk {
            Some(ChunkRef::Native { id, offset, length }) => Some(((id, offset), length)),
            _ => None,
        };
        let ((old, length), (new, other)) = (native(old)?, native(new)?);
        (length == other && old != new).then_some(Self { old, new, length })
    }
}

/// The result of a comparison of both places of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MovedBytes {
    /// They hold the same bytes.
    Same,
    /// They hold other bytes.
    Other,
    /// One of them does not exist, or is damaged.
    Unknown,
}

/// The result of [`compare_moved`].
#[derive(Debug, Default)]
pub struct ComparedChunks {
    /// One for each chunk, in the order of the chunks.
    pub bytes: Vec<MovedBytes>,
    /// Objects that exist and whose bytes the store cannot deliver, with the reason. One may be there several times.
    pub refused: Vec<(ChunkId, StorageError)>,
}

/// Reads both places of chunks and compares their bytes. Holds 8 MiB of them at a time, and a digest of each chunk.
///
/// # Errors
/// Those of the store, save damage of an object: another try, or other credentials, may help.
pub async fn compare_moved(
    storage: &dyn Storage,
    chunks: &[MovedChunk],
) -> Result<ComparedChunks, StorageError> {
    let nothing = |chunk: &MovedChunk| match chunk.length {
        0 => MovedBytes::Same,
        _ => MovedBytes::Unknown,
    };
    let mut compared = ComparedChunks {
        bytes: chunks.iter().map(nothing).collect(),
        refused: Vec::new(),
    };
    let all = (chunks.iter().enumerate()).filter(|(_, chunk)| chunk.length > 0);
    let old = all.map(|(slot, chunk)| (slot, chunk.old, chunk.length));
    let mut digests: Vec<Option<Digest>> = vec![None; chunks.len()];
    let read = digest_each(storage, old.collect(), |slot, digest| {
        digests[slot] = Some(digest);
    });
    compared.refused.extend(read.await?);
    // A chunk that is lost at one of its places is not read at the other one.
    let all = chunks.iter().enumerate();
    let there = all.filter(|(slot, _)| digests[*slot].is_some());
    let new = there.map(|(slot, chunk)| (slot, chunk.new, chunk.length));
    let read = digest_each(storage, new.collect(), |slot, digest| {
        compared.bytes[slot] = match digests[slot] == Some(digest) {
            true => MovedBytes::Same,
            false => MovedBytes::Other,
        };
    });
    let refused = read.await?;
    compared.refused.extend(refused);
    Ok(compared)
}

/// Reads chunks, and hands out the digest of each that exists. Returns the objects that the store refuses to deliver.
async fn digest_each(
    storage: &dyn Storage,
    chunks: Vec<(usize, Place, u64)>,
    mut found: impl FnMut(usize, Digest),
) -> Result<Vec<(ChunkId, StorageError)>, StorageError> {
    let mut ids: Vec<ChunkId> = chunks.iter().map(|(_, place, _)| place.0).collect();
    ids.sort_unstable();
    ids.dedup();
    let slots: Vec<usize> = chunks.iter().map(|(slot, ..)| *slot).collect();
    let wanted = (0..)
        .zip(&chunks)
        .filter_map(|(at, (_, (id, start), length))| {
            // A range that no object has is absent.
            let range = *start..start.checked_add(*length)?;
            let object = ids.binary_search(id).ok()? as u32;
            Some(Wanted {
                object,
                range,
                slot: at,
            })
        });
    let limits = ReadSettings::default().with_coalescing(GAP, REQUEST);
    let requests = plan(wanted.collect(), &limits);
    let ids = &ids;
    let mut answers = stream::iter(requests)
        .map(|request| async move {
            let id = ids[request.object as usize];
            Ok::<_, StorageError>((id, digests_of(storage, id, &request).await?))
        })
        .buffer_unordered(REQUESTS);
    let mut refused = Vec::new();
    while let Some((id, answer)) = answers.try_next().await? {
        match answer {
            Ok(digests) => digests
                .into_iter()
                .for_each(|(at, digest)| found(slots[at as usize], digest)),
            Err(error) => refused.push((id, error)),
        }
    }
    Ok(refused)
}

/// Digests of parts of a request that exist, by their slots; or why the store refuses to deliver them.
type Answer = Result<Vec<(u32, Digest)>, StorageError>;

/// Fetches the parts of one request.
async fn digests_of(
    storage: &dyn Storage,
    id: ChunkId,
    request: &Request,
) -> Result<Answer, StorageError> {
    let key = Key::parse(&layout::chunk_key(id))?;
    let start = request.range.start;
    if request.range.end - start <= REQUEST {
        match read(storage, &key, request.range.clone()).await {
            Ok(bytes) => {
                let digests = request.parts.iter().map(|part| {
                    let within =
                        (part.range.start - start) as usize..(part.range.end - start) as usize;
                    (part.slot, Sha256::digest(&bytes[within]).into())
                });
                return Ok(Ok(digests.collect()));
            }
            Err(StorageError::NotFound { .. }) => return Ok(Ok(Vec::new())),
            Err(error) => match failure(&error) {
                // Some of them may lie before the end: their own reads say which.
                Failure::Absent => {}
                Failure::Refused => return Ok(Err(error)),
                Failure::Passing => return Err(error),
            },
        }
    }
    let mut digests = Vec::with_capacity(request.parts.len());
    for part in &request.parts {
        match digest_in_pieces(storage, &key, part.range.clone()).await {
            Ok(digest) => digests.push((part.slot, digest)),
            Err(error) => match failure(&error) {
                Failure::Absent => {}
                Failure::Refused => return Ok(Err(error)),
                Failure::Passing => return Err(error),
            },
        }
    }
    Ok(Ok(digests))
}

async fn digest_in_pieces(
    storage: &dyn Storage,
    key: &Key,
    range: Range<u64>,
) -> Result<Digest, StorageError> {
    let mut digest = Sha256::new();
    let mut from = range.start;
    while from < range.end {
        let to = range.end.min(from.saturating_add(REQUEST));
        digest.update(&read(storage, key, from..to).await?);
        from = to;
    }
    Ok(digest.finalize().into())
}

async fn read(storage: &dyn Storage, key: &Key, range: Range<u64>) -> Result<Bytes, StorageError> {
    let options = GetOptions::range(GetRange::Bounded(range));
    storage.get(key, options).await?.bytes().await
}

/// A failed read, as evidence of the bytes.
enum Failure {
    /// The object does not exist, or ends before the range does.
    Absent,
    /// The object exists and is damaged.
    Refused,
    /// It says nothing of the object: another try, or other credentials, may help.
    Passing,
}

fn failure(error: &StorageError) -> Failure {
    use StorageError::{NotAnObject, NotFound, ObjectTooLarge, RangeNotSatisfiable, WrongLength};
    match error {
        NotFound { .. } | NotAnObject { .. } | RangeNotSatisfiable { .. } => Failure::Absent,
        // The store has tried again already: a body that ends early is damage of the object.
        WrongLength { .. } | ObjectTooLarge { .. } => Failure::Refused,
        _ => Failure::Passing,
    }
}
