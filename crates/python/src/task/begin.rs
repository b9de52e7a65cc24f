//! The ways to begin work: the thread that tries it first, and the fate of work that is given up.

use std::future::Future;
use std::task::{Context, Poll, Waker};

use icefield::Interrupt;
use pyo3::prelude::*;

use super::attempt::{Begun, begin_tried};
use super::handle::Task;
use super::on_cancel::OnCancel;
use super::outcome::{Outcome, guarded};
use crate::errors::Failure;
use crate::process;

/// The note on interrupted work that completes one step after another.
pub(crate) const GOES_ON: &str = "what it has done by then stays, and doing it again goes on";

/// The note on interrupted work that publishes everything at its end.
pub(crate) const BEGINS_ANEW: &str =
    "if it does so before it is done, nothing of it is published, and doing it again begins anew";

/// Begins work on the runtime.
pub(crate) fn begin<F, T>(py: Python<'_>, work: F) -> PyResult<Task>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    py.detach(|| Ok(Task::spawned(guarded(work), OnCancel::Drop, None)?))
}

/// Begins work that no cancellation stops, because a partial effect would be worse: an edit of a session. It ends with the
/// process.
pub(crate) fn begin_to_the_end<F, T>(py: Python<'_>, work: F) -> PyResult<Task>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    py.detach(|| Ok(Task::spawned(guarded(work), OnCancel::Continue, None)?))
}

/// Begins work on the runtime. With `for_all`, several callers wait for it, and one that gives up does not end it for the
/// others.
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

/// Begins work that no cancellation stops, and for which the process waits before it ends: its effects are visible to
/// others, so its caller must be able to find out whether it succeeded. A note on the exception of a caller that stops
/// waiting says `what` goes on (`"The commit"`), and where to `look` for its outcome.
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
    let running = Some(process::register_lasting_work(py, None));
    let on_cancel = OnCancel::ContinueWithNote { what, look };
    py.detach(|| Ok(Task::spawned(guarded(work), on_cancel, running)?))
}

/// Begins work that a cancellation, or the end of the process, asks to end early, by raising `interrupt`. The process waits
/// for that. A note on the exception of a caller that gives up says what is `left` then: [`GOES_ON`] or [`BEGINS_ANEW`].
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
    let running = Some(process::register_lasting_work(py, Some(interrupt.clone())));
    let on_cancel = OnCancel::Interrupt { interrupt, left };
    py.detach(|| Ok(Task::spawned(guarded(work), on_cancel, running)?))
}

/// Begins work that probably completes without waiting: this thread tries it first, without the GIL.
pub(crate) fn begin_near<F, T>(py: Python<'_>, work: F) -> PyResult<Task>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Outcome + Send + 'static,
{
    py.detach(|| {
        let mut work = guarded(work);
        let tried =
            process::in_runtime(|| work.as_mut().poll(&mut Context::from_waker(Waker::noop())));
        Ok(match tried? {
            Poll::Ready(end) => Task::done(end),
            Poll::Pending => Task::spawned(work, OnCancel::Drop, None)?,
        })
    })
}

/// The same as [`begin_near`], for work that no cancellation stops.
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
