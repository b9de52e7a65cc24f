//! The wrappers: that each forwards everything, and does its one thing.

#[path = "wrappers/count.rs"]
mod count;
#[path = "wrappers/latency.rs"]
mod latency;
#[path = "wrappers/prefix.rs"]
mod prefix;
#[path = "wrappers/read_only.rs"]
mod read_only;
#[path = "wrappers/stacked.rs"]
mod stacked;
#[path = "wrappers/trace.rs"]
mod trace;
#[path = "wrappers/unreadable.rs"]
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
