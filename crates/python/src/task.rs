//! Work that was begun: it is waited for, or awaited on an event loop.

mod courier;
mod progress;

use std::any::{Any, TypeId};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::FutureExt;
use pyo3::exceptions::{PyRuntimeError, PyStopIteration};
use pyo3::prelude::*;
use pyo3::{IntoPyObjectExt, intern};

use crate::errors::Failure;
use crate::process::{self, Birthplace};

pub(crate) use courier::Courier;
use progress::{End, Progress, Value};

/// Between two looks for signals such as Ctrl-C.
const SIGNALS: Duration = Duration::from_millis(100);

/// What work gives.
pub(crate) trait Outcome {
    fn into_object(self, py: Python<'_>) -> PyResult<Py<PyAny>>;
}

impl<T: for<'py> IntoPyObject<'py> + 'static> Outcome for T {
    fn into_object(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        // What gives nothing gives `None`, and no tuple without items.
        match TypeId::of::<T>() == TypeId::of::<()>() {
            true => Ok(py.None()),
            false => self.into_py_any(py),
        }
    }
}

type Work = Pin<Box<dyn Future<Output = End> + Send>>;

/// Work that was begun. It goes on whether or not somebody waits, until it is cancelled: by [`Task::cancel`], by the
/// cancellation of who awaits it, or by a signal. Work that is to come to its end cannot be cancelled.
#[pyclass(frozen, module = "icefield._native")]
pub(crate) struct Task {
    birthplace: Birthplace,
    progress: Arc<Progress>,
    to_the_end: bool,
}

/// Begins work on the runtime.
pub(crate) fn begin<F, T>(py: Python<'_>, work: F) -> PyResult<Task>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    py.detach(|| Ok(Task::spawned(guarded(work), false)?))
}

/// Begins work that no cancellation stops: it changes what others see, so that its caller must not be left in doubt
/// whether it did.
pub(crate) fn begin_to_the_end<F, T>(py: Python<'_>, work: F) -> PyResult<Task>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    py.detach(|| Ok(Task::spawned(guarded(work), true)?))
}

/// Begins work that probably needs to wait for nothing: it is tried on this thread first, without the GIL.
pub(crate) fn begin_near<F, T>(py: Python<'_>, work: F) -> PyResult<Task>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    py.detach(|| {
        let mut work = guarded(work);
        let tried = process::within(|| work.as_mut().poll(&mut Context::from_waker(Waker::noop())));
        Ok(match tried? {
            Poll::Ready(end) => Task::done(end),
            Poll::Pending => Task::spawned(work, false)?,
        })
    })
}

/// As [`begin_near`], for work that no cancellation stops.
pub(crate) fn begin_near_to_the_end<F, T>(py: Python<'_>, work: F) -> PyResult<Task>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    Ok(match begin_tried(py, work)? {
        Begun::Done(Ok(value)) => Task::ready(value),
        Begun::Done(Err(failure)) => Task::failed(failure),
        Begun::Going(task) => task,
    })
}

/// Work that was tried on the thread that wants it done.
pub(crate) enum Begun<T> {
    Done(Result<T, Failure>),
    Going(Task),
}

/// Tries work on this thread; what is left of it cannot be cancelled.
pub(crate) fn begin_tried<F, T>(py: Python<'_>, work: F) -> PyResult<Begun<T>>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    py.detach(|| Ok(tried(work, true)?))
}

/// As [`begin_tried`], outside of the runtime, where what belongs to a disk is done on this thread and not on another.
/// Only for work that needs no timer and no socket.
pub(crate) fn begin_here<F, T>(py: Python<'_>, work: F) -> PyResult<Begun<T>>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    py.detach(|| Ok(tried(work, false)?))
}

fn tried<F, T>(work: F, in_runtime: bool) -> Result<Begun<T>, Failure>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    let caught = AssertUnwindSafe(work).catch_unwind();
    let mut work = Box::pin(caught.map(|result| result.unwrap_or_else(panicked)));
    let mut poll = || work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    let polled = match in_runtime {
        true => process::within(poll)?,
        false => poll(),
    };
    Ok(match polled {
        Poll::Ready(result) => Begun::Done(result),
        Poll::Pending => Begun::Going(Task::spawned(Box::pin(work.map(end_of)), true)?),
    })
}

fn panicked<T>(panic: Box<dyn Any + Send>) -> Result<T, Failure> {
    Err(Failure::of_panic(&*panic))
}

fn end_of<T: Outcome + Send + 'static>(result: Result<T, Failure>) -> End {
    result.map(|value| {
        Box::new(
            move |py: Python<'_>| match TypeId::of::<T>() == TypeId::of::<()>() {
                // Nothing is None to Python, not an empty tuple.
                true => Ok(py.None()),
                false => value.into_object(py),
            },
        ) as Value
    })
}

/// Work whose result any task can hold, and whose panic is an error as any other.
fn guarded<F, T>(work: F) -> Work
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    let caught = AssertUnwindSafe(work).catch_unwind();
    Box::pin(caught.map(|result| end_of(result.unwrap_or_else(panicked))))
}

impl Task {
    /// A task whose value is there already.
    pub(crate) fn ready<T: Outcome + Send + 'static>(value: T) -> Self {
        Self::done(end_of(Ok(value)))
    }

    /// A task that has failed already.
    pub(crate) fn failed(failure: Failure) -> Self {
        Self::done(Err(failure))
    }

    fn done(end: End) -> Self {
        Self {
            birthplace: Birthplace::here(),
            progress: Arc::new(Progress::ended(end)),
            to_the_end: false,
        }
    }

    fn spawned(work: Work, to_the_end: bool) -> Result<Self, Failure> {
        let progress = Arc::new(Progress::running());
        let finish = progress::Finish::new(Arc::clone(&progress));
        let handle = process::runtime()?.spawn(async move {
            let end = work.await;
            finish.with(end);
        });
        if !to_the_end {
            progress.can_be_cancelled(handle.abort_handle());
        }
        Ok(Self {
            birthplace: Birthplace::here(),
            progress,
            to_the_end,
        })
    }

    fn give_up(&self) {
        if !self.to_the_end {
            self.progress.cancel();
        }
    }
}

#[pymethods]
impl Task {
    /// Blocks until the work is done and returns its value.
    fn wait(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.birthplace.check()?;
        if tokio::runtime::Handle::try_current().is_ok()
            && !py.detach(|| self.progress.wait(Duration::ZERO))
        {
            return Err(Failure::new(
                "not-allowed",
                "a function that the package calls while it works cannot wait for other work of the package: note what \
                 it was told, and do the call from a thread of your own",
            )
            .into());
        }
        loop {
            match py.detach(|| self.progress.wait(SIGNALS)) {
                true => return self.progress.value(py),
                false => py.check_signals().inspect_err(|_| self.give_up())?,
            }
        }
    }

    fn __await__(slf: Bound<'_, Self>) -> PyResult<Awaiting> {
        slf.get().birthplace.check()?;
        Ok(Awaiting {
            task: slf.unbind(),
            asked: std::sync::atomic::AtomicBool::new(false),
        })
    }

    fn cancel(&self) {
        if self.birthplace.is_here() {
            self.give_up();
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if !self.birthplace.is_here() {
            // Its locks may be in the hands of a thread that this process does not have.
            std::mem::forget(Arc::clone(&self.progress));
        }
    }
}

/// Somebody who awaits a task on an event loop.
#[pyclass(frozen, module = "icefield._native")]
struct Awaiting {
    task: Py<Task>,
    asked: std::sync::atomic::AtomicBool,
}

#[pymethods]
impl Awaiting {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// Gives the event loop a future to wait for, once, and then stops with the value.
    fn __next__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        use std::sync::atomic::Ordering::Relaxed;
        let task = self.task.get();
        task.birthplace.check()?;
        if !task.progress.is_ended() {
            if self.asked.swap(true, Relaxed) {
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
        py: Python<'_>,
        kind: Bound<'_, PyAny>,
        value: Option<Bound<'_, PyAny>>,
        traceback: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        self.close();
        let _ = (py, traceback);
        let thrown = match value {
            Some(value) if !value.is_none() => value,
            _ => kind,
        };
        Err(PyErr::from_value(match thrown.is_callable() {
            true => thrown.call0()?,
            false => thrown,
        }))
    }

    fn close(&self) {
        let task = self.task.get();
        if task.birthplace.is_here() && !task.progress.is_ended() {
            task.give_up();
        }
    }
}
