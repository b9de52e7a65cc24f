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

/// With small chunks in packs.
mod packed {
    use icefield_core::test_suite::{Case, Settings, Trial, block_on, cases};
    use icefield_format::SpecVersion;

    use super::memory;

    fn run(spec: SpecVersion) {
        for Case { name, run } in cases() {
            println!("{name}");
            let trial = Trial::new(name, spec, memory).packed();
            block_on(async { (run)(trial).await });
        }
    }

    #[test]
    fn every_case_holds_with_chunks_in_packs() {
        run(Settings::default().spec);
    }

    #[test]
    fn every_case_of_version_2_holds_with_chunks_in_packs() {
        run(SpecVersion::V2);
    }
}
