//! One collection at a time, and what writers are told of it.

use std::sync::Arc;
use std::time::Duration;

use icefield_core::collection::{
    CollectionPhase, CollectionState, Lease, STATE_VERSION, STOPPED_AFTER, time_of,
};
use icefield_core::{Clock, Repository, micros_of_time};
use icefield_format::ChunkId;
use icefield_storage::{
    Key, PutMode, PutOptions, PutOutcome, Storage, StorageError, StorageExt, Version,
};

use super::CollectError;

/// A collection says at least this often that it is still running.
const BEAT: Duration = Duration::from_secs(STOPPED_AFTER.as_secs() / 6);

/// The right to collect.
#[derive(Debug)]
pub(super) struct Lock {
    storage: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
    state: CollectionState,
    /// The stored state; none of a dry run.
    version: Option<Version>,
    /// On the monotonic clock.
    beaten: Duration,
    /// The store's time when it began, in microseconds.
    opened_at: u64,
    held_back_by: Option<Key>,
    leases: Vec<Lease>,
    alive: Duration,
}

impl Lock {
    /// Takes the right, and settles the cutoff with the writers.
    pub(super) async fn take(
        repository: &Repository,
        floor: Duration,
        alive: Duration,
    ) -> Result<Self, CollectError> {
        let (storage, clock) = (
            Arc::clone(repository.storage()),
            Arc::clone(repository.clock()),
        );
        let mut run = [0; 12];
        repository.entropy().fill(&mut run);
        let found = CollectionState::read(&*storage).await?;
        let mut lock = Self {
            beaten: clock.monotonic(),
            state: CollectionState {
                version: STATE_VERSION,
                phase: CollectionPhase::Opening,
                cutoff: u64::MAX,
                // What was deleted before stays deleted.
                earlier: (found.as_ref()).map_or(0, |(state, _)| state.cutoff.max(state.earlier)),
                run: ChunkId::from_bytes(run).to_string(),
            },
            storage,
            clock,
            version: None,
            opened_at: 0,
            held_back_by: None,
            leases: Vec::new(),
            alive,
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
        let key = CollectionState::key();
        lock.opened_at = micros_of_time(time_of(&*lock.storage, &key).await?);
        let wanted = lock.opened_at.saturating_sub(floor.as_micros() as u64);
        lock.state.cutoff = wanted;
        lock.update().await?;
        lock.leases = Lease::list(&*lock.storage).await?;
        lock.settle(wanted);
        lock.state.phase = CollectionPhase::Running;
        lock.update().await?;
        Ok(lock)
    }

    /// Settles the cutoff as a collection would now, without a word to anybody.
    pub(super) async fn pretend(
        repository: &Repository,
        floor: Duration,
        alive: Duration,
    ) -> Result<Self, CollectError> {
        let (storage, clock) = (
            Arc::clone(repository.storage()),
            Arc::clone(repository.clock()),
        );
        let opened_at = micros_of_time(clock.now());
        let mut lock = Self {
            beaten: clock.monotonic(),
            state: CollectionState {
                version: STATE_VERSION,
                phase: CollectionPhase::Done,
                cutoff: 0,
                earlier: 0,
                run: String::new(),
            },
            leases: Lease::list(&*storage).await?,
            storage,
            clock,
            version: None,
            opened_at,
            held_back_by: None,
            alive,
        };
        lock.settle(opened_at.saturating_sub(floor.as_micros() as u64));
        Ok(lock)
    }

    /// The cutoff is the older of the wanted one and the start of every live lease.
    fn settle(&mut self, wanted: u64) {
        let dead = self.opened_at.saturating_sub(self.alive.as_micros() as u64);
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
        let long_ago = (self.opened_at).saturating_sub(2 * self.alive.as_micros() as u64);
        self.leases
            .iter()
            .filter(move |it| renewed_at(it) < long_ago)
    }

    /// Says that this collection still runs, if that was not said for a while.
    pub(super) async fn beat(&mut self) -> Result<(), CollectError> {
        let now = self.clock.monotonic();
        if self.version.is_some() && now.saturating_sub(self.beaten) >= BEAT {
            self.beaten = now;
            self.update().await?;
        }
        Ok(())
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
        let bytes = serde_json::to_vec(&self.state).unwrap_or_default();
        let options = PutOptions::mode(mode).with_content_type("application/json");
        let key = CollectionState::key();
        match self.storage.put(&key, bytes.into(), options).await? {
            PutOutcome::Written(written) => self.version = Some(written.version),
            PutOutcome::Refused => return Err(lost),
            PutOutcome::Unknown(source) => {
                let stored = CollectionState::read(&*self.storage).await?;
                match stored.filter(|(state, _)| *state == self.state) {
                    Some((_, meta)) => self.version = Some(meta.version),
                    None => return Err(source.into()),
                }
            }
        }
        Ok(())
    }

    /// Asks the store what time it is, by writing something of no importance.
    async fn store_time(&self) -> Result<u64, StorageError> {
        let key = Key::parse(&format!("icefield/gc/now-{}", self.state.run))?;
        let put = self
            .storage
            .put(&key, "{}".into(), PutMode::Overwrite.into());
        let time = match put.await? {
            PutOutcome::Written(_) => time_of(&*self.storage, &key).await,
            PutOutcome::Refused => unreachable!("BUG: an unconditional put is not refused"),
            PutOutcome::Unknown(source) => return Err(source),
        };
        // It is of no use to anybody.
        drop(self.storage.delete_one(key.into()).await);
        Ok(micros_of_time(time?))
    }
}

fn renewed_at(lease: &Lease) -> u64 {
    lease.object.last_modified.map_or(u64::MAX, micros_of_time)
}
