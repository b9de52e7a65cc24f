//! The ways to begin work: where it is done first, and what ends it early.

use std::future::Future;
use std::task::{Context, Poll, Waker};

use icefield::Interrupt;
use pyo3::prelude::*;

use super::giving_up::GivingUp;
use super::tried::{Begun, begin_tried};
use super::{Outcome, Task, guarded};
use crate::errors::Failure;
use crate::process;

/// What is left of interrupted work that does one thing after another.
pub(crate) const GOES_ON: &str = "what it has done by then stays, and doing it again goes on";

/// What is left of interrupted work that publishes all at its end.
pub(crate) const BEGINS_ANEW: &str =
    "if it does so before it is done, nothing of it is published, and doing it again begins anew";

/// Begins work on the runtime.
pub(crate) fn begin<F, T>(py: Python<'_>, work: F) -> PyResult<Task>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    py.detach(|| Ok(Task::spawned(guarded(work), GivingUp::Drops, None)?))
}

/// Begins work that no cancellation stops, since half of it would be worse: an edit of a session. It ends with the
/// process.
pub(crate) fn begin_to_the_end<F, T>(py: Python<'_>, work: F) -> PyResult<Task>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    py.detach(|| Ok(Task::spawned(guarded(work), GivingUp::Nothing, None)?))
}

/// Begins work on the runtime. Where several wait `for_all` of it, none of them ends it for the others by giving up.
pub(crate) fn begin_for<F, T>(for_all: bool, py: Python<'_>, work: F) -> PyResult<Task>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    match for_all {
        true => begin_to_the_end(py, work),
        false => begin(py, work),
    }
}

/// Begins work that no cancellation stops, and for which the process waits before it ends: it changes what others see, so
/// that its caller must not be left in doubt whether it did. Who gives up waiting is told `what` goes on (`"The commit"`),
/// and where to `look` for what became of it.
pub(crate) fn begin_lasting<F, T>(
    py: Python<'_>,
    what: &'static str,
    look: &'static str,
    work: F,
) -> PyResult<Task>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    let running = Some(process::lasting(py, None));
    let giving_up = GivingUp::Tells { what, look };
    py.detach(|| Ok(Task::spawned(guarded(work), giving_up, running)?))
}

/// Begins work that a cancellation, or the end of the process, asks to end early, by raising `interrupt`. The process waits
/// for that. Who gives up is told what is `left` then: [`GOES_ON`] or [`BEGINS_ANEW`].
pub(crate) fn begin_interruptible<F, T>(
    py: Python<'_>,
    interrupt: Interrupt,
    left: &'static str,
    work: F,
) -> PyResult<Task>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    let running = Some(process::lasting(py, Some(interrupt.clone())));
    let giving_up = GivingUp::Interrupts { interrupt, left };
    py.detach(|| Ok(Task::spawned(guarded(work), giving_up, running)?))
}

/// Begins work that probably needs to wait for nothing: it is tried on this thread first, without the GIL.
pub(crate) fn begin_near<F, T>(py: Python<'_>, work: F) -> PyResult<Task>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    py.detach(|| {
        let mut work = guarded(work);
        let tried = process::within(|| work.as_mut().poll(&mut Context::from_waker(Waker::noop())));
        Ok(match tried? {
            Poll::Ready(end) => Task::done(end),
            Poll::Pending => Task::spawned(work, GivingUp::Drops, None)?,
        })
    })
}

/// As [`begin_near`], for work that no cancellation stops.
pub(crate) fn begin_near_to_the_end<F, T>(py: Python<'_>, work: F) -> PyResult<Task>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    Ok(match begin_tried(py, work)? {
        Begun::Done(Ok(value)) => Task::ready(value),
        Begun::Done(Err(failure)) => Task::failed(failure),
        Begun::Going(task) => task,
    })
}
