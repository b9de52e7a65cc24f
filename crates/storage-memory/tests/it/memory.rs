//! The additions of the memory backend to the contract: sharing, no copies, its clock.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::TryStreamExt;
use icefield_storage::{
    Body, Bytes, GetOptions, GetRange, Key, KeyForm, ListOptions, ManualClock, Prefix, PutMode,
    PutOptions, PutOutcome, Storage, StorageExt, Written,
};
use icefield_storage_memory::{Attributes, MemoryStorage};

fn key(text: &str) -> Key {
    Key::parse(text).expect("a valid key")
}

async fn put(storage: &MemoryStorage, at: &str, bytes: impl Into<Bytes>) -> Written {
    match storage
        .put(&key(at), bytes.into().into(), PutOptions::default())
        .await
    {
        Ok(PutOutcome::Written(written)) => written,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn clones_share_and_duplicates_do_not() {
    let storage = MemoryStorage::new();
    let first = put(&storage, "a", "one").await;
    let copy = storage.duplicate();
    put(&storage.clone(), "a", "two").await;
    assert_eq!(storage.read(&key("a")).await.expect("there").0, "two");

    let (bytes, meta) = copy.read(&key("a")).await.expect("there");
    assert_eq!((&bytes[..], &meta.version), (&b"one"[..], &first.version));
    let update = PutMode::Update(first.version).into();
    let outcome = copy.put(&key("a"), "three".into(), update).await;
    assert!(
        matches!(outcome, Ok(PutOutcome::Written(_))),
        "its versions go on"
    );
}

#[tokio::test]
async fn bytes_are_given_out_without_copying() {
    let storage = MemoryStorage::new();
    let bytes = Bytes::from(vec![7; 1000]);
    put(&storage, "a", bytes.clone()).await;
    for (range, start) in [
        (GetRange::All, 0),
        (GetRange::Bounded(10..20), 10),
        (GetRange::Suffix(1), 999),
    ] {
        let object = storage
            .get(&key("a"), GetOptions::range(range))
            .await
            .expect("there");
        let Body::Bytes(read) = object.body else {
            panic!("at once")
        };
        assert_eq!(read.as_ptr(), bytes[start..].as_ptr());
    }
}

#[tokio::test]
async fn times_come_from_the_clock_and_those_of_one_object_never_go_back() {
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    let clock = ManualClock::new(start);
    let storage = MemoryStorage::builder()
        .clock(Arc::new(clock.clone()))
        .build();
    assert_eq!(put(&storage, "a", "x").await.store_time, Some(start));
    clock.advance(Duration::from_secs(5));
    let latest = start + Duration::from_secs(5);
    assert_eq!(put(&storage, "b", "x").await.store_time, Some(latest));
    let wrong = SystemTime::UNIX_EPOCH;
    clock.set(wrong);
    for (at, time) in [("b", latest), ("c", wrong)] {
        assert_eq!(put(&storage, at, "y").await.store_time, Some(time));
        assert_eq!(
            storage.head(&key(at)).await.expect("there").last_modified,
            Some(time)
        );
    }
    assert_eq!(
        storage.head(&key("a")).await.expect("there").last_modified,
        Some(start)
    );
}

#[tokio::test]
async fn capabilities_are_honest() {
    let storage = MemoryStorage::new();
    let capabilities = storage.capabilities();
    assert!(capabilities.safe_commits() && capabilities.conditional_delete);
    assert_eq!(capabilities.key_form, KeyForm::ObjectStorePath);
    assert!(!capabilities.durable, "memory forgets");
    let raw = MemoryStorage::builder().key_form(KeyForm::Raw).build();
    assert_eq!(raw.capabilities().key_form, KeyForm::Raw);
}

#[tokio::test]
async fn user_metadata_is_kept_and_copied() {
    let storage = MemoryStorage::new();
    let options = PutOptions::default()
        .with_content_type("application/json")
        .with_user_metadata("ic_spec_ver", "1");
    let _ = storage
        .put(&key("a"), "x".into(), options)
        .await
        .expect("stored");
    let _ = storage
        .copy(&key("a"), &key("b"), Default::default())
        .await
        .expect("copied");
    let kept = Attributes {
        content_type: Some("application/json"),
        user_metadata: [("ic_spec_ver".to_owned(), "1".to_owned())].into(),
    };
    assert_eq!(storage.attributes(&key("a")), Some(kept.clone()));
    assert_eq!(storage.attributes(&key("b")), Some(kept));
    put(&storage, "a", "y").await;
    assert_eq!(storage.attributes(&key("a")), Some(Attributes::default()));
    assert_eq!(storage.attributes(&key("c")), None);
}

#[tokio::test]
async fn list_goes_on_where_a_deleted_page_end_was() {
    let storage = MemoryStorage::new();
    for i in 0..2500 {
        put(&storage, &format!("m/{i:05}"), "x").await;
    }
    let mut list = storage.list(ListOptions::prefix(Prefix::parse("m").expect("valid")));
    let mut seen = 0;
    while let Some(meta) = list.try_next().await.expect("listed") {
        seen += 1;
        let _ = storage.delete_one(meta.key.into()).await.expect("deleted");
    }
    assert_eq!(seen, 2500);
    assert!(
        storage
            .list_all(&Prefix::all())
            .await
            .expect("listed")
            .is_empty()
    );
}

#[test]
fn debug_and_display_are_short() {
    let storage = MemoryStorage::new();
    assert_eq!(storage.to_string(), "memory");
    assert_eq!(
        format!("{storage:?}"),
        "MemoryStorage { objects: 0, key_form: ObjectStorePath, .. }"
    );
}
