//! Bounds on the work that is under way at once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes that one permit stands for; a semaphore counts no further than `u32`.
const UNIT: u64 = 1 << 10;

/// The bounds on the work of an import or export that is under way at the same time. They bound its memory, whatever
/// the size of the data.
///
/// ```
/// use icefield_ingest::Limits;
///
/// let small = Limits::default().with_chunks(4).with_bytes(8 << 20);
/// assert_eq!(small.chunks, 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The number of chunks that are copied at the same time. Default 16.
    pub chunks: usize,
    /// The memory for encoded chunks, in bytes. A larger chunk is copied alone. Default 32 MiB.
    pub bytes: u64,
    /// The memory for decoded elements, in bytes, where chunks are put together of the elements of others. Work that
    /// needs more to make a single chunk has it, and is alone. Default 128 MiB.
    pub elements: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            chunks: 16,
            bytes: 32 << 20,
            elements: 128 << 20,
        }
    }
}

impl Limits {
    /// Sets the number of chunks that are copied at the same time; at least one.
    #[must_use]
    pub fn with_chunks(mut self, chunks: usize) -> Self {
        self.chunks = chunks.max(1);
        self
    }

    /// Sets the memory for encoded chunks, in bytes; at least 1 KiB, at most 1 TiB.
    #[must_use]
    pub fn with_bytes(mut self, bytes: u64) -> Self {
        self.bytes = bytes.clamp(UNIT, 1 << 40);
        self
    }

    /// Sets the memory for decoded elements, in bytes; at least 1 KiB, at most 1 TiB.
    #[must_use]
    pub fn with_elements(mut self, bytes: u64) -> Self {
        self.elements = bytes.clamp(UNIT, 1 << 40);
        self
    }

    /// Returns the limits of each of two steps that hold bytes at the same time, the reading and the writing.
    #[must_use]
    pub(crate) fn of_each_step(self) -> Self {
        self.with_bytes(self.bytes / 2)
    }
}

/// A part of the [`Limits`] that counts bytes.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    permits: Arc<Semaphore>,
    total: u32,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        Self::of(limits.bytes)
    }

    /// Returns a bound of so many bytes.
    pub(crate) fn of(bytes: u64) -> Self {
        let total = units(bytes);
        Self {
            permits: Arc::new(Semaphore::new(total as usize)),
            total,
        }
    }

    /// Waits until a chunk of so many bytes may be held, for as long as the result lives. First come, first
    /// served, so that a large chunk is not overtaken for ever by small ones.
    pub(crate) async fn hold(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let wanted = units(bytes).min(self.total);
        Arc::clone(&self.permits)
            .acquire_many_owned(wanted)
            .await
            .ok()
    }
}

fn units(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT))
        .unwrap_or(u32::MAX >> 4)
        .clamp(1, u32::MAX >> 4)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn bytes_are_bounded_and_a_larger_chunk_goes_alone() {
        let budget = Budget::new(Limits::default().with_bytes(10 << 10));
        let six = budget.hold(6 << 10).now_or_never().flatten();
        assert!(six.is_some());
        assert!(budget.hold(5 << 10).now_or_never().is_none());
        drop(six);
        let huge = budget.hold(u64::MAX).now_or_never().flatten();
        assert!(huge.is_some());
        assert!(budget.hold(1).now_or_never().is_none());
    }
}
