//! The objects that runs are made of.
//!
//! A part has the ids of its rows, twelve bytes each, then their counts as little-endian 32-bit numbers, compressed with
//! Zstandard and a checksum.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::{StreamExt, TryStreamExt};
use icefield_storage::{
    Bytes, Deletion, Key, ListOptions, Prefix, PutMode, PutOptions, PutOutcome, Storage,
    StorageError, StorageExt,
};

use super::run::{Id, Part, ROWS, Row, Run, Table};
use crate::collect::error::CollectError;

const ID: usize = size_of::<Id>();
const COUNT: usize = size_of::<i32>();
const COMPRESSION_LEVEL: i32 = 1;
const FOLDER: &str = "icefield/gc/marks";

/// Parts that are not in the store: of a dry run, which writes nothing.
pub(crate) type Held = Arc<Mutex<HashMap<String, Bytes>>>;

/// Where parts are read and written.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) storage: Arc<dyn Storage>,
    /// New parts are kept here instead of in the store.
    pub(crate) held: Option<Held>,
}

/// Most bytes of a part.
fn most_packed() -> u64 {
    zstd::zstd_safe::compress_bound(ROWS * (ID + COUNT)) as u64
}

fn damaged(key: &str, reason: impl std::fmt::Display) -> CollectError {
    CollectError::Marks {
        key: key.to_owned(),
        reason: reason.to_string(),
    }
}

fn locked(held: &Held) -> MutexGuard<'_, HashMap<String, Bytes>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Parts {
    pub(super) async fn read(&self, run: &Run, part: usize) -> Result<Vec<Row>, CollectError> {
        let name = run.part_name(part);
        let held = (self.held.as_ref()).and_then(|held| locked(held).get(&name).cloned());
        let packed = match held {
            Some(packed) => packed,
            None => match self.storage.read_at_most(&key(&name)?, most_packed()).await {
                Ok((packed, _)) => packed,
                Err(StorageError::ObjectTooLarge { size, .. }) => {
                    return Err(damaged(&name, format_args!("it has {size} bytes")));
                }
                Err(error) if error.is_not_found() => return Err(damaged(&name, "it is gone")),
                Err(error) => return Err(error.into()),
            },
        };
        let bytes = zstd::bulk::decompress(&packed, ROWS * (ID + COUNT))
            .map_err(|error| damaged(&name, error))?;
        let rows = bytes.len() / (ID + COUNT);
        if bytes.len() != rows * (ID + COUNT) {
            return Err(damaged(&name, "its last row is cut off"));
        }
        let (ids, counts) = bytes.split_at(rows * ID);
        let rows = ids.as_chunks::<ID>().0.iter().copied();
        let counts = counts.as_chunks::<COUNT>().0.iter();
        let rows: Vec<Row> = rows
            .zip(counts.map(|count| i32::from_le_bytes(*count)))
            .collect();
        // The parts that these rows find must not be missed.
        let first = run.parts.get(part).map(|it| it.first);
        let below = run.parts.get(part + 1).map(|it| it.first);
        let fits = rows.first().map(|(id, _)| *id) == first
            && rows.is_sorted_by(|one, next| one.0 < next.0)
            && below.is_none_or(|below| rows.last().is_some_and(|(last, _)| *last < below));
        match fits {
            true => Ok(rows),
            false => Err(damaged(&name, "its ids are not those that belong there")),
        }
    }

    /// Writes a part of at most [`ROWS`] rows, ascending, and adds it to its run.
    pub(super) async fn write(&self, run: &mut Run, rows: &[Row]) -> Result<(), CollectError> {
        let Some((first, _)) = rows.first() else {
            return Ok(());
        };
        let ids = rows.iter().flat_map(|(id, _)| *id);
        let counts = rows.iter().flat_map(|(_, count)| count.to_le_bytes());
        let bytes: Vec<u8> = ids.chain(counts).collect();
        let name = run.part_name(run.parts.len());
        let packed = pack(&bytes, COMPRESSION_LEVEL).map_err(|source| StorageError::Failed {
            action: "compress",
            target: name.clone(),
            source: source.into(),
        })?;
        run.parts.push(Part {
            first: *first,
            bytes: packed.len() as u64,
        });
        run.rows += rows.len() as u64;
        if let Some(held) = &self.held {
            locked(held).insert(name, packed);
            return Ok(());
        }
        let options = PutOptions::mode(PutMode::Overwrite);
        match self
            .storage
            .put(&key(&name)?, packed.into(), options)
            .await?
        {
            PutOutcome::Written(_) => Ok(()),
            PutOutcome::Refused => unreachable!("BUG: an unconditional put is not refused"),
            PutOutcome::Unknown(source) => Err(source.into()),
        }
    }

    /// Returns whether all parts of a table are there, as long as they were written.
    pub(crate) async fn are_there(&self, table: &Table) -> Result<bool, StorageError> {
        let mut wanted: HashMap<String, u64> = HashMap::new();
        for run in &table.runs {
            let parts = run.parts.iter().enumerate();
            wanted.extend(parts.map(|(at, part)| (run.part_name(at), part.bytes)));
        }
        let mut listed = self
            .storage
            .list_objects(ListOptions::prefix(Prefix::parse(FOLDER)?));
        while let Some(object) = listed.try_next().await? {
            if wanted.get(object.key.as_str()) == Some(&object.size) {
                wanted.remove(object.key.as_str());
            }
        }
        Ok(wanted.is_empty())
    }

    /// Deletes the parts of all tables but one: those of earlier ones, and what stopped collections have left. What
    /// cannot be deleted does no harm.
    pub(crate) async fn delete_others(&self, table: &Table) -> Result<(), StorageError> {
        let ours: HashSet<String> = (table.runs.iter())
            .flat_map(|run| (0..run.parts.len()).map(|part| run.part_name(part)))
            .collect();
        if let Some(held) = &self.held {
            locked(held).retain(|name, _| ours.contains(name));
            return Ok(());
        }
        let listed = self
            .storage
            .list_objects(ListOptions::prefix(Prefix::parse(FOLDER)?));
        let others: Vec<Deletion> = listed
            .try_filter(|object| std::future::ready(!ours.contains(object.key.as_str())))
            .map_ok(|object| object.key.into())
            .try_collect()
            .await?;
        let deleted = self.storage.delete(futures::stream::iter(others).boxed());
        deleted.for_each(|_| std::future::ready(())).await;
        Ok(())
    }
}

fn key(name: &str) -> Result<Key, StorageError> {
    Ok(Key::parse(name)?)
}

/// Compresses with a checksum at the end.
pub(crate) fn pack(bytes: &[u8], level: i32) -> std::io::Result<Bytes> {
    let mut packer = zstd::bulk::Compressor::new(level)?;
    packer.include_checksum(true)?;
    Ok(packer.compress(bytes)?.into())
}
