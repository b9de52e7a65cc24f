//! Names that are no keys, through the wrappers and the ways to list.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use icefield_storage::wrap::fault::{Decision, Plan, Verb};
use icefield_storage::wrap::{CountingStorage, FaultyStorage, PrefixStorage};
use icefield_storage::{
    DIRECTORY_MARKER, ListOptions, Listed, ObjectMeta, Prefix, Storage, StorageError, StorageExt,
};
use icefield_storage_memory::MemoryStorage;

use super::store;

/// A store with two objects, a directory marker, and two names that may be data.
async fn mixed() -> MemoryStorage {
    let memory = MemoryStorage::new();
    for at in ["a/b/c", "a/x"] {
        store(&memory, at, "x").await;
    }
    for (name, size) in [(&b"a/b/"[..], 0), (b"a/b//x", 1), (b"a/y\xff", 1)] {
        assert!(memory.plant_unreadable(name, size));
    }
    assert!(!memory.plant_unreadable(b"a/key", 1), "that is a key");
    memory
}

fn name(item: Result<ObjectMeta, StorageError>) -> String {
    match item {
        Ok(meta) => meta.key.to_string(),
        Err(StorageError::UnreadableKey { raw, .. }) => format!("!{raw}"),
        Err(error) => panic!("{error:?}"),
    }
}

async fn names(storage: &dyn Storage) -> Vec<String> {
    let list = storage.list(ListOptions::default());
    list.map(name).collect().await
}

#[tokio::test]
async fn each_way_to_list_treats_unreadable_names_in_its_own_way() {
    let memory = mixed().await;
    let entries = memory.list_entries(ListOptions::default());
    let entries: Vec<_> = entries.try_collect().await.expect("listed");
    assert!(matches!(
        &entries[..2],
        [Listed::Unreadable { raw: marker, problem }, Listed::Unreadable { raw, .. }]
            if marker == "a/b/" && problem == DIRECTORY_MARKER && raw == "a/b//x"
    ));
    assert_eq!(entries.len(), 5);

    let objects = memory.list_objects(ListOptions::default());
    let objects: Vec<_> = objects.map(name).collect().await;
    assert_eq!(objects, ["a/b/c", "a/x"]);

    // A name that holds no data is passed over; behind one that may be data there is nothing more.
    let strict: Vec<_> = memory.list_strict(ListOptions::default()).collect().await;
    assert!(
        matches!(&strict[..], [Err(StorageError::UnreadableKey { raw, .. })] if raw == "a/b//x"),
        "{strict:?}"
    );
    let all = memory.list_all(&Prefix::all()).await;
    assert!(all.is_err_and(|error| error.is_directory_marker()));

    // Other errors end every one of them.
    let plan = Plan::none().always(Verb::List, Decision::ListError(3));
    let faulty = FaultyStorage::new(Arc::new(memory), plan);
    let objects: Vec<_> = faulty.list_objects(ListOptions::default()).collect().await;
    assert!(matches!(&objects[..], [Ok(_), Err(error)] if !error.is_unreadable_key()));
}

#[tokio::test]
async fn names_below_a_prefix_are_relative_to_it() {
    let memory = mixed().await;
    let prefix = Prefix::parse("a/b").expect("valid");
    let below = PrefixStorage::new(Arc::new(memory), prefix);
    // The marker of the root itself has no name.
    assert_eq!(names(&below).await, ["!", "!/x", "c"]);
}

#[tokio::test]
async fn an_older_state_of_a_list_shows_unreadable_names_too() {
    let faulty = FaultyStorage::new(Arc::new(mixed().await), Plan::none());
    store(&faulty, "a/new", "x").await;
    faulty.set_plan(Plan::none().always(Verb::List, Decision::Stale(1)));
    let then = ["!a/b/", "!a/b//x", "a/b/c", "a/x", "!a/y\\xff"];
    assert_eq!(names(&faulty).await, then);
}

#[tokio::test]
async fn unreadable_names_count_as_entries_of_pages() {
    let memory = MemoryStorage::new();
    for i in 0..1001 {
        assert!(memory.plant_unreadable(format!("{i}/").as_bytes(), 0));
    }
    let counting = CountingStorage::new(Arc::new(memory));
    assert_eq!(names(&counting).await.len(), 1001);
    assert_eq!(counting.snapshot().total.list_pages, 2);
}
