//! The state of work, shared by the thread that does it and by the callers that wait for it.

use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::notifier::LoopWaiter;
use super::outcome::{PendingValue, Work, WorkResult};
use crate::errors::Failure;
use crate::process::{self, RunningWork};

/// The state of one piece of work.
pub(super) struct Progress {
    state: Mutex<WorkState>,
    ended: Condvar,
}

enum WorkState {
    Running {
        abort: Option<AbortHandle>,
        waiters: Vec<LoopWaiter>,
        /// Whether the caller has given the work up.
        cancelled: bool,
    },
    Value(PendingValue),
    Object(Py<PyAny>),
    Failed(Failure),
    Raised(PyErr),
    /// A thread is turning the value into an object.
    Converting,
}

impl Progress {
    pub(super) fn running() -> Self {
        Self::of(WorkState::Running {
            abort: None,
            waiters: Vec::new(),
            cancelled: false,
        })
    }

    pub(super) fn ended(result: WorkResult) -> Self {
        Self::of(WorkState::ended(result))
    }

    fn of(state: WorkState) -> Self {
        Self {
            state: Mutex::new(state),
            ended: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, WorkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs work on the runtime and completes with it. With `drops`, [`Progress::cancel`] aborts the work.
    pub(super) fn run_on(&self, runtime: &Handle, work: Work, completion: Completion, drops: bool) {
        let handle = runtime.spawn(async move {
            let result = work.await;
            completion.complete(result);
        });
        if drops {
            self.allow_abort(handle.abort_handle());
        }
    }

    fn allow_abort(&self, handle: AbortHandle) {
        if let WorkState::Running {
            abort, cancelled, ..
        } = &mut *self.lock()
        {
            match cancelled {
                true => handle.abort(),
                false => *abort = Some(handle),
            }
        }
    }

    pub(super) fn cancel(&self) {
        if let WorkState::Running {
            abort, cancelled, ..
        } = &mut *self.lock()
        {
            *cancelled = true;
            if let Some(handle) = abort.take() {
                handle.abort();
            }
        }
    }

    /// Returns whether the work was cancelled before its end.
    pub(super) fn is_cancelled(&self) -> bool {
        matches!(
            *self.lock(),
            WorkState::Running {
                cancelled: true,
                ..
            }
        )
    }

    pub(super) fn is_ended(&self) -> bool {
        !matches!(*self.lock(), WorkState::Running { .. })
    }

    /// Waits for the end, for at most `longest`; returns whether the work has ended. The caller must not hold the GIL.
    pub(super) fn wait(&self, longest: Duration) -> bool {
        let running = |state: &mut WorkState| matches!(state, WorkState::Running { .. });
        let waited = self.ended.wait_timeout_while(self.lock(), longest, running);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !running(&mut state)
    }

    /// Adds a waiter that is notified of the end; returns whether the work is still running.
    pub(super) fn add_waiter(&self, waiter: LoopWaiter) -> bool {
        match &mut *self.lock() {
            WorkState::Running { waiters, .. } => {
                waiters.push(waiter);
                true
            }
            _ => false,
        }
    }

    /// Returns the value of work that has ended: the same object each time.
    pub(super) fn value(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        // No Python runs under the lock: it could release the GIL to a thread that waits for the lock.
        let value = loop {
            let mut state = self.lock();
            match &*state {
                WorkState::Object(object) => return Ok(object.clone_ref(py)),
                WorkState::Raised(error) => return Err(error.clone_ref(py)),
                WorkState::Failed(failure) => {
                    let failure = failure.clone();
                    drop(state);
                    return Err(failure.into());
                }
                WorkState::Running { .. } => {
                    drop(state);
                    let problem =
                        "the value of work that still goes on was asked for: this is a bug";
                    return Err(Failure::new("concurrency", problem).into());
                }
                WorkState::Converting => {}
                WorkState::Value(_) => {
                    if let WorkState::Value(value) =
                        mem::replace(&mut *state, WorkState::Converting)
                    {
                        break value;
                    }
                }
            }
            drop(state);
            py.detach(|| self.wait_for_another());
        };
        let conversion = Conversion(self);
        let object = value(py);
        conversion.ended_with(match &object {
            Ok(object) => WorkState::Object(object.clone_ref(py)),
            Err(error) => {
                // Instantiated now, so that a clone runs no Python.
                let _made = error.value(py);
                WorkState::Raised(error.clone_ref(py))
            }
        });
        object
    }

    /// Waits until another thread has turned the value into an object. The caller must not hold the GIL, which that thread
    /// needs.
    fn wait_for_another(&self) {
        let converting = |state: &mut WorkState| matches!(state, WorkState::Converting);
        drop(self.ended.wait_while(self.lock(), converting));
    }

    /// Ends the work, and returns the waiters to notify.
    fn finish(&self, result: WorkResult) -> Vec<LoopWaiter> {
        let before = {
            let mut state = self.lock();
            if !matches!(*state, WorkState::Running { .. }) {
                return Vec::new();
            }
            mem::replace(&mut *state, WorkState::ended(result))
        };
        self.ended.notify_all();
        match before {
            WorkState::Running { waiters, .. } => waiters,
            _ => Vec::new(),
        }
    }
}

impl WorkState {
    fn ended(result: WorkResult) -> Self {
        match result {
            Ok(value) => Self::Value(value),
            Err(failure) => Self::Failed(failure),
        }
    }
}

/// Guards the conversion of a value to an object: if it panics, waiting threads get a failure.
struct Conversion<'a>(&'a Progress);

impl Conversion<'_> {
    fn ended_with(self, ended: WorkState) {
        *self.0.lock() = ended;
    }
}

impl Drop for Conversion<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        if matches!(*state, WorkState::Converting) {
            *state = WorkState::Failed(Failure::new(
                "concurrency",
                "no Python object could be made of the value: this is a bug",
            ));
        }
        drop(state);
        self.0.ended.notify_all();
    }
}

/// The obligation to complete a [`Progress`]. Dropped early, it completes with the failure `cancelled`.
pub(super) struct Completion {
    progress: Arc<Progress>,
    /// Dropped after the waiters are notified.
    _running: Option<RunningWork>,
}

impl Completion {
    pub(super) fn new(progress: Arc<Progress>) -> Self {
        Self {
            progress,
            _running: None,
        }
    }

    /// Keeps `running` registered until the completion.
    pub(super) fn before(mut self, running: Option<RunningWork>) -> Self {
        self._running = running;
        self
    }

    /// Completes with a result, and lets the notifier's thread notify event loops.
    pub(super) fn complete(self, result: WorkResult) {
        self.finish(result);
    }

    /// The same as [`Completion::complete`], on a thread that may wait for the GIL and notifies event loops itself.
    pub(super) fn complete_from_here(self, result: WorkResult) {
        let waiters = self.progress.finish(result);
        if !waiters.is_empty()
            && let Ok(notifier) = process::loop_notifier()
        {
            notifier.notify_from_here(waiters);
        }
    }

    fn finish(&self, result: WorkResult) {
        let waiters = self.progress.finish(result);
        if !waiters.is_empty()
            && let Ok(notifier) = process::loop_notifier()
        {
            notifier.notify(waiters);
        }
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        self.finish(Err(Failure::new(
            "cancelled",
            "the work was cancelled before it was done",
        )));
    }
}
