//! A wrapper breaks no promise of the store that it wraps: the conformance suite passes through all of them.

use std::sync::Arc;
use std::time::Duration;

use icefield_storage::wrap::{
    CountingStorage, FaultyStorage, LatencyStorage, PrefixStorage, TracingStorage, fault::Plan,
};
use icefield_storage::{Prefix, Storage};

use super::memory;

fn stack(bottom: Arc<dyn Storage>) -> Arc<dyn Storage> {
    let faulty = FaultyStorage::new(bottom, Plan::none());
    let traced = TracingStorage::new(Arc::new(faulty));
    let near = LatencyStorage::new(Arc::new(traced), Duration::ZERO);
    Arc::new(CountingStorage::new(Arc::new(near)))
}

mod without_prefix {
    use super::*;

    async fn fresh(_case: &str) -> Arc<dyn Storage> {
        stack(memory())
    }

    icefield_storage::conformance_tests! { fresh }
}

mod with_prefix {
    use super::*;

    async fn fresh(case: &str) -> Arc<dyn Storage> {
        let shared = memory();
        super::super::store(&*shared, "folder", "beside the folder").await;
        super::super::store(&*shared, "folder-/x", "beside the folder").await;
        super::super::store(&*shared, "folder0", "beside the folder").await;
        let prefix = Prefix::parse(&format!("folder/{case}")).expect("valid");
        stack(Arc::new(PrefixStorage::new(shared, prefix)))
    }

    // A key of full length has no room for a prefix.
    icefield_storage::conformance_tests! { fresh, except = [long_keys_are_ordinary] }
}

#[test]
fn display_tells_the_layers() {
    let prefix = Prefix::parse("a/b").expect("valid");
    let storage = stack(Arc::new(PrefixStorage::new(memory(), prefix)));
    assert_eq!(
        storage.to_string(),
        "memory, below \"a/b\", with faults, 0ns away, counted"
    );
}
