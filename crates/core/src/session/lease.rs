//! The lease of a session: what keeps its chunks from being collected before they are committed.
//!
//! A young session needs none, because nothing young is ever collected. [`crate::collection`] has the rules.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use futures::{StreamExt, TryStreamExt, stream};
use icefield_format::{ChunkId, ChunkRef, SnapshotId, layout};
use icefield_refs::{EditOutcome, Refs, RefsError};
use icefield_storage::{Deletion, Key, StorageError, StorageExt};
use tokio::sync::Mutex;

use super::Session;
use crate::change_set::PendingChunk;
use crate::collection::{self, CollectionPhase, CollectionState, LEASED_AFTER, Lease};
use crate::repository::Shared;
use crate::{Repository, RepositoryError, SessionError, micros_of_time};

/// Chunks that are looked for at a time.
const LOOKS: usize = 64;

/// Sessions began at most so much earlier than their lease says: clocks run at slightly different speeds.
const SLACK: Duration = Duration::from_secs(60);

/// When a session began, and what it has told collections of it. Forks share that of their session.
#[derive(Debug)]
pub(crate) struct SessionLease {
    /// The name of the object, once one is needed.
    id: std::sync::OnceLock<[u8; 12]>,
    /// On the monotonic clock.
    opened: Duration,
    /// The age that the session had then: of a fork that comes from another process.
    age_before: Duration,
    told: Mutex<Option<Told>>,
}

/// A lease that was written.
#[derive(Clone, Copy, Debug)]
struct Told {
    /// When the session began, by the store's clock, in microseconds.
    started: u64,
    /// When the lease was last renewed, on the monotonic clock and by the store's.
    at: Duration,
    store_time: SystemTime,
}

/// A lease on its way to another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SentLease {
    pub(crate) id: [u8; 12],
    /// In microseconds.
    pub(crate) age: u64,
    /// By the sender's clock, in microseconds since 1970.
    pub(crate) sent_at: u64,
}

impl SessionLease {
    pub(crate) fn opened_at(opened: Duration) -> Self {
        Self {
            id: std::sync::OnceLock::new(),
            opened,
            age_before: Duration::ZERO,
            told: Mutex::new(None),
        }
    }

    /// The lease of a fork that came from another process. What it was on its way counts, by clocks that may differ.
    pub(crate) fn received(sent: SentLease, opened: Duration, now: SystemTime) -> Self {
        let on_its_way = micros_of_time(now).saturating_sub(sent.sent_at);
        let lease = Self {
            age_before: Duration::from_micros(sent.age.saturating_add(on_its_way)),
            ..Self::opened_at(opened)
        };
        let _ = lease.id.set(sent.id);
        lease
    }

    fn age(&self, monotonic: Duration) -> Duration {
        let here = monotonic.saturating_sub(self.opened);
        here.saturating_add(self.age_before)
    }
}

impl Session {
    /// Returns the lease as a fork takes it along.
    pub(crate) fn send_lease(&self) -> SentLease {
        let clock = &self.shared().clock;
        let lease = self.lease();
        SentLease {
            id: *lease.id.get_or_init(|| self.random()),
            age: lease.age(clock.monotonic()).as_micros() as u64,
            sent_at: micros_of_time(clock.now()),
        }
    }

    /// Keeps what this session has written from being collected for another while, whatever its age. Writing to an
    /// old session does so, too; one that waits longer than collections spare what is young should be kept alive by
    /// calling this.
    ///
    /// # Errors
    /// What the store says.
    pub async fn renew_lease(&self) -> Result<(), SessionError> {
        self.renew(Duration::ZERO, false).await.map(drop)
    }

    /// Renews the lease of an old session if it has not been for a while. Failing to is no reason to fail a write: the
    /// commit will not go on without it.
    pub(crate) async fn keep_lease(&self) {
        if self.is_young() {
            return;
        }
        if let Err(error) = self.renew(LEASED_AFTER, false).await {
            tracing::warn!(%error, "the lease of the session could not be renewed");
        }
    }

    fn is_young(&self) -> bool {
        self.lease().age(self.shared().clock.monotonic()) < LEASED_AFTER
    }

    /// Renews the lease, unless it was within `recent`. With `all`, it holds back whatever is old.
    async fn renew(&self, recent: Duration, all: bool) -> Result<Told, SessionError> {
        let (shared, lease) = (self.shared(), self.lease());
        let mut told = lease.told.lock().await;
        let at = shared.clock.monotonic();
        if let Some(told) = *told
            && at.saturating_sub(told.at) < recent
            && (told.started == 0 || !all)
        {
            return Ok(told);
        }
        let key = Lease::key(*lease.id.get_or_init(|| self.random()));
        let storage = &*shared.storage;
        let started = match *told {
            _ if all => 0,
            Some(told) => told.started,
            None => {
                // Until it is known when the session began by the store's clock, the lease holds everything back.
                let age = lease.age(at) + SLACK;
                let now = Lease::write(storage, &key, 0).await?;
                micros_of_time(now).saturating_sub(age.as_micros() as u64)
            }
        };
        let store_time = Lease::write(storage, &key, started).await?;
        let renewed = Told {
            started,
            at,
            store_time,
        };
        *told = Some(renewed);
        Ok(renewed)
    }

    /// Makes sure that nothing of what an old session is about to publish was collected, or will be. `published` is a
    /// snapshot that was written earlier, if it is about one.
    pub(crate) async fn guard(&self, published: Option<SnapshotId>) -> Result<(), SessionError> {
        let taken = self.state()?.taken.clone();
        if self.is_young() && taken.is_empty() {
            return Ok(());
        }
        let mut told = self.renew(LEASED_AFTER, !taken.is_empty()).await?;
        let shared = self.shared();
        let Some((state, may_delete)) = look(shared, &told).await? else {
            return Ok(());
        };
        if !taken.is_empty() && self.is_young() {
            let reachable = all_reachable(&shared.refs, taken).await;
            if reachable.map_err(|error| SessionError::Aborted(error.to_string()))? {
                // Collections know of these chunks; what the session wrote itself is young.
                told.started = u64::MAX;
            }
        }
        if state.cutoff > told.started && may_delete {
            return Err(SessionError::BeingCollected);
        }
        if state.cutoff.max(state.earlier) <= told.started {
            return Ok(());
        }
        // Manifests of earlier attempts may be gone as well.
        self.state_mut()?.forget_written();
        self.look_for(published).await
    }

    /// Checks that the chunks which this session wrote exist.
    async fn look_for(&self, published: Option<SnapshotId>) -> Result<(), SessionError> {
        let shared = self.shared();
        let changes = std::sync::Arc::clone(&self.state()?.changes);
        let mut keys: Vec<String> = Vec::new();
        if let Some(id) = published {
            keys.extend([layout::snapshot_key(id), layout::transaction_log_key(id)]);
            let snapshot = shared.objects.snapshot(id).await?;
            let manifests = snapshot.manifest_files();
            keys.extend(manifests.map(|info| layout::manifest_key(info.id)));
        }
        let mut chunks: Vec<ChunkId> = Vec::new();
        for table in changes.chunks().values() {
            for row in 0..table.len() as u32 {
                if let PendingChunk::Set(ChunkRef::Native { id, .. }) = table.at(row) {
                    chunks.push(id);
                }
            }
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

    /// Ends the lease of a session whose commit has landed. One that stays holds collections back for a while, and does
    /// no other harm.
    pub(crate) async fn end_lease(&self) {
        let lease = self.lease();
        let told = lease.told.lock().await.take();
        if let (Some(_), Some(id)) = (told, lease.id.get()) {
            let deletion = Deletion::from(Lease::key(*id));
            if let Err(error) = self.shared().storage.delete_one(deletion).await {
                tracing::debug!(%error, "the lease of a committed session stays until it expires");
            }
        }
    }
}

/// Pauses before a collection that is just opening has settled its cutoff.
const PAUSES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// Reads the state of the last collection, and whether it may still delete something. One that is opening is waited for.
async fn look(
    shared: &Shared,
    told: &Told,
) -> Result<Option<(CollectionState, bool)>, StorageError> {
    for pause in 0.. {
        let Some((state, meta)) = CollectionState::read(&*shared.storage).await? else {
            break;
        };
        let since = shared.clock.monotonic().saturating_sub(told.at);
        let may_delete = collection::may_delete(&state, &meta, told.store_time + since);
        if may_delete && state.phase == CollectionPhase::Opening && pause < PAUSES {
            shared.clock.sleep(PAUSE).await;
            continue;
        }
        return Ok(Some((state, may_delete)));
    }
    Ok(None)
}

/// Returns whether refs reach all of some snapshots.
async fn all_reachable(refs: &Refs, mut wanted: BTreeSet<SnapshotId>) -> Result<bool, RefsError> {
    let list = refs.list().await?;
    let tips = list.branches.into_values().chain(list.tags.into_values());
    let mut seen = BTreeSet::new();
    for tip in tips.flatten() {
        let mut history = refs.ancestry(tip);
        while let Some(info) = history.try_next().await? {
            wanted.remove(&info.id);
            if wanted.is_empty() {
                return Ok(true);
            }
            if !seen.insert(info.id) {
                break;
            }
        }
    }
    Ok(false)
}

impl Repository {
    /// Lets a ref be put onto a snapshot that may have been reachable by nothing: no collection deletes it meanwhile.
    pub(crate) async fn put_ref(
        &self,
        target: SnapshotId,
        put: impl Future<Output = Result<EditOutcome, RepositoryError>>,
    ) -> Result<EditOutcome, RepositoryError> {
        let shared = self.shared();
        let storage = &*shared.storage;
        let lease = Lease::fresh_key(&*shared.entropy);
        let told = Told {
            started: 0,
            at: shared.clock.monotonic(),
            store_time: Lease::write(storage, &lease, 0).await?,
        };
        let done = async {
            // Not from memory: the snapshot may have been deleted since it was read.
            let key = Key::parse(&layout::snapshot_key(target)).map_err(StorageError::from)?;
            let (state, exists) = futures::try_join!(look(shared, &told), storage.exists(&key))?;
            if !exists {
                return Err(RefsError::SnapshotNotFound(target).into());
            }
            if let Some((_, true)) = state
                && !all_reachable(&shared.refs, BTreeSet::from([target])).await?
            {
                return Err(RepositoryError::BeingCollected { target });
            }
            shared.refs.check_target(target).await?;
            put.await
        }
        .await;
        // One that is still on its way must find its snapshot when it lands.
        if !matches!(done, Ok(EditOutcome::Unknown(_)))
            && let Err(error) = storage.delete_one(lease.into()).await
        {
            tracing::debug!(%error, "a lease stays until it expires");
        }
        done
    }
}
