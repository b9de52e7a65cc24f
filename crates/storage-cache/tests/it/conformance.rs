//! A store behind a cache keeps every promise of the storage contract.

use std::sync::{Arc, OnceLock};

use icefield_storage::conformance::Subject;
use icefield_storage_cache::CachedStorage;
use icefield_storage_memory::MemoryStorage;
use tempfile::TempDir;

use crate::support::cache;

async fn fresh(case: &str) -> Subject {
    static DIRECTORY: OnceLock<TempDir> = OnceLock::new();
    let directory = DIRECTORY.get_or_init(|| TempDir::new().unwrap());
    let memory = MemoryStorage::new();
    let planted = memory.clone();
    let storage = CachedStorage::new(Arc::new(memory), &cache(directory), case);
    Subject::with_plant(Arc::new(storage), move |name| {
        std::future::ready(planted.plant_unreadable(&name, 0))
    })
}

icefield_storage::conformance_tests! { fresh }
