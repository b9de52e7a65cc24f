//! The end of the interpreter: functions that wait for calls of Python and for lasting work before it.

use std::time::Duration;

use icefield::Interrupt;
use icefield::storage::{Clock, SystemClock};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;
use pyo3::{intern, wrap_pyfunction};

use super::generation::Generation;
use super::lasting::{LONGEST_WAIT, RunningWork};

/// The time between two checks for signals such as Ctrl-C.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

/// Calls Python from a native thread; `None` if the interpreter is ending. Threads of Python that return from native code
/// attach themselves without it.
pub(crate) fn in_python<T>(call: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    Generation::current().calls.in_python(call)
}

/// Returns whether event loops get no notifications any more.
pub(crate) fn is_ending() -> bool {
    Generation::current().calls.is_closed()
}

/// Registers the wait for calls of Python with `atexit`. Functions that register first run last, so the package calls this
/// when it is imported.
///
/// # Errors
/// If `atexit` cannot be imported.
pub(crate) fn register_call_wait(py: Python<'_>) -> PyResult<()> {
    let wait = wrap_pyfunction!(wait_for_calls, py)?;
    py.import(intern!(py, "atexit"))?
        .call_method1(intern!(py, "register"), (wait,))?;
    Ok(())
}

#[pyfunction]
fn wait_for_calls(py: Python<'_>) {
    let calls = &Generation::current().calls;
    py.detach(|| calls.close());
}

/// Registers work that begins, so that the interpreter waits for it before it ends. `interrupt` asks the work to end
/// early.
pub(crate) fn register_lasting_work(py: Python<'_>, interrupt: Option<Interrupt>) -> RunningWork {
    let (running, is_first) = Generation::current().lasting.add(interrupt);
    if is_first {
        // Each process registers at its first work, because not all children call the functions that their parent has
        // registered. If this fails, work ends with the process.
        let _ = register_lasting_wait(py);
    }
    running
}

fn register_lasting_wait(py: Python<'_>) -> PyResult<()> {
    let wait = wrap_pyfunction!(wait_for_lasting, py)?;
    py.import(intern!(py, "atexit"))?
        .call_method1(intern!(py, "register"), (&wait,))?;
    let modules = py.import(intern!(py, "sys"))?.getattr("modules")?;
    let Ok(processes) = modules.get_item("multiprocessing.process") else {
        return Ok(());
    };
    if !processes.call_method0("parent_process")?.is_none() {
        // A child that multiprocessing has forked ends without `atexit` but runs its finalizers.
        let options = [("exitpriority", 0)].into_py_dict(py)?;
        py.import("multiprocessing.util")?.call_method(
            "Finalize",
            (py.None(), wait),
            Some(&options),
        )?;
    }
    Ok(())
}

/// Waits for the lasting work of this process, not for that of its parents. A signal ends the wait.
#[pyfunction]
fn wait_for_lasting(py: Python<'_>) -> PyResult<()> {
    let lasting = &Generation::current().lasting;
    lasting.interrupt();
    let end = SystemClock.monotonic() + LONGEST_WAIT;
    loop {
        let running = py.detach(|| lasting.wait(SIGNAL_INTERVAL));
        if running == 0 {
            return Ok(());
        }
        py.check_signals()?;
        if SystemClock.monotonic() >= end {
            let said = format!(
                "the process ends while {running} changes of repositories are under way, after {} seconds: look whether \
                 they were made",
                LONGEST_WAIT.as_secs()
            );
            let warning = (said, py.get_type::<PyRuntimeWarning>());
            py.import(intern!(py, "warnings"))?
                .call_method1(intern!(py, "warn"), warning)?;
            return Ok(());
        }
    }
}
