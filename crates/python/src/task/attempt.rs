//! Work that the calling thread, or a disk thread, tries before the runtime gets it.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures::FutureExt;
use pyo3::prelude::*;

use super::handle::Task;
use super::on_cancel::OnCancel;
use super::outcome::{Outcome, Work, guarded, panicked, pending};
use crate::errors::Failure;
use crate::process;

/// Work that the calling thread has tried.
pub(crate) enum Begun<T> {
    Done(Result<T, Failure>),
    /// The rest of the work runs in the background.
    Going(Task),
}

/// Tries work on this thread; no cancellation stops the rest of it.
pub(crate) fn begin_tried<F, T>(py: Python<'_>, work: F) -> PyResult<Begun<T>>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    py.detach(|| Ok(tried(work, true)?))
}

/// The same as [`begin_tried`], outside of the runtime, where disk operations run on this thread. The work must need no timer
/// and no socket.
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
        true => process::in_runtime(|| attempt_now(work))?,
        false => attempt_now(work),
    };
    Ok(match tried {
        Attempt::Done(result) => Begun::Done(result),
        Attempt::Pending(work) => Begun::Going(Task::spawned(work, OnCancel::Continue, None)?),
    })
}

/// Does as much of the work as needs no other thread.
pub(crate) fn attempt_now<F, T>(work: F) -> Attempt<T>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    let caught = AssertUnwindSafe(work).catch_unwind();
    let mut work = Box::pin(caught.map(|result| result.unwrap_or_else(panicked)));
    match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Attempt::Done(result),
        Poll::Pending => Attempt::Pending(Box::pin(work.map(pending))),
    }
}

/// Returns work that was not tried.
pub(crate) fn unattempted<F, T>(work: F) -> Attempt<T>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    Attempt::Pending(guarded(work))
}

/// The outcome of an attempt to do work outside of the runtime.
pub(crate) enum Attempt<T> {
    Done(Result<T, Failure>),
    /// The rest of the work, for the runtime.
    Pending(Work),
}

/// Begins work on a disk thread, which tries it outside of the runtime and notifies event loops itself; only the rest goes
/// to the runtime. Unless the work goes `to_the_end`, a cancellation stops it while it waits for its turn: an attempt is
/// short.
pub(crate) fn begin_on_disk<T>(
    py: Python<'_>,
    to_the_end: bool,
    attempt: impl FnOnce() -> Attempt<T> + Send + 'static,
) -> PyResult<Task>
where
    T: Outcome + Send + 'static,
{
    py.detach(|| {
        let on_cancel = match to_the_end {
            true => OnCancel::Continue,
            false => OnCancel::Drop,
        };
        let (task, completion) = Task::running(on_cancel);
        let progress = Arc::clone(task.progress());
        process::on_disk(move || {
            if progress.is_cancelled() {
                // The dropped completion reports the cancellation.
                return drop(completion);
            }
            match catch_unwind(AssertUnwindSafe(attempt)) {
                Ok(Attempt::Done(result)) => completion.complete_from_here(pending(result)),
                Err(panic) => completion.complete_from_here(pending(panicked::<T>(panic))),
                Ok(Attempt::Pending(work)) => match process::runtime() {
                    Ok(runtime) => progress.run_on(&runtime, work, completion, !to_the_end),
                    Err(failure) => completion.complete(Err(failure)),
                },
            }
        })?;
        Ok(task)
    })
}
