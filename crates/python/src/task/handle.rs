//! The handle of running work that Python waits for or awaits.

use std::sync::Arc;

use pyo3::prelude::*;

use super::awaiting::Awaiting;
use super::on_cancel::OnCancel;
use super::outcome::{Outcome, Work, WorkResult, pending};
use super::progress::{Completion, Progress};
use super::waiting::Waiting;
use crate::errors::Failure;
use crate::process::{self, RunningWork};

/// Running work. It goes on whether or not a caller waits, until the caller gives it up: by [`Task::cancel`], by the
/// cancellation of the coroutine that awaits it, or by a signal.
#[pyclass(frozen, module = "icefield._native")]
pub(crate) struct Task(Arc<Waiting>);

impl Task {
    /// Returns a task that has its value already.
    pub(crate) fn ready<T: Outcome + Send + 'static>(value: T) -> Self {
        Self::done(pending(Ok(value)))
    }

    /// Returns a task that has failed already.
    pub(crate) fn failed(failure: Failure) -> Self {
        Self::done(Err(failure))
    }

    pub(super) fn done(result: WorkResult) -> Self {
        let progress = Arc::new(Progress::ended(result));
        Self(Arc::new(Waiting::new(progress, OnCancel::Continue)))
    }

    pub(super) fn running(on_cancel: OnCancel) -> (Self, Completion) {
        let progress = Arc::new(Progress::running());
        let completion = Completion::new(Arc::clone(&progress));
        (
            Self(Arc::new(Waiting::new(progress, on_cancel))),
            completion,
        )
    }

    pub(super) fn spawned(
        work: Work,
        on_cancel: OnCancel,
        running: Option<RunningWork>,
    ) -> Result<Self, Failure> {
        let runtime = process::runtime()?;
        let drops = matches!(on_cancel, OnCancel::Drop);
        let (task, completion) = Self::running(on_cancel);
        // The outcome must be visible before the process may end.
        let completion = completion.before(running);
        task.progress().run_on(&runtime, work, completion, drops);
        Ok(task)
    }

    pub(super) fn progress(&self) -> &Arc<Progress> {
        &self.0.progress
    }
}

#[pymethods]
impl Task {
    /// Blocks until the work is done and returns its value.
    fn wait(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.0.wait(py)
    }

    fn __await__(&self) -> PyResult<Awaiting> {
        self.0.owner.check()?;
        Ok(Awaiting::new(Arc::clone(&self.0)))
    }

    fn cancel(&self) {
        if self.0.owner.is_current() {
            self.0.give_up();
        }
    }
}
