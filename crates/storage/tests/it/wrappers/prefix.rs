//! A folder as a store: relative keys everywhere.

use std::sync::Arc;

use futures::stream::{self, StreamExt};
use icefield_storage::wrap::PrefixStorage;
use icefield_storage::{
    DeleteOutcome, Deletion, GetRange, ListOptions, Prefix, Storage, StorageError, StorageExt,
};

use super::{key, memory, store};

fn below(inner: &Arc<dyn Storage>, prefix: &str) -> PrefixStorage {
    PrefixStorage::new(Arc::clone(inner), Prefix::parse(prefix).expect("valid"))
}

#[tokio::test]
async fn keys_are_relative_inside_and_whole_outside() {
    let inner = memory();
    let folder = below(&inner, "a/b");
    store(&folder, "c/d", "one").await;
    store(&*inner, "a/bc", "a neighbour").await;
    assert!(inner.exists(&key("a/b/c/d")).await.expect("asked"));
    assert_eq!(
        folder.head(&key("c/d")).await.expect("there").key,
        key("c/d")
    );
    let list = folder.list_all(&Prefix::all()).await.expect("listed");
    assert_eq!(list.len(), 1);
    assert_eq!(list[0].key, key("c/d"));
}

#[tokio::test]
async fn the_whole_store_is_a_prefix_too() {
    let inner = memory();
    let all = below(&inner, "");
    store(&all, "c/d", "one").await;
    assert_eq!(inner.read(&key("c/d")).await.expect("there").0, "one");
}

#[tokio::test]
async fn errors_name_relative_keys() {
    let inner = memory();
    let folder = below(&inner, "a/b");
    store(&folder, "c", "one").await;
    let missing = folder.head(&key("x/y")).await.expect_err("missing");
    assert_eq!(missing.to_string(), "object x/y does not exist");
    let range = folder
        .get(&key("c"), GetRange::From(9).into())
        .await
        .expect_err("too far");
    assert!(
        matches!(&range, StorageError::RangeNotSatisfiable { key: named, .. } if *named == key("c")),
        "{range:?}"
    );
    let copy = folder
        .copy(&key("x"), &key("y"), Default::default())
        .await
        .expect_err("missing");
    assert_eq!(copy.to_string(), "object x does not exist");
}

#[tokio::test]
async fn key_that_gets_too_long_is_an_error_in_its_place() {
    let inner = memory();
    let folder = below(&inner, &"p".repeat(200));
    let long = key(&vec!["l".repeat(200); 5].join("/"));
    for at in ["a", "b"] {
        store(&folder, at, "x").await;
    }
    assert!(matches!(
        folder.head(&long).await,
        Err(StorageError::InvalidKey(_))
    ));
    let after = ListOptions::default().with_start_after(long.clone());
    let list: Vec<_> = folder.list(after).collect().await;
    assert!(
        matches!(&list[..], [Err(StorageError::InvalidKey(_))]),
        "{list:?}"
    );

    let asked =
        [&long, &key("a"), &long, &long, &key("b"), &long].map(|at| Deletion::from(at.clone()));
    let answers: Vec<_> = folder
        .delete(stream::iter(asked.clone()).boxed())
        .collect()
        .await;
    let keys: Vec<_> = answers.iter().map(|(key, _)| key.clone()).collect();
    assert_eq!(keys, asked.map(|deletion| deletion.key));
    for (at, result) in answers {
        match result {
            Err(StorageError::InvalidKey(_)) => assert_eq!(at, long),
            Ok(DeleteOutcome::Deleted) => assert_ne!(at, long),
            other => panic!("{other:?}"),
        }
    }
    assert!(
        inner
            .list_all(&Prefix::all())
            .await
            .expect("listed")
            .is_empty()
    );
}
