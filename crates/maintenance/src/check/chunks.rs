//! Holds needed chunk objects against the list of those that are there: no request for each, but for those in doubt.

use std::collections::HashMap;
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{ChunkId, layout};
use icefield_storage::{
    Body, GetOptions, Key, PlantedBug, Storage, StorageError, planted, with_causes,
};

use super::chunk_list::{ChunkList, Listed};
use super::error::CheckError;
use super::finding::Finding;
use super::needed::Need;
use crate::Progress;
use crate::copy::objects::{WHOLE, pieces};

/// Requests in flight.
const REQUESTS: usize = 16;

/// A chunk object that is not as it is needed.
#[derive(Clone, Debug)]
pub(super) struct BadChunk {
    pub(super) need: Need,
    pub(super) problem: Problem,
}

#[derive(Clone, Debug)]
pub(super) enum Problem {
    Missing,
    /// It has this many bytes.
    Short(u64),
    Unreadable(String),
}

/// Damaged chunk objects: the bytes that each has, none if it is missing or unreadable.
pub(super) type BadChunks = HashMap<ChunkId, Option<u64>>;

/// The result of a pass over the list of chunks.
#[derive(Debug, Default)]
pub(super) struct Compared {
    pub(super) bad: Vec<BadChunk>,
    /// Needed and there.
    pub(super) objects: u64,
    pub(super) bytes: u64,
    pub(super) garbage_objects: u64,
    pub(super) garbage_bytes: u64,
    pub(super) strays: Vec<Finding>,
}

/// Compares needs, sorted by id, with the part of the list that they belong to.
pub(super) async fn compare(
    storage: &Arc<dyn Storage>,
    mut list: ChunkList,
    needs: &[Need],
    below: Option<[u8; 12]>,
    progress: &dyn Progress,
) -> Result<Compared, CheckError> {
    let mut compared = Compared::default();
    let end = below.map(|below| layout::chunk_key(ChunkId::from_bytes(below)));
    let mut rest = needs.iter().peekable();
    let mut doubtful = Vec::new();
    while let Some(listed) = list.try_next().await? {
        let (id, size) = match listed {
            Listed::Chunk(id, size) => (id, size),
            Listed::Stray(stray) => {
                if end.as_deref().is_none_or(|end| *stray.key < *end) {
                    compared.strays.push(*stray);
                }
                continue;
            }
        };
        if below.is_some_and(|below| id >= below) {
            break;
        }
        progress.advance(1, 0);
        while let Some(need) = rest.next_if(|need| need.id < id) {
            doubtful.push(*need);
        }
        match rest.next_if(|need| need.id == id) {
            None => {
                compared.garbage_objects += 1;
                compared.garbage_bytes += size;
            }
            Some(need) if size < need.end && !planted(PlantedBug::ShortChunkNotFound) => {
                doubtful.push(*need);
            }
            Some(_) => {
                compared.objects += 1;
                compared.bytes += size;
            }
        }
    }
    drop(list);
    doubtful.extend(rest.copied());
    doubtful.retain(|need| need.end > 0);
    // An object that a list leaves out may be there all the same: only a request for the object itself counts.
    let mut looks = stream::iter(doubtful)
        .map(|need| async move { Ok::<_, CheckError>((need, find_size(storage, need).await?)) })
        .buffered(REQUESTS);
    while let Some((need, found)) = looks.try_next().await? {
        match found {
            Ok(size) => {
                compared.objects += 1;
                compared.bytes += size;
            }
            Err(problem) => compared.bad.push(BadChunk { need, problem }),
        }
    }
    Ok(compared)
}

async fn find_size(
    storage: &Arc<dyn Storage>,
    need: Need,
) -> Result<Result<u64, Problem>, StorageError> {
    let key = Key::parse(&layout::chunk_key(need.chunk()))?;
    match storage.head(&key).await {
        Ok(meta) if meta.size < need.end => Ok(Err(Problem::Short(meta.size))),
        Ok(meta) => Ok(Ok(meta.size)),
        Err(error) if error.is_not_found() => Ok(Err(Problem::Missing)),
        Err(error @ StorageError::NotAnObject { .. }) => {
            Ok(Err(Problem::Unreadable(error.to_string())))
        }
        Err(error) => Err(error),
    }
}

/// Reads chunk objects to their end, but those known to be bad, and returns which cannot be.
pub(super) async fn read_all(
    storage: &Arc<dyn Storage>,
    needs: &[Need],
    known: &BadChunks,
    progress: &dyn Progress,
) -> Result<Vec<BadChunk>, CheckError> {
    let wanted = needs.iter().copied();
    let wanted = wanted.filter(|need| need.end > 0 && !known.contains_key(&need.chunk()));
    let mut reads = stream::iter(wanted)
        .map(|need| async move { (need, read(storage, need).await) })
        .buffered(REQUESTS);
    let mut bad = Vec::new();
    while let Some((need, result)) = reads.next().await {
        match result {
            Ok(bytes) if bytes < need.end => {
                bad.push(BadChunk {
                    need,
                    problem: Problem::Short(bytes),
                });
            }
            Ok(bytes) => progress.advance(1, bytes),
            // A body that ends early again and again is damage of the object, also if another try might help.
            Err(error) if error.is_retryable() && !is_short(&error) => return Err(error.into()),
            Err(error) => bad.push(BadChunk {
                need,
                problem: Problem::Unreadable(with_causes(&error)),
            }),
        }
    }
    Ok(bad)
}

fn is_short(error: &StorageError) -> bool {
    matches!(error, StorageError::WrongLength { .. })
}

/// Reads an object without holding it, and returns its length.
async fn read(storage: &Arc<dyn Storage>, need: Need) -> Result<u64, StorageError> {
    let key = Key::parse(&layout::chunk_key(need.chunk()))?;
    let options = GetOptions::default().with_max_size(WHOLE);
    let object = match storage.get(&key, options).await {
        Err(StorageError::ObjectTooLarge { size, .. }) => {
            let parts = pieces(Arc::clone(storage), key, size);
            let lengths = parts.map_ok(|part| part.len() as u64);
            return lengths.try_fold(0, async |sum, part| Ok(sum + part)).await;
        }
        object => object?,
    };
    let expected = object.range.end - object.range.start;
    let found = match object.body {
        Body::Bytes(bytes) => bytes.len() as u64,
        Body::Stream(mut parts) => {
            let mut found = 0;
            while let Some(part) = parts.try_next().await? {
                found += part.len() as u64;
            }
            found
        }
    };
    match found == expected {
        true => Ok(found),
        false => Err(StorageError::WrongLength {
            key,
            expected,
            found,
        }),
    }
}
