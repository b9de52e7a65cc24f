//! The memory backend keeps every promise of the storage contract.

use std::sync::Arc;

use icefield_storage::conformance::Subject;
use icefield_storage_memory::MemoryStorage;

async fn fresh(_case: &str) -> Subject {
    let memory = MemoryStorage::new();
    let planted = memory.clone();
    Subject::with_plant(Arc::new(memory), move |name| {
        std::future::ready(planted.plant_unreadable(&name, 0))
    })
}

icefield_storage::conformance_tests! { fresh }
