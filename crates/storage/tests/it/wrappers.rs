//! The wrappers: that each forwards everything, and does its one thing.

mod count;
mod latency;
mod prefix;
mod read_only;
mod stacked;
mod trace;
mod unreadable;

use std::sync::Arc;

use icefield_storage::{Key, Storage};
use icefield_storage_memory::MemoryStorage;

fn key(text: &str) -> Key {
    Key::parse(text).expect("a valid key")
}

fn memory() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::new())
}

/// Stores an object.
async fn store(storage: &dyn Storage, at: &str, bytes: &'static str) {
    let outcome = storage
        .put(&key(at), bytes.into(), Default::default())
        .await;
    assert!(
        matches!(outcome, Ok(icefield_storage::PutOutcome::Written(_))),
        "{outcome:?}"
    );
}
