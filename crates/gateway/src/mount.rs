//! A repository that is served, under its name.

use std::sync::Arc;
use std::time::SystemTime;

use icefield::{Repository, SnapshotId};
use quick_cache::sync::Cache;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::documents::Documents;
use crate::settings::Settings;
use crate::shards::ShardIndexes;
use crate::v2_tree::Tree;
use crate::versions::Versions;

/// Snapshots whose times are kept.
const TIMES: usize = 1024;
/// Cursors that are kept.
const CURSORS: usize = 64;
/// Hierarchies in format 2 that are kept.
const V2_TREES: usize = 8;

/// A repository to be served.
#[derive(Clone, Debug)]
pub struct Served {
    /// Its name: the first segment of its URLs, where several repositories are served.
    pub name: String,
    /// Where it is, as it may be shown: without credentials.
    pub location: String,
    /// The repository. Its virtual references were granted when it was opened.
    pub repository: Repository,
}

/// A repository with what is kept ready of it.
#[derive(Debug)]
pub(crate) struct Mount {
    pub(crate) name: String,
    pub(crate) location: String,
    /// The path before all of its URLs: `/`, or `/NAME/`.
    pub(crate) base: String,
    pub(crate) versions: Versions,
    pub(crate) documents: Documents,
    /// Hierarchies in format 2.
    pub(crate) v2_trees: Arc<Cache<SnapshotId, Arc<Tree>>>,
    pub(crate) shard_indexes: ShardIndexes,
    /// The snapshots where pages of histories begin, by the cursors that are too long to be spelt.
    pub(crate) cursors: Cache<String, Arc<[SnapshotId]>>,
    /// When snapshots were written.
    times: Cache<SnapshotId, SystemTime>,
    /// The one place for work that takes long.
    work: Arc<Semaphore>,
}

impl Mount {
    pub(crate) fn new(served: Served, base: String, settings: &Settings) -> Self {
        Self {
            name: served.name,
            location: served.location,
            base,
            versions: Versions::new(served.repository, settings.recency),
            documents: Documents::new(settings.document_cache_bytes, settings.consolidated_nodes),
            v2_trees: Arc::new(Cache::new(V2_TREES)),
            shard_indexes: ShardIndexes::default(),
            cursors: Cache::new(CURSORS),
            times: Cache::new(TIMES),
            work: Arc::new(Semaphore::new(1)),
        }
    }

    pub(crate) fn repository(&self) -> &Repository {
        self.versions.repository()
    }

    /// Returns when a snapshot was written; 1970, if that cannot be read.
    pub(crate) async fn written_at(&self, id: SnapshotId) -> SystemTime {
        if let Some(time) = self.times.get(&id) {
            return time;
        }
        match self.repository().ledger().snapshot(id).await {
            Ok(info) => {
                self.times.insert(id, info.written_at);
                info.written_at
            }
            Err(_) => SystemTime::UNIX_EPOCH,
        }
    }

    /// Waits for the one place for work that takes long, which is held until the value is dropped.
    pub(crate) async fn alone(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.work).acquire_owned().await.ok()
    }
}
