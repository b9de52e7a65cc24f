//! The process: its runtime, its threads, its end, and the native objects that a forked child inherits.

mod at_exit;
mod calls;
mod disks;
mod generation;
mod lasting;
mod logs;
mod owner;

use pyo3::prelude::*;
use tokio::runtime::Handle;

use crate::errors::Failure;
use crate::task::LoopNotifier;
use generation::Generation;

pub(crate) use at_exit::{in_python, is_ending, register_call_wait, register_lasting_work};
pub(crate) use calls::PythonCalls;
pub(crate) use lasting::{LONGEST_WAIT, RunningWork};
pub(crate) use logs::{initialize_logs, set_logs_filter};
pub(crate) use owner::{OwnerProcess, ProcessOwned};

/// Returns the runtime of this process, which the first call starts.
///
/// # Errors
/// `io`, if the operating system starts no threads.
pub(crate) fn runtime() -> Result<Handle, Failure> {
    Ok(Generation::current().engine()?.runtime.handle().clone())
}

/// Returns the notifier of this process's event loops.
///
/// # Errors
/// `io`, if the operating system starts no threads.
pub(crate) fn loop_notifier() -> Result<&'static LoopNotifier, Failure> {
    Ok(&Generation::current().engine()?.notifier)
}

/// Runs a job, which must not panic, on a thread that may wait for a disk.
///
/// # Errors
/// `io`, if the operating system starts no threads.
pub(crate) fn on_disk(job: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    Generation::current().engine()?.disks.run(job);
    Ok(())
}

/// Runs work on this thread within the context of the runtime, so that timers and `spawn` work in it.
///
/// # Errors
/// `io`, if the operating system starts no threads.
pub(crate) fn in_runtime<T>(work: impl FnOnce() -> T) -> Result<T, Failure> {
    let handle = runtime()?;
    let _entered = handle.enter();
    Ok(work())
}

/// Runs work that waits for other work of this runtime, or for Python, on a thread of its own. The runtime has few threads
/// for blocking work: occupied by such work, they could not serve the work that it waits for.
///
/// # Errors
/// `io`, if the operating system starts no thread; `concurrency`, if the work panics.
pub(crate) async fn on_own_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let started = std::thread::Builder::new()
        .name("icefield-aside".to_owned())
        .spawn(move || {
            // The receiver is gone if the caller stopped waiting.
            let _ = sender.send(work());
        });
    if let Err(error) = started {
        let problem = format!("the operating system gives no thread to work on: {error}");
        return Err(Failure::new("io", problem));
    }
    receiver.await.map_err(|_| {
        Failure::new(
            "concurrency",
            "a thread ended before its work did: this is a bug",
        )
    })
}

/// Returns the failure of work that would call Python while the interpreter ends.
pub(crate) fn interpreter_is_ending() -> Failure {
    let problem = "the Python interpreter is ending: wait for all work before the program ends";
    Failure::new("concurrency", problem)
}

/// Does nothing: the child does not touch the resources of its parent. Locks that the parent shares with other libraries
/// are out of reach.
#[pyfunction]
pub(crate) fn before_fork() {}

#[pyfunction]
pub(crate) fn after_fork_in_child() {
    generation::begin_after_fork();
}
