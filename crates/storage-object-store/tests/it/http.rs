//! A web server, read.

use std::time::Duration;

use bytes::Bytes;
use icefield_storage::remote::{RemoteSettings, RemoteStorage, RetrySettings};
use icefield_storage::{GetOptions, GetRange, Key, PutMode, Storage, StorageError, StorageExt};
use icefield_storage_object_store::HttpBuilder;
use icefield_testservers::{Answer, Fault, FileServer, Rule, Verb};

fn open(server: &FileServer) -> RemoteStorage {
    let retry = RetrySettings::default().with_pauses(Duration::ZERO, Duration::ZERO);
    let opened = HttpBuilder::new(server.url("data/"))
        .settings(RemoteSettings::default().with_retry(retry))
        .open();
    opened.expect("opened")
}

fn key(text: &str) -> Key {
    Key::parse(text).expect("a key")
}

#[tokio::test]
async fn files_are_read_and_ranges_are_exact() {
    let server = FileServer::in_memory();
    server.put("data/a b/%20/ß", "0123456789");
    server.put("data/empty", "");
    let storage = open(&server);
    let at = key("a b/%20/ß");
    let (bytes, meta) = storage.read(&at).await.expect("read");
    assert_eq!(bytes, "0123456789");
    assert_eq!(storage.head(&at).await.expect("there"), meta);
    for (range, wanted) in [
        (GetRange::Bounded(2..5), "234"),
        (GetRange::From(8), "89"),
        (GetRange::From(10), ""),
        (GetRange::Suffix(3), "789"),
        (GetRange::Suffix(0), ""),
    ] {
        let read = storage.get(&at, range.clone().into()).await.expect("read");
        assert_eq!(read.bytes().await.expect("bytes"), wanted, "{range:?}");
    }
    for range in [
        GetRange::Bounded(8..11),
        GetRange::From(11),
        GetRange::Suffix(11),
    ] {
        let read = storage.get(&at, range.clone().into()).await;
        assert!(
            matches!(
                read,
                Err(StorageError::RangeNotSatisfiable { size: 10, .. })
            ),
            "{range:?}: {read:?}"
        );
    }
    assert!(
        storage
            .read(&key("empty"))
            .await
            .expect("read")
            .0
            .is_empty()
    );
    let missing = storage.read(&key("missing")).await.expect_err("missing");
    assert!(missing.is_not_found(), "{missing:?}");
    let known = GetOptions::default().with_if_none_match(meta.version);
    let same = storage.get(&at, known).await.expect_err("no news");
    assert!(matches!(same, StorageError::NotModified { .. }), "{same:?}");
}

#[tokio::test]
async fn what_a_web_server_cannot_do_is_said() {
    let server = FileServer::in_memory();
    let storage = open(&server);
    let put = storage
        .put(&key("a"), "one".into(), PutMode::Overwrite.into())
        .await;
    assert!(matches!(put, Err(StorageError::ReadOnly { .. })), "{put:?}");
    let deleted = storage.delete_one(key("a").into()).await;
    assert!(
        matches!(deleted, Err(StorageError::ReadOnly { .. })),
        "{deleted:?}"
    );
    let listed = storage
        .list_all(&Default::default())
        .await
        .expect_err("no lists");
    assert!(
        matches!(listed, StorageError::Unsupported { .. }),
        "{listed:?}"
    );
    assert!(
        listed.to_string().contains("a web server does not say"),
        "{listed}"
    );
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn what_breaks_is_tried_again_and_taken_up() {
    let server = FileServer::in_memory();
    let bytes: Bytes = (0..3_000_000_u32).map(|at| (at * 7 % 251) as u8).collect();
    server.put("data/a", bytes.clone());
    let storage = open(&server);
    let next = |fault| {
        server
            .switches()
            .inject(Rule::new(fault).on(Verb::Read).times(1))
    };
    next(Fault::Refuse(Answer::slow_down()));
    next(Fault::Truncate(1_000_000));
    next(Fault::Reset);
    let (read, _) = storage.read(&key("a")).await.expect("read");
    assert!(read == bytes);
}

#[tokio::test]
async fn f90_a_redirect_is_not_followed() {
    let (server, elsewhere) = (FileServer::in_memory(), FileServer::in_memory());
    elsewhere.put("data/a", "theirs");
    for status in [301, 302, 303, 307, 308] {
        let path = format!("data/{status}");
        server.redirect(&path, status, &elsewhere.url("data/a"));
        let url = format!("{}?token=SECRET", server.url("data/"));
        let storage = HttpBuilder::new(url).open().expect("opened");
        let at = key(&status.to_string());
        let read = storage.read(&at).await.expect_err("not followed");
        let asked = storage.head(&at).await.expect_err("not followed");
        for error in [read, asked] {
            assert!(
                matches!(error, StorageError::Misconfigured { setting: "url", .. }),
                "{error:?}"
            );
            assert!(error.to_string().contains(&status.to_string()), "{error}");
            assert!(!format!("{error:?}").contains("SECRET"), "{error:?}");
        }
    }
    assert_eq!(server.requests().len(), 10, "none was tried again");
    assert!(elsewhere.requests().is_empty());
}
