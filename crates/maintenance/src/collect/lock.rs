//! One collection at a time, and what writers are told of it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use icefield_core::collection::{
    CollectionPhase, CollectionState, Lease, STATE_VERSION, STOPPED_AFTER, time_of,
};
use icefield_core::{Clock, Repository, micros_of_time};
use icefield_format::{ChunkId, layout};
use icefield_storage::{
    Key, PutMode, PutOptions, PutOutcome, Storage, StorageError, StorageExt, Version,
};

use super::{CollectError, LEAST_FLOOR};

/// A collection says at least this often that it is still running.
const BEAT: Duration = Duration::from_secs(STOPPED_AFTER.as_secs() / 6);
/// And before each batch of deletions, unless that was so recently.
const RECENT: Duration = Duration::from_secs(60);

/// What is spared for its age: what is younger than the floor, and what is not older than a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) floor: Duration,
    pub(super) older_than: Option<SystemTime>,
}

impl Bound {
    /// The time in microseconds from which on everything is spared, at a time of the store.
    fn cutoff(self, now: u64) -> u64 {
        let older_than = self.older_than.map_or(u64::MAX, micros_of_time);
        older_than.min(now.saturating_sub(micros(self.floor)))
    }

    /// How long a lease holds collections back after it was renewed. That happens every quarter of an hour, whatever is
    /// spared.
    fn alive(self, now: u64) -> Duration {
        LEAST_FLOOR.max(Duration::from_micros(now.saturating_sub(self.cutoff(now))))
    }
}

/// The right to collect.
#[derive(Debug)]
pub(super) struct Lock {
    storage: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
    state: CollectionState,
    /// The stored state; none of a dry run.
    version: Option<Version>,
    /// On the monotonic clock, which stands still while a machine sleeps, and on the other.
    beaten: (Duration, SystemTime),
    /// The store's time when it began, in microseconds.
    opened_at: u64,
    held_back_by: Option<Key>,
    leases: Vec<Lease>,
    alive: Duration,
}

impl Lock {
    /// Takes the right, and settles the cutoff with the writers.
    pub(super) async fn take(repository: &Repository, bound: Bound) -> Result<Self, CollectError> {
        refuse_upgraded(repository).await?;
        let (storage, clock) = (
            Arc::clone(repository.storage()),
            Arc::clone(repository.clock()),
        );
        let mut run = [0; 12];
        repository.entropy().fill(&mut run);
        let found = CollectionState::read(&*storage).await?;
        let mut lock = Self {
            beaten: (clock.monotonic(), clock.now()),
            state: CollectionState {
                version: STATE_VERSION,
                phase: CollectionPhase::Opening,
                cutoff: u64::MAX,
                // What was deleted before stays deleted. One that never got further than opening deleted nothing.
                earlier: (found.as_ref()).map_or(0, |(state, _)| match state.phase {
                    CollectionPhase::Opening => state.earlier,
                    _ => state.cutoff.max(state.earlier),
                }),
                beats: 0,
                run: ChunkId::from_bytes(run).to_string(),
            },
            storage,
            clock,
            version: None,
            opened_at: 0,
            held_back_by: None,
            leases: Vec::new(),
            alive: LEAST_FLOOR,
        };
        let mode = match &found {
            None => PutMode::Create,
            Some((_, meta)) => PutMode::Update(meta.version.clone()),
        };
        let running = found
            .as_ref()
            .filter(|(state, _)| state.phase != CollectionPhase::Done);
        if let Some((_, meta)) = running {
            // Only the store knows what time it is there.
            let now = lock.store_time().await?;
            let said = meta.last_modified.map_or(u64::MAX, micros_of_time);
            if now < said.saturating_add(STOPPED_AFTER.as_micros() as u64) {
                return Err(CollectError::Running);
            }
        }
        lock.store(mode, CollectError::Running).await?;
        match lock.open(bound).await {
            Ok(()) => Ok(lock),
            Err(error) => {
                // It deletes nothing: nobody need wait for it, if that can be said.
                lock.state.cutoff = 0;
                drop(lock.finish().await);
                Err(error)
            }
        }
    }

    /// Tells the writers the cutoff, which may become lower, and then what it is.
    async fn open(&mut self, bound: Bound) -> Result<(), CollectError> {
        let key = CollectionState::key();
        self.opened_at = micros_of_time(time_of(&*self.storage, &key).await?);
        self.alive = bound.alive(self.opened_at);
        let wanted = bound.cutoff(self.opened_at);
        self.state.cutoff = wanted;
        self.update().await?;
        self.leases = Lease::list(&*self.storage).await?;
        self.settle(wanted);
        self.state.phase = CollectionPhase::Running;
        self.update().await
    }

    /// Lowers the cutoff for leases that were written since. Nobody need be told: they were told of a later one.
    pub(super) async fn lower(&mut self) -> Result<(), CollectError> {
        self.leases = Lease::list(&*self.storage).await?;
        self.settle(self.state.cutoff);
        Ok(())
    }

    /// Settles the cutoff as a collection would now, without a word to anybody.
    pub(super) async fn pretend(
        repository: &Repository,
        bound: Bound,
    ) -> Result<Self, CollectError> {
        let (storage, clock) = (
            Arc::clone(repository.storage()),
            Arc::clone(repository.clock()),
        );
        let opened_at = micros_of_time(clock.now());
        let mut lock = Self {
            beaten: (clock.monotonic(), clock.now()),
            state: CollectionState {
                version: STATE_VERSION,
                phase: CollectionPhase::Done,
                cutoff: 0,
                earlier: 0,
                beats: 0,
                run: String::new(),
            },
            leases: Lease::list(&*storage).await?,
            storage,
            clock,
            version: None,
            opened_at,
            held_back_by: None,
            alive: bound.alive(opened_at),
        };
        lock.settle(bound.cutoff(opened_at));
        Ok(lock)
    }

    /// The cutoff is the older of the wanted one and the start of every live lease.
    fn settle(&mut self, wanted: u64) {
        let dead = self.opened_at.saturating_sub(micros(self.alive));
        let live = |lease: &&Lease| renewed_at(lease) >= dead;
        let oldest = self.leases.iter().filter(live).min_by_key(|it| it.started);
        self.state.cutoff = wanted;
        if let Some(lease) = oldest
            && lease.started < wanted
        {
            self.state.cutoff = lease.started;
            self.held_back_by = Some(lease.object.key.clone());
        }
    }

    pub(super) fn cutoff(&self) -> u64 {
        self.state.cutoff
    }

    pub(super) fn run(&self) -> &str {
        &self.state.run
    }

    pub(super) fn opened_at(&self) -> u64 {
        self.opened_at
    }

    pub(super) fn held_back_by(&self) -> Option<&Key> {
        self.held_back_by.as_ref()
    }

    /// The leases of sessions that have ended for certain.
    pub(super) fn dead_leases(&self) -> impl Iterator<Item = &Lease> {
        let long_ago = (self.opened_at).saturating_sub(micros(self.alive).saturating_mul(2));
        self.leases
            .iter()
            .filter(move |it| renewed_at(it) < long_ago)
    }

    /// Says that this collection still runs, if that was not said for a while. One that was silent for so long that
    /// others count it as stopped must not go on: they have relied on that.
    pub(super) async fn beat(&mut self) -> Result<(), CollectError> {
        self.beat_after(BEAT).await
    }

    /// As [`Lock::beat`], before something is deleted.
    pub(super) async fn beat_now(&mut self) -> Result<(), CollectError> {
        self.beat_after(RECENT).await
    }

    async fn beat_after(&mut self, silence: Duration) -> Result<(), CollectError> {
        let (monotonic, wall) = self.beaten;
        let now = (self.clock.monotonic(), self.clock.now());
        let since = now.0.saturating_sub(monotonic);
        let since = since.max(now.1.duration_since(wall).unwrap_or_default());
        if self.version.is_none() || since < silence {
            return Ok(());
        }
        if since >= STOPPED_AFTER {
            return Err(CollectError::TakenOver);
        }
        self.update().await
    }

    /// Whether this is more than a dry run.
    pub(super) fn is_real(&self) -> bool {
        self.version.is_some()
    }

    /// Says that nothing is deleted any more.
    pub(super) async fn finish(mut self) -> Result<(), CollectError> {
        self.state.phase = CollectionPhase::Done;
        self.update().await
    }

    async fn update(&mut self) -> Result<(), CollectError> {
        match self.version.clone() {
            Some(version) => {
                self.store(PutMode::Update(version), CollectError::TakenOver)
                    .await
            }
            None => Ok(()),
        }
    }

    /// Writes the state; `lost` if somebody else has.
    async fn store(&mut self, mode: PutMode, lost: CollectError) -> Result<(), CollectError> {
        self.state.beats += 1;
        let beaten = (self.clock.monotonic(), self.clock.now());
        let bytes = serde_json::to_vec(&self.state).unwrap_or_default();
        let options = PutOptions::mode(mode).with_content_type("application/json");
        let key = CollectionState::key();
        match self.storage.put(&key, bytes.into(), options).await? {
            PutOutcome::Written(written) => self.version = Some(written.version),
            // The refusal of a repeated request may be due to the first one.
            PutOutcome::Refused => self.version = Some(self.stored().await?.ok_or(lost)?),
            PutOutcome::Unknown(source) => {
                let stored = self.stored().await?;
                self.version = Some(stored.ok_or(CollectError::Storage(source))?);
            }
        }
        self.beaten = beaten;
        Ok(())
    }

    /// The version of the stored state, if it is ours.
    async fn stored(&self) -> Result<Option<Version>, StorageError> {
        let stored = CollectionState::read(&*self.storage).await?;
        Ok(stored.and_then(|(state, meta)| (state == self.state).then_some(meta.version)))
    }

    /// Asks the store what time it is, by writing something of no importance. Others may do so at the same moment: it is
    /// no earlier then.
    async fn store_time(&self) -> Result<u64, CollectError> {
        let key = Key::parse("icefield/gc/now").map_err(StorageError::from)?;
        let put = self
            .storage
            .put(&key, "{}".into(), PutMode::Overwrite.into());
        let time = match put.await? {
            PutOutcome::Written(_) => time_of(&*self.storage, &key).await,
            PutOutcome::Refused => unreachable!("BUG: an unconditional put is not refused"),
            PutOutcome::Unknown(source) => return Err(source.into()),
        };
        if time.as_ref().is_err_and(StorageError::is_not_found) {
            // Another one that asks has deleted it.
            return Err(CollectError::Running);
        }
        // It is of no use to anybody.
        drop(self.storage.delete_one(key.into()).await);
        Ok(micros_of_time(time?))
    }
}

fn renewed_at(lease: &Lease) -> u64 {
    lease.object.last_modified.map_or(u64::MAX, micros_of_time)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Refs of spec version 1 say nothing of a repository that was upgraded.
pub(super) async fn refuse_upgraded(repository: &Repository) -> Result<(), CollectError> {
    let key = Key::parse(layout::REPO).map_err(StorageError::from)?;
    match repository.storage().exists(&key).await? {
        true => Err(CollectError::Upgraded),
        false => Ok(()),
    }
}
