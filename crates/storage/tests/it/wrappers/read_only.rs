//! Nothing gets through but reads.

use std::sync::Arc;

use futures::stream::{self, StreamExt};
use icefield_storage::wrap::ReadOnlyStorage;
use icefield_storage::{Prefix, Storage, StorageError, StorageExt};

use super::{key, memory, store};

#[tokio::test]
async fn reads_pass_and_writes_do_not() {
    let inner = memory();
    store(&*inner, "a/b", "one").await;
    let storage = ReadOnlyStorage::new(Arc::clone(&inner));
    assert!(!storage.capabilities().writable);
    assert!(!storage.capabilities().safe_commits());
    assert_eq!(storage.to_string(), "memory, read-only");

    assert_eq!(storage.read(&key("a/b")).await.expect("there").0, "one");
    assert_eq!(
        storage
            .list_all(&Prefix::all())
            .await
            .expect("listed")
            .len(),
        1
    );
    assert!(
        storage
            .try_get_blocking(&key("a/b"), &Default::default())
            .is_some()
    );
    storage.sync().await.expect("nothing to do");

    let put = storage.put(&key("c"), "x".into(), Default::default()).await;
    assert!(
        matches!(&put, Err(StorageError::ReadOnly { store }) if store == "memory"),
        "{put:?}"
    );
    let copy = storage
        .copy(&key("a/b"), &key("c"), Default::default())
        .await;
    assert!(
        matches!(copy, Err(StorageError::ReadOnly { .. })),
        "{copy:?}"
    );
    let asked = [key("a/b").into(), key("x").into()];
    let answers: Vec<_> = storage.delete(stream::iter(asked).boxed()).collect().await;
    assert_eq!(answers.len(), 2);
    for (_, result) in answers {
        assert!(
            matches!(result, Err(StorageError::ReadOnly { .. })),
            "{result:?}"
        );
    }
    assert_eq!(
        inner.list_all(&Prefix::all()).await.expect("listed").len(),
        1
    );
}
