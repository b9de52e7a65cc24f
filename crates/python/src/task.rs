//! Work in the background: Python waits for it, or awaits it on an event loop.

mod attempt;
mod awaiting;
mod begin;
mod handle;
mod notifier;
mod on_cancel;
mod outcome;
mod progress;
mod waiting;

pub(crate) use attempt::{
    Attempt, Begun, attempt_now, begin_here, begin_on_disk, begin_tried, unattempted,
};
pub(crate) use begin::{
    BEGINS_ANEW, GOES_ON, begin, begin_for, begin_interruptible, begin_lasting, begin_near,
    begin_near_to_the_end, begin_to_the_end,
};
pub(crate) use handle::Task;
pub(crate) use notifier::LoopNotifier;
pub(crate) use outcome::Outcome;
