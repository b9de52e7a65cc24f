//! Edits of `repo` that wait for each other: one caller at a time has the turn, and takes all that wait into its batch.
//!
//! An edit that another caller made is told to its own caller at once, which need not wait for a turn then. What has no answer
//! when a batch ends, or its caller goes away, waits again.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use futures::future::{Either, select};
use futures::task::AtomicWaker;
use icefield_format::layout;
use icefield_storage::Version;

use crate::{Edit, EditOutcome, RefsError};

pub(super) type Answer = Result<EditOutcome, RefsError>;

/// One write of `repo` that was asked for.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    /// The name of the backup that it made, and that it gives to the entry which was the newest.
    pub(super) backup: String,
    /// The time of that entry.
    pub(super) newest_before: u64,
    /// The state that it replaces: while `repo` has it, the attempt may still land.
    pub(super) replaced: Version,
}

/// Edits that wait for their turn.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<Vec<Arc<Waiting>>>,
    turn: futures::lock::Mutex<()>,
}

/// How far an edit is.
#[derive(Debug, Default)]
enum Progress {
    #[default]
    Open,
    Answered(Answer),
    /// The caller has its answer. A batch that still holds the edit must not make it again.
    Taken,
}

/// An edit that was asked for.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) edit: Edit,
    /// The caller is gone: an edit that is not under way is dropped.
    is_abandoned: AtomicBool,
    attempts: Mutex<Vec<Attempt>>,
    progress: Mutex<Progress>,
    caller: AtomicWaker,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Waiting {
    /// Answers the caller. The first answer holds: a later failure of the same batch says nothing of an edit that has landed.
    pub(super) fn answer(&self, answer: Answer) {
        let mut progress = locked(&self.progress);
        if let Progress::Open = *progress {
            *progress = Progress::Answered(answer);
        }
        drop(progress);
        self.caller.wake();
    }

    /// Answers with an error, unless an attempt may have landed, or still land.
    pub(super) fn fail(&self, error: RefsError) {
        self.answer(match locked(&self.attempts).is_empty() {
            true => Err(error),
            false => Ok(EditOutcome::unread(layout::REPO.to_owned(), error)),
        });
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(*locked(&self.progress), Progress::Open)
    }

    /// Waits for an answer.
    async fn answered(&self) {
        poll_fn(|context| {
            // Before the look: an answer that comes after it wakes the caller.
            self.caller.register(context.waker());
            match self.is_open() {
                true => Poll::Pending,
                false => Poll::Ready(()),
            }
        })
        .await;
    }

    /// Returns the writes that may have made the edit.
    pub(super) fn attempts(&self) -> Vec<Attempt> {
        locked(&self.attempts).clone()
    }

    /// Notes a write that is about to be asked for.
    pub(super) fn note_attempt(&self, attempt: Attempt) {
        locked(&self.attempts).push(attempt);
    }

    /// Forgets the last write: it was not asked for.
    pub(super) fn take_back_attempt(&self) {
        locked(&self.attempts).pop();
    }

    /// Forgets the writes that have not landed and cannot land any more, now that `repo` has this state.
    pub(super) fn forget_attempts_but_of(&self, state: &Version) {
        locked(&self.attempts).retain(|it| it.replaced == *state);
    }
}

/// An edit whose caller waits. It is marked as abandoned when the caller drops the future.
pub(super) struct Caller<'a> {
    queue: &'a Queue,
    pub(super) own: Arc<Waiting>,
}

/// The right to take what waits, until it is dropped.
pub(super) struct Turn<'a> {
    queue: &'a Queue,
    _held: futures::lock::MutexGuard<'a, ()>,
}

impl Queue {
    /// Puts an edit into the line.
    pub(super) fn join(&self, edit: Edit) -> Caller<'_> {
        let own = Arc::new(Waiting {
            edit,
            is_abandoned: AtomicBool::new(false),
            attempts: Mutex::default(),
            progress: Mutex::default(),
            caller: AtomicWaker::new(),
        });
        locked(&self.waiting).push(Arc::clone(&own));
        Caller { queue: self, own }
    }
}

impl Caller<'_> {
    /// Waits for a turn; none once another caller has decided the edit.
    ///
    /// Tasks that are ready run first, so that those which are about to ask for an edit join the batch: where the store answers
    /// without a pause, they would not meet otherwise.
    pub(super) async fn turn(&self) -> Option<Turn<'_>> {
        let lock = self.queue.turn.lock();
        let held = match select(lock, pin!(self.own.answered())).await {
            Either::Left((held, _)) => held,
            Either::Right(_) => return None,
        };
        if !self.own.is_open() {
            return None;
        }
        let_others_run().await;
        Some(Turn {
            queue: self.queue,
            _held: held,
        })
    }

    /// Returns the answer, if there is one.
    pub(super) fn take_answer(&self) -> Option<Answer> {
        let mut progress = locked(&self.own.progress);
        match std::mem::replace(&mut *progress, Progress::Taken) {
            Progress::Answered(answer) => Some(answer),
            before => {
                *progress = before;
                None
            }
        }
    }
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        self.own.is_abandoned.store(true, Ordering::Relaxed);
    }
}

/// Goes to the end of the line of tasks that are ready.
async fn let_others_run() {
    let mut had_their_turn = false;
    poll_fn(|context| {
        if std::mem::replace(&mut had_their_turn, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl Turn<'_> {
    /// Begins a batch of nothing.
    pub(super) fn batch(&self) -> Batch<'_> {
        Batch {
            queue: self.queue,
            edits: Vec::new(),
            aside: Vec::new(),
        }
    }
}

/// Edits that go into one write. What has no answer when it is dropped waits again.
pub(super) struct Batch<'a> {
    queue: &'a Queue,
    edits: Vec<Arc<Waiting>>,
    /// Edits that have to be looked at apart from these.
    aside: Vec<Arc<Waiting>>,
}

impl Batch<'_> {
    /// Takes in what waits by now.
    pub(super) fn take_waiting(&mut self) {
        let waiting = std::mem::take(&mut *locked(&self.queue.waiting));
        let wanted = waiting
            .into_iter()
            .filter(|it| !it.is_abandoned.load(Ordering::Relaxed));
        self.edits.extend(wanted);
    }

    /// Returns the edits that have no answer yet.
    pub(super) fn open(&self) -> impl Iterator<Item = &Arc<Waiting>> {
        self.edits.iter().filter(|it| it.is_open())
    }

    /// Leaves an edit to a later batch.
    pub(super) fn set_aside(&mut self, edit: &Arc<Waiting>) {
        let is_it = |it: &mut Arc<Waiting>| Arc::ptr_eq(it, edit);
        self.aside.extend(self.edits.extract_if(.., is_it));
    }

    /// Leaves half of the open edits to later batches, and never `own`. Returns false if there is no other edit.
    pub(super) fn halve(&mut self, own: &Arc<Waiting>) -> bool {
        let others = self.open().filter(|it| !Arc::ptr_eq(it, own)).cloned();
        let others: Vec<_> = others.collect();
        for edit in others.iter().skip(others.len() / 2) {
            self.set_aside(edit);
        }
        !others.is_empty()
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let left = self.edits.drain(..).chain(self.aside.drain(..));
        let again = left.filter(|it| it.is_open());
        locked(&self.queue.waiting).splice(0..0, again);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn an_edit_whose_caller_has_its_answer_is_not_open_again() {
        let queue = Queue::default();
        let caller = queue.join(Edit::UpdateMetadata {
            entries: BTreeMap::new(),
        });
        let mut batch = Batch {
            queue: &queue,
            edits: Vec::new(),
            aside: Vec::new(),
        };
        batch.take_waiting();
        assert_eq!(batch.open().count(), 1);
        caller.own.answer(Ok(EditOutcome::Done(None)));
        assert!(caller.take_answer().is_some());
        assert_eq!(batch.open().count(), 0, "it would be made twice");
        caller.own.fail(RefsError::RacesLost { tries: 1 });
        assert!(caller.take_answer().is_none(), "the first answer holds");
    }
}
