//! Copies within the store, with the conditions of a put.

use super::trial::{Trial, key, pattern, refused, written};
use crate::{CopyOptions, PutMode, PutOutcome, StorageError};

async fn copy(t: &Trial, from: &str, to: &str, options: impl Into<CopyOptions>) -> PutOutcome {
    let copy = t.store.copy(&key(from), &key(to), options.into()).await;
    copy.unwrap_or_else(|error| panic!("copy of {from:?} must not fail: {error:?}"))
}

pub(super) async fn copy_leaves_the_source(t: Trial) {
    let source = t.store("a/b", "one").await;
    let version = written(copy(&t, "a/b", "c/d", PutMode::Overwrite).await);
    t.expect("a/b", b"one").await;
    t.expect("c/d", b"one").await;
    assert_eq!(t.head("a/b").await.version, source);
    assert_eq!(t.head("c/d").await.version, version);
    t.store("a/b", "two").await;
    t.expect("c/d", b"one").await;
    t.store("c/d", "three").await;
    t.expect("a/b", b"two").await;
}

pub(super) async fn copy_of_the_missing_names_the_source(t: Trial) {
    t.store("c/d", "old").await;
    let copy = t
        .store
        .copy(&key("a/b"), &key("c/d"), CopyOptions::default())
        .await;
    let error = copy.expect_err("there is nothing to copy");
    assert!(
        matches!(&error, StorageError::NotFound { key: named } if *named == key("a/b")),
        "{error:?}"
    );
    t.expect("c/d", b"old").await;
}

pub(super) async fn copy_replaces(t: Trial) {
    t.store("a/b", "one").await;
    t.store("c/d", "a longer old object").await;
    written(copy(&t, "a/b", "c/d", PutMode::Overwrite).await);
    t.expect("c/d", b"one").await;
    t.store("a/empty", "").await;
    written(copy(&t, "a/empty", "c/d", PutMode::Overwrite).await);
    t.expect("c/d", b"").await;
}

pub(super) async fn copy_creates_or_is_refused(t: Trial) {
    if t.creates().await {
        t.store("a/b", "one").await;
        written(copy(&t, "a/b", "c/d", PutMode::Create).await);
        t.store("a/b", "two").await;
        refused(&copy(&t, "a/b", "c/d", PutMode::Create).await);
        t.expect("c/d", b"one").await;
    }
}

pub(super) async fn copy_updates_or_is_refused(t: Trial) {
    if t.updates().await {
        t.store("a/b", "one").await;
        let old = t.store("c/d", "old").await;
        written(copy(&t, "a/b", "c/d", PutMode::Update(old.clone())).await);
        t.expect("c/d", b"one").await;
        t.store("a/b", "two").await;
        refused(&copy(&t, "a/b", "c/d", PutMode::Update(old.clone())).await);
        refused(&copy(&t, "a/b", "c/missing", PutMode::Update(old)).await);
        t.expect("c/d", b"one").await;
        t.expect_absent("c/missing").await;
    }
}

pub(super) async fn copy_of_one_state(t: Trial) {
    let one = t.store("a/b", "one").await;
    let of_one = || CopyOptions::default().with_source_version(one.clone());
    written(copy(&t, "a/b", "c/d", of_one()).await);
    t.expect("c/d", b"one").await;
    t.store("a/b", "two").await;
    refused(&copy(&t, "a/b", "c/d", of_one()).await);
    refused(&copy(&t, "a/b", "c/e", of_one()).await);
    t.expect("c/d", b"one").await;
    t.expect_absent("c/e").await;
}

pub(super) async fn copy_of_a_large_object_has_the_version_of_head(t: Trial) {
    let bytes = pattern(3, t.effort.large);
    t.store("a/b", bytes.clone()).await;
    let copied = written(copy(&t, "a/b", "c/d", PutMode::Overwrite).await);
    assert_eq!(t.head("c/d").await.version, copied);
    t.expect("c/d", &bytes).await;
    if t.updates().await {
        // The version is good for the next write.
        written(t.put("c/d", "small", PutMode::Update(copied)).await);
    }
}
