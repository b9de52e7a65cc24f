//! The choice of the thread that reads or writes a value.
//!
//! For a short value on a local disk, handing the work to another thread costs more than the work. For a long value it pays:
//! the calling thread can do other work. The length of a value is known only after the read, so the last length predicts the
//! next.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use icefield::ByteRange;
use icefield::storage::{GetOptions, GetRange, Key, Storage};

/// The longest value, in bytes, that the calling thread handles itself.
const SHORT: usize = 256 << 10;

/// The distance of a store's values.
#[derive(Clone, Debug)]
pub(super) enum Nearness {
    /// In the memory of this process.
    Memory,
    /// On a disk.
    Disk {
        /// The length in bytes of the whole value that was read last.
        last: Arc<AtomicUsize>,
    },
    /// Behind a network.
    Far,
}

impl Nearness {
    /// Determines the distance of a store. May block on a disk.
    pub(super) fn of(storage: &Arc<dyn Storage>) -> Self {
        let Ok(key) = Key::parse("config.yaml") else {
            return Self::Far;
        };
        // The object need not exist: only a response without waiting matters.
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

    /// Returns whether the calling thread tries a read. It also tries reads of far stores, which a cache may serve.
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

    /// Records the length of a value.
    pub(super) fn record_length(&self, range: ByteRange, length: usize) {
        if let (Self::Disk { last }, ByteRange::All) = (self, range) {
            last.store(length, Ordering::Relaxed);
        }
    }

    /// Returns whether the calling thread tries a write.
    pub(super) fn is_short_to_write(&self, length: usize) -> bool {
        match self {
            Self::Memory => true,
            Self::Disk { .. } => length <= SHORT,
            Self::Far => false,
        }
    }
}

/// Returns the length of a range in bytes, if the range determines it.
fn length(range: ByteRange) -> Option<u64> {
    match range {
        ByteRange::Range { start, end } => Some(end.saturating_sub(start)),
        ByteRange::Suffix { length } => Some(length),
        ByteRange::All | ByteRange::From { .. } => None,
    }
}
