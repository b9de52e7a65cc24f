//! Writes, their conditions, and the versions that they make.

use std::collections::HashSet;

use bytes::Bytes;

use super::trial::{Trial, key, refused, written};
use crate::{
    Deletion, GetOptions, ObjectClass, PutMode, PutOptions, PutOutcome, StorageError, StorageExt,
    Version,
};

pub(super) async fn put_makes_the_object_readable(t: Trial) {
    t.expect_absent("a/b").await;
    t.store("a/b", "hello").await;
    t.expect("a/b", b"hello").await;
    assert_eq!(t.keys("").await, ["a/b"]);
}

pub(super) async fn put_replaces_the_whole_object(t: Trial) {
    for bytes in ["a long first text", "short", "", "a long last text indeed"] {
        t.store("a/b", bytes).await;
        t.expect("a/b", bytes.as_bytes()).await;
    }
    assert_eq!(t.keys("").await, ["a/b"]);
}

pub(super) async fn create_makes_a_missing_object(t: Trial) {
    if t.creates().await {
        written(t.put("a/b", "one", PutMode::Create).await);
        t.expect("a/b", b"one").await;
    }
}

pub(super) async fn create_loses_to_an_existing_object(t: Trial) {
    if t.creates().await {
        let version = t.store("a/b", "one").await;
        refused(&t.put("a/b", "two", PutMode::Create).await);
        refused(&t.put("a/b", "one", PutMode::Create).await);
        t.expect("a/b", b"one").await;
        assert_eq!(t.head("a/b").await.version, version);
    }
}

pub(super) async fn create_succeeds_after_delete(t: Trial) {
    if t.creates().await {
        t.store("a/b", "one").await;
        let _ = t
            .store
            .delete_one(key("a/b").into())
            .await
            .expect("deleted");
        written(t.put("a/b", "two", PutMode::Create).await);
        t.expect("a/b", b"two").await;
    }
}

pub(super) async fn update_replaces_the_named_state(t: Trial) {
    if t.updates().await {
        let one = t.store("a/b", "one").await;
        written(t.put("a/b", "two", PutMode::Update(one)).await);
        t.expect("a/b", b"two").await;
    }
}

pub(super) async fn update_loses_to_a_newer_state(t: Trial) {
    if t.updates().await {
        let one = t.store("a/b", "one").await;
        let two = t.store("a/b", "two").await;
        refused(&t.put("a/b", "three", PutMode::Update(one.clone())).await);
        t.expect("a/b", b"two").await;
        written(t.put("a/b", "three", PutMode::Update(two)).await);
        refused(&t.put("a/b", "four", PutMode::Update(one)).await);
        t.expect("a/b", b"three").await;
    }
}

pub(super) async fn update_of_a_missing_object_is_refused(t: Trial) {
    if t.updates().await {
        let one = t.store("a/b", "one").await;
        // Some stores call this *not found* and some *condition failed*: here it is one thing.
        refused(&t.put("a/c", "two", PutMode::Update(one.clone())).await);
        t.expect_absent("a/c").await;
        let _ = t
            .store
            .delete_one(key("a/b").into())
            .await
            .expect("deleted");
        refused(&t.put("a/b", "two", PutMode::Update(one)).await);
        t.expect_absent("a/b").await;
    }
}

pub(super) async fn update_with_a_foreign_version_is_refused(t: Trial) {
    if t.updates().await {
        t.store("a/b", "one").await;
        for token in [
            "",
            "0",
            "*",
            "\"",
            "W/\"x\"",
            "no version of any store",
            "-1",
            "é",
        ] {
            let outcome = t
                .put("a/b", "two", PutMode::Update(Version::new(token)))
                .await;
            refused(&outcome);
        }
        t.expect("a/b", b"one").await;
    }
}

pub(super) async fn update_chain_follows_returned_versions(t: Trial) {
    if t.updates().await {
        let mut version = t.store("a/b", "0").await;
        for i in 1..20 {
            // Through text and back, as a program does that stores it.
            let told = Version::new(version.as_str());
            version = written(t.put("a/b", i.to_string(), PutMode::Update(told)).await);
        }
        t.expect("a/b", b"19").await;
    }
}

pub(super) async fn versions_agree_in_put_get_head_and_list(t: Trial) {
    for bytes in ["one", "two", ""] {
        let version = t.store("a/b", bytes).await;
        let object = t.store.get(&key("a/b"), GetOptions::default()).await;
        assert_eq!(object.expect("read").meta.version, version, "get");
        assert_eq!(t.head("a/b").await.version, version, "head");
        let list = t
            .store
            .list_all(&super::trial::prefix("a"))
            .await
            .expect("listed");
        t.agrees(&list[0], &t.head("a/b").await).await;
    }
}

pub(super) async fn versions_change_when_the_same_bytes_are_written_again(t: Trial) {
    let mut seen = HashSet::new();
    for i in 0..50 {
        let version = t.store("a/b", "35 bytes, as in every ref file ....").await;
        assert!(
            seen.insert(version),
            "write {i} made the version of an earlier one"
        );
    }
}

pub(super) async fn a_state_never_comes_back(t: Trial) {
    if !t.updates().await {
        return;
    }
    for _ in 0..20 {
        let first = t.store("a/b", "AAA").await;
        t.store("a/b", "BBB").await;
        let third = t.store("a/b", "AAA").await;
        assert_ne!(
            first, third,
            "A, B, A: the bytes are back, the state is not"
        );
        if !t.store.capabilities().exact_versions {
            // The store compares contents; a reader that looks sees that it is another state.
            let options = GetOptions::default().with_if_match(first);
            let read = t.get("a/b", options).await;
            assert!(
                matches!(read, Err(StorageError::PreconditionFailed { .. })),
                "{read:?}"
            );
            continue;
        }
        refused(&t.put("a/b", "CCC", PutMode::Update(first)).await);
        t.expect("a/b", b"AAA").await;
    }
}

pub(super) async fn a_recreated_object_is_another_state(t: Trial) {
    if !t.updates().await {
        return;
    }
    for _ in 0..20 {
        let first = t.store("a/b", "AAA").await;
        let _ = t
            .store
            .delete_one(key("a/b").into())
            .await
            .expect("deleted");
        let second = t.store("a/b", "AAA").await;
        assert_ne!(first, second, "the object was gone in between");
        if t.store.capabilities().exact_versions {
            refused(&t.put("a/b", "CCC", PutMode::Update(first.clone())).await);
        }
        let copy = Deletion::of(key("a/b"), first);
        if t.store.capabilities().conditional_delete {
            let outcome = t.store.delete_one(copy).await.expect("answered");
            assert!(
                matches!(outcome, crate::DeleteOutcome::Refused),
                "{outcome:?}"
            );
        }
        t.expect("a/b", b"AAA").await;
    }
}

pub(super) async fn last_modified_never_goes_back(t: Trial) {
    let mut latest = None;
    for i in 0..20 {
        t.store("a/b", vec![b'x'; i]).await;
        let now = t.head("a/b").await.last_modified;
        assert!(now.is_some(), "a head tells the time");
        assert!(latest <= now, "{latest:?} came before {now:?}");
        latest = now;
    }
}

pub(super) async fn put_immutable_accepts_its_own_bytes_only(t: Trial) {
    if !t.creates().await {
        return;
    }
    let at = key("chunks/1");
    let put = |bytes: &'static str| {
        let bytes = Bytes::from_static(bytes.as_bytes());
        t.store.put_immutable(&at, bytes, PutOptions::default())
    };
    let first = written(put("one").await.expect("stored"));
    let again = written(put("one").await.expect("accepted"));
    assert_eq!(first, again, "the second put has written nothing");
    refused(&put("two").await.expect("answered"));
    t.expect("chunks/1", b"one").await;
}

pub(super) async fn metadata_and_classes_are_accepted(t: Trial) {
    for (at, class) in [
        ("chunks/1", ObjectClass::Chunk),
        ("refs/1", ObjectClass::Metadata),
    ] {
        for bytes in ["first", "second, longer", "3"] {
            let options = PutOptions::default()
                .with_class(class)
                .with_content_type("application/octet-stream")
                .with_user_metadata("ic_spec_ver", "1");
            let outcome = t.store.put(&key(at), bytes.into(), options).await;
            written(outcome.expect("stored"));
            t.expect(at, bytes.as_bytes()).await;
        }
    }
    if t.creates().await {
        let options = || PutOptions::mode(PutMode::Create).with_class(ObjectClass::Chunk);
        let first = t.store.put(&key("chunks/2"), "one".into(), options()).await;
        written(first.expect("stored"));
        let second = t.store.put(&key("chunks/2"), "two".into(), options()).await;
        refused(&second.expect("answered"));
        t.expect("chunks/2", b"one").await;
    }
}

pub(super) async fn capabilities_are_constant(t: Trial) {
    let before = t.store.capabilities();
    assert!(before.writable, "the suite is for stores that take writes");
    t.store("a/b", "one").await;
    let _ = t
        .store
        .delete_one(key("a/b").into())
        .await
        .expect("deleted");
    assert_eq!(t.store.capabilities(), before);
}

pub(super) async fn sync_keeps_everything(t: Trial) {
    t.store.sync().await.expect("nothing to do is no error");
    t.store("a/b", "one").await;
    t.store.sync().await.expect("synchronised");
    t.store.sync().await.expect("again");
    t.expect("a/b", b"one").await;
    let outcome = t.put("a/b", "two", PutMode::Overwrite).await;
    assert!(
        matches!(outcome, PutOutcome::Written(_)),
        "writes go on after sync"
    );
}

pub(super) async fn store_says_what_it_is(t: Trial) {
    assert!(
        !t.store.to_string().is_empty(),
        "errors name the store by its `Display`"
    );
    assert!(!format!("{:?}", t.store).is_empty());
}
