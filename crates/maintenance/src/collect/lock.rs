//! One collection at a time, and what writers are told of it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use icefield_core::collection::{
    CLOCK_MARGIN, CLOCK_TOLERANCE, CollectionPhase, CollectionState, Lease, STATE_VERSION,
    STOPPED_AFTER, agreed_time,
};
use icefield_core::{Clock, Repository, micros_of_time, time_of_micros};
use icefield_format::ChunkId;
use icefield_refs::RefsError;
use icefield_storage::{
    Entropy, Key, PlantedBug, PutMode, PutOptions, PutOutcome, Storage, StorageError, Version,
    planted,
};
use serde::Serialize;

use super::error::CollectError;
use super::settings::LEAST_FLOOR;

/// A collection says at least this often that it is still running.
const BEAT: Duration = Duration::from_secs(STOPPED_AFTER.as_secs() / 6);
/// And before each batch of deletions, unless that was so recently.
const RECENT: Duration = Duration::from_secs(60);

/// The bound on age: objects younger than the floor are spared, and those not older than a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) floor: Duration,
    pub(super) older_than: Option<SystemTime>,
}

impl Bound {
    /// The time in microseconds from which on everything is spared, at a time of the store.
    fn cutoff(self, now: u64) -> u64 {
        let older_than = self.older_than.map_or(u64::MAX, micros_of_time);
        let floor = match planted(PlantedBug::FloorInMilliseconds) {
            true => self.floor / 1000,
            false => self.floor,
        };
        older_than.min(now.saturating_sub(micros(floor)))
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
    entropy: Arc<dyn Entropy>,
    state: CollectionState,
    /// The stored state; none of a dry run.
    version: Option<Version>,
    /// When the store was asked for the time of the state, on the monotonic clock, which stands still while a machine sleeps,
    /// and on the other.
    beaten: (Duration, SystemTime),
    /// The store's time when it began, in microseconds.
    opened_at: u64,
    /// The store's time when it was last asked.
    now: u64,
    source: TimeSource,
    held_back_by: Option<Key>,
    leases: Vec<Lease>,
    alive: Duration,
}

impl Lock {
    fn new(
        repository: &Repository,
        bound: Bound,
        beaten: (Duration, SystemTime),
        now: u64,
    ) -> Self {
        Self {
            storage: Arc::clone(repository.storage()),
            clock: Arc::clone(repository.clock()),
            entropy: Arc::clone(repository.entropy()),
            state: CollectionState {
                version: STATE_VERSION,
                phase: CollectionPhase::Opening,
                cutoff: u64::MAX,
                earlier: 0,
                beats: 0,
                run: String::new(),
                alive_at: Some(now),
            },
            version: None,
            beaten,
            opened_at: now,
            now,
            source: TimeSource::Store,
            held_back_by: None,
            leases: Vec::new(),
            alive: bound.alive(now),
        }
    }

    /// Takes the right, and settles the cutoff with the writers.
    pub(super) async fn take(repository: &Repository, bound: Bound) -> Result<Self, CollectError> {
        let (storage, clock) = (&**repository.storage(), &**repository.clock());
        let beaten = (clock.monotonic(), clock.now());
        let store_time = agreed_time(storage, &**repository.entropy(), clock).await?;
        let now = micros_of_time(store_time);
        let mut lock = Self::new(repository, bound, beaten, now);
        let mut run = [0; 12];
        repository.entropy().fill(&mut run);
        lock.state.run = ChunkId::from_bytes(run).to_string();
        let found = CollectionState::read(storage).await?;
        let mode = match found {
            None => PutMode::Create,
            Some((state, meta)) => {
                if state.is_from_future(now) {
                    state.correct_date(storage, &meta, store_time).await?;
                    return Err(CollectError::Running);
                }
                if state.may_delete(now) {
                    return Err(CollectError::Running);
                }
                // Deleted objects stay deleted. One that never got further than opening deleted nothing. Sessions of
                // now began before now, whatever a clock once said.
                let earlier = match state.phase {
                    CollectionPhase::Opening => state.earlier,
                    _ => state.cutoff.max(state.earlier),
                };
                lock.state.earlier = earlier.min(now);
                PutMode::Update(meta.version)
            }
        };
        lock.store(mode, CollectError::Running).await?;
        match lock.open(bound).await {
            Ok(()) => Ok(lock),
            Err(error) => {
                // It deletes nothing: no session need wait for it, if that can be said.
                lock.state.cutoff = 0;
                drop(lock.finish().await);
                Err(error)
            }
        }
    }

    /// Tells the writers the cutoff, which may become lower, and then what it is.
    async fn open(&mut self, bound: Bound) -> Result<(), CollectError> {
        let wanted = bound.cutoff(self.opened_at);
        self.state.cutoff = wanted;
        self.update().await?;
        self.leases = Lease::list(&*self.storage).await?;
        self.settle(wanted);
        for lease in self.leases.iter().filter(|it| it.is_from_future(self.now)) {
            let now = time_of_micros(self.now);
            lease
                .correct_date(&*self.storage, &*self.entropy, now)
                .await?;
        }
        self.state.phase = CollectionPhase::Running;
        self.update().await
    }

    /// Lowers the cutoff for leases that were written since. Sessions need not be told: the state names a later one.
    pub(super) async fn lower(&mut self) -> Result<(), CollectError> {
        self.check_clock().await?;
        self.leases = Lease::list(&*self.storage).await?;
        self.settle(self.state.cutoff);
        Ok(())
    }

    /// Settles the cutoff as a collection would now, and publishes nothing. Of a store that takes no writes, this
    /// machine's clock must tell the time.
    pub(super) async fn pretend(
        repository: &Repository,
        bound: Bound,
    ) -> Result<Self, CollectError> {
        let (storage, clock) = (&**repository.storage(), &**repository.clock());
        let beaten = (clock.monotonic(), clock.now());
        let (now, source) = match agreed_time(storage, &**repository.entropy(), clock).await {
            Ok(now) => (now, TimeSource::Store),
            Err(error) if error.is_write_denied() => (beaten.1, TimeSource::ThisMachine),
            Err(error) => return Err(error.into()),
        };
        let mut lock = Self::new(repository, bound, beaten, micros_of_time(now));
        lock.source = source;
        lock.state.phase = CollectionPhase::Done;
        lock.leases = Lease::list(storage).await?;
        lock.settle(bound.cutoff(lock.opened_at));
        Ok(lock)
    }

    /// The cutoff is the older of the wanted one and the start of every live lease. One that lies ahead is live, and does
    /// not know when its session began.
    fn settle(&mut self, wanted: u64) {
        let dead = self.opened_at.saturating_sub(micros(self.alive));
        let live = self.leases.iter().filter(|lease| lease.renewed >= dead);
        let live = live.filter(|_| !planted(PlantedBug::LeasesIgnored));
        let started = |lease: &Lease| match lease.is_from_future(self.now) {
            true => 0,
            false => lease.started.saturating_sub(micros(CLOCK_MARGIN)),
        };
        let oldest = live
            .map(|lease| (started(lease), lease))
            .min_by_key(|it| it.0);
        self.state.cutoff = wanted;
        if let Some((started, lease)) = oldest
            && started < wanted
        {
            self.state.cutoff = started;
            self.held_back_by = Some(lease.object.key.clone());
        }
    }

    /// Whether a date lies in the future, as the store's clock goes.
    pub(super) fn is_from_future(&self, time: u64) -> bool {
        let now = self.now.saturating_add(micros(self.silence()));
        time > now.saturating_add(micros(CLOCK_TOLERANCE))
    }

    pub(super) fn source(&self) -> TimeSource {
        self.source
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
        self.leases.iter().filter(move |it| it.renewed < long_ago)
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

    /// How long ago the store was asked for the time of the state.
    fn silence(&self) -> Duration {
        let (monotonic, wall) = self.beaten;
        let since = self.clock.monotonic().saturating_sub(monotonic);
        let by_wall = self.clock.now().duration_since(wall);
        since.max(by_wall.unwrap_or_default())
    }

    async fn beat_after(&mut self, silence: Duration) -> Result<(), CollectError> {
        if self.version.is_none() || self.silence() < silence {
            return Ok(());
        }
        if self.silence() >= STOPPED_AFTER && !planted(PlantedBug::CollectionNotFenced) {
            return Err(CollectError::TakenOver);
        }
        self.beat_by_clock(silence).await
    }

    /// Asks the store what time it is. Where its clock went back, what is written now has dates before the cutoff; where it
    /// went forward, others take this collection for stopped. It is asked after garbage was found, and before the refs are
    /// read again and something is deleted.
    pub(super) async fn check_clock(&mut self) -> Result<(), CollectError> {
        match self.version {
            Some(_) => self.beat_by_clock(RECENT).await,
            None => Ok(()),
        }
    }

    /// Asks the store what time it is, and says that this collection runs, if that was not said for a while.
    async fn beat_by_clock(&mut self, silence: Duration) -> Result<(), CollectError> {
        let silent = self.silence();
        let beaten = (self.clock.monotonic(), self.clock.now());
        let now = agreed_time(&*self.storage, &*self.entropy, &*self.clock).await?;
        let now = micros_of_time(now);
        if now.saturating_add(micros(CLOCK_TOLERANCE)) < self.opened_at {
            return Err(CollectError::ClockWentBack {
                location: self.storage.to_string(),
                began: time_of_micros(self.opened_at),
                now: time_of_micros(now),
            });
        }
        let is_late = silent >= STOPPED_AFTER || !self.state.may_delete(now);
        if is_late && !planted(PlantedBug::CollectionNotFenced) {
            return Err(CollectError::TakenOver);
        }
        self.now = now;
        if silent >= silence {
            (self.state.alive_at, self.beaten) = (Some(now), beaten);
            self.update().await?;
        }
        Ok(())
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
            Some(_) if planted(PlantedBug::CollectionNotFenced) => {
                self.store(PutMode::Overwrite, CollectError::TakenOver)
                    .await
            }
            Some(version) => {
                self.store(PutMode::Update(version), CollectError::TakenOver)
                    .await
            }
            None => Ok(()),
        }
    }

    /// Writes the state; `lost` if another collection has.
    async fn store(&mut self, mode: PutMode, lost: CollectError) -> Result<(), CollectError> {
        self.state.beats += 1;
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
        Ok(())
    }

    /// The version of the stored state, if it is ours.
    async fn stored(&self) -> Result<Option<Version>, StorageError> {
        let stored = CollectionState::read(&*self.storage).await?;
        Ok(stored.and_then(|(state, meta)| (state == self.state).then_some(meta.version)))
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Refs of spec version 1 say nothing of a repository that was upgraded, and `repo` nothing of what version-1 programs have
/// written since.
pub(super) async fn require_all_refs(repository: &Repository) -> Result<(), CollectError> {
    match repository.ledger().require_carried_over().await {
        Err(RefsError::Upgraded) => Err(CollectError::Upgraded),
        result => Ok(result?),
    }
}

/// The clock that told the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TimeSource {
    /// The store's clock: the date of an object that was created for that.
    Store,
    /// This machine's clock: for a dry run on a store that takes no writes.
    ThisMachine,
}
