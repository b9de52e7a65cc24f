//! The settings of a user, as they arrive at the server; and the values that must not be shown.

use std::time::{Duration, SystemTime};

use icefield_storage::{
    DeleteOutcome, Deletion, ListOptions, ObjectClass, Prefix, PutMode, PutOptions, Storage,
    StorageError, StorageExt,
};
use icefield_storage_s3::{Checksum, Credentials, S3Builder};
use icefield_testservers::{Behaviour, Fault, Rule, Verb};

use crate::support::*;

#[tokio::test]
async fn labels_and_headers_arrive() {
    let server = server();
    let storage = builder(&server)
        .prefix(Prefix::parse("sea/of").expect("valid"))
        .requester_pays()
        .storage_class(ObjectClass::Chunk, "STANDARD_IA")
        .tag(ObjectClass::Chunk, "kind of", "a&b=c")
        .checksum(Checksum::Crc32c)
        .header("x-trace", "yes")
        .open()
        .expect("sound");
    let options = PutOptions::mode(PutMode::Create).with_class(ObjectClass::Chunk);
    let put = storage.put(&key("chunks/X"), "x".into(), options).await;
    assert!(put.is_ok());
    let options = PutOptions::mode(PutMode::Create)
        .with_content_type("application/json")
        .with_user_metadata("ic_file_type", "snapshot");
    let put = storage.put(&key("snapshots/X"), "x".into(), options).await;
    assert!(put.is_ok());
    let requests = server.requests();
    let (chunk, metadata) = (&requests[0], &requests[1]);
    assert_eq!(chunk.key, "sea/of/chunks/X");
    for (name, value) in [
        ("x-amz-storage-class", "STANDARD_IA"),
        ("x-amz-tagging", "kind%20of=a%26b%3Dc"),
        ("x-amz-request-payer", "requester"),
        ("x-trace", "yes"),
        ("if-none-match", "*"),
    ] {
        assert_eq!(chunk.header(name), Some(value), "{name}");
    }
    let digest = chunk
        .header("x-amz-checksum-crc32c")
        .or(chunk.header("x-amz-trailer"));
    assert!(digest.is_some(), "{:?}", chunk.headers);
    assert_eq!(metadata.header("x-amz-storage-class"), None);
    assert_eq!(metadata.header("x-amz-tagging"), None);
    assert_eq!(metadata.header("x-amz-meta-ic_file_type"), Some("snapshot"));
    assert_eq!(metadata.header("content-type"), Some("application/json"));
    assert_eq!(
        storage
            .list_all(&Prefix::all())
            .await
            .expect("listed")
            .len(),
        2
    );
}

#[tokio::test]
async fn a_bucket_that_may_not_be_listed_can_be_read() {
    let server = server();
    let storage = open(&server);
    written(put(&storage, "a", "one", PutMode::Create).await);
    server
        .switches()
        .set(|it: &mut Behaviour| it.deny_list = true);
    assert_eq!(storage.read(&key("a")).await.expect("read").0, "one");
    assert!(
        storage
            .try_read(&key("b"))
            .await
            .expect("answered")
            .is_none()
    );
    let error = storage.list_all(&Prefix::all()).await.expect_err("denied");
    assert!(
        matches!(error, StorageError::PermissionDenied { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_public_bucket_is_read_without_a_key_and_not_written() {
    let server = server();
    written(put(&open(&server), "a", "one", PutMode::Create).await);
    server
        .switches()
        .set(|it: &mut Behaviour| it.anonymous_read = true);
    let storage = builder(&server).anonymous().open().expect("sound");
    assert_eq!(storage.read(&key("a")).await.expect("read").0, "one");
    let error = put(&storage, "b", "x", PutMode::Create)
        .await
        .expect_err("denied");
    assert!(
        matches!(error, StorageError::PermissionDenied { .. }),
        "{error:?}"
    );
    assert!(
        server
            .requests()
            .iter()
            .skip(1)
            .all(|request| !request.authorized)
    );
}

#[tokio::test]
async fn no_secret_is_ever_shown() {
    let server = server();
    let credentials = Credentials::new(server.access_key(), "hidden-secret")
        .with_session_token("hidden-token")
        .with_expiry(SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000));
    let mut seen = vec![format!("{credentials:?}")];
    let builder = builder(&server)
        .credentials(credentials)
        .header("x-api-key", "hidden-header");
    seen.push(format!("{builder:?}"));
    let storage = builder.open().expect("sound");
    seen.push(format!("{storage:?} {storage}"));
    let error = put(&storage, "a", "x", PutMode::Create)
        .await
        .expect_err("a wrong key");
    let mut cause: Option<&dyn std::error::Error> = Some(&error);
    while let Some(error) = cause {
        seen.push(format!("{error} {error:?}"));
        cause = error.source();
    }
    for text in seen {
        assert!(!text.contains("hidden"), "{text}");
    }
}

#[test]
fn settings_that_make_no_sense_are_refused_at_once() {
    let setting = |builder: S3Builder| match builder.open() {
        Err(StorageError::Misconfigured { setting, .. }) => setting,
        other => panic!("{other:?}"),
    };
    assert_eq!(setting(S3Builder::new("")), "bucket");
    assert_eq!(setting(S3Builder::new("a/b")), "bucket");
    assert_eq!(
        setting(S3Builder::new("a").endpoint("localhost:9000")),
        "endpoint"
    );
    assert_eq!(setting(S3Builder::new("a").header("x y", "z")), "headers");
    assert_eq!(
        setting(S3Builder::new("a").header("x", "z\r\nevil: 1")),
        "headers"
    );
}

#[tokio::test]
async fn a_batch_of_deletes_answers_key_by_key() {
    let server = server();
    let storage = open(&server);
    for at in ["a", "b", "c"] {
        written(put(&storage, at, "x", PutMode::Create).await);
    }
    let denied = icefield_testservers::Answer::access_denied();
    let rule = Rule::new(Fault::FailKeys(denied))
        .on(Verb::DeleteMany)
        .key("b");
    server.switches().inject(rule);
    let deletions = ["a", "b", "c"].map(|at| Deletion::from(key(at)));
    let answers: Vec<_> = {
        use futures::StreamExt;
        let deletions = futures::stream::iter(deletions).boxed();
        storage.delete(deletions).collect().await
    };
    let done: Vec<bool> = answers
        .iter()
        .map(|(_, answer)| matches!(answer, Ok(DeleteOutcome::Deleted)))
        .collect();
    assert_eq!(done, [true, false, true], "{answers:?}");
    let left: Vec<_> = {
        use futures::TryStreamExt;
        storage
            .list(ListOptions::default())
            .try_collect()
            .await
            .expect("listed")
    };
    assert_eq!(left.len(), 1);
}
