//! Replacing `repo`: edits that wait for each other share a write, and each of them is told what became of it.
//!
//! A write whose reply was lost is looked for by the name of the backup that it made: the log of every later state has it. A
//! write that did not land cannot land any more once `repo` has another state, so that the edit is tried again. An edit
//! stays unknown just where the store does not answer any more.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use icefield_format::{RepoEdit, UpdateKind, layout};
use icefield_storage::{CopyOptions, Key, PutMode, PutOutcome, StorageExt, Version};

use super::change::{self, Change};
use super::object::{RepoObject, RepoState, next_time};
use crate::{Edit, EditOutcome, RefsError};

/// Bytes of a state that is sent again rather than copied by the server: S3 takes three requests for a copy under a condition.
const SENT_AGAIN: usize = 1 << 20;

/// Attempts after which an edit gives up that loses race after race, as many as the reference makes by default.
const TRIES: u32 = 100;
/// Attempts that follow each other at once; after them, a pause grows.
const AT_ONCE: u32 = 5;
/// The first pause, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(30));
/// Lost replies in a row after which the store is taken at its word.
const LOST_REPLIES: u32 = 3;

type Answer = Result<EditOutcome, RefsError>;

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

#[derive(Debug)]
struct Waiting {
    edit: Edit,
    /// The caller is gone: an edit that is not under way is dropped.
    is_abandoned: AtomicBool,
    attempts: Mutex<Vec<Attempt>>,
    answer: Mutex<Option<Answer>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Waiting {
    /// Answers the caller. The first answer holds: a later failure of the same batch says nothing of an edit that has landed.
    fn answer(&self, answer: Answer) {
        locked(&self.answer).get_or_insert(answer);
    }

    fn is_open(&self) -> bool {
        locked(&self.answer).is_none()
    }

    fn attempts(&self) -> Vec<Attempt> {
        locked(&self.attempts).clone()
    }

    /// Answers with an error, unless an attempt may have landed, or still land.
    fn fail(&self, error: RefsError) {
        self.answer(match locked(&self.attempts).is_empty() {
            true => Err(error),
            false => Ok(EditOutcome::unread(layout::REPO.to_owned(), error)),
        });
    }
}

/// Marks an edit as abandoned when its caller drops the future.
struct Caller(Arc<Waiting>);

impl Drop for Caller {
    fn drop(&mut self) {
        self.0.is_abandoned.store(true, Ordering::Relaxed);
    }
}

/// Edits that go into one write. What has no answer when it is dropped waits again.
struct Batch<'a> {
    queue: &'a Queue,
    edits: Vec<Arc<Waiting>>,
}

impl Queue {
    fn take(&self) -> Batch<'_> {
        let mut edits = std::mem::take(&mut *locked(&self.waiting));
        edits.retain(|it| !it.is_abandoned.load(Ordering::Relaxed));
        Batch { queue: self, edits }
    }
}

impl Batch<'_> {
    fn open(&self) -> impl Iterator<Item = &Arc<Waiting>> {
        self.edits.iter().filter(|it| it.is_open())
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let again = self.edits.drain(..).filter(|it| it.is_open());
        locked(&self.queue.waiting).splice(0..0, again);
    }
}

/// The content of `repo` with some edits, and which of them are in it.
struct Planned {
    next: Option<RepoEdit>,
    updates: Vec<(UpdateKind, u64)>,
    made: Vec<Arc<Waiting>>,
    /// Refusals, errors, and edits with nothing to do. They hold if the write lands: an earlier edit of the same write may be their
    /// reason.
    answers: Vec<(Arc<Waiting>, Answer)>,
    is_collection: bool,
}

impl RepoObject {
    /// Applies an edit.
    ///
    /// # Errors
    /// As [`Ledger::apply`](crate::Ledger::apply); nothing was changed.
    pub(crate) async fn apply(&self, edit: Edit) -> Answer {
        let config = match &edit {
            Edit::SetConfig { config, .. } => Some(change::state_of_config(config)?),
            _ => None,
        };
        let this = self.unpinned();
        let queue = &this.shared().queue;
        let own = Arc::new(Waiting {
            edit,
            is_abandoned: AtomicBool::new(false),
            attempts: Mutex::default(),
            answer: Mutex::default(),
        });
        locked(&queue.waiting).push(Arc::clone(&own));
        let caller = Caller(own);
        let _turn = queue.turn.lock().await;
        while caller.0.is_open() {
            let batch = queue.take();
            this.publish(&batch, &caller.0).await;
        }
        let answer = locked(&caller.0.answer).take();
        match answer.expect("BUG: the loop ends when there is an answer") {
            Ok(EditOutcome::Done(None)) => Ok(EditOutcome::Done(config)),
            answer => answer,
        }
    }

    /// Answers at least `own`. What the store does not answer is told to that one alone: the others try for themselves.
    async fn publish(&self, batch: &Batch<'_>, own: &Waiting) {
        // What was read last is most often still so, and then spares a round. Nothing is refused by it. An edit that may have
        // landed is looked for in what `repo` is now.
        let mut held = self
            .held()
            .filter(|_| batch.open().all(|edit| edit.attempts().is_empty()));
        let mut replies_lost = 0;
        for tries in 0.. {
            let is_fresh = held.is_none();
            let (now, planned) = match self.next(held.take(), batch).await {
                Ok(next) => next,
                Err(error) => return own.fail(error),
            };
            if !own.is_open() {
                // Its write had landed. The others wait again, and try for themselves.
                return;
            }
            if !is_fresh && !planned.answers.is_empty() {
                continue;
            }
            let Some(next) = &planned.next else {
                return planned.tell();
            };
            if tries >= TRIES {
                return own.fail(RefsError::RacesLost { tries });
            }
            match self.write(&now, next, &planned).await {
                Ok(PutOutcome::Written(_)) => return self.tell_durable(planned, own).await,
                Ok(PutOutcome::Refused) => self.pause(tries).await,
                Ok(PutOutcome::Unknown(source)) => {
                    replies_lost += 1;
                    if replies_lost >= LOST_REPLIES {
                        return own.answer(Ok(EditOutcome::Unknown(source)));
                    }
                }
                Err(error) => return own.fail(error),
            }
        }
    }

    /// Reads the object, unless a state of it is given, and plans the edits of a batch that have not landed yet.
    async fn next(
        &self,
        held: Option<Arc<RepoState>>,
        batch: &Batch<'_>,
    ) -> Result<(Arc<RepoState>, Planned), RefsError> {
        let now = match held {
            Some(held) => held,
            None => self.read().await?,
        };
        for edit in batch.open() {
            let attempts = edit.attempts();
            if !attempts.is_empty() && self.has_landed(&now, &attempts).await? {
                self.storage().sync().await?;
                edit.answer(Ok(EditOutcome::Done(None)));
            }
            locked(&edit.attempts).retain(|it| it.replaced == now.version);
        }
        let planned = self.plan(&now, batch)?;
        Ok((now, planned))
    }

    /// Applies the open edits of a batch to a state, one after the other.
    fn plan(&self, now: &RepoState, batch: &Batch<'_>) -> Result<Planned, RefsError> {
        let newest = now.info.log().newest_at();
        let mut planned = Planned {
            next: None,
            updates: Vec::new(),
            made: Vec::new(),
            answers: Vec::new(),
            is_collection: false,
        };
        if batch.open().next().is_none() {
            return Ok(planned);
        }
        let mut at = next_time(self.now(), newest)?;
        let mut edit = now.info.edit();
        for waiting in batch.open() {
            match change::make(&waiting.edit, &mut edit, at) {
                Ok(Change::Made(kinds)) if kinds.is_empty() => {
                    let done = Ok(EditOutcome::Done(None));
                    planned.answers.push((Arc::clone(waiting), done));
                }
                Ok(Change::Made(kinds)) => {
                    for kind in kinds {
                        planned.updates.push((kind, at));
                        at += 1;
                    }
                    planned.made.push(Arc::clone(waiting));
                    planned.is_collection |= matches!(waiting.edit, Edit::Collect { .. });
                }
                Ok(Change::Refused(refusal)) => {
                    let refused = Ok(EditOutcome::Refused(refusal));
                    planned.answers.push((Arc::clone(waiting), refused));
                }
                Err(error) => planned.answers.push((Arc::clone(waiting), Err(error))),
            }
        }
        planned.next = (!planned.made.is_empty()).then_some(edit);
        Ok(planned)
    }

    /// Copies the old object to `overwritten/` and replaces it. An error means that it was not replaced.
    async fn write(
        &self,
        now: &RepoState,
        next: &RepoEdit,
        planned: &Planned,
    ) -> Result<PutOutcome, RefsError> {
        let shared = self.shared();
        let made = shared.ahead.take(&now.version);
        let is_made = made.is_some();
        let backup = made.unwrap_or_else(|| self.backup_name());
        let updates = planned.updates.iter().cloned();
        // A configuration that cannot be read keeps no edit from landing.
        let config = next.so_far().config().ok().flatten().unwrap_or_default();
        let page = usize::from(config.updates_per_page());
        let info = match planned.is_collection {
            true => next.clone().finish_shortened(updates, &backup)?,
            false => next.clone().finish(updates, &backup, page)?,
        };
        let bytes = info.encode(&shared.writer);
        let bytes = bytes.map_err(|source| RefsError::RepoEdit {
            source: source.into(),
        })?;
        if !is_made && !self.copy_to(now, &backup).await? {
            return Ok(PutOutcome::Refused);
        }
        // The new object names it, and must not outlive it.
        shared.storage.sync().await?;
        let attempt = Attempt {
            backup,
            newest_before: now.info.log().newest_at(),
            replaced: now.version.clone(),
        };
        for edit in &planned.made {
            locked(&edit.attempts).push(attempt.clone());
        }
        let options = self.put_options(PutMode::Update(now.version.clone()));
        let put = shared
            .storage
            .put(&shared.key, bytes.clone().into(), options);
        let outcome = match put.await {
            Ok(outcome) => outcome,
            Err(error) => {
                for edit in &planned.made {
                    locked(&edit.attempts).pop();
                }
                return Err(error.into());
            }
        };
        if let PutOutcome::Written(written) = &outcome {
            self.remember(&Arc::new(RepoState {
                info,
                version: written.version.clone(),
                bytes,
            }));
        }
        Ok(outcome)
    }

    /// Draws a name for a copy of the object.
    pub(super) fn backup_name(&self) -> String {
        layout::overwritten_name(layout::REPO, self.now() / 1000, self.random())
    }

    /// Copies a state of the object to `overwritten/`; false if it is not the stored one any more.
    pub(super) async fn copy_to(&self, now: &RepoState, name: &str) -> Result<bool, RefsError> {
        let shared = self.shared();
        let key = Key::parse(&layout::overwritten_key(name))?;
        let on_server = shared.storage.capabilities().server_side_copy;
        let outcome = match on_server && now.bytes.len() > SENT_AGAIN {
            true => {
                // Nothing is overwritten: the name is new.
                let options = CopyOptions::mode(PutMode::Overwrite);
                let options = options.with_source_version(now.version.clone());
                shared.storage.copy(&shared.key, &key, options).await
            }
            false => {
                let options = self.put_options(PutMode::Create);
                let bytes = now.bytes.clone();
                shared.storage.put(&key, bytes.into(), options).await
            }
        };
        match outcome {
            Ok(PutOutcome::Written(_)) => {}
            Ok(PutOutcome::Refused) => return Ok(false),
            Err(error) if error.is_not_found() => return Ok(false),
            Ok(PutOutcome::Unknown(source)) => match shared.storage.exists(&key).await {
                Ok(true) => {}
                _ => return Err(source.into()),
            },
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    /// Tells the edits of a write that has landed.
    async fn tell_durable(&self, planned: Planned, own: &Waiting) {
        if let Err(source) = self.storage().sync().await {
            // The others find it in the log, and sync for themselves.
            if own.is_open() {
                own.answer(Ok(EditOutcome::Unknown(source)));
            }
            return;
        }
        for edit in &planned.made {
            edit.answer(Ok(EditOutcome::Done(None)));
        }
        planned.tell();
    }

    async fn pause(&self, tries: u32) {
        let Some(doublings) = tries.checked_sub(AT_ONCE) else {
            return;
        };
        let (first, longest) = PAUSES;
        let pause = first.saturating_mul(1 << doublings.min(16)).min(longest);
        let [random, ..] = self.random();
        // Between half of it and all of it, so that writers that met once do not meet again.
        let pause = pause / 2 + pause.mul_f64(f64::from(random) / 512.0);
        self.shared().clock.sleep(pause).await;
    }
}

impl Planned {
    fn tell(self) {
        for (edit, answer) in self.answers {
            match answer {
                Ok(outcome) => edit.answer(Ok(outcome)),
                Err(error) => edit.fail(error),
            }
        }
    }
}
