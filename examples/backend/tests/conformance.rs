//! The shelf keeps the promises of the storage contract.

use std::sync::Arc;

use icefield_storage::conformance::Subject;
use shelf_storage::ShelfStorage;

/// An empty shelf, and a way to leave on it what the contract cannot write.
async fn fresh(case: &str) -> Subject {
    let shelf = ShelfStorage::named(case);
    let left = shelf.clone();
    Subject::with_plant(Arc::new(shelf), move |name| {
        std::future::ready(left.leave(&name))
    })
}

icefield_storage::conformance_tests! { fresh }
