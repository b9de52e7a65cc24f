//! Which values are read and written on the thread that asks for them.
//!
//! Another thread costs more than a short value on a local disk, and is worth it for a long one: others can work
//! meanwhile. How long a value is shows when it is there, so the last one tells of the next.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use icefield::ByteRange;
use icefield::storage::{GetOptions, GetRange, Key, Storage};

/// Longest value in bytes that is worth no thread.
const SHORT: usize = 256 << 10;

/// Where the values of a store are.
#[derive(Clone, Debug)]
pub(super) enum Nearness {
    /// In the memory of this process.
    Memory,
    /// On a disk.
    Disk {
        /// Bytes of the whole value that was read last.
        last: Arc<AtomicUsize>,
    },
    /// Behind a network.
    Far,
}

impl Nearness {
    /// Finds out; may block on a disk.
    pub(super) fn of(storage: &Arc<dyn Storage>) -> Self {
        let Ok(key) = Key::parse("config.yaml") else {
            return Self::Far;
        };
        // It need not be there: the question is whether there is an answer without waiting.
        let options = GetOptions::range(GetRange::Bounded(0..1));
        if storage.try_get_blocking(&key, &options).is_none() {
            return Self::Far;
        }
        match storage.place() {
            Some(place) if place.starts_with("memory:") => Self::Memory,
            _ => Self::Disk {
                last: Arc::default(),
            },
        }
    }

    /// Whether a read is tried on the thread that asks: of what is far, some is remembered all the same.
    pub(super) fn is_short(&self, range: ByteRange) -> bool {
        let Self::Disk { last } = self else {
            return true;
        };
        let last = last.load(Ordering::Relaxed);
        last <= SHORT || length(range).is_some_and(|length| length <= SHORT as u64)
    }

    pub(super) fn is_on_disk(&self) -> bool {
        matches!(self, Self::Disk { .. })
    }

    /// Remembers how long a value was.
    pub(super) fn saw(&self, range: ByteRange, length: usize) {
        if let (Self::Disk { last }, ByteRange::All) = (self, range) {
            last.store(length, Ordering::Relaxed);
        }
    }

    /// Whether a value is written on the thread that has it.
    pub(super) fn is_short_to_write(&self, length: usize) -> bool {
        match self {
            Self::Memory => true,
            Self::Disk { .. } => length <= SHORT,
            Self::Far => false,
        }
    }
}

/// Bytes that a range asks for, if it says so.
fn length(range: ByteRange) -> Option<u64> {
    match range {
        ByteRange::Range { start, end } => Some(end.saturating_sub(start)),
        ByteRange::Suffix { length } => Some(length),
        ByteRange::All | ByteRange::From { .. } => None,
    }
}
