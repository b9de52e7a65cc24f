//! Work that is awaited on an event loop.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::{PyRuntimeError, PyStopIteration};
use pyo3::intern;
use pyo3::prelude::*;

use super::{Task, courier};
use crate::process;

/// Somebody who awaits a task on an event loop.
#[pyclass(frozen, module = "icefield._native")]
pub(super) struct Awaiting {
    task: Py<Task>,
    asked: AtomicBool,
}

impl Awaiting {
    pub(super) fn new(task: Py<Task>) -> Self {
        Self {
            task,
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
        let task = self.task.get();
        task.birthplace.check()?;
        if !task.progress.is_ended() && process::is_ending() {
            // In what the interpreter calls before it ends: nobody would tell the event loop.
            task.wait(py)?;
        }
        if !task.progress.is_ended() {
            if self.asked.swap(true, Ordering::Relaxed) {
                return Err(PyRuntimeError::new_err(
                    "the event loop went on before the work was done",
                ));
            }
            let running = py.import(intern!(py, "asyncio"))?;
            let event_loop = running.call_method0(intern!(py, "get_running_loop"))?;
            let future = event_loop.call_method0(intern!(py, "create_future"))?;
            let waiter = courier::Waiter::new(event_loop.unbind(), future.clone().unbind());
            if task.progress.tell(waiter) {
                // What a future does in its own `__await__`.
                future.setattr(intern!(py, "_asyncio_future_blocking"), true)?;
                return Ok(future.unbind());
            }
        }
        let value = task.progress.value(py)?;
        Err(PyStopIteration::new_err((value,)))
    }

    fn send(&self, py: Python<'_>, _value: Py<PyAny>) -> PyResult<Py<PyAny>> {
        self.__next__(py)
    }

    /// Who awaits was cancelled, or closed: nobody wants the value.
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
        let task = self.task.get();
        if task.birthplace.is_here() {
            task.note_on(&thrown);
        }
        Err(PyErr::from_value(thrown))
    }

    fn close(&self) {
        let task = self.task.get();
        if task.birthplace.is_here() && !task.progress.is_ended() {
            task.give_up();
        }
    }
}
