//! The particulars of trees on a storage backend.

use std::sync::Arc;

use futures::TryStreamExt;
use icefield_storage::{Key, Payload, Prefix, PutMode, PutOutcome, Storage};
use icefield_storage_memory::MemoryStorage;
use icefield_zarr_fs::{ReadTree, StorageTree, TreeError, WriteTree};

use crate::world::{dir, get, key, list, prefix, set, words};

#[tokio::test]
async fn a_tree_below_a_prefix_sees_nothing_beside_it() {
    let storage = Arc::new(MemoryStorage::new());
    for name in ["tree/a/b", "treehouse/x", "tree.b", "other"] {
        let object = Key::parse(name).unwrap();
        let payload = Payload::from("v");
        let put = storage.put(&object, payload, PutMode::Create.into()).await;
        assert!(matches!(put, Ok(PutOutcome::Written(_))), "{put:?}");
    }
    let tree = StorageTree::new(Arc::clone(&storage) as _, Prefix::parse("tree").unwrap());
    assert_eq!(list(&tree, "").await, ["a/b"]);
    set(&tree, "a.b", "v").await;
    assert_eq!(list(&tree, "").await, ["a.b", "a/b"]);
    assert_eq!(
        dir(&tree, "").await,
        (vec!["a.b".into()], vec!["a/".into()])
    );
    tree.erase_prefix(&prefix("")).await.unwrap();
    let rest = StorageTree::new(storage, Prefix::all());
    assert_eq!(list(&rest, "").await, ["other", "tree.b", "treehouse/x"]);
}

#[tokio::test]
async fn a_bucket_can_hold_a_value_and_values_below_it() {
    let tree = StorageTree::new(Arc::new(MemoryStorage::new()), Prefix::all());
    set(&tree, "a", "1").await;
    set(&tree, "a/b", "2").await;
    assert_eq!(get(&tree, "a").await.as_deref(), Some(&b"1"[..]));
    assert_eq!(dir(&tree, "").await, (vec!["a".into()], vec!["a/".into()]));
    tree.erase(&key("a")).await.unwrap();
    assert_eq!(list(&tree, "").await, ["a/b"]);
}

/// A chunk that is not listed would be copied as fill values.
#[tokio::test]
async fn a_list_names_what_is_no_key_and_a_directory_goes_on() {
    let memory = MemoryStorage::new();
    let tree = StorageTree::new(Arc::new(memory.clone()), Prefix::parse("tree").unwrap());
    set(&tree, "a/c/0", "v").await;
    set(&tree, "b", "v").await;
    // As a console makes them.
    assert!(memory.plant_unreadable(b"tree/", 0) && memory.plant_unreadable(b"tree/a/", 0));
    assert!(memory.plant_unreadable(b"beside/tree//x", 1));
    assert_eq!(list(&tree, "").await, ["a/c/0", "b"]);

    assert!(memory.plant_unreadable(b"tree/a/c//1", 1));
    let listed: Result<Vec<_>, _> = tree.list(&prefix("")).try_collect().await;
    let error = listed.unwrap_err();
    let source = std::error::Error::source(&error)
        .expect("it has a cause")
        .to_string();
    assert!(source.contains("tree/a/c//1"), "{error} {source}");
    let children = (vec!["b".into()], vec!["a/".into()]);
    assert_eq!(dir(&tree, "").await, children);
    assert_eq!(list(&tree, "b/").await, [""; 0]);
    // Nothing of it is deleted unseen.
    assert!(tree.erase_prefix(&prefix("a/")).await.is_err());
}

#[tokio::test]
async fn keys_that_the_backend_cannot_have_are_errors_that_say_why() {
    let tree = StorageTree::new(Arc::new(MemoryStorage::new()), Prefix::all());
    let long = key(&vec!["x".repeat(200); 6].join("/"));
    let refused = tree.set(&long, "v".into()).await.unwrap_err();
    assert!(matches!(refused, TreeError::Storage { .. }));
    assert!(
        words(&refused).contains("longer than"),
        "{}",
        words(&refused)
    );
}
