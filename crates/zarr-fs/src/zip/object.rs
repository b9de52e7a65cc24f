//! A zip file that lies on a storage backend, read by ranges of one state of it.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use icefield_storage::{GetOptions, GetRange, ObjectMeta, Storage};
use rawzip::{ReaderAt, ZipLocator};

use super::index::{self, Index, Slot};
use super::inflate::inflate;
use super::{ZipError, ZipLimits};
use crate::TreeError;

/// Bytes of the end of the file that are read first: most central directories fit.
const FIRST: u64 = 64 << 10;
/// Bytes of a local header without its name and extra fields.
const HEADER: u64 = 30;
/// Bytes for the extra fields of a local header that are read with it. Longer ones cost another request.
const EXTRA: u64 = 64;

/// One state of a file on a storage backend.
#[derive(Clone, Debug)]
pub(super) struct ObjectFile {
    storage: Arc<dyn Storage>,
    meta: ObjectMeta,
    /// Its name in messages.
    name: String,
}

/// The end of a file, in memory.
struct Tail {
    start: u64,
    bytes: Vec<u8>,
    /// The first byte before the tail that was asked for.
    missing: AtomicU64,
}

impl ReaderAt for Tail {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let Some(from) = offset.checked_sub(self.start) else {
            self.missing.fetch_min(offset, Ordering::Relaxed);
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let rest = self.bytes.get(from..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }
}

impl ObjectFile {
    pub(super) fn new(storage: Arc<dyn Storage>, meta: ObjectMeta, name: String) -> Self {
        Self {
            storage,
            meta,
            name,
        }
    }

    pub(super) fn refused(&self, source: ZipError) -> TreeError {
        TreeError::Zip {
            store: self.name.clone(),
            source,
        }
    }

    async fn get(&self, range: Range<u64>) -> Result<Bytes, TreeError> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let options = GetOptions::range(GetRange::Bounded(range));
        let options = options.with_if_match(self.meta.version.clone());
        let read = match self.storage.get(&self.meta.key, options).await {
            Ok(object) => object.bytes().await,
            Err(error) => Err(error),
        };
        read.map_err(|source| TreeError::Storage {
            action: "read",
            store: self.storage.to_string(),
            name: self.name.clone(),
            source: Box::new(source),
        })
    }

    /// Reads and checks the central directory: the end of the file, and as much before it as it asks for.
    pub(super) async fn index(
        &self,
        limits: ZipLimits,
        last_wins: bool,
    ) -> Result<Index, TreeError> {
        let size = self.meta.size;
        let start = size.saturating_sub(FIRST);
        let mut tail = Tail {
            start,
            bytes: self.get(start..size).await?.into(),
            missing: AtomicU64::new(u64::MAX),
        };
        loop {
            let looked = read_index(&tail, size, limits, last_wins);
            let missing = tail.missing.load(Ordering::Relaxed);
            if missing >= tail.start {
                return looked.map_err(|error| self.refused(error));
            }
            // At least twice as much, so that a search for the end does not become a request for each step.
            let twice = tail.start.saturating_sub(size - tail.start);
            let start = missing.min(twice);
            if size - start > limits.names {
                return Err(self.refused(ZipError::NamesTooLong {
                    limit: limits.names,
                }));
            }
            let mut bytes = Vec::from(self.get(start..tail.start).await?);
            bytes.extend_from_slice(&tail.bytes);
            tail = Tail {
                start,
                bytes,
                missing: AtomicU64::new(u64::MAX),
            };
        }
    }

    /// Returns where the data of an entry begins; `bytes` are those from the local header on. `end` is where it must
    /// end at the latest.
    fn data(&self, name: &str, slot: Slot, bytes: &[u8], end: u64) -> Result<u64, ZipError> {
        let content = |problem: &str| ZipError::Content {
            name: name.to_owned(),
            problem: problem.to_owned(),
        };
        let fixed = bytes.get(..HEADER as usize);
        let fixed = fixed.filter(|fixed| fixed.starts_with(b"PK\x03\x04"));
        let fixed = fixed.ok_or_else(|| content("it has no header of its own"))?;
        let length = |at: usize| u16::from_le_bytes([fixed[at], fixed[at + 1]]);
        let (name_length, extra_length) = (length(26), length(28));
        let own = bytes.get(HEADER as usize..HEADER as usize + usize::from(name_length));
        if own != Some(name.as_bytes()) {
            return Err(content("it has another name in its own header"));
        }
        let variable = u64::from(name_length) + u64::from(extra_length);
        let start = slot.offset + HEADER + variable;
        match start.checked_add(slot.compressed) {
            Some(ends) if ends <= end => Ok(start),
            _ => Err(content("its data reaches into what follows it")),
        }
    }

    /// Returns where the data of an entry lies. `end` is where it must end at the latest.
    pub(super) async fn place(
        &self,
        name: &str,
        slot: Slot,
        end: u64,
    ) -> Result<Range<u64>, TreeError> {
        let header = slot.offset + HEADER + name.len() as u64;
        let bytes = self.get(slot.offset..header.min(end)).await?;
        let start = self.data(name, slot, &bytes, end);
        let start = start.map_err(|error| self.refused(error))?;
        Ok(start..start + slot.compressed)
    }

    /// Reads parts of an entry: offsets and lengths that lie in its value.
    pub(super) async fn read(
        &self,
        name: &str,
        slot: Slot,
        end: u64,
        wanted: &[(u64, usize)],
    ) -> Result<Vec<Bytes>, TreeError> {
        let is_whole = |part: &(u64, usize)| part.0 == 0 && part.1 as u64 == slot.size;
        if !slot.deflated && !wanted.iter().any(is_whole) {
            let place = self.place(name, slot, end).await?;
            let mut values = Vec::with_capacity(wanted.len());
            for (offset, length) in wanted {
                let from = place.start + offset;
                values.push(self.get(from..from + *length as u64).await?);
            }
            return Ok(values);
        }
        // The header and the data by one request.
        let likely = slot.offset + HEADER + name.len() as u64 + EXTRA;
        let until = likely.saturating_add(slot.compressed).min(end);
        let bytes = self.get(slot.offset..until).await?;
        let start = self.data(name, slot, &bytes, end);
        let start = start.map_err(|error| self.refused(error))?;
        let ends = start + slot.compressed;
        let data = match ends <= until {
            true => bytes.slice((start - slot.offset) as usize..(ends - slot.offset) as usize),
            false => self.get(start..ends).await?,
        };
        let whole = match slot.deflated {
            true => inflate(&data[..], slot, name),
            false => check(data, slot, name),
        };
        let whole = whole.map_err(|error| self.refused(error))?;
        let part = |(offset, length): &(u64, usize)| {
            let from = *offset as usize;
            whole.slice(from..from + length)
        };
        Ok(wanted.iter().map(part).collect())
    }
}

/// Looks for the directory in what there is of the file.
fn read_index(
    tail: &Tail,
    size: u64,
    limits: ZipLimits,
    last_wins: bool,
) -> Result<Index, ZipError> {
    let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
    let archive = ZipLocator::new()
        .locate_in_reader(tail, &mut buffer, size)
        .map_err(|(_, error)| error)?;
    if tail.missing.load(Ordering::Relaxed) < tail.start {
        // The locator's result was guessed; it is asked again.
        return Err(ZipError::Broken);
    }
    index::read(&archive, limits, last_wins)
}

fn check(data: Bytes, slot: Slot, name: &str) -> Result<Bytes, ZipError> {
    match rawzip::crc32(&data) == slot.crc {
        true => Ok(data),
        false => Err(ZipError::Content {
            name: name.to_owned(),
            problem: "its checksum does not match".to_owned(),
        }),
    }
}
