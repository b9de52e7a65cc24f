//! Replacing `repo`: edits that wait for each other share a write, and each gets its own outcome.
//!
//! An error that one edit causes is returned to that edit alone: where a content with all of them cannot be written, a batch is halved
//! until it can, and an edit whose earlier write cannot be looked for leaves the batch.
//!
//! A write whose reply was lost is looked for by the name of the backup that it made: the log of every later state has it. A
//! write that did not land cannot land any more once `repo` has another state, so that the edit is tried again. An edit
//! stays unknown just where the store does not answer any more.

use std::sync::Arc;
use std::time::Duration;

use icefield_format::{
    FormatError, FormatFile, RepoEdit, RepoEditError, RepoInfo, UpdateKind, layout,
};
use icefield_storage::{
    Bytes, CopyOptions, Key, PlantedBug, PutMode, PutOutcome, StorageExt, planted,
};

use super::change;
use super::content::{self, Change};
use super::object::{RepoObject, RepoState, next_time};
use super::queue::{Answer, Attempt, Batch, Waiting};
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

/// A next state of `repo` as it is stored.
struct Content {
    info: RepoInfo,
    bytes: Bytes,
    /// The copy of the state before, which it names.
    backup: String,
    /// That copy is stored.
    is_made: bool,
}

impl RepoObject {
    /// Applies an edit.
    ///
    /// # Errors
    /// As [`Ledger::apply`](crate::Ledger::apply); nothing was changed.
    pub(crate) async fn apply(&self, edit: Edit) -> Answer {
        let config = match &edit {
            Edit::SetConfig { config, .. } => Some(content::state_of_config(config)?),
            _ => None,
        };
        let this = self.unpinned();
        let caller = this.shared().queue.join(edit);
        let answer = loop {
            if let Some(answer) = caller.take_answer() {
                break answer;
            }
            if let Some(turn) = caller.turn().await {
                let mut batch = turn.batch();
                this.publish(&mut batch, &caller.own).await;
            }
        };
        match answer {
            Ok(EditOutcome::Done(None)) => Ok(EditOutcome::Done(config)),
            answer => answer,
        }
    }

    /// Settles at least `own`. A failure of the store is the outcome of that edit alone: the others are tried by their callers.
    async fn publish(&self, batch: &mut Batch<'_>, own: &Arc<Waiting>) {
        let shared = self.shared();
        batch.take_waiting();
        // The state that was read last is most often still current, which spares a round. Nothing is refused by it. An edit that may have
        // landed is looked for in what `repo` is now.
        let mut held = self
            .held()
            .filter(|_| batch.open().all(|edit| edit.attempts().is_empty()));
        let (mut races_lost, mut replies_lost) = (0, 0);
        loop {
            let turn = shared.turns.next(&*shared.storage, &*shared.clock).await;
            if turn.is_some() {
                // Another handle may have written since.
                held = None;
            }
            let is_fresh = held.is_none();
            let (now, planned) = match self.next(held.take(), batch, own).await {
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
                return self.tell(planned, own).await;
            };
            if races_lost >= TRIES {
                return own.fail(RefsError::RacesLost { tries: TRIES });
            }
            let content = match self.compose(&now, next, &planned) {
                Ok(content) => content,
                Err(_) if batch.halve(own) => {
                    held = Some(now);
                    continue;
                }
                Err(error) => return own.fail(error),
            };
            let written = self.write(&now, content, &planned).await;
            drop(turn);
            match written {
                Ok(PutOutcome::Written(_)) => return self.tell(planned, own).await,
                Ok(PutOutcome::Refused) => {
                    shared.turns.note_lost_race();
                    self.pause(races_lost).await;
                    races_lost += 1;
                    batch.take_waiting();
                }
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
    ///
    /// # Errors
    /// The errors of `own`.
    async fn next(
        &self,
        held: Option<Arc<RepoState>>,
        batch: &mut Batch<'_>,
        own: &Arc<Waiting>,
    ) -> Result<(Arc<RepoState>, Planned), RefsError> {
        let now = match held {
            Some(held) => held,
            None => self.read().await?,
        };
        let tried: Vec<_> = batch.open().cloned().collect();
        for edit in &tried {
            match self.look_for(edit, &now).await {
                Ok(()) => {}
                Err(error) if Arc::ptr_eq(edit, own) => return Err(error),
                Err(error) => {
                    tracing::debug!(%error, "an edit of another caller was not looked for");
                    batch.set_aside(edit);
                }
            }
        }
        let planned = self.plan(&now, batch)?;
        Ok((now, planned))
    }

    /// Answers an edit that has landed, and forgets attempts that cannot land any more.
    async fn look_for(&self, edit: &Waiting, now: &RepoState) -> Result<(), RefsError> {
        let attempts = edit.attempts();
        let is_in_doubt = !attempts.is_empty() && !planted(PlantedBug::LostAnswerNotLookedFor);
        if is_in_doubt && self.has_landed(now, &attempts).await? {
            self.storage().sync().await?;
            edit.answer(Ok(EditOutcome::Done(None)));
        }
        edit.forget_attempts_but_of(&now.version);
        Ok(())
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

    /// Makes the object that the next state is stored as.
    ///
    /// # Errors
    /// The changed content cannot be written, such as [`icefield_format::FormatError::TooLarge`].
    fn compose(
        &self,
        now: &RepoState,
        next: &RepoEdit,
        planned: &Planned,
    ) -> Result<Content, RefsError> {
        let shared = self.shared();
        let made = shared.ahead.take(&now.version);
        let is_made = made.is_some();
        let backup = made.unwrap_or_else(|| self.backup_name());
        let named = match planted(PlantedBug::LogNamesNoBackup) {
            true => self.backup_name(),
            false => backup.clone(),
        };
        match self.encode(next, planned, &named) {
            Ok((info, bytes)) => Ok(Content {
                info,
                bytes,
                backup,
                is_made,
            }),
            Err(error) => {
                if is_made {
                    shared.ahead.is_made(&now.version, backup);
                }
                Err(error)
            }
        }
    }

    fn encode(
        &self,
        next: &RepoEdit,
        planned: &Planned,
        backup: &str,
    ) -> Result<(RepoInfo, Bytes), RefsError> {
        let shared = self.shared();
        let updates = planned.updates.iter().cloned();
        // A configuration that cannot be read keeps no edit from landing.
        let config = next.so_far().config().ok().flatten().unwrap_or_default();
        let page = usize::from(config.updates_per_page());
        let info = match planned.is_collection {
            true => next.clone().finish_shortened(updates, backup)?,
            false => next.clone().finish(updates, backup, page)?,
        };
        let (file, limit) = (FormatFile::RepoInfo, shared.most_bytes);
        let bytes = match info.encode(&shared.writer) {
            Ok(bytes) if bytes.len() as u64 > limit => Err(FormatError::TooLarge { file, limit }),
            encoded => encoded,
        };
        Ok((info, bytes.map_err(RepoEditError::from)?))
    }

    /// Copies the old object to `overwritten/` and replaces it. An error means that it was not replaced.
    async fn write(
        &self,
        now: &RepoState,
        content: Content,
        planned: &Planned,
    ) -> Result<PutOutcome, RefsError> {
        let shared = self.shared();
        let Content {
            info,
            bytes,
            backup,
            is_made,
        } = content;
        let is_made = is_made || planted(PlantedBug::BackupSkipped);
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
            edit.note_attempt(attempt.clone());
        }
        let options = self.put_options(PutMode::Update(now.version.clone()));
        let put = shared
            .storage
            .put(&shared.key, bytes.clone().into(), options);
        let outcome = match put.await {
            Ok(outcome) => outcome,
            Err(error) => {
                for edit in &planned.made {
                    edit.take_back_attempt();
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

    /// Tells the edits that a state decides, with those that a write has brought into it. What is done is made durable before.
    async fn tell(&self, planned: Planned, own: &Waiting) {
        let synced = match planned.has_done() {
            true => self.storage().sync().await,
            false => Ok(()),
        };
        for (edit, answer) in planned.answers {
            match answer {
                // Its caller looks for it, and syncs for itself.
                Ok(EditOutcome::Done(_)) if synced.is_err() => {}
                Ok(outcome) => edit.answer(Ok(outcome)),
                Err(error) => edit.fail(error),
            }
        }
        match synced {
            Ok(()) => {
                for edit in &planned.made {
                    edit.answer(Ok(EditOutcome::Done(None)));
                }
            }
            Err(source) if own.is_open() => own.answer(Ok(EditOutcome::Unknown(source))),
            Err(_) => {}
        }
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
    /// Whether an edit is done.
    fn has_done(&self) -> bool {
        let is_done = |answer: &Answer| matches!(answer, Ok(EditOutcome::Done(_)));
        !self.made.is_empty() || self.answers.iter().any(|(_, answer)| is_done(answer))
    }
}
