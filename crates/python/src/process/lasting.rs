//! Work that the process waits for before it ends, because others see what it does: commits, changes of refs, upkeep.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use icefield::Interrupt;
use icefield::storage::{Clock, SystemClock};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;
use pyo3::{intern, wrap_pyfunction};

use super::Generation;

/// The process waits no longer than this.
pub(crate) const LONGEST: Duration = Duration::from_secs(10);

/// Between two looks for signals such as Ctrl-C.
const SIGNALS: Duration = Duration::from_millis(100);

/// The work of one process that is under way.
pub(super) struct Lasting {
    state: Mutex<State>,
    ended: Condvar,
}

struct State {
    /// Whether the interpreter calls [`wait_for_lasting`].
    is_hooked: bool,
    next: u64,
    /// With how to end it early, if that can be.
    running: BTreeMap<u64, Option<Interrupt>>,
}

/// Work that is under way until this is dropped.
pub(crate) struct Running {
    lasting: &'static Lasting,
    number: u64,
}

impl Lasting {
    pub(super) const fn new() -> Self {
        Self {
            state: Mutex::new(State {
                is_hooked: false,
                next: 0,
                running: BTreeMap::new(),
            }),
            ended: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks all that can to end early.
    fn interrupt(&self) {
        for interrupt in self.lock().running.values().flatten() {
            interrupt.raise();
        }
    }

    /// Waits until nothing is under way, at most so long; returns how much is. Without the GIL.
    fn wait(&self, longest: Duration) -> usize {
        let running = |state: &mut State| !state.running.is_empty();
        let waited = self.ended.wait_timeout_while(self.lock(), longest, running);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.running.len()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.lasting.lock().running.remove(&self.number);
        self.lasting.ended.notify_all();
    }
}

/// Notes work that begins, so that the interpreter waits for it before it ends.
pub(crate) fn lasting(py: Python<'_>, interrupt: Option<Interrupt>) -> Running {
    let lasting = &Generation::current().lasting;
    let (number, is_hooked) = {
        let mut state = lasting.lock();
        state.next += 1;
        let number = state.next;
        state.running.insert(number, interrupt);
        (number, std::mem::replace(&mut state.is_hooked, true))
    };
    if !is_hooked {
        // In each process at its first work: what a parent has registered is not called in all of its children. Without
        // it, work ends with the process.
        let _ = hook(py);
    }
    Running { lasting, number }
}

/// Lets the interpreter call [`wait_for_lasting`] before it ends.
fn hook(py: Python<'_>) -> PyResult<()> {
    let wait = wrap_pyfunction!(wait_for_lasting, py)?;
    py.import(intern!(py, "atexit"))?
        .call_method1(intern!(py, "register"), (&wait,))?;
    let modules = py.import(intern!(py, "sys"))?.getattr("modules")?;
    let Ok(processes) = modules.get_item("multiprocessing.process") else {
        return Ok(());
    };
    if !processes.call_method0("parent_process")?.is_none() {
        // A child that multiprocessing has forked ends without `atexit`, but not without this.
        let options = [("exitpriority", 0)].into_py_dict(py)?;
        py.import("multiprocessing.util")?.call_method(
            "Finalize",
            (py.None(), wait),
            Some(&options),
        )?;
    }
    Ok(())
}

/// Waits for the work of this process: that of a parent is none of its business. Signals end the wait.
#[pyfunction]
fn wait_for_lasting(py: Python<'_>) -> PyResult<()> {
    let lasting = &Generation::current().lasting;
    lasting.interrupt();
    let end = SystemClock.monotonic() + LONGEST;
    loop {
        let running = py.detach(|| lasting.wait(SIGNALS));
        if running == 0 {
            return Ok(());
        }
        py.check_signals()?;
        if SystemClock.monotonic() >= end {
            let said = format!(
                "the process ends while {running} changes of repositories are under way, after {} seconds: look whether \
                 they were made",
                LONGEST.as_secs()
            );
            let warning = (said, py.get_type::<PyRuntimeWarning>());
            py.import(intern!(py, "warnings"))?
                .call_method1(intern!(py, "warn"), warning)?;
            return Ok(());
        }
    }
}
