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
use icefield::Interrupt;
use pyo3::exceptions::{PyRuntimeError, PyStopIteration};
use pyo3::prelude::*;
use pyo3::{IntoPyObjectExt, intern};

use crate::errors::Failure;
use crate::process::{self, Birthplace, Running};

pub(crate) use courier::Courier;
use progress::{End, Finish, Progress, Value};

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

pub(crate) type Work = Pin<Box<dyn Future<Output = End> + Send>>;

/// Work that was begun. It goes on whether or not somebody waits, until who waits gives up: by [`Task::cancel`], by the
/// cancellation of who awaits it, or by a signal.
#[pyclass(frozen, module = "icefield._native")]
pub(crate) struct Task {
    birthplace: Birthplace,
    progress: Arc<Progress>,
    giving_up: GivingUp,
}

/// What becomes of work when who waits for it gives up.
enum GivingUp {
    /// It is dropped where it is.
    Drops,
    /// It goes on.
    Nothing,
    /// It goes on, and others see what it does: who gives up is told what it is, and how to find out whether it succeeded.
    Tells {
        what: &'static str,
        look: &'static str,
    },
    /// It ends early, where that does no harm.
    Interrupts(Interrupt),
}

impl GivingUp {
    /// What is noted on the exception of who gives up.
    fn note(&self) -> Option<String> {
        let waits = format!(
            "The process waits for that before it ends, for at most {} seconds.",
            process::LONGEST.as_secs()
        );
        match self {
            Self::Drops | Self::Nothing => None,
            Self::Tells { what, look } => Some(format!(
                "{what} was begun and goes on to its end. {waits} Whether it succeeded: {look}."
            )),
            Self::Interrupts(_) => Some(format!(
                "The work was asked to end, and does so soon, where that does no harm: what it has done by then stays, \
                 and doing it again goes on. {waits}"
            )),
        }
    }
}

/// Begins work on the runtime.
pub(crate) fn begin<F, T>(py: Python<'_>, work: F) -> PyResult<Task>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    py.detach(|| Ok(Task::spawned(guarded(work), GivingUp::Drops, None)?))
}

/// Begins work that no cancellation stops, since half of it would be worse: an edit of a session. It ends with the
/// process.
pub(crate) fn begin_to_the_end<F, T>(py: Python<'_>, work: F) -> PyResult<Task>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    py.detach(|| Ok(Task::spawned(guarded(work), GivingUp::Nothing, None)?))
}

/// Begins work that no cancellation stops, and for which the process waits before it ends: it changes what others see, so
/// that its caller must not be left in doubt whether it did. Who gives up waiting is told `what` goes on (`"The commit"`),
/// and where to `look` for what became of it.
pub(crate) fn begin_lasting<F, T>(
    py: Python<'_>,
    what: &'static str,
    look: &'static str,
    work: F,
) -> PyResult<Task>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    let running = Some(process::lasting(py, None));
    let giving_up = GivingUp::Tells { what, look };
    py.detach(|| Ok(Task::spawned(guarded(work), giving_up, running)?))
}

/// Begins work that a cancellation, or the end of the process, asks to end early, by raising `interrupt`. The process waits
/// for that.
pub(crate) fn begin_interruptible<F, T>(
    py: Python<'_>,
    interrupt: Interrupt,
    work: F,
) -> PyResult<Task>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    let running = Some(process::lasting(py, Some(interrupt.clone())));
    let giving_up = GivingUp::Interrupts(interrupt);
    py.detach(|| Ok(Task::spawned(guarded(work), giving_up, running)?))
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
            Poll::Pending => Task::spawned(work, GivingUp::Drops, None)?,
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
    let tried = match in_runtime {
        true => process::within(|| polled(work))?,
        false => polled(work),
    };
    Ok(match tried {
        Tried::Done(result) => Begun::Done(result),
        Tried::Rest(work) => Begun::Going(Task::spawned(work, GivingUp::Nothing, None)?),
    })
}

/// Does as much of some work as needs to wait for no other thread.
pub(crate) fn polled<F, T>(work: F) -> Tried<T>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    let caught = AssertUnwindSafe(work).catch_unwind();
    let mut work = Box::pin(caught.map(|result| result.unwrap_or_else(panicked)));
    match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Tried::Done(result),
        Poll::Pending => Tried::Rest(Box::pin(work.map(end_of))),
    }
}

/// Work that was not tried.
pub(crate) fn rest<F, T>(work: F) -> Tried<T>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    Tried::Rest(guarded(work))
}

/// What became of work that was tried outside of the runtime.
pub(crate) enum Tried<T> {
    Done(Result<T, Failure>),
    /// What is left, for the runtime.
    Rest(Work),
}

/// Begins work on a thread that waits for disks. It is tried there, outside of the runtime, and only what is left goes
/// to the runtime; who awaits it is told from there, too. It cannot be cancelled before that: it is short.
pub(crate) fn begin_on_disk<T>(
    py: Python<'_>,
    to_the_end: bool,
    attempt: impl FnOnce() -> Tried<T> + Send + 'static,
) -> PyResult<Task>
where
    T: Outcome + Send + 'static,
{
    py.detach(|| {
        let giving_up = match to_the_end {
            true => GivingUp::Nothing,
            false => GivingUp::Drops,
        };
        let (task, finish) = Task::running(giving_up);
        let progress = Arc::clone(&task.progress);
        process::on_disk(
            move || match std::panic::catch_unwind(AssertUnwindSafe(attempt)) {
                Ok(Tried::Done(result)) => finish.with_from_here(end_of(result)),
                Err(panic) => finish.with_from_here(end_of(panicked::<T>(panic))),
                Ok(Tried::Rest(work)) => match process::runtime() {
                    Ok(runtime) => progress.ends_with(&runtime, work, finish, !to_the_end),
                    Err(failure) => finish.with(Err(failure)),
                },
            },
        )?;
        Ok(task)
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
            giving_up: GivingUp::Nothing,
        }
    }

    fn running(giving_up: GivingUp) -> (Self, Finish) {
        let progress = Arc::new(Progress::running());
        let finish = Finish::new(Arc::clone(&progress));
        let task = Self {
            birthplace: Birthplace::here(),
            progress,
            giving_up,
        };
        (task, finish)
    }

    fn spawned(work: Work, giving_up: GivingUp, running: Option<Running>) -> Result<Self, Failure> {
        let runtime = process::runtime()?;
        let (task, finish) = Self::running(giving_up);
        let drops = matches!(task.giving_up, GivingUp::Drops);
        // Who waits for the process to end must find the outcome told.
        let finish = finish.before(running);
        task.progress.ends_with(&runtime, work, finish, drops);
        Ok(task)
    }

    fn give_up(&self) {
        match &self.giving_up {
            GivingUp::Drops => self.progress.cancel(),
            GivingUp::Interrupts(interrupt) => interrupt.raise(),
            GivingUp::Nothing | GivingUp::Tells { .. } => {}
        }
    }

    /// Notes on an exception that ends the waiting what becomes of the work.
    fn note_on(&self, exception: &Bound<'_, PyAny>) {
        if let Some(note) = self.giving_up.note().filter(|_| !self.progress.is_ended()) {
            // What is thrown need not be an exception.
            let _ = exception.call_method1(intern!(exception.py(), "add_note"), (note,));
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
                false => py.check_signals().inspect_err(|error| {
                    self.give_up();
                    self.note_on(error.value(py).as_any());
                })?,
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
