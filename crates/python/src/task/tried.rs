//! Work that is tried where it is wanted, or near the disk that it is about, before the runtime has it.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures::FutureExt;
use pyo3::prelude::*;

use super::giving_up::GivingUp;
use super::{Outcome, Task, Work, end_of, guarded, panicked};
use crate::errors::Failure;
use crate::process;

/// Work that was tried on the thread that wants it done.
pub(crate) enum Begun<T> {
    Done(Result<T, Failure>),
    Going(Task),
}

/// Tries work on this thread; what is left of it cannot be cancelled.
pub(crate) fn begin_tried<F, T>(py: Python<'_>, work: F) -> PyResult<Begun<T>>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    py.detach(|| Ok(tried(work, true)?))
}

/// As [`begin_tried`], outside of the runtime, where what belongs to a disk is done on this thread and not on another.
/// Only for work that needs no timer and no socket.
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
        true => process::within(|| polled(work))?,
        false => polled(work),
    };
    Ok(match tried {
        Tried::Done(result) => Begun::Done(result),
        Tried::Rest(work) => Begun::Going(Task::spawned(work, GivingUp::Nothing, None)?),
    })
}

/// Does as much of some work as needs to wait for no other thread.
pub(crate) fn polled<F, T>(work: F) -> Tried<T>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    let caught = AssertUnwindSafe(work).catch_unwind();
    let mut work = Box::pin(caught.map(|result| result.unwrap_or_else(panicked)));
    match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Tried::Done(result),
        Poll::Pending => Tried::Rest(Box::pin(work.map(end_of))),
    }
}

/// Work that was not tried.
pub(crate) fn rest<F, T>(work: F) -> Tried<T>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    Tried::Rest(guarded(work))
}

/// What became of work that was tried outside of the runtime.
pub(crate) enum Tried<T> {
    Done(Result<T, Failure>),
    /// What is left, for the runtime.
    Rest(Work),
}

/// Begins work on a thread that waits for disks. It is tried there, outside of the runtime, and only what is left goes
/// to the runtime; who awaits it is told from there, too. Unless it is to come to its end, it can be cancelled as long as it
/// waits for its turn: what is tried is short.
pub(crate) fn begin_on_disk<T>(
    py: Python<'_>,
    to_the_end: bool,
    attempt: impl FnOnce() -> Tried<T> + Send + 'static,
) -> PyResult<Task>
where
    T: Outcome + Send + 'static,
{
    py.detach(|| {
        let giving_up = match to_the_end {
            true => GivingUp::Nothing,
            false => GivingUp::Drops,
        };
        let (task, finish) = Task::running(giving_up);
        let progress = Arc::clone(&task.progress);
        process::on_disk(move || {
            if progress.is_cancelled() {
                // Which says so when it is dropped.
                return drop(finish);
            }
            match catch_unwind(AssertUnwindSafe(attempt)) {
                Ok(Tried::Done(result)) => finish.with_from_here(end_of(result)),
                Err(panic) => finish.with_from_here(end_of(panicked::<T>(panic))),
                Ok(Tried::Rest(work)) => match process::runtime() {
                    Ok(runtime) => progress.ends_with(&runtime, work, finish, !to_the_end),
                    Err(failure) => finish.with(Err(failure)),
                },
            }
        })?;
        Ok(task)
    })
}
