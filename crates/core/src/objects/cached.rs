//! The cache over the store of one repository, bounded in bytes.

use std::sync::Arc;

use async_trait::async_trait;
use icefield_format::{DecodeLimits, Snapshot, SnapshotId};
use icefield_refs::{FetchError, SnapshotSource};
use icefield_storage::{Key, KeyError, Storage, StorageError};
use quick_cache::OptionsBuilder;
use quick_cache::sync::Cache;

use super::decoded::{ByBytes, CachedKind, Decoded, Name};
use crate::Settings;
use crate::file_writer::FileWriter;

/// The content of the cache of decoded objects, for statistics and tests. See
/// [`Settings::cache_bytes`](crate::Settings::cache_bytes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStatistics {
    /// The number of objects in the cache.
    pub objects: u64,
    /// The memory of these objects in bytes, decoded.
    pub bytes: u64,
    /// The largest number of bytes that the cache keeps.
    pub capacity: u64,
}

/// The immutable objects of one repository.
#[derive(Debug)]
pub(crate) struct Objects {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) cache: Cache<Name, Decoded, ByBytes>,
    pub(super) settings: Settings,
    pub(super) writer: FileWriter,
}

impl Objects {
    /// A repository has files of its own version and, upgraded, of earlier ones.
    pub(crate) fn new(
        storage: Arc<dyn Storage>,
        mut settings: Settings,
        writer: FileWriter,
    ) -> Self {
        let limits = &mut settings.decode_limits;
        limits.latest = limits.latest.max(writer.version());
        // One shard: with several, an object larger than its share of the bound would never be kept.
        let options = OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(1024)
            .weight_capacity(settings.cache_bytes)
            .build()
            .expect("BUG: all required cache options are given");
        let cache = Cache::with_options(
            options,
            ByBytes,
            Default::default(),
            quick_cache::sync::DefaultLifecycle::default(),
        );
        Self {
            storage,
            cache,
            settings,
            writer,
        }
    }

    pub(crate) fn writer(&self) -> &FileWriter {
        &self.writer
    }

    /// Limits for files of this repository.
    pub(crate) fn decode_limits(&self) -> &DecodeLimits {
        &self.settings.decode_limits
    }

    pub(crate) fn statistics(&self) -> CacheStatistics {
        CacheStatistics {
            objects: self.cache.len() as u64,
            bytes: self.cache.weight(),
            capacity: self.cache.capacity(),
        }
    }
}

#[async_trait]
impl SnapshotSource for Objects {
    async fn snapshot(&self, id: SnapshotId) -> Result<Arc<Snapshot>, FetchError> {
        Self::snapshot(self, id).await
    }

    fn held(&self, id: SnapshotId) -> Option<Arc<Snapshot>> {
        match self
            .cache
            .get(&Name::new(CachedKind::Snapshot, *id.as_bytes()))
        {
            Some(Decoded::Snapshot(snapshot)) => Some(snapshot),
            _ => None,
        }
    }

    fn forget(&self, id: SnapshotId) {
        // Its log goes with it: only a reader that has a snapshot with the old parent finds it, and for that one it is right.
        self.cache
            .remove(&Name::new(CachedKind::Snapshot, *id.as_bytes()));
    }
}

pub(super) fn parse_key(key: &str) -> Result<Key, StorageError> {
    Key::parse(key).map_err(|error: KeyError| error.into())
}
