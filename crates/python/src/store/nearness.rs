//! Which values are read and written on the thread that asks for them.
//!
//! Another thread costs more than a short value on a local disk, and is worth it for a long one: others can work
//! meanwhile. How long a value is shows when it is there, so the last one tells of the next. Where more long values are under
//! way than there are processors, one more thread would find none to run on, and by its turn no cache would hold the value any
//! more: the thread that has it writes it, if the disk has just been as quick as memory.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;

use icefield::ByteRange;
use icefield::storage::{Clock, GetOptions, GetRange, Key, Storage, SystemClock};

/// Longest value in bytes that is worth no thread.
const SHORT: usize = 256 << 10;

/// Longest value in bytes that is written by who has it, however quick the disk is.
const LONGEST_HERE: usize = 16 << 20;

/// Bytes in a second that a disk takes at least when it does not wait for anything but memory.
const QUICK: u128 = 512 << 20;

/// Long values under way, to and from disks, from which on the next one is written by who has it.
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

    /// Whether a value is written on the thread that has it, where so many others are `under_way`.
    pub(super) fn is_written_here(&self, length: usize, under_way: impl FnOnce() -> usize) -> bool {
        match self {
            Self::Memory => true,
            Self::Disk { .. } if length <= SHORT => true,
            Self::Disk { quick, .. } => {
                length <= LONGEST_HERE && quick.load(Ordering::Relaxed) && under_way() >= *MANY
            }
            Self::Far => false,
        }
    }

    /// Writes a value, as `write` does, which says whether it is on the disk, and remembers how quick that was.
    pub(super) fn writing<T>(
        &self,
        length: usize,
        write: impl FnOnce() -> T,
        is_written: impl FnOnce(&T) -> bool,
    ) -> T {
        let Self::Disk { quick, .. } = self else {
            return write();
        };
        if length <= SHORT {
            return write();
        }
        let start = SystemClock.monotonic();
        let written = write();
        if is_written(&written) {
            let most = length as u128 * 1_000_000 / QUICK;
            let took = (SystemClock.monotonic() - start).as_micros();
            quick.store(took <= most, Ordering::Relaxed);
        }
        written
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
