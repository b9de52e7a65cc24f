//! What breaks on the way, and what becomes of it: each request tried once by the client, again by the layer above.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, StreamExt};
use icefield_storage::remote::{RemoteSettings, RetrySettings};
use icefield_storage::{
    BoxError, DeleteOutcome, Deletion, GetOptions, GetRange, Key, ObjectClass, Payload, PutMode,
    PutOptions, PutOutcome, Storage, StorageError, StorageExt, Version,
};
use icefield_storage_gcs::{GcsBuilder, GcsStorage, Token, TokenSource};
use icefield_testservers::{Answer, Fault, GcsOptions, GcsServer, LoggedRequest, Rule, Verb};

fn server() -> GcsServer {
    GcsServer::start(GcsOptions::default())
}

fn builder(server: &GcsServer) -> GcsBuilder {
    GcsStorage::builder(server.bucket()).endpoint(server.endpoint())
}

/// Patient, but not at the cost of time.
async fn open(server: &GcsServer) -> GcsStorage {
    let retry = RetrySettings::default().with_pauses(Duration::ZERO, Duration::ZERO);
    let settings = RemoteSettings::default()
        .with_retry(retry)
        .trusting_conditions();
    builder(server)
        .settings(settings)
        .open()
        .await
        .expect("opened")
}

/// Gives up after the first attempt.
async fn open_once(server: &GcsServer) -> GcsStorage {
    let settings = RemoteSettings::default()
        .with_retry(RetrySettings::default().with_attempts(1))
        .trusting_conditions();
    builder(server)
        .settings(settings)
        .open()
        .await
        .expect("opened")
}

fn key() -> Key {
    Key::parse("refs/branch.main/ref.json").expect("a key")
}

fn next(server: &GcsServer, verb: Verb, fault: Fault) {
    server.switches().inject(Rule::new(fault).on(verb).times(1));
}

fn asked(server: &GcsServer, verb: Verb) -> Vec<LoggedRequest> {
    let requests = server.requests().into_iter();
    requests.filter(|request| request.verb == verb).collect()
}

async fn put(storage: &GcsStorage, bytes: &'static str, mode: PutMode) -> PutOutcome {
    let put = storage
        .put(&key(), bytes.into(), PutOptions::mode(mode))
        .await;
    put.expect("answered")
}

fn version(outcome: PutOutcome) -> Version {
    match outcome {
        PutOutcome::Written(written) => written.version,
        other => panic!("must be written, is {other:?}"),
    }
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_recognises_itself() {
    let server = server();
    let storage = open(&server).await;
    next(&server, Verb::Write, Fault::ResetAfter);
    let first = version(put(&storage, "one", PutMode::Create).await);
    assert_eq!(storage.head(&key()).await.expect("there").version, first);
    next(&server, Verb::Write, Fault::ResetAfter);
    let second = version(put(&storage, "two", PutMode::Update(first.clone())).await);
    assert_ne!(first, second);
    // Another's write is not taken for ours.
    next(
        &server,
        Verb::Write,
        Fault::Refuse(Answer::precondition_failed()),
    );
    let outcome = put(&storage, "three", PutMode::Update(second)).await;
    assert!(matches!(outcome, PutOutcome::Refused), "{outcome:?}");
}

#[tokio::test]
async fn the_client_repeats_nothing_by_itself() {
    let server = server();
    let storage = open_once(&server).await;
    version(put(&storage, "one", PutMode::Overwrite).await);
    let all = || Rule::new(Fault::Refuse(Answer::new(503, "backendError")));
    for verb in [
        Verb::Write,
        Verb::Read,
        Verb::Delete,
        Verb::List,
        Verb::Copy,
    ] {
        let before = asked(&server, verb).len();
        let rule = server.switches().inject(all().on(verb));
        match verb {
            Verb::Write => {
                let put = storage
                    .put(&key(), "two".into(), PutMode::Overwrite.into())
                    .await;
                assert!(
                    matches!(put, Err(StorageError::Throttled { .. })),
                    "{put:?}"
                );
            }
            Verb::Read => {
                let read = storage.read(&key()).await;
                assert!(
                    matches!(read, Err(StorageError::Throttled { .. })),
                    "{read:?}"
                );
            }
            Verb::Delete => {
                let deleted = storage.delete_one(key().into()).await.expect("answered");
                assert!(matches!(deleted, DeleteOutcome::Unknown(_)), "{deleted:?}");
            }
            Verb::List => {
                storage
                    .list_all(&Default::default())
                    .await
                    .expect_err("refused");
            }
            _ => {
                let to = Key::parse("copy").expect("a key");
                let copy = storage.copy(&key(), &to, PutMode::Overwrite.into()).await;
                assert!(matches!(copy, Ok(PutOutcome::Unknown(_))), "{copy:?}");
            }
        }
        assert_eq!(asked(&server, verb).len(), before + 1, "{verb:?}");
        rule.remove();
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_taken_up_again() {
    let server = server();
    let storage = open(&server).await;
    let bytes: Bytes = (0..3_000_000_u32).map(|at| (at * 7 % 251) as u8).collect();
    let stored = storage
        .put(&key(), bytes.clone().into(), PutOptions::default())
        .await;
    version(stored.expect("stored"));
    next(&server, Verb::Read, Fault::Truncate(1_000_000));
    let (read, _) = storage.read(&key()).await.expect("read");
    assert!(read == bytes);
    let reads = asked(&server, Verb::Read);
    assert_eq!(reads.len(), 2);
    let range = reads[1].header("range").expect("a range");
    assert!(
        range.ends_with("-2999999") && !range.starts_with("bytes=0-"),
        "{range}"
    );
    assert!(reads[1].target.contains("ifGenerationMatch="));
    // A body that is not what was stored is found out by its checksum.
    next(&server, Verb::Read, Fault::Corrupt(17));
    let error = storage.read(&key()).await.expect_err("not these bytes");
    assert!(matches!(error, StorageError::Failed { .. }), "{error:?}");
}

#[tokio::test]
async fn a_state_that_is_known_is_not_described_again() {
    let server = server();
    let storage = open(&server).await;
    let written = version(put(&storage, "0123456789", PutMode::Overwrite).await);
    let options = GetOptions::range(GetRange::Bounded(2..5)).with_if_match(written);
    let object = storage.get(&key(), options).await.expect("read");
    assert_eq!(object.bytes().await.expect("bytes"), "234");
    assert_eq!(asked(&server, Verb::Head).len(), 0);
    storage.read(&key()).await.expect("read");
    assert_eq!(asked(&server, Verb::Head).len(), 1);
}

#[tokio::test]
async fn large_objects_go_up_in_sessions_and_broken_ones_leave_nothing() {
    let server = server();
    let storage = open(&server).await;
    let bytes = Bytes::from(vec![7_u8; 20 << 20]);
    let at_once = storage
        .put(&key(), bytes.clone().into(), PutMode::Create.into())
        .await;
    version(at_once.expect("stored"));
    assert_eq!(asked(&server, Verb::BeginUpload).len(), 1);
    assert_eq!(asked(&server, Verb::CompleteUpload).len(), 1);

    let parts = |broken: bool| {
        let parts = (0..40).map(move |at| match at {
            39 if broken => Err(StorageError::ReadOnly {
                store: "the source".to_owned(),
            }),
            _ => Ok(Bytes::from(vec![at as u8; 1 << 20])),
        });
        let stream = stream::iter(parts).boxed();
        Payload::Stream { size: None, stream }
    };
    let other = Key::parse("chunks/1").expect("a key");
    let options = || PutOptions::mode(PutMode::Create).with_class(ObjectClass::Chunk);
    let broken = storage.put(&other, parts(true), options()).await;
    assert!(
        matches!(broken, Err(StorageError::ReadOnly { .. })),
        "{broken:?}"
    );
    assert_eq!(server.world().keys(server.bucket()), [key().as_str()]);
    version(
        storage
            .put(&other, parts(false), options())
            .await
            .expect("stored"),
    );
    let (read, _) = storage.read(&other).await.expect("read");
    assert_eq!((read.len(), read[39 << 20]), (40 << 20, 39));
}

#[tokio::test]
async fn a_delete_in_doubt_says_so() {
    let server = server();
    let storage = open(&server).await;
    let first = version(put(&storage, "one", PutMode::Overwrite).await);
    next(&server, Verb::Delete, Fault::ResetAfter);
    let deletion = Deletion::of(key(), first);
    let outcome = storage.delete_one(deletion).await.expect("answered");
    assert!(matches!(outcome, DeleteOutcome::Unknown(_)), "{outcome:?}");
    version(put(&storage, "two", PutMode::Overwrite).await);
    next(&server, Verb::Delete, Fault::ResetAfter);
    let outcome = storage.delete_one(key().into()).await.expect("answered");
    assert!(matches!(outcome, DeleteOutcome::Deleted), "{outcome:?}");
}

/// Hands out a token that has been withdrawn, and then good ones.
#[derive(Debug, Default)]
struct Vault(AtomicUsize);

#[async_trait]
impl TokenSource for Vault {
    async fn fetch(&self) -> Result<Token, BoxError> {
        Ok(Token::new(match self.0.fetch_add(1, Ordering::SeqCst) {
            0 => "withdrawn",
            _ => "good",
        }))
    }
}

#[tokio::test]
async fn a_token_that_is_not_taken_any_more_is_renewed() {
    let server = GcsServer::start(GcsOptions {
        tokens: vec!["good".to_owned()],
        ..GcsOptions::default()
    });
    let vault = Arc::new(Vault::default());
    let retry = RetrySettings::default().with_pauses(Duration::ZERO, Duration::ZERO);
    let storage = builder(&server)
        .token_source(Arc::clone(&vault) as Arc<dyn TokenSource>)
        .settings(RemoteSettings::default().with_retry(retry))
        .open()
        .await
        .expect("opened");
    version(put(&storage, "one", PutMode::Create).await);
    storage.read(&key()).await.expect("read");
    assert_eq!(vault.0.load(Ordering::SeqCst), 2);

    let storage = builder(&server)
        .token("SECRET")
        .open()
        .await
        .expect("opened");
    let error = storage.read(&key()).await.expect_err("refused");
    assert!(
        matches!(
            &error,
            StorageError::Misconfigured {
                setting: "credentials",
                ..
            }
        ),
        "{error:?}"
    );
    assert!(!format!("{error:?} {error}").contains("SECRET"));
}

#[tokio::test]
async fn what_is_set_up_wrong_is_named() {
    let server = server();
    let missing = GcsStorage::builder("elsewhere").endpoint(server.endpoint());
    let missing = missing.open().await.expect("opened");
    let listed = missing.list_all(&Default::default()).await;
    let stored = missing
        .put(&key(), "one".into(), PutMode::Overwrite.into())
        .await;
    for error in [listed.err(), stored.err()] {
        assert!(
            matches!(
                error,
                Some(StorageError::Misconfigured {
                    setting: "bucket",
                    ..
                })
            ),
            "{error:?}"
        );
    }
    let storage = open(&server).await;
    let odd = Key::parse("a\nb").expect("a key");
    let stored = storage
        .put(&odd, "one".into(), PutMode::Overwrite.into())
        .await;
    assert!(
        matches!(stored, Err(StorageError::Unsupported { .. })),
        "{stored:?}"
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_has_done_nothing() {
    // A port that nobody listens on.
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = port.local_addr().expect("an address");
    drop(port);
    let once = RetrySettings::default().with_attempts(1);
    let settings = RemoteSettings::default().with_retry(once);
    let storage = GcsStorage::builder("bucket")
        .endpoint(format!("http://{address}"))
        .settings(settings.trusting_conditions())
        .open()
        .await
        .expect("opened");
    let put = storage
        .put(&key(), "one".into(), PutMode::Create.into())
        .await;
    assert!(
        matches!(put, Err(StorageError::Unavailable { .. })),
        "{put:?}"
    );
    let deleted = storage.delete_one(key().into()).await;
    assert!(
        matches!(deleted, Err(StorageError::Unavailable { .. })),
        "{deleted:?}"
    );
}

#[tokio::test]
async fn who_pays_and_what_it_costs_is_sent() {
    let server = server();
    let storage = builder(&server)
        .user_project("payer")
        .storage_class(ObjectClass::Chunk, "NEARLINE")
        .open()
        .await
        .expect("opened");
    let options = PutOptions::default().with_class(ObjectClass::Chunk);
    version(
        storage
            .put(&key(), "one".into(), options)
            .await
            .expect("stored"),
    );
    storage.read(&key()).await.expect("read");
    storage.list_all(&Default::default()).await.expect("listed");
    let _ = storage.delete_one(key().into()).await.expect("deleted");
    for request in server.requests() {
        assert_eq!(
            request.header("x-goog-user-project"),
            Some("payer"),
            "{request:?}"
        );
    }
}

#[tokio::test]
async fn a_copy_keeps_what_is_said_about_the_source() {
    let server = server();
    let storage = open(&server).await;
    let options = PutOptions::default()
        .with_content_type("application/json")
        .with_user_metadata("ic_spec_ver", "1");
    version(
        storage
            .put(&key(), "one".into(), options)
            .await
            .expect("stored"),
    );
    let to = Key::parse("copy").expect("a key");
    next(&server, Verb::Copy, Fault::ResetAfter);
    let copied = storage.copy(&key(), &to, PutMode::Create.into()).await;
    version(copied.expect("copied"));
    let object = server.world().get(server.bucket(), "copy").expect("there");
    let metadata = &object.attributes.metadata;
    assert_eq!(metadata.get("ic_spec_ver").map(String::as_str), Some("1"));
    let source = server.world().get(server.bucket(), key().as_str());
    let source = source.expect("there");
    assert_ne!(
        metadata.get("icefield-write-id"),
        source.attributes.metadata.get("icefield-write-id"),
        "a copy is another write"
    );
}
