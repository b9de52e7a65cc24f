//! Reads, descriptions, and the conditions of reads.

use std::sync::Arc;
use std::time::Duration;

use super::trial::{Trial, is_of, key, prefix};
use crate::{Body, Condition, GetOptions, GetRange, StorageError, StorageExt, Version};

pub(super) async fn missing_object_is_not_found(t: Trial) {
    t.store("a/b", "one").await;
    for missing in ["a/c", "c", "a/b/c", "a/b/c/d", "A/b"] {
        let at = key(missing);
        let get = t
            .store
            .get(&at, GetOptions::default())
            .await
            .expect_err("missing");
        assert!(
            matches!(&get, StorageError::NotFound { key } if *key == at),
            "{get:?}"
        );
        let head = t.store.head(&at).await.expect_err("missing");
        assert!(
            matches!(&head, StorageError::NotFound { key } if *key == at),
            "{head:?}"
        );
        let range = t
            .get(missing, GetRange::Bounded(0..1))
            .await
            .expect_err("missing");
        assert!(range.is_not_found(), "{range:?}");
    }
    // The folder of an object is not an object.
    let folder = t.store.head(&key("a")).await.expect_err("not an object");
    assert!(
        matches!(
            folder,
            StorageError::NotFound { .. } | StorageError::NotAnObject { .. }
        ),
        "{folder:?}"
    );
}

pub(super) async fn ranged_read_describes_the_whole_object(t: Trial) {
    let version = t.store("a/b", "0123456789").await;
    for (range, found) in [
        (GetRange::All, 0..10),
        (GetRange::Bounded(2..5), 2..5),
        (GetRange::From(7), 7..10),
        (GetRange::Suffix(4), 6..10),
    ] {
        let object = t.store.get(&key("a/b"), range.into()).await.expect("read");
        assert_eq!(object.range, found);
        is_of(&object.meta, &t.head("a/b").await);
        assert_eq!((object.meta.size, &object.meta.version), (10, &version));
        let bytes = object.bytes().await.expect("read");
        assert_eq!(
            bytes,
            "0123456789"[found.start as usize..found.end as usize]
        );
    }
}

pub(super) async fn if_match_reads_only_the_named_state(t: Trial) {
    let one = t.store("a/b", "one").await;
    let read = |version: &Version, range| {
        t.get(
            "a/b",
            GetOptions::range(range).with_if_match(version.clone()),
        )
    };
    assert_eq!(read(&one, GetRange::All).await.expect("unchanged"), "one");
    assert_eq!(
        read(&one, GetRange::Suffix(1)).await.expect("unchanged"),
        "e"
    );
    let two = t.store("a/b", "two, longer").await;
    for range in [GetRange::All, GetRange::Bounded(0..2)] {
        let stale = read(&one, range).await.expect_err("changed");
        assert!(
            matches!(stale, StorageError::PreconditionFailed { .. }),
            "{stale:?}"
        );
    }
    assert_eq!(
        read(&two, GetRange::All).await.expect("unchanged"),
        "two, longer"
    );
    let foreign = Condition::ETag("no ETag of any store".to_owned());
    let foreign = t
        .get("a/b", GetOptions::default().with_if_match(foreign))
        .await;
    let foreign = foreign.expect_err("another object");
    assert!(
        matches!(foreign, StorageError::PreconditionFailed { .. }),
        "{foreign:?}"
    );
}

pub(super) async fn if_none_match_reads_only_news(t: Trial) {
    let one = t.store("a/b", "one").await;
    let read = |version: &Version| {
        t.get(
            "a/b",
            GetOptions::default().with_if_none_match(version.clone()),
        )
    };
    let same = read(&one).await.expect_err("no news");
    assert!(matches!(same, StorageError::NotModified { .. }), "{same:?}");
    let two = t.store("a/b", "two").await;
    assert_eq!(read(&one).await.expect("news"), "two");
    let same = read(&two).await.expect_err("no news");
    assert!(matches!(same, StorageError::NotModified { .. }), "{same:?}");
}

pub(super) async fn if_unmodified_since_compares_the_stores_time(t: Trial) {
    t.store("a/b", "one").await;
    let time = t.head("a/b").await.last_modified.expect("a head tells");
    let read = |time| t.get("a/b", GetOptions::default().with_if_unmodified_since(time));
    assert_eq!(read(time).await.expect("written then, not after"), "one");
    assert_eq!(
        read(time + Duration::from_secs(3600))
            .await
            .expect("written before"),
        "one"
    );
    let early = read(time - Duration::from_secs(3600))
        .await
        .expect_err("written after");
    assert!(
        matches!(early, StorageError::PreconditionFailed { .. }),
        "{early:?}"
    );
}

pub(super) async fn conditions_on_a_missing_object_are_not_found(t: Trial) {
    let version = t.store("a/b", "one").await;
    let time = t.head("a/b").await.last_modified.expect("a head tells");
    for options in [
        GetOptions::default().with_if_match(version.clone()),
        GetOptions::default().with_if_none_match(version),
        GetOptions::default().with_if_unmodified_since(time),
    ] {
        let error = t.get("a/c", options).await.expect_err("missing");
        assert!(error.is_not_found(), "{error:?}");
    }
}

pub(super) async fn head_agrees_with_get_and_list(t: Trial) {
    for (at, bytes) in [("a", ""), ("b/c", "one"), ("b/d", "another")] {
        t.store(at, bytes).await;
        let head = t.head(at).await;
        assert_eq!((head.key.as_str(), head.size), (at, bytes.len() as u64));
        let object = t
            .store
            .get(&key(at), GetOptions::default())
            .await
            .expect("read");
        is_of(&object.meta, &head);
        let list = t.store.list_all(&prefix("")).await.expect("listed");
        let listed = list.iter().find(|listed| listed.key == head.key);
        t.agrees(listed.expect("listed"), &head).await;
    }
}

pub(super) async fn blocking_read_agrees_with_get(t: Trial) {
    let old = t.store("a/b", "zero").await;
    let version = t.store("a/b", "0123456789").await;
    t.store("empty", "").await;
    let options = [
        GetOptions::default(),
        GetRange::Bounded(2..5).into(),
        GetRange::Bounded(5..11).into(),
        GetRange::From(10).into(),
        GetRange::Suffix(11).into(),
        GetOptions::default().with_if_match(version.clone()),
        GetOptions::default().with_if_match(old),
        GetOptions::default().with_if_none_match(version),
    ];
    for at in ["a/b", "a/c", "empty", "a"] {
        for options in &options {
            let (store, here, asked) = (Arc::clone(&t.store), key(at), options.clone());
            let blocking = move || store.try_get_blocking(&here, &asked);
            let blocking = tokio::task::spawn_blocking(blocking)
                .await
                .expect("no panic");
            let Some(blocking) = blocking else { continue };
            match (blocking, t.store.get(&key(at), options.clone()).await) {
                (Ok(blocking), Ok(waiting)) => {
                    assert!(matches!(blocking.body, Body::Bytes(_)), "{blocking:?}");
                    assert_eq!(blocking.meta, waiting.meta);
                    assert_eq!(blocking.range, waiting.range);
                    let bytes = waiting.bytes().await.expect("read");
                    assert_eq!(blocking.bytes().await.expect("read"), bytes);
                }
                (Err(blocking), Err(waiting)) => {
                    assert_eq!(blocking.to_string(), waiting.to_string());
                }
                (blocking, waiting) => panic!("{blocking:?} is not {waiting:?}"),
            }
        }
    }
}

pub(super) async fn an_object_beyond_the_limit_is_not_read(t: Trial) {
    let version = t.store("a/b", "seven b").await;
    let at = key("a/b");
    let read = |limit| t.store.try_read_at_most(&at, limit);
    let found = read(7).await.expect("small enough").expect("there");
    assert_eq!(found, ("seven b".into(), version));
    for limit in [0, 6] {
        let error = read(limit).await.expect_err("too large");
        assert!(
            matches!(&error, StorageError::ObjectTooLarge { size: 7, .. }),
            "{error:?}"
        );
        let get = GetOptions::default().with_max_size(limit);
        let error = t.store.get(&at, get).await.expect_err("too large");
        assert!(
            matches!(&error, StorageError::ObjectTooLarge { .. }),
            "{error:?}"
        );
    }
    let missing = t.store.try_read_at_most(&key("missing"), 7).await;
    assert!(missing.expect("answered").is_none());
}
