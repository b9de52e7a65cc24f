//! Which values are read and written on the thread that asks for them.
//!
//! Another thread costs more than a short value on a local disk, and is worth it for a long one: others can work
//! meanwhile. How long a value is shows when it is there, so the last one tells of the next. Where there are as many long
//! values on their way as there are processors, nobody else can work, and what waits its turn is memory that no cache holds
//! any more: the thread that has the next one writes it, if the disk has just been as quick as memory.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use icefield::ByteRange;
use icefield::storage::{GetOptions, GetRange, Key, Storage};

/// Longest value in bytes that is worth no thread.
const SHORT: usize = 256 << 10;

/// Longest value in bytes that a thread with other things to do writes, however quick the disk is.
const LONGEST: usize = 16 << 20;

/// Bytes in a second that a disk takes at least when it does not wait for anything but memory.
const QUICK: u128 = 512 << 20;

/// Values on their way to disks, at least, for the next one to be written by who has it.
static MANY: LazyLock<usize> =
    LazyLock::new(|| thread::available_parallelism().map_or(2, NonZero::get) + 1);

/// Where the values of a store are.
#[derive(Clone, Debug)]
pub(super) enum Nearness {
    /// In the memory of this process.
    Memory,
    /// On a disk.
    Disk {
        /// Bytes of the whole value that was read last.
        last: Arc<AtomicUsize>,
        /// Whether the long value that was written last was written as quickly as memory is.
        quick: Arc<AtomicBool>,
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
                quick: Arc::default(),
            },
        }
    }

    /// Whether a read is tried on the thread that asks: of what is far, some is remembered all the same.
    pub(super) fn is_short(&self, range: ByteRange) -> bool {
        let Self::Disk { last, .. } = self else {
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
        if let (Self::Disk { last, .. }, ByteRange::All) = (self, range) {
            last.store(length, Ordering::Relaxed);
        }
    }

    /// Whether a value is written on the thread that has it, with so many others `on_their_way` to disks.
    pub(super) fn is_written_here(&self, length: usize, on_their_way: usize) -> bool {
        match self {
            Self::Memory => true,
            Self::Disk { .. } if length <= SHORT => true,
            Self::Disk { quick, .. } => {
                length <= LONGEST && on_their_way >= *MANY && quick.load(Ordering::Relaxed)
            }
            Self::Far => false,
        }
    }

    /// Remembers how long it took to write a value.
    pub(super) fn wrote(&self, length: usize, time: Duration) {
        if let Self::Disk { quick, .. } = self
            && length > SHORT
        {
            let least = length as u128 * 1_000_000 / QUICK;
            quick.store(time.as_micros() <= least, Ordering::Relaxed);
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
