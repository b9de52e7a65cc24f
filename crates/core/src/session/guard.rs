//! The lease of a session: what keeps its chunks from being collected before they are committed.
//!
//! A young session needs none, because nothing young is ever collected. [`crate::collection`] has the rules. Where this
//! machine's clock dates the objects, a collection may have run while that clock stood ahead, and nothing else shows it:
//! there a young session with chunks in the store reads how far collections have deleted, too.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use icefield_format::{SnapshotId, layout};
use icefield_refs::{Ledger, RefsError, micros_of_time};
use icefield_storage::{Deletion, Key, PlantedBug, StorageError, StorageExt, planted};

use super::lease::WrittenLease;
use super::{Moment, SentLease, Session};
use crate::SessionError;
use crate::collection::{
    CLOCK_MARGIN, CollectionPhase, CollectionState, LEASED_AFTER, Lease, store_time, time_of,
};
use crate::repository::Shared;

/// A lease is renewed for a commit unless that was so recently.
const RENEWED_FOR_COMMIT: Duration = Duration::from_secs(60);
/// Objects that took longer to write since they were guarded are guarded again before they are published.
const GUARDED_FOR: Duration = Duration::from_secs(5 * 60);
/// Chunks that are looked for at a time.
const LOOKS: usize = 64;
/// Pauses before a collection that is just opening has settled its cutoff.
const PAUSES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// The objects to be published that a collection could have taken.
enum Exposed {
    /// Nothing: it is young, and so is all that it needs.
    Nothing,
    /// The objects written since a time of the store.
    Since(u64),
}

impl Session {
    /// Returns the lease as a fork takes it along.
    pub(crate) fn send_lease(&self) -> SentLease {
        let clock = &*self.shared().clock;
        let lease = self.lease();
        let told = lease.told.try_lock().ok().and_then(|told| *told);
        SentLease {
            id: *lease.id.get_or_init(|| self.random()),
            age: u64::try_from(lease.age(clock).as_micros()).unwrap_or(u64::MAX),
            sent_at: micros_of_time(clock.now()),
            started: told.map(|it| it.started).or(lease.started).unwrap_or(0),
        }
    }

    /// Protects the objects that this session has written from collections, whatever the session's age. A lease counts
    /// as live for one floor of a collection (24 hours unless the collection sets another) after its last renewal.
    /// Writing to an old session renews it, too; a session that waits for longer must call this meanwhile.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn renew_lease(&self) -> Result<(), SessionError> {
        self.renew(Duration::ZERO).await.map(drop)
    }

    /// Renews the lease of an old session if it has not been for a while. Failing to is no reason to fail a write: the
    /// commit will not go on without it.
    pub(crate) async fn keep_lease(&self) {
        if self.is_young() || planted(PlantedBug::LeaseWrittenLate) {
            return;
        }
        if let Err(error) = self.renew(LEASED_AFTER).await {
            tracing::warn!(%error, "the lease of the session could not be renewed");
        }
    }

    fn is_young(&self) -> bool {
        let lease = self.lease();
        !lease.exposed.load(Ordering::Relaxed) && lease.age(&*self.shared().clock) < LEASED_AFTER
    }

    /// Reads the state of the last collection for a young session, where only that can show that its chunks were not young
    /// for a moment. It depends on nothing, so that it goes out together with other requests.
    pub(crate) async fn last_collection(&self) -> Result<Option<CollectionState>, SessionError> {
        let storage = &*self.shared().storage;
        let asks = storage.capabilities().host_dates && self.is_young() && self.has_stored()?;
        if !asks {
            return Ok(None);
        }
        let read = CollectionState::read(storage).await?;
        Ok(read.map(|(state, _)| state))
    }

    /// Lets the session count as old if a collection may have deleted what it wrote. Guarding it finds out more.
    pub(crate) fn note_collection(&self, state: &CollectionState) {
        let lease = self.lease();
        // One that is only opening has deleted nothing by its own cutoff.
        let cutoff = match state.phase {
            CollectionPhase::Opening => 0,
            _ => state.cutoff,
        };
        let began = lease.began_by(&*self.shared().clock);
        // The state of a newer program tells no cutoff. That does not hold back a session that is young.
        let known = |cutoff: &u64| *cutoff != u64::MAX;
        let mut cutoffs = [cutoff, state.earlier].into_iter().filter(known);
        if cutoffs.any(|cutoff| cutoff > began) {
            lease.exposed.store(true, Ordering::Relaxed);
        }
    }

    /// Whether something of the session is in the store that nothing refers to yet: chunks, or manifests of a commit that
    /// did not land.
    fn has_stored(&self) -> Result<bool, SessionError> {
        let state = self.state()?;
        let mut tables = state.changes.chunks().values();
        let is_stored = !state.written.is_empty() || !state.relocations.is_empty();
        Ok(is_stored || tables.any(|table| table.has_native()))
    }

    /// Renews the lease, unless it was within `recent`.
    async fn renew(&self, recent: Duration) -> Result<WrittenLease, SessionError> {
        let (shared, lease) = (self.shared(), self.lease());
        let clock = &*shared.clock;
        let mut told = lease.told.lock().await;
        let spread = lease.spread();
        if let Some(told) = *told
            && told.at.elapsed(clock) < recent
            && spread <= told.spread.saturating_add(CLOCK_MARGIN)
        {
            return Ok(told);
        }
        let key = Lease::key(*lease.id.get_or_init(|| self.random()));
        let (storage, entropy) = (&*shared.storage, &*shared.entropy);
        let at = Moment::now(clock);
        let now = store_time(storage, entropy).await?;
        // The finding of another process is believed, if it can be true.
        let sent = (lease.started).filter(|started| *started <= micros_of_time(now));
        let age = match sent {
            Some(_) => lease.age_here(clock),
            None => lease.age(clock),
        };
        let age = age.saturating_add(CLOCK_MARGIN).as_micros();
        let by_age = micros_of_time(now).saturating_sub(u64::try_from(age).unwrap_or(u64::MAX));
        // Never later than before, and never by a clock that stood ahead.
        let started = (told.map(|told| told.started).into_iter())
            .chain(sent)
            .fold(by_age, u64::min);
        Lease::renew(storage, entropy, &key, started, now).await?;
        let renewed = WrittenLease {
            started,
            at,
            store_time: Some(now),
            spread,
        };
        *told = Some(renewed);
        Ok(renewed)
    }

    /// Writes the lease that holds back everything, under a name of its own. Returns its key, too.
    async fn hold_all(&self) -> Result<(Key, WrittenLease), SessionError> {
        let shared = self.shared();
        let mut holds = self.lease().holds.lock().await;
        let told = WrittenLease::of_hold(&*shared.clock);
        let key = Lease::draw_key(&*shared.entropy);
        // Recorded first: a commit that is given up here leaves no lease that the session does not end.
        holds.push(key.clone());
        Lease::create_at(&*shared.storage, &key).await?;
        // A look from now on sees every collection that began before this lease was there.
        while holds.len() > 1 {
            end(shared, holds[0].clone()).await;
            holds.remove(0);
        }
        Ok((key, told))
    }

    /// Makes sure that nothing of what an old session is about to publish was collected, or will be. `published` is a
    /// snapshot that was written earlier, if it is about one.
    pub(crate) async fn guard(&self, published: Option<SnapshotId>) -> Result<(), SessionError> {
        if planted(PlantedBug::CollectionNotLookedFor) {
            return Ok(());
        }
        let taken = self.state()?.taken.clone();
        let shared = self.shared();
        let mut exposed = Exposed::Nothing;
        let mut told = None;
        let is_old = !self.is_young();
        self.lease().guarded.store(is_old, Ordering::Relaxed);
        if is_old {
            let own = self.renew(RENEWED_FOR_COMMIT).await?;
            let key = Lease::key(*self.lease().id.get_or_init(|| self.random()));
            (exposed, told) = (Exposed::Since(own.started), Some((key, own)));
        }
        if !taken.is_empty() {
            told = Some(self.hold_all().await?);
        }
        let Some((key, told)) = told else {
            return Ok(());
        };
        let Some((state, may_delete)) = read_collection(shared, &key, &told).await? else {
            return Ok(());
        };
        if !taken.is_empty() {
            let reachable = all_reachable(&shared.ledger, taken).await;
            if !reachable.map_err(|error| SessionError::Aborted(error.to_string()))? {
                exposed = Exposed::Since(0);
            }
        }
        let Exposed::Since(started) = exposed else {
            return Ok(());
        };
        if state.cutoff > started && may_delete {
            return Err(SessionError::BeingCollected);
        }
        if state.cutoff.max(state.earlier) <= started {
            return Ok(());
        }
        // Manifests of earlier attempts may be gone as well.
        self.state_mut()?.forget_written();
        self.look_for(published).await
    }

    /// Guards again what took long to write.
    pub(crate) async fn guard_again(
        &self,
        guarded: &Moment,
        published: SnapshotId,
    ) -> Result<(), SessionError> {
        let is_recent = guarded.elapsed(&*self.shared().clock) < GUARDED_FOR;
        // It may have seemed young then, until the store's times of what it has written showed that it was not.
        let is_guarded = self.lease().guarded.load(Ordering::Relaxed) || self.is_young();
        match is_recent && is_guarded {
            true => Ok(()),
            false => self.guard(Some(published)).await,
        }
    }

    /// Checks that the chunks which this session wrote exist, and what it stands on, if that may have been collected.
    async fn look_for(&self, published: Option<SnapshotId>) -> Result<(), SessionError> {
        // Its packs may be on their way.
        self.store_needed().await?;
        let shared = self.shared();
        let (base, chunks) = {
            let state = self.state()?;
            let base = Arc::clone(state.base.snapshot());
            let taken = state.taken.contains(&base.id());
            (taken.then_some(base), state.objects())
        };
        let mut keys: Vec<String> = Vec::new();
        if let Some(base) = base {
            // The objects that it leaves as they were are needed, too.
            keys.push(layout::snapshot_key(base.id()));
            let manifests = base.manifest_files();
            keys.extend(manifests.map(|info| layout::manifest_key(info.id)));
        }
        if let Some(id) = published {
            keys.extend([layout::snapshot_key(id), layout::transaction_log_key(id)]);
            let snapshot = shared.objects.snapshot(id).await?;
            let manifests = snapshot.manifest_files();
            keys.extend(manifests.map(|info| layout::manifest_key(info.id)));
        }
        let chunks = chunks.into_iter().map(layout::chunk_key);
        stream::iter(keys.into_iter().chain(chunks))
            .map(|key| async move {
                let key = Key::parse(&key).map_err(StorageError::from)?;
                match shared.storage.exists(&key).await? {
                    true => Ok(()),
                    false => Err(SessionError::Collected { key }),
                }
            })
            .buffer_unordered(LOOKS)
            .try_collect::<()>()
            .await
    }

    /// Ends the leases of a session whose commit has landed. One that stays holds collections back for a while, and does
    /// no other harm.
    pub(crate) async fn end_lease(&self) {
        let (shared, lease) = (self.shared(), self.lease());
        let told = lease.told.lock().await.take();
        let own = told.and(lease.id.get()).map(|id| Lease::key(*id));
        let holds = std::mem::take(&mut *lease.holds.lock().await);
        for key in own.into_iter().chain(holds) {
            end(shared, key).await;
        }
    }
}

pub(super) async fn end(shared: &Shared, lease: Key) {
    if let Err(error) = shared.storage.delete_one(Deletion::from(lease)).await {
        tracing::debug!(%error, "a lease that is of no use stays until it expires");
    }
}

/// Reads the state of the last collection, and whether it may still delete something, at the time when a lease was written.
/// One that is opening is waited for.
pub(super) async fn read_collection(
    shared: &Shared,
    lease: &Key,
    told: &WrittenLease,
) -> Result<Option<(CollectionState, bool)>, StorageError> {
    let storage = &*shared.storage;
    let mut store_time = told.store_time;
    for pause in 0.. {
        let Some((state, meta)) = CollectionState::read(storage).await? else {
            break;
        };
        if state.phase == CollectionPhase::Done {
            return Ok(Some((state, false)));
        }
        // No time is added to it: a clock of this machine that is set must not make a collection look stopped.
        let now = match store_time {
            Some(now) => now,
            None => *store_time.insert(time_of(storage, lease).await?),
        };
        let may_delete = state.may_delete(micros_of_time(now));
        if state.is_from_future(micros_of_time(now)) {
            let dated = state.clone().correct_date(storage, &meta, now).await;
            if let Err(error) = dated {
                tracing::warn!(%error, "the state of a collection, which lies in the future, stays");
            }
        }
        if may_delete && state.phase == CollectionPhase::Opening && pause < PAUSES {
            shared.clock.sleep(PAUSE).await;
            continue;
        }
        return Ok(Some((state, may_delete)));
    }
    Ok(None)
}

/// Returns whether refs reach all of some snapshots, as the store has it: what is in memory may have expired.
pub(super) async fn all_reachable(
    ledger: &Ledger,
    wanted: BTreeSet<SnapshotId>,
) -> Result<bool, RefsError> {
    ledger.view().await?.reaches_all(wanted).await
}
