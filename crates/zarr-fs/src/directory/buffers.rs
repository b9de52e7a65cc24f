//! Buffers for values, used again and again: the general allocator would keep the memory of freed ones for each
//! thread that ever read one, and a program that copies terabytes would hold many times what is in flight.

use std::collections::TryReserveError;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// Shorter values are left to the general allocator.
const SHORTEST: usize = 64 << 10;
/// Bytes of unused buffers that are kept.
const KEPT: usize = 32 << 20;

/// Unused buffers. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffers(Arc<Mutex<Vec<Vec<u8>>>>);

/// A buffer that goes back when no reader holds it any more.
struct Lent {
    bytes: Vec<u8>,
    home: Buffers,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.home.give_back(std::mem::take(&mut self.bytes));
    }
}

impl Buffers {
    /// Returns an empty buffer for at least so many bytes, and for not many more.
    ///
    /// # Errors
    /// There is no such memory: lengths come from the file system, and must not abort the process.
    pub(super) fn take(&self, length: usize) -> Result<Vec<u8>, TryReserveError> {
        let mut fresh = Vec::new();
        if length < SHORTEST {
            fresh.try_reserve_exact(length)?;
            return Ok(fresh);
        }
        let fits = |buffer: &Vec<u8>| {
            buffer.capacity() >= length && buffer.capacity() - length <= length / 8
        };
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(position) = free.iter().position(fits) {
            return Ok(free.swap_remove(position));
        }
        // Buffers of another size make room for this one.
        let kept = |free: &Vec<Vec<u8>>| free.iter().map(Vec::capacity).sum::<usize>();
        while kept(&free).saturating_add(length) > KEPT && free.pop().is_some() {}
        drop(free);
        fresh.try_reserve_exact(length)?;
        Ok(fresh)
    }

    /// Makes the contents of a buffer readable; the buffer comes back when the last reader is gone.
    pub(super) fn lend(&self, bytes: Vec<u8>) -> Bytes {
        match bytes.capacity() >= SHORTEST {
            true => Bytes::from_owner(Lent {
                bytes,
                home: self.clone(),
            }),
            false => bytes.into(),
        }
    }

    fn give_back(&self, mut buffer: Vec<u8>) {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if free.iter().map(Vec::capacity).sum::<usize>() + buffer.capacity() <= KEPT {
            buffer.clear();
            free.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(buffers: &Buffers) -> usize {
        buffers
            .0
            .lock()
            .expect("no panic")
            .iter()
            .map(Vec::capacity)
            .sum()
    }

    #[test]
    fn a_buffer_comes_back_and_is_used_again() {
        let buffers = Buffers::default();
        let mut first = buffers.take(100_000).expect("memory");
        first.extend([1, 2, 3]);
        let place = first.as_ptr();
        let bytes = buffers.lend(first);
        assert_eq!((&bytes[..], kept(&buffers)), (&[1, 2, 3][..], 0));
        drop(bytes);
        let second = buffers.take(99_000).expect("memory");
        assert_eq!((second.as_ptr(), second.len()), (place, 0));
        let third = buffers.take(99_000).expect("memory");
        assert_ne!(third.as_ptr(), place);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let buffers = Buffers::default();
        let many: Vec<Bytes> = (0..100)
            .map(|_| buffers.lend(buffers.take(1 << 20).expect("memory")))
            .collect();
        drop(many);
        assert!(kept(&buffers) <= KEPT);
        drop(buffers.lend(buffers.take(KEPT + 1).expect("memory")));
        assert_eq!(kept(&buffers), 0);
        drop(buffers.lend(buffers.take(10).expect("memory")));
        assert_eq!(kept(&buffers), 0);
        assert!(buffers.take(usize::MAX).is_err());
    }
}
