//! Work that was begun: it is waited for, or awaited on an event loop.

mod awaiting;
mod begin;
mod courier;
mod giving_up;
mod progress;
mod tried;

use std::any::{Any, TypeId};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use pyo3::prelude::*;
use pyo3::{IntoPyObjectExt, intern};

use crate::errors::Failure;
use crate::process::{self, Birthplace, Running};

use awaiting::Awaiting;
pub(crate) use begin::{
    BEGINS_ANEW, GOES_ON, begin, begin_for, begin_interruptible, begin_lasting, begin_near,
    begin_near_to_the_end, begin_to_the_end,
};
pub(crate) use courier::Courier;
use giving_up::GivingUp;
use progress::{End, Finish, Progress, Value};
pub(crate) use tried::{Begun, Tried, begin_here, begin_on_disk, begin_tried, polled, rest};

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

/// Work that was begun. It goes on whether or not somebody waits, until who waits gives up: by [`Task::cancel`], by the
/// cancellation of who awaits it, or by a signal.
#[pyclass(frozen, module = "icefield._native")]
pub(crate) struct Task {
    birthplace: Birthplace,
    progress: Arc<Progress>,
    giving_up: GivingUp,
}

fn panicked<T>(panic: Box<dyn Any + Send>) -> Result<T, Failure> {
    Err(Failure::of_panic(&*panic))
}

fn end_of<T: Outcome + Send + 'static>(result: Result<T, Failure>) -> End {
    result.map(|value| Box::new(move |py: Python<'_>| value.into_object(py)) as Value)
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
            GivingUp::Interrupts { interrupt, .. } => interrupt.raise(),
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
        Ok(Awaiting::new(slf.unbind()))
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
