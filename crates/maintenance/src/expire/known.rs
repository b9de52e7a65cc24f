//! What an expiration has read of snapshots, kept over its tries.
//!
//! A snapshot never changes but for its parent, and that only by an expiration, which makes another state of the object.
//! One listing therefore tells which of those that are known must be read again.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};
use std::time::SystemTime;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_core::Repository;
use icefield_format::{SnapshotId, layout};
use icefield_storage::{ListOptions, ObjectMeta, Prefix, StorageError, StorageExt, Version};

use super::ExpireError;
use super::plan::Pointers;
use crate::Progress;
use crate::listing::{Kind, parse};

/// Letters of a message that a plan keeps.
const MESSAGE: usize = 80;
/// Snapshots read at a time.
const READS: usize = 16;
/// Rounds after which the snapshots are listed, if they are not many at a time: a history by itself is read one by one.
const SINGLE_STEPS: usize = 16;

/// What a snapshot told.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) parent: Option<SnapshotId>,
    pub(super) written_at: SystemTime,
    /// The beginning of its message.
    pub(super) message: String,
    version: Version,
}

/// Snapshots by id, those of all histories and perhaps others.
#[derive(Debug, Default)]
pub(super) struct Known(HashMap<SnapshotId, Told>);

impl Known {
    /// Returns what is known of a snapshot.
    pub(super) fn get(&self, id: SnapshotId) -> Option<&Told> {
        self.0.get(&id)
    }

    /// Reads what is not known of the histories of all refs, several snapshots at a time.
    pub(super) async fn read(
        &mut self,
        repository: &Repository,
        pointers: &Pointers,
        progress: &dyn Progress,
    ) -> Result<(), ExpireError> {
        progress.stage("reading histories", None);
        let mut guesses = match self.0.is_empty() {
            true => None,
            false => Some(self.forget_changed(repository).await?),
        };
        let (mut seen, mut needed) = (HashSet::new(), VecDeque::new());
        for tip in pointers.targets() {
            self.follow(tip, &mut seen, &mut needed);
        }
        let mut rounds = 0;
        while !needed.is_empty() {
            rounds += 1;
            let mut wanted: Vec<_> = needed.drain(..READS.min(needed.len())).collect();
            let certain = wanted.len();
            if rounds > SINGLE_STEPS {
                let guesses = match &mut guesses {
                    Some(guesses) => guesses,
                    none => none.insert(newest_first(&list(repository).await?)),
                };
                while wanted.len() < READS
                    && let Some(id) = guesses.pop_front()
                {
                    if !self.0.contains_key(&id) && !wanted.contains(&id) {
                        wanted.push(id);
                    }
                }
            }
            // What is in memory may have another parent than what is stored.
            let refs = repository.ref_store();
            let reads = stream::iter(wanted)
                .map(|id| async move { (id, refs.stored_snapshot_and_version(id).await) });
            let read: Vec<_> = reads.buffered(READS).collect().await;
            let mut next = Vec::with_capacity(certain);
            for (at, (id, read)) in read.into_iter().enumerate() {
                let (info, version) = match read {
                    Ok(read) => read,
                    // A guess. If a history leads there, it is read again, and must be there.
                    Err(_) if at >= certain => continue,
                    Err(error) => return Err(error.into()),
                };
                let told = Told {
                    parent: info.parent_id,
                    written_at: info.written_at,
                    message: info.message.chars().take(MESSAGE).collect(),
                    version,
                };
                self.0.insert(id, told);
                if at < certain {
                    next.extend(info.parent_id);
                }
                progress.more(1);
                progress.advance(1, 0);
            }
            for id in next {
                self.follow(id, &mut seen, &mut needed);
            }
        }
        Ok(())
    }

    /// Goes back from a snapshot to the first that is not known, and notes that one.
    fn follow(
        &self,
        from: SnapshotId,
        seen: &mut HashSet<SnapshotId>,
        needed: &mut VecDeque<SnapshotId>,
    ) {
        let mut next = Some(from);
        while let Some(id) = next
            && seen.insert(id)
        {
            match self.get(id) {
                Some(told) => next = told.parent,
                None => {
                    needed.push_back(id);
                    return;
                }
            }
        }
    }

    /// Forgets those that the store has in another state, or has no more. Returns what is listed, newest first.
    async fn forget_changed(
        &mut self,
        repository: &Repository,
    ) -> Result<VecDeque<SnapshotId>, ExpireError> {
        let listed = list(repository).await?;
        (self.0).retain(|id, told| listed.get(id).is_some_and(|it| it.version == told.version));
        Ok(newest_first(&listed))
    }
}

/// Lists the snapshots that are stored. Of a store that cannot, none is known.
async fn list(repository: &Repository) -> Result<HashMap<SnapshotId, ObjectMeta>, ExpireError> {
    let prefix = Prefix::parse(layout::SNAPSHOTS).map_err(StorageError::from)?;
    let options = ListOptions::prefix(prefix);
    let objects = repository.storage().list_objects(options);
    let listed = objects.try_filter_map(async |object| {
        let found = parse(&object.key).filter(|(kind, _)| *kind == Kind::Snapshot);
        Ok(found.map(|(_, id)| (SnapshotId::from_bytes(id), object)))
    });
    match listed.try_collect().await {
        Err(StorageError::Unsupported { .. } | StorageError::PermissionDenied { .. }) => {
            Ok(HashMap::new())
        }
        listed => Ok(listed?),
    }
}

/// A hint at what is in the histories, in about their order.
fn newest_first(listed: &HashMap<SnapshotId, ObjectMeta>) -> VecDeque<SnapshotId> {
    let mut ids: Vec<_> = listed.keys().copied().collect();
    ids.sort_by_key(|id| (Reverse(listed[id].last_modified), *id));
    ids.into()
}
