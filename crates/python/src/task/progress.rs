//! How far work is, shared by who does it and by who waits.

use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::Work;
use super::courier::{self, Waiter};
use crate::errors::Failure;
use crate::process::{self, Running};

/// How work ended.
pub(super) type End = Result<Value, Failure>;

/// A value that becomes a Python object when somebody has the GIL.
pub(super) type Value = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

pub(super) struct Progress {
    state: Mutex<State>,
    ended: Condvar,
}

enum State {
    Running {
        abort: Option<AbortHandle>,
        waiters: Vec<Waiter>,
        /// Nobody wants the value any more.
        cancelled: bool,
    },
    Value(Value),
    Object(Py<PyAny>),
    Failed(Failure),
    Raised(PyErr),
    /// Somebody makes an object of the value at this moment.
    Converting,
}

impl Progress {
    pub(super) fn running() -> Self {
        Self::of(State::Running {
            abort: None,
            waiters: Vec::new(),
            cancelled: false,
        })
    }

    pub(super) fn ended(end: End) -> Self {
        Self::of(State::ended(end))
    }

    fn of(state: State) -> Self {
        Self {
            state: Mutex::new(state),
            ended: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the runtime do work, at whose end this ends; who gives up waiting may drop it where it is.
    pub(super) fn ends_with(&self, runtime: &Handle, work: Work, finish: Finish, drops: bool) {
        let handle = runtime.spawn(async move {
            let end = work.await;
            finish.with(end);
        });
        if drops {
            self.can_be_cancelled(handle.abort_handle());
        }
    }

    fn can_be_cancelled(&self, handle: AbortHandle) {
        if let State::Running {
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
        if let State::Running {
            abort, cancelled, ..
        } = &mut *self.lock()
        {
            *cancelled = true;
            if let Some(handle) = abort.take() {
                handle.abort();
            }
        }
    }

    /// Whether the work was cancelled before it came to its end.
    pub(super) fn is_cancelled(&self) -> bool {
        matches!(
            *self.lock(),
            State::Running {
                cancelled: true,
                ..
            }
        )
    }

    pub(super) fn is_ended(&self) -> bool {
        !matches!(*self.lock(), State::Running { .. })
    }

    /// Waits for the end, at most so long; returns whether it came. Without the GIL.
    pub(super) fn wait(&self, longest: Duration) -> bool {
        let running = |state: &mut State| matches!(state, State::Running { .. });
        let waited = self.ended.wait_timeout_while(self.lock(), longest, running);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !running(&mut state)
    }

    /// Lets somebody be told of the end; returns whether it is still to come.
    pub(super) fn tell(&self, waiter: Waiter) -> bool {
        match &mut *self.lock() {
            State::Running { waiters, .. } => {
                waiters.push(waiter);
                true
            }
            _ => false,
        }
    }

    /// The value of work that has ended: the same object each time.
    pub(super) fn value(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        // Nothing here runs Python under the lock: that may give the GIL to somebody who waits for the lock.
        let value = loop {
            let mut state = self.lock();
            match &*state {
                State::Object(object) => return Ok(object.clone_ref(py)),
                State::Raised(error) => return Err(error.clone_ref(py)),
                State::Failed(failure) => {
                    let failure = failure.clone();
                    drop(state);
                    return Err(failure.into());
                }
                State::Running { .. } => {
                    drop(state);
                    let problem =
                        "the value of work that still goes on was asked for: this is a bug";
                    return Err(Failure::new("concurrency", problem).into());
                }
                State::Converting => {}
                State::Value(_) => {
                    if let State::Value(value) = mem::replace(&mut *state, State::Converting) {
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
            Ok(object) => State::Object(object.clone_ref(py)),
            Err(error) => {
                // Made now, so that to clone it runs nothing.
                let _made = error.value(py);
                State::Raised(error.clone_ref(py))
            }
        });
        object
    }

    /// Waits until another thread has made an object of the value. Without the GIL, which that thread needs.
    fn wait_for_another(&self) {
        let converting = |state: &mut State| matches!(state, State::Converting);
        drop(self.ended.wait_while(self.lock(), converting));
    }

    /// Ends it, and returns who awaits that on event loops.
    fn finish(&self, end: End) -> Vec<Waiter> {
        let before = {
            let mut state = self.lock();
            if !matches!(*state, State::Running { .. }) {
                return Vec::new();
            }
            mem::replace(&mut *state, State::ended(end))
        };
        self.ended.notify_all();
        match before {
            State::Running { waiters, .. } => waiters,
            _ => Vec::new(),
        }
    }
}

impl State {
    fn ended(end: End) -> Self {
        match end {
            Ok(value) => Self::Value(value),
            Err(failure) => Self::Failed(failure),
        }
    }
}

/// Held while an object is made of the value: when that panics, who waits for it is told of a failure.
struct Conversion<'a>(&'a Progress);

impl Conversion<'_> {
    fn ended_with(self, ended: State) {
        *self.0.lock() = ended;
    }
}

impl Drop for Conversion<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        if matches!(*state, State::Converting) {
            *state = State::Failed(Failure::new(
                "concurrency",
                "no Python object could be made of the value: this is a bug",
            ));
        }
        drop(state);
        self.0.ended.notify_all();
    }
}

/// Held by the work: when it is dropped early, that is the end, too.
pub(super) struct Finish {
    progress: Arc<Progress>,
    /// Dropped after the end was told.
    _running: Option<Running>,
}

impl Finish {
    pub(super) fn new(progress: Arc<Progress>) -> Self {
        Self {
            progress,
            _running: None,
        }
    }

    /// The end of this comes before that of `running`.
    pub(super) fn before(mut self, running: Option<Running>) -> Self {
        self._running = running;
        self
    }

    pub(super) fn with(self, end: End) {
        self.end(end);
    }

    /// As [`Finish::with`], on a thread that may wait for the GIL.
    pub(super) fn with_from_here(self, end: End) {
        let waiters = self.progress.finish(end);
        if !waiters.is_empty() {
            courier::tell(waiters);
        }
    }

    fn end(&self, end: End) {
        let waiters = self.progress.finish(end);
        if !waiters.is_empty()
            && let Ok(courier) = process::courier()
        {
            courier.tell(waiters);
        }
    }
}

impl Drop for Finish {
    fn drop(&mut self) {
        self.end(Err(Failure::new(
            "cancelled",
            "the work was cancelled before it was done",
        )));
    }
}
