//! The suite of sessions, commits and refs, on memory.

use std::sync::Arc;

use icefield_storage::{KeyForm, Storage};
use icefield_storage_memory::MemoryStorage;

async fn memory(_case: &'static str) -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::new())
}

icefield_core::session_tests! { memory }

/// As on S3, where names stand in keys as they are.
mod raw_keys {
    use super::*;

    async fn memory(_case: &'static str) -> Arc<dyn Storage> {
        Arc::new(MemoryStorage::builder().key_form(KeyForm::Raw).build())
    }

    icefield_core::session_tests! { memory }
}

/// In repositories of spec version 2.
mod spec_v2 {
    use super::memory;

    icefield_core::session_tests! { memory, spec = icefield_format::SpecVersion::V2 }
}
