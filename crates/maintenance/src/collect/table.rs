//! The chunks that are reachable, as a sorted table of ids and counts.
//!
//! The table lies in the store in parts of a million rows, under `icefield/gc/marks/RUN/`. A new one is made by merging
//! sorted changes into the one before, part by part, so that one part of each is in memory.

use std::cmp::Ordering;
use std::sync::Arc;

use icefield_format::ChunkId;
use icefield_storage::{
    Bytes, Key, Prefix, PutMode, PutOptions, PutOutcome, Storage, StorageError, StorageExt,
};
use serde::{Deserialize, Serialize};

use super::CollectError;

/// Rows of one part.
const ROWS: usize = 1 << 20;
/// Bytes of a row: an id and a count.
const ROW: usize = 16;
const COMPRESSION_LEVEL: i32 = 1;

type Id = [u8; 12];

/// Where a table lies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Table {
    /// The folder of its parts; none of an empty table.
    folder: String,
    parts: u32,
    /// Rows in all.
    pub(super) rows: u64,
}

/// Parts that belong to no table in the store: of a dry run, which writes nothing.
pub(super) type Held = Arc<std::sync::Mutex<std::collections::HashMap<String, Bytes>>>;

/// Where parts are read and written.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) storage: Arc<dyn Storage>,
    /// Parts are kept here instead of in the store.
    pub(super) held: Option<Held>,
}

fn damaged(key: &str, reason: impl std::fmt::Display) -> StorageError {
    StorageError::Failed {
        action: "read",
        target: key.to_owned(),
        source: reason.to_string().into(),
    }
}

impl Parts {
    async fn read(&self, table: &Table, part: u32) -> Result<Vec<(Id, u32)>, StorageError> {
        let name = table.part(part);
        let held = self.held.as_ref().and_then(|held| {
            let held = held
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            held.get(&name).cloned()
        });
        let packed = match held {
            Some(packed) => packed,
            None => self.storage.read(&Key::parse(&name)?).await?.0,
        };
        let rows =
            zstd::bulk::decompress(&packed, ROWS * ROW).map_err(|error| damaged(&name, error))?;
        if rows.len() % ROW != 0 {
            return Err(damaged(&name, "the last row is cut off"));
        }
        Ok(rows.chunks_exact(ROW).map(row).collect())
    }

    async fn write(&self, table: &Table, rows: &[(Id, u32)]) -> Result<(), StorageError> {
        let mut bytes = Vec::with_capacity(rows.len() * ROW);
        for (id, count) in rows {
            bytes.extend_from_slice(id);
            bytes.extend_from_slice(&count.to_le_bytes());
        }
        let name = table.part(table.parts);
        let mut packer = zstd::bulk::Compressor::new(COMPRESSION_LEVEL)
            .map_err(|error| damaged(&name, error))?;
        packer
            .include_checksum(true)
            .map_err(|error| damaged(&name, error))?;
        let packed: Bytes = packer
            .compress(&bytes)
            .map_err(|error| damaged(&name, error))?
            .into();
        if let Some(held) = &self.held {
            let mut held = held
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            held.insert(name, packed);
            return Ok(());
        }
        let options = PutOptions::mode(PutMode::Overwrite);
        match self
            .storage
            .put(&Key::parse(&name)?, packed.into(), options)
            .await?
        {
            PutOutcome::Written(_) => Ok(()),
            PutOutcome::Refused => unreachable!("BUG: an unconditional put is not refused"),
            PutOutcome::Unknown(source) => Err(source),
        }
    }

    /// Deletes the parts of a table that nobody remembers any more. What cannot be deleted is of no harm.
    pub(super) async fn delete(&self, table: &Table) {
        for part in 0..table.parts {
            let name = table.part(part);
            if let Some(held) = &self.held {
                let mut held = held
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                held.remove(&name);
            } else if let Ok(key) = Key::parse(&name) {
                drop(self.storage.delete_one(key.into()).await);
            }
        }
    }

    /// Deletes the parts of all tables but one: what stopped collections have left.
    pub(super) async fn delete_others(&self, table: &Table) -> Result<(), StorageError> {
        if self.held.is_some() {
            return Ok(());
        }
        let prefix = Prefix::parse("icefield/gc/marks")?;
        for object in self.storage.list_all(&prefix).await? {
            let ours = (0..table.parts).any(|part| table.part(part) == object.key.as_str());
            if !ours {
                drop(self.storage.delete_one(object.key.into()).await);
            }
        }
        Ok(())
    }
}

fn row(bytes: &[u8]) -> (Id, u32) {
    let (mut id, mut count) = ([0; 12], [0; 4]);
    id.copy_from_slice(&bytes[..12]);
    count.copy_from_slice(&bytes[12..]);
    (id, u32::from_le_bytes(count))
}

impl Table {
    fn part(&self, part: u32) -> String {
        format!("{}/{part:08}", self.folder)
    }
}

/// Reads a table from its first row to its last.
#[derive(Debug)]
pub(super) struct Cursor {
    parts: Parts,
    table: Table,
    next_part: u32,
    rows: std::vec::IntoIter<(Id, u32)>,
    head: Option<(Id, u32)>,
}

impl Cursor {
    pub(super) async fn open(parts: &Parts, table: &Table) -> Result<Self, StorageError> {
        let mut cursor = Self {
            parts: parts.clone(),
            table: table.clone(),
            next_part: 0,
            rows: Vec::new().into_iter(),
            head: None,
        };
        cursor.advance().await?;
        Ok(cursor)
    }

    async fn advance(&mut self) -> Result<(), StorageError> {
        loop {
            self.head = self.rows.next();
            if self.head.is_some() || self.next_part == self.table.parts {
                return Ok(());
            }
            self.rows = self
                .parts
                .read(&self.table, self.next_part)
                .await?
                .into_iter();
            self.next_part += 1;
        }
    }

    /// Returns whether the table has an id. Ids are asked for in ascending order.
    pub(super) async fn has(&mut self, id: &Id) -> Result<bool, StorageError> {
        while let Some((head, _)) = &self.head {
            match head.cmp(id) {
                Ordering::Less => self.advance().await?,
                Ordering::Equal => return Ok(true),
                Ordering::Greater => return Ok(false),
            }
        }
        Ok(false)
    }
}

/// Gathers changes of counts, and merges them into a table whenever they become many.
#[derive(Debug)]
pub(super) struct TableBuilder {
    parts: Parts,
    table: Table,
    /// Whether the parts of the table are ours to delete.
    own: bool,
    folder: String,
    generation: u32,
    changes: Vec<(Id, i32)>,
    most: usize,
}

impl TableBuilder {
    /// Begins with a table that stays as it is.
    pub(super) fn new(parts: Parts, table: Table, folder: String, most: usize) -> Self {
        Self {
            parts,
            table,
            own: false,
            folder,
            generation: 0,
            changes: Vec::new(),
            most,
        }
    }

    /// Counts the chunks of a manifest: up if it appeared, down if it is gone. Each of its ids is counted once.
    pub(super) async fn count(
        &mut self,
        mut ids: Vec<Id>,
        change: i32,
    ) -> Result<(), CollectError> {
        ids.sort_unstable();
        ids.dedup();
        if self.changes.len() + ids.len() > self.most {
            self.combine();
            if self.changes.len() + ids.len() > self.most / 2 {
                self.merge().await?;
            }
        }
        self.changes.extend(ids.into_iter().map(|id| (id, change)));
        Ok(())
    }

    /// Sorts the changes, and adds up those of one id.
    fn combine(&mut self) {
        self.changes.sort_unstable_by_key(|(id, _)| *id);
        self.changes.dedup_by(|next, first| {
            let same = next.0 == first.0;
            if same {
                first.1 += next.1;
            }
            same
        });
        self.changes.retain(|(_, change)| *change != 0);
    }

    async fn merge(&mut self) -> Result<(), CollectError> {
        self.combine();
        if self.changes.is_empty() {
            return Ok(());
        }
        let changes = std::mem::take(&mut self.changes);
        let mut changes = changes.into_iter().peekable();
        let mut old = Cursor::open(&self.parts, &self.table).await?;
        let mut new = Table {
            folder: format!("{}/{}", self.folder, self.generation),
            parts: 0,
            rows: 0,
        };
        self.generation += 1;
        let mut rows: Vec<(Id, u32)> = Vec::new();
        loop {
            let order = match (&old.head, changes.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((head, _)), Some((id, _))) => head.cmp(id),
            };
            let mut row = None;
            if order != Ordering::Greater {
                row = old.head;
                old.advance().await?;
            }
            if order != Ordering::Less
                && let Some((id, change)) = changes.next()
            {
                let count = i64::from(row.map_or(0, |(_, count)| count)) + i64::from(change);
                row = (count > 0).then(|| (id, u32::try_from(count).unwrap_or(u32::MAX)));
            }
            rows.extend(row);
            if rows.len() == ROWS {
                self.parts.write(&new, &rows).await?;
                new.parts += 1;
                new.rows += rows.len() as u64;
                rows.clear();
            }
        }
        if !rows.is_empty() {
            self.parts.write(&new, &rows).await?;
            new.parts += 1;
            new.rows += rows.len() as u64;
        }
        let before = std::mem::replace(&mut self.table, new);
        if std::mem::replace(&mut self.own, true) {
            self.parts.delete(&before).await;
        }
        Ok(())
    }

    /// Returns the table with all that was counted.
    pub(super) async fn table(&mut self) -> Result<Table, CollectError> {
        self.merge().await?;
        // The next merge must leave this one alone.
        self.own = false;
        Ok(self.table.clone())
    }
}

/// Returns the bytes of an id.
pub(super) fn bytes_of(id: ChunkId) -> Id {
    *id.as_bytes()
}
