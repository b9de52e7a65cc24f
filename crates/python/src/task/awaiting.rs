//! Work that a coroutine awaits on an event loop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::{PyRuntimeError, PyStopIteration};
use pyo3::intern;
use pyo3::prelude::*;

use super::notifier::LoopWaiter;
use super::waiting::Waiting;
use crate::process;

/// The iterator behind the `await` of one coroutine.
#[pyclass(frozen, module = "icefield._native")]
pub(super) struct Awaiting {
    work: Arc<Waiting>,
    asked: AtomicBool,
}

impl Awaiting {
    pub(super) fn new(work: Arc<Waiting>) -> Self {
        Self {
            work,
            asked: AtomicBool::new(false),
        }
    }
}

#[pymethods]
impl Awaiting {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// Gives the event loop a future to wait for, once, and then stops with the value.
    fn __next__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let progress = &self.work.progress;
        self.work.owner.check()?;
        if !progress.is_ended() && process::is_ending() {
            // The event loop gets no notification any more: this runs in a function that the interpreter calls at its end.
            self.work.wait(py)?;
        }
        if !progress.is_ended() {
            if self.asked.swap(true, Ordering::Relaxed) {
                return Err(PyRuntimeError::new_err(
                    "the event loop went on before the work was done",
                ));
            }
            let running = py.import(intern!(py, "asyncio"))?;
            let event_loop = running.call_method0(intern!(py, "get_running_loop"))?;
            let future = event_loop.call_method0(intern!(py, "create_future"))?;
            let waiter = LoopWaiter::new(event_loop.unbind(), future.clone().unbind());
            if progress.add_waiter(waiter) {
                // A future sets this attribute in its own `__await__`.
                future.setattr(intern!(py, "_asyncio_future_blocking"), true)?;
                return Ok(future.unbind());
            }
        }
        let value = progress.value(py)?;
        Err(PyStopIteration::new_err((value,)))
    }

    fn send(&self, py: Python<'_>, _value: Py<PyAny>) -> PyResult<Py<PyAny>> {
        self.__next__(py)
    }

    /// Gives the work up: the awaiting coroutine was cancelled or closed.
    #[pyo3(signature = (kind, value=None, traceback=None))]
    fn throw(
        &self,
        kind: Bound<'_, PyAny>,
        value: Option<Bound<'_, PyAny>>,
        traceback: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        self.close();
        let _ = traceback;
        let thrown = match value {
            Some(value) if !value.is_none() => value,
            _ => kind,
        };
        let thrown = match thrown.is_callable() {
            true => thrown.call0()?,
            false => thrown,
        };
        if self.work.owner.is_current() {
            self.work.note_on(&thrown);
        }
        Err(PyErr::from_value(thrown))
    }

    fn close(&self) {
        if self.work.owner.is_current() && !self.work.progress.is_ended() {
            self.work.give_up();
        }
    }
}
