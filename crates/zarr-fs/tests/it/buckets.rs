//! What is particular to trees on a storage backend.

use std::sync::Arc;

use icefield_storage::{Key, Payload, Prefix, PutMode, PutOutcome, Storage};
use icefield_storage_memory::MemoryStorage;
use icefield_zarr_fs::{StorageTree, TreeError, WriteTree};

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
