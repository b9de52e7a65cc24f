//! How far long work is, told to a Python function now and then.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use icefield::NodePath;
use icefield::storage::{Clock, SystemClock};
use pyo3::prelude::*;

use crate::process;

/// The least time between two calls.
const PAUSE: Duration = Duration::from_millis(50);
/// The total is not known.
const UNKNOWN: u64 = u64::MAX;

/// Calls `function(stage, done, total)` from the thread that works, at most twenty times a second and at the end of
/// each stage. `total` is None where nobody knows it.
pub(crate) struct Told {
    function: Option<Py<PyAny>>,
    done: AtomicU64,
    total: AtomicU64,
    state: Mutex<State>,
}

struct State {
    stage: &'static str,
    last: Option<Duration>,
}

impl Told {
    pub(crate) fn new(function: Option<Py<PyAny>>, stage: &'static str) -> Self {
        Self {
            function,
            done: AtomicU64::new(0),
            total: AtomicU64::new(UNKNOWN),
            state: Mutex::new(State { stage, last: None }),
        }
    }

    /// The last call: what was done by then.
    pub(crate) fn end(&self) {
        self.tell(true);
    }

    fn tell(&self, always: bool) {
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
        // None if the interpreter is ending: then nobody is told any more.
        process::in_python(|py| {
            if let Err(error) = function.call1(py, (stage, done, total)) {
                // Nobody waits for it, and the work is not to blame.
                error.write_unraisable(py, None);
            }
        });
    }

    fn add(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
        self.tell(false);
    }

    fn enter(&self, stage: &'static str, total: Option<u64>) {
        self.tell(true);
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.stage = stage;
        }
        self.done.store(0, Ordering::Relaxed);
        self.total
            .store(total.unwrap_or(UNKNOWN), Ordering::Relaxed);
        self.tell(true);
    }

    fn expect(&self, steps: u64) {
        let more = |total| match total {
            UNKNOWN => Some(steps),
            total => Some(total.saturating_add(steps)),
        };
        // It always succeeds: `more` never says no.
        let _ = (self.total).fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }
}

impl icefield::maintenance::Progress for Told {
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

impl icefield::ingest::Progress for Told {
    fn expected(&self, chunks: u64) {
        self.expect(chunks);
    }

    fn array(&self, _: &NodePath) {
        self.tell(false);
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
