//! Copies of long values, in memory that is reused.
//!
//! The first access to fresh memory of the operating system costs more than a copy into it. Buffers are therefore kept for the
//! next values, up to a limit, until the session is committed, flushed or sent.

use std::mem;
use std::sync::Mutex;

use bytes::Bytes;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

/// The shortest value, in bytes, whose memory is reused. Shorter ones come from memory that the process has already.
const LONG: usize = 128 << 10;

/// The largest number of unused bytes that are kept.
const KEPT: usize = 64 << 20;

/// The unused buffers. No thread blocks on the lock: in a process forked while the lock was held, it stays locked.
static FREE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// A value in a buffer that is returned for reuse.
struct Copied {
    /// The buffer, initialized by earlier values; only its beginning is this value.
    memory: Vec<u8>,
    length: usize,
}

impl AsRef<[u8]> for Copied {
    fn as_ref(&self) -> &[u8] {
        &self.memory[..self.length]
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        if let Ok(mut free) = FREE.try_lock() {
            let kept: usize = free.iter().map(Vec::len).sum();
            if kept + self.memory.len() <= KEPT {
                free.push(mem::take(&mut self.memory));
            }
        }
    }
}

/// Copies the contents of a buffer, in C order.
pub(super) fn copy(py: Python<'_>, buffer: &PyBuffer<u8>) -> PyResult<Bytes> {
    let length = buffer.len_bytes();
    if length < LONG {
        return Ok(buffer.to_vec(py)?.into());
    }
    let mut copied = Copied {
        memory: free(length).unwrap_or_else(|| vec![0; length]),
        length,
    };
    buffer.copy_to_slice(py, &mut copied.memory[..length])?;
    Ok(Bytes::from_owner(copied))
}

/// Takes an unused buffer for so many bytes, if there is one that is not much too large.
fn free(length: usize) -> Option<Vec<u8>> {
    let mut free = FREE.try_lock().ok()?;
    let fits = |memory: &Vec<u8>| (length..=length + length / 8).contains(&memory.len());
    let at = free.iter().rposition(fits)?;
    Some(free.swap_remove(at))
}

/// Returns unused memory to the operating system.
pub(crate) fn release() {
    if let Ok(mut free) = FREE.try_lock() {
        drop(mem::take(&mut *free));
    }
}
