//! The results of work, and work in the form in which any task can hold it.

use std::any::{Any, TypeId};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;

use futures::FutureExt;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::errors::Failure;

/// A result that becomes a Python object.
pub(crate) trait Outcome {
    fn into_object(self, py: Python<'_>) -> PyResult<Py<PyAny>>;
}

impl<T: for<'py> IntoPyObject<'py> + 'static> Outcome for T {
    fn into_object(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        // The unit type becomes `None`, not an empty tuple.
        match TypeId::of::<T>() == TypeId::of::<()>() {
            true => Ok(py.None()),
            false => self.into_py_any(py),
        }
    }
}

/// A value that becomes a Python object as soon as a thread holds the GIL.
pub(super) type PendingValue = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// The result of work that has ended.
pub(super) type WorkResult = Result<PendingValue, Failure>;

/// Work whose result any task can hold.
pub(crate) type Work = Pin<Box<dyn Future<Output = WorkResult> + Send>>;

/// Turns a panic of work into a failure.
pub(super) fn panicked<T>(panic: Box<dyn Any + Send>) -> Result<T, Failure> {
    Err(Failure::of_panic(&*panic))
}

/// Puts a result into the form in which a task holds it.
pub(super) fn pending<T: Outcome + Send + 'static>(result: Result<T, Failure>) -> WorkResult {
    result.map(|value| Box::new(move |py: Python<'_>| value.into_object(py)) as PendingValue)
}

/// Puts work into the form in which a task holds it. A panic becomes a failure.
pub(super) fn guarded<F, T>(work: F) -> Work
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    let caught = AssertUnwindSafe(work).catch_unwind();
    Box::pin(caught.map(|result| pending(result.unwrap_or_else(panicked))))
}
