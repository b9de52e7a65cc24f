//! A wrapper breaks no promise of the store that it wraps: the conformance suite passes through all of them.

use std::sync::Arc;
use std::time::Duration;

use icefield_storage::conformance::Subject;
use icefield_storage::wrap::{
    CountingStorage, FaultyStorage, LatencyStorage, PrefixStorage, TracingStorage, fault::Plan,
};
use icefield_storage::{Prefix, Storage};
use icefield_storage_memory::MemoryStorage;

use super::memory;

fn stack(bottom: Arc<dyn Storage>) -> Arc<dyn Storage> {
    let faulty = FaultyStorage::new(bottom, Plan::none());
    let traced = TracingStorage::new(Arc::new(faulty));
    let near = LatencyStorage::new(Arc::new(traced), Duration::ZERO);
    Arc::new(CountingStorage::new(Arc::new(near)))
}

mod without_prefix {
    use super::*;

    async fn fresh(_case: &str) -> Subject {
        let bottom = MemoryStorage::new();
        let planted = bottom.clone();
        Subject::with_plant(stack(Arc::new(bottom)), move |name| {
            std::future::ready(planted.plant_unreadable(&name, 0))
        })
    }

    icefield_storage::conformance_tests! { fresh }
}

mod with_prefix {
    use super::*;

    async fn fresh(case: &str) -> Subject {
        let bottom = MemoryStorage::new();
        let shared: Arc<dyn Storage> = Arc::new(bottom.clone());
        super::super::store(&*shared, "folder", "beside the folder").await;
        super::super::store(&*shared, "folder-/x", "beside the folder").await;
        super::super::store(&*shared, "folder0", "beside the folder").await;
        let folder = format!("folder/{case}");
        let prefix = Prefix::parse(&folder).expect("valid");
        // The root's own marker, and one beside it.
        assert!(bottom.plant_unreadable(b"folder/", 0));
        assert!(bottom.plant_unreadable(format!("{folder}-//").as_bytes(), 0));
        let storage = stack(Arc::new(PrefixStorage::new(shared, prefix)));
        Subject::with_plant(storage, move |name| {
            let name = [folder.as_bytes(), b"/", &name].concat();
            std::future::ready(bottom.plant_unreadable(&name, 0))
        })
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
