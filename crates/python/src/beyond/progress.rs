//! Reports of progress to a Python function.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use icefield::NodePath;
use icefield::storage::{Clock, SystemClock};
use pyo3::prelude::*;

use crate::process;

/// The shortest time between two calls.
const PAUSE: Duration = Duration::from_millis(50);
/// Stands for an unknown total.
const UNKNOWN: u64 = u64::MAX;

/// Calls `function(stage, done, total)` from the working thread, at most twenty times a second and at the end of each stage.
/// `total` is None if it is unknown.
pub(crate) struct PythonProgress {
    function: Option<Py<PyAny>>,
    done: AtomicU64,
    total: AtomicU64,
    state: Mutex<ProgressState>,
}

struct ProgressState {
    stage: &'static str,
    last: Option<Duration>,
}

impl PythonProgress {
    pub(crate) fn new(function: Option<Py<PyAny>>, stage: &'static str) -> Self {
        Self {
            function,
            done: AtomicU64::new(0),
            total: AtomicU64::new(UNKNOWN),
            state: Mutex::new(ProgressState { stage, last: None }),
        }
    }

    /// Reports the steps that are done when the work ends.
    pub(crate) fn end(&self) {
        self.report(true);
    }

    fn report(&self, always: bool) {
        let Some(function) = &self.function else {
            return;
        };
        let now = SystemClock.monotonic();
        let stage = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let soon = state.last.is_some_and(|last| now < last + PAUSE);
            if soon && !always {
                return;
            }
            state.last = Some(now);
            state.stage
        };
        let done = self.done.load(Ordering::Relaxed);
        let total = match self.total.load(Ordering::Relaxed) {
            UNKNOWN => None,
            total => Some(total),
        };
        // `None` if the interpreter is ending, which ends the reports.
        process::in_python(|py| {
            if let Err(error) = function.call1(py, (stage, done, total)) {
                // No caller waits for this exception, and the work goes on.
                error.write_unraisable(py, None);
            }
        });
    }

    fn add(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
        self.report(false);
    }

    fn enter(&self, stage: &'static str, total: Option<u64>) {
        self.report(true);
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.stage = stage;
        }
        self.done.store(0, Ordering::Relaxed);
        self.total
            .store(total.unwrap_or(UNKNOWN), Ordering::Relaxed);
        self.report(true);
    }

    fn expect(&self, steps: u64) {
        let more = |total| match total {
            UNKNOWN => Some(steps),
            total => Some(total.saturating_add(steps)),
        };
        // The update always succeeds, because `more` never returns `None`.
        let _ = (self.total).fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }
}

impl icefield::maintenance::Progress for PythonProgress {
    fn stage(&self, name: &'static str, steps: Option<u64>) {
        self.enter(name, steps);
    }

    fn more(&self, steps: u64) {
        self.expect(steps);
    }

    fn advance(&self, steps: u64, _: u64) {
        self.add(steps);
    }
}

impl icefield::ingest::Progress for PythonProgress {
    fn expected(&self, chunks: u64) {
        self.expect(chunks);
    }

    fn array(&self, _: &NodePath) {
        self.report(false);
    }

    fn chunk(&self, _: u64) {
        self.add(1);
    }

    fn absent(&self, chunks: u64) {
        self.add(chunks);
    }

    fn finishing(&self) {
        self.enter("finishing", None);
    }
}
