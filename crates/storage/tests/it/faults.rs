//! The faulty store: that each fault is the one asked for, where it was asked for, every time.

mod decisions;
mod plans;
mod stops;

use std::sync::Arc;

use icefield_storage::wrap::fault::{FaultyStorage, Plan};
use icefield_storage::{Key, PutMode, PutOutcome, Storage, StorageError, StorageExt};
use icefield_storage_memory::MemoryStorage;

fn key(text: &str) -> Key {
    Key::parse(text).expect("a valid key")
}

/// Returns a store that holds `one` and then `two` under `a`, and goes on with `plan`.
async fn two_states(plan: Plan) -> (Arc<dyn Storage>, FaultyStorage) {
    let inner: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let faulty = FaultyStorage::new(Arc::clone(&inner), Plan::none());
    for bytes in ["one", "two"] {
        let outcome = put(&faulty, "a", bytes, PutMode::Overwrite).await;
        assert!(matches!(outcome, Ok(PutOutcome::Written(_))), "{outcome:?}");
    }
    faulty.set_plan(plan);
    (inner, faulty)
}

async fn put(
    storage: &dyn Storage,
    at: &str,
    bytes: &str,
    mode: PutMode,
) -> Result<PutOutcome, StorageError> {
    storage
        .put(&key(at), bytes.to_owned().into(), mode.into())
        .await
}

/// Reads an object from a store without faults.
async fn peek(inner: &Arc<dyn Storage>, at: &str) -> Option<String> {
    let read = inner.try_read(&key(at)).await.expect("no fault here");
    read.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned())
}
