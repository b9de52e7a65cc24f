//! The calls of Python that native threads make.
//!
//! The interpreter terminates a thread that asks for the GIL while it ends. If that thread is inside a call from Rust, the
//! whole process aborts. The interpreter therefore waits, before it ends, until no native thread is in Python, and no
//! native thread enters Python after that.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use super::lasting::LONGEST_WAIT;

/// The calls of one process.
pub(crate) struct PythonCalls {
    state: Mutex<CallState>,
    left: Condvar,
}

struct CallState {
    /// Threads that are in Python now.
    inside: usize,
    /// Whether threads may no longer enter.
    is_closed: bool,
}

/// A thread counts as inside Python until this is dropped.
struct InsidePython(&'static PythonCalls);

impl PythonCalls {
    pub(super) const fn new() -> Self {
        Self {
            state: Mutex::new(CallState {
                inside: 0,
                is_closed: false,
            }),
            left: Condvar::new(),
        }
    }

    /// Calls Python from a native thread; `None` if the interpreter is ending.
    pub(crate) fn in_python<T>(&'static self, call: impl FnOnce(Python<'_>) -> T) -> Option<T> {
        let _inside = self.enter()?;
        Python::try_attach(call)
    }

    /// Returns whether native threads no longer enter Python.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Lets no thread enter any more, and waits until all threads have left, for at most [`LONGEST_WAIT`]. The caller must
    /// not hold the GIL, which those threads need.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let left = (self.left).wait_timeout_while(state, LONGEST_WAIT, |state| state.inside > 0);
        drop(left);
    }

    fn lock(&self) -> MutexGuard<'_, CallState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&'static self) -> Option<InsidePython> {
        let mut state = self.lock();
        if state.is_closed {
            return None;
        }
        state.inside += 1;
        Some(InsidePython(self))
    }
}

impl Drop for InsidePython {
    fn drop(&mut self) {
        self.0.lock().inside -= 1;
        self.0.left.notify_all();
    }
}
