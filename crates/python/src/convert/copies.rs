//! Copies of long values, in memory that is used again.
//!
//! Memory that is new from the operating system costs more to touch for the first time than to copy into, so what was
//! written is kept for the next value, up to a limit and until what was written is committed, flushed or sent.

use std::mem;
use std::sync::Mutex;

use bytes::Bytes;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

/// Shorter values are not worth it: they come from memory that the process has already.
const LONG: usize = 128 << 10;

/// Most bytes that are kept unused.
const KEPT: usize = 64 << 20;

/// What nobody uses. Never waited for, so that a process that was forked from one that held it goes without.
static FREE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// A value in memory that goes back to the others.
struct Copied {
    /// All of it was written to before: only its beginning is the value.
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

/// Copies what a buffer holds, in C order.
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

/// Takes memory for so many bytes, if there is some that is not much too large.
fn free(length: usize) -> Option<Vec<u8>> {
    let mut free = FREE.try_lock().ok()?;
    let fits = |memory: &Vec<u8>| (length..=length + length / 8).contains(&memory.len());
    let at = free.iter().rposition(fits)?;
    Some(free.swap_remove(at))
}

/// Gives the memory that nobody uses back to the operating system.
pub(crate) fn release() {
    if let Ok(mut free) = FREE.try_lock() {
        drop(mem::take(&mut *free));
    }
}
