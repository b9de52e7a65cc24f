//! The memory backend keeps every promise of the storage contract.

use std::sync::Arc;

use icefield_storage::Storage;
use icefield_storage_memory::MemoryStorage;

async fn fresh(_case: &str) -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::new())
}

icefield_storage::conformance_tests! { fresh }
