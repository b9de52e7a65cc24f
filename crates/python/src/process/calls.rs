//! Calls of Python by threads of ours, and the end of the interpreter.
//!
//! A thread that asks for the GIL while the interpreter ends is ended by it, in the middle of what it does; where that
//! is a call from Rust, the whole process is aborted. So before the interpreter ends, it waits until no thread of ours is
//! in Python, and none goes there any more.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::{intern, wrap_pyfunction};

use super::{Generation, LONGEST};

/// The calls of one process.
pub(super) struct Calls {
    state: Mutex<State>,
    left: Condvar,
}

struct State {
    /// Threads that are in Python now.
    inside: usize,
    /// Nobody goes there any more.
    is_closed: bool,
}

/// A thread is in Python until this is dropped.
struct Inside(&'static Calls);

impl Calls {
    pub(super) const fn new() -> Self {
        Self {
            state: Mutex::new(State {
                inside: 0,
                is_closed: false,
            }),
            left: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&'static self) -> Option<Inside> {
        let mut state = self.lock();
        if state.is_closed {
            return None;
        }
        state.inside += 1;
        Some(Inside(self))
    }

    /// Lets nobody in any more, and waits until all have left, but not for ever. Without the GIL, which they need.
    fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let left = (self.left).wait_timeout_while(state, LONGEST, |state| state.inside > 0);
        drop(left);
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.lock().inside -= 1;
        self.0.left.notify_all();
    }
}

/// Calls Python from a thread of ours; `None` if the interpreter is ending. Threads of Python, which come back to it from
/// native code, need not ask.
pub(crate) fn in_python<T>(call: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    let _inside = Generation::current().calls.enter()?;
    Python::try_attach(call)
}

/// Returns whether event loops are not told of anything any more.
pub(crate) fn is_ending() -> bool {
    Generation::current().calls.lock().is_closed
}

/// Lets the interpreter wait for calls before it ends: as one of the last things it does, for who comes first is called
/// last.
pub(crate) fn hook(py: Python<'_>) -> PyResult<()> {
    let wait = wrap_pyfunction!(end_of_calls, py)?;
    py.import(intern!(py, "atexit"))?
        .call_method1(intern!(py, "register"), (wait,))?;
    Ok(())
}

#[pyfunction]
fn end_of_calls(py: Python<'_>) {
    let calls = &Generation::current().calls;
    py.detach(|| calls.close());
}
