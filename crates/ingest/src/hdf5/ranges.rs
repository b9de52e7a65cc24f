//! The file as the parser sees it: ranges read from a thread that may block, through a cache of blocks.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use hdf5_reader::error::Error;
use hdf5_reader::{Storage, StorageBuffer};
use tokio::sync::{mpsc, oneshot};

use crate::SourceError;

/// Bytes per block. Headers are small and lie close together.
const BLOCK: u64 = 64 << 10;
/// Blocks kept: 32 MiB.
const BLOCKS: usize = 512;
/// Blocks asked for at once while a file is read from front to back.
const AHEAD: u64 = 16;
/// A longer range is asked for as it is, and not kept.
const LONG: u64 = 1 << 20;

/// A file that sends the parser in circles.
const CIRCLES: &str = "its structures refer to each other again and again";

/// A range that the thread waits for.
pub(super) struct RangeRequest {
    pub(super) range: Range<u64>,
    pub(super) answer: oneshot::Sender<Result<Bytes, SourceError>>,
}

/// Reads ranges by asking the other end of a channel.
pub(super) struct Ranges {
    ask: mpsc::Sender<RangeRequest>,
    size: u64,
    base: u64,
    state: Mutex<RangeCache>,
}

#[derive(Default)]
struct RangeCache {
    blocks: HashMap<u64, Block>,
    uses: u64,
    /// The block behind the last one that was fetched, and how many to fetch if it is the next.
    next: u64,
    ahead: u64,
    /// Bytes handed to the parser.
    served: u64,
    failed: Option<SourceError>,
}

struct Block {
    bytes: Bytes,
    used: u64,
}

impl Ranges {
    pub(super) fn new(ask: mpsc::Sender<RangeRequest>, size: u64) -> Self {
        Self {
            ask,
            size,
            base: 0,
            state: Mutex::default(),
        }
    }

    /// Counts addresses from here on.
    pub(super) fn set_base(&mut self, base: u64) {
        self.base = base;
    }

    /// Returns where addresses are counted from.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// Takes the error that the file answered with, which a parser's error only stands for.
    pub(super) fn take_failure(&self) -> Option<SourceError> {
        self.lock().failed.take()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, RangeCache> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fetch(&self, state: &mut RangeCache, range: Range<u64>) -> Result<Bytes, Error> {
        let gone = || Error::Other("the read of the file was abandoned".to_owned());
        let length = range.end - range.start;
        let (answer, answered) = oneshot::channel();
        self.ask
            .blocking_send(RangeRequest { range, answer })
            .map_err(|_| gone())?;
        match answered.blocking_recv().map_err(|_| gone())? {
            Ok(bytes) if bytes.len() as u64 == length => Ok(bytes),
            Ok(_) => Err(Error::Other("a range was answered in part".to_owned())),
            Err(error) => {
                let text = error.to_string();
                state.failed = Some(error);
                Err(Error::Other(text))
            }
        }
    }

    /// Makes sure that the blocks are there. Neighbours that are missing come in one request.
    fn load(&self, state: &mut RangeCache, wanted: Range<u64>) -> Result<(), Error> {
        let mut first = wanted.start;
        while first < wanted.end {
            if state.blocks.contains_key(&first) {
                first += 1;
                continue;
            }
            let mut end = first + 1;
            while end < wanted.end && !state.blocks.contains_key(&end) {
                end += 1;
            }
            state.ahead = match first == state.next {
                true => (state.ahead * 2).clamp(1, AHEAD),
                false => 1,
            };
            let last = self.size.div_ceil(BLOCK);
            end = end.max(first.saturating_add(state.ahead)).min(last);
            let bytes = self.fetch(state, first * BLOCK..(end * BLOCK).min(self.size))?;
            for block in first..end {
                let start = (block - first) * BLOCK;
                let stop = (start + BLOCK).min(bytes.len() as u64);
                // A copy, so that a block that is dropped gives its memory back.
                let bytes = Bytes::copy_from_slice(&bytes[start as usize..stop as usize]);
                let used = state.uses;
                state.blocks.insert(block, Block { bytes, used });
            }
            state.next = end;
            first = end;
        }
        Ok(())
    }
}

impl RangeCache {
    /// Forgets the blocks that were used longest ago.
    fn shrink(&mut self) {
        while self.blocks.len() > BLOCKS {
            let oldest = self.blocks.iter().min_by_key(|(_, block)| block.used);
            let Some(oldest) = oldest.map(|(number, _)| *number) else {
                return;
            };
            self.blocks.remove(&oldest);
        }
    }
}

impl Storage for Ranges {
    fn len(&self) -> u64 {
        self.size.saturating_sub(self.base)
    }

    fn read_range(&self, offset: u64, len: usize) -> Result<StorageBuffer, Error> {
        let needed = len as u64;
        let start = self.base.checked_add(offset);
        let range = start.and_then(|start| Some(start..start.checked_add(needed)?));
        let Some(range) = range.filter(|range| range.end <= self.size) else {
            return Err(Error::UnexpectedEof {
                offset,
                needed,
                available: self.len().saturating_sub(offset),
            });
        };
        if len == 0 {
            return Ok(StorageBuffer::from_vec(Vec::new()));
        }
        let state = &mut *self.lock();
        // A sound file is read a few times over. One that sends the parser in circles must end.
        state.served = state.served.saturating_add(needed);
        if state.served > self.size.saturating_mul(64).saturating_add(16 << 20) {
            return Err(Error::ResourceLimit(CIRCLES.to_owned()));
        }
        if needed > LONG {
            let bytes = self.fetch(state, range)?;
            return StorageBuffer::from_shared_owner(Arc::new(bytes), 0, len);
        }
        state.uses += 1;
        let blocks = range.start / BLOCK..range.end.div_ceil(BLOCK);
        self.load(state, blocks.clone())?;
        // The blocks of this range were used last. They stay.
        state.shrink();
        let mut parts = BytesMut::new();
        for number in blocks.clone() {
            let used = state.uses;
            let Some(block) = state.blocks.get_mut(&number) else {
                return Err(Error::OffsetOutOfBounds(offset));
            };
            block.used = used;
            let from = range.start.saturating_sub(number * BLOCK) as usize;
            let to = (range.end - number * BLOCK).min(BLOCK) as usize;
            if blocks.end - blocks.start == 1 {
                let bytes = Arc::new(block.bytes.clone());
                return StorageBuffer::from_shared_owner(bytes, from, len);
            }
            parts.extend_from_slice(block.bytes.get(from..to).unwrap_or_default());
        }
        StorageBuffer::from_shared_owner(Arc::new(parts.freeze()), 0, len)
    }
}

/// The file as the parser of one structure sees it, a heap or an index. Every part of one is read about once: what is
/// longer than twice the file leads to its parts again and again.
pub(super) struct Within<'a> {
    ranges: &'a Ranges,
    left: AtomicU64,
}

impl<'a> Within<'a> {
    pub(super) fn new(ranges: &'a Ranges) -> Self {
        let left = ranges.len().saturating_mul(2).saturating_add(1 << 20);
        Self {
            ranges,
            left: AtomicU64::new(left),
        }
    }
}

impl Storage for Within<'_> {
    fn len(&self) -> u64 {
        self.ranges.len()
    }

    fn read_range(&self, offset: u64, len: usize) -> Result<StorageBuffer, Error> {
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(len as u64)
            });
        taken.map_err(|_| Error::ResourceLimit(CIRCLES.to_owned()))?;
        self.ranges.read_range(offset, len)
    }
}
