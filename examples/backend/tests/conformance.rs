//! The shelf keeps the promises of the storage contract.

use std::sync::Arc;

use icefield_storage::Storage;
use shelf_storage::ShelfStorage;

async fn fresh(case: &str) -> Arc<dyn Storage> {
    Arc::new(ShelfStorage::named(case))
}

icefield_storage::conformance_tests! { fresh }
