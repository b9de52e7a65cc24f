//! Repositories and sessions keep their promises behind a cache, in both versions of the format.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use icefield_storage::Storage;
use icefield_storage_cache::CachedStorage;
use icefield_storage_memory::MemoryStorage;
use tempfile::TempDir;

use crate::support::cache;

/// Each store is at a place of its own: the ids of all cases come from one seed.
async fn fresh(case: &'static str) -> Arc<dyn Storage> {
    static DIRECTORY: OnceLock<TempDir> = OnceLock::new();
    static STORES: AtomicUsize = AtomicUsize::new(0);
    let directory = DIRECTORY.get_or_init(|| TempDir::new().unwrap());
    let place = format!("{case}-{}", STORES.fetch_add(1, Ordering::Relaxed));
    let memory = Arc::new(MemoryStorage::new());
    Arc::new(CachedStorage::new(memory, &cache(directory), &place))
}

mod spec_1 {
    use super::fresh;

    icefield_core::session_tests! { fresh }
}

mod spec_2 {
    use icefield_format::SpecVersion;

    use super::fresh;

    icefield_core::session_tests! { fresh, spec = SpecVersion::V2 }
}
