//! Holding back collections for work that refers to what nothing referred to before.

use std::collections::BTreeSet;
use std::sync::Arc;

use icefield_format::{SnapshotId, layout};
use icefield_refs::{EditOutcome, Graph, RefsError, micros_of_time};
use icefield_storage::{Key, StorageError, StorageExt};
use tokio::sync::Mutex;

use super::Moment;
use super::guard::{all_reachable, end, read_collection};
use super::lease::WrittenLease;
use crate::collection::{CollectionState, LEASED_AFTER, Lease, store_time, time_of};
use crate::repository::Shared;
use crate::{Repository, RepositoryError};

/// Prevents collections from starting until it is released, for work that creates references to objects that no ref
/// reaches. A hold that is not renewed lapses after an hour: see [`CollectionHold::keep`].
#[derive(Debug)]
#[must_use = "it holds collections back until it is released"]
pub struct CollectionHold {
    shared: Arc<Shared>,
    key: Key,
    told: Mutex<WrittenLease>,
}

impl CollectionHold {
    /// Renews the hold if its last renewal was a quarter of an hour ago. A hold that is not renewed for an hour holds
    /// nothing back: long work calls this between its steps.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn keep(&self) -> Result<(), RepositoryError> {
        let mut told = self.told.lock().await;
        if told.at.elapsed(&*self.shared.clock) >= LEASED_AFTER {
            let (storage, entropy) = (&*self.shared.storage, &*self.shared.entropy);
            let at = Moment::now(&*self.shared.clock);
            let now = store_time(storage, entropy).await?;
            Lease::renew(storage, entropy, &self.key, 0, now).await?;
            (told.at, told.store_time) = (at, Some(now));
        }
        Ok(())
    }

    /// Ends the hold: collections may begin.
    pub async fn release(self) {
        end(&self.shared, self.key).await;
    }

    /// Reads the state of the last collection that began before, and whether it may still delete something.
    async fn read_collection(&self) -> Result<Option<(CollectionState, bool)>, StorageError> {
        let told = *self.told.lock().await;
        read_collection(&self.shared, &self.key, &told).await
    }
}

/// Returns whether a collection with this cutoff that is under way deletes nothing of a snapshot, and of what came before
/// it: refs reach it, or it is younger, and so is all before it up to one that refs reach.
///
/// Snapshots that a session flushed are of that kind: their chunks and manifests are younger, too, or the [guard] would
/// have refused them; all other objects below them are those of the parent. And refs reach only objects that they reached
/// when the collection marked, and younger ones.
///
/// [guard]: Session::guard
async fn is_spared(
    shared: &Shared,
    target: SnapshotId,
    cutoff: u64,
) -> Result<bool, RepositoryError> {
    let mut next = target;
    let mut seen = BTreeSet::new();
    let graph = shared.ledger.stored_graph();
    loop {
        let key = Key::parse(&layout::snapshot_key(next)).map_err(StorageError::from)?;
        let written = match time_of(&*shared.storage, &key).await {
            Ok(time) => micros_of_time(time),
            Err(error) if error.is_not_found() => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        if written < cutoff || !seen.insert(next) {
            return Ok(all_reachable(&shared.ledger, BTreeSet::from([next])).await?);
        }
        let info = graph.read(next).await?;
        if micros_of_time(info.written_at) < cutoff {
            // Expiration writes old snapshots again.
            return Ok(all_reachable(&shared.ledger, BTreeSet::from([next])).await?);
        }
        match info.parent {
            Some(parent) => next = parent,
            None => return Ok(true),
        }
    }
}

impl Repository {
    async fn hold(&self) -> Result<CollectionHold, RepositoryError> {
        let shared = self.shared();
        let told = WrittenLease::of_hold(&*shared.clock);
        let key = Lease::create(&*shared.storage, &*shared.entropy).await?;
        Ok(CollectionHold {
            shared: Arc::clone(shared),
            key,
            told: Mutex::new(told),
        })
    }

    /// Holds back collections, if none is running: objects that exist from now on stay until the hold ends.
    ///
    /// # Errors
    /// [`RepositoryError::CollectionRunning`]: try again when that collection has ended. Otherwise the errors of the
    /// store.
    pub async fn hold_collections(&self) -> Result<CollectionHold, RepositoryError> {
        let hold = self.hold().await?;
        match hold.read_collection().await {
            Ok(None | Some((_, false))) => Ok(hold),
            Ok(Some((_, true))) => {
                hold.release().await;
                Err(RepositoryError::CollectionRunning)
            }
            Err(error) => {
                hold.release().await;
                Err(error.into())
            }
        }
    }

    /// Lets a ref be put onto a snapshot that may have been reachable by nothing: no collection deletes it meanwhile.
    pub(crate) async fn put_ref(
        &self,
        target: SnapshotId,
        put: impl Future<Output = Result<EditOutcome, RepositoryError>>,
    ) -> Result<EditOutcome, RepositoryError> {
        let shared = self.shared();
        let hold = self.hold().await?;
        let done = async {
            // Not from memory: the snapshot may have been deleted since it was read.
            let key = Key::parse(&layout::snapshot_key(target)).map_err(StorageError::from)?;
            let look = hold.read_collection();
            let (last, mut exists) = futures::try_join!(look, shared.storage.exists(&key))?;
            if last.is_some() {
                // A collection may have ended between the two.
                exists = shared.storage.exists(&key).await?;
            }
            if !exists {
                return Err(RefsError::SnapshotNotFound(target).into());
            }
            if let Some((state, true)) = last
                && !is_spared(shared, target, state.cutoff).await?
            {
                return Err(RepositoryError::BeingCollected { target });
            }
            shared.ledger.check_target(target).await?;
            put.await
        }
        .await;
        // One that is still on its way must find its snapshot when it lands.
        if !matches!(done, Ok(EditOutcome::Unknown(_))) {
            hold.release().await;
        }
        done
    }
}
