//! Storms, statuses, redirects, tokens that expire: what a network and a service do.
//!
//! F88 has no counterpart here: a bearer token is not signed by the client's clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use futures::StreamExt;
use futures::future::BoxFuture;
use icefield_storage::remote::{RemoteSettings, RemoteStorage, RetrySettings};
use icefield_storage::{
    BoxError, Clock, DeleteOutcome, Deletion, PutMode, PutOutcome, SeededEntropy, Storage,
    StorageError, StorageExt, SystemClock, Version,
};
use icefield_storage_gcs::{GcsBuilder, Token, TokenSource};
use icefield_testservers::{
    Answer, Behaviour, Fault, FaultProxy, FileServer, GcsOptions, GcsServer, ProxyFault, ProxyRule,
    Rule, Verb, World,
};

use crate::support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f79_a_storm_passes_and_everything_goes_on() {
    const CALLS: usize = 20;
    let server = server();
    let millisecond = Duration::from_millis(1);
    let patient = settings().with_retry(
        RetrySettings::default()
            .with_attempts(100_000)
            .with_pauses(millisecond, 20 * millisecond)
            .with_rate(1000, 100),
    );
    let storage = opened(builder(&server).settings(patient)).await;
    server.switches().set(|it: &mut Behaviour| it.storm = 1.0);
    let puts: Vec<_> = (0..CALLS)
        .map(|number| {
            let storage = storage.clone();
            tokio::spawn(
                async move { put(&storage, &format!("k{number}"), "x", PutMode::Create).await },
            )
        })
        .collect();
    // So many refusals, and then one in two.
    while server.requests().len() < 500 {
        SystemClock.sleep(millisecond).await;
    }
    server.switches().set(|it: &mut Behaviour| it.storm = 0.5);
    for put in puts {
        written(put.await.expect("no panic"));
    }
    assert_eq!(server.world().writes(), CALLS as u64);
    // One without end is an error of its own, after so many attempts and no more.
    server.switches().set(|it: &mut Behaviour| it.storm = 0.0);
    let refused = Rule::new(Fault::Refuse(Answer::too_many_requests()));
    server.switches().inject(refused);
    let before = server.requests().len();
    let storage = open(&server).await;
    for number in 0..10 {
        let error = put(&storage, &format!("l{number}"), "x", PutMode::Create)
            .await
            .expect_err("a storm");
        assert!(matches!(error, StorageError::Throttled { .. }), "{error:?}");
    }
    let asked = server.requests().len() - before;
    assert_eq!(asked, 10 * ATTEMPTS as usize);
}

#[tokio::test]
async fn f80_what_is_tried_again_and_what_is_not() {
    let server = server();
    let storage = open(&server).await;
    written(put(&storage, "there", "x", PutMode::Create).await);
    let last = u64::from(ATTEMPTS) - 1;
    let refuse = |status: u16, verb: Verb| {
        let rule = Rule::new(Fault::Refuse(Answer::new(status, "asTold"))).on(verb);
        server.switches().inject(rule.times(last))
    };
    // Over HTTP, a status; over gRPC, the code that Google's services put in its place.
    for (status, again) in [
        (408, true),
        (409, true), // ABORTED
        (429, true), // RESOURCE_EXHAUSTED
        (500, true), // INTERNAL
        (502, true), // UNAVAILABLE
        (503, true),
        (504, true),  // DEADLINE_EXCEEDED
        (400, false), // INVALID_ARGUMENT
        (401, false), // UNAUTHENTICATED: there is no token to renew
        (403, false), // PERMISSION_DENIED
        (404, false), // NOT_FOUND
        (412, false), // FAILED_PRECONDITION
        (501, false), // UNIMPLEMENTED
    ] {
        let wanted = match again {
            true => (true, last),
            false => (false, 1),
        };
        let rule = refuse(status, Verb::Write);
        let done = put(&storage, "a", "x", PutMode::Overwrite).await.is_ok();
        assert_eq!((done, rule.fired()), wanted, "write, {status}");
        rule.remove();
        let rule = refuse(status, Verb::List);
        let done = storage.list_all(&Default::default()).await.is_ok();
        assert_eq!((done, rule.fired()), wanted, "list, {status}");
        rule.remove();
        let rule = refuse(status, Verb::Head);
        let done = storage.head(&key("there")).await.is_ok();
        assert_eq!((done, rule.fired()), wanted, "head, {status}");
        rule.remove();
    }
}

#[tokio::test]
async fn f81_connections_that_break_are_tried_again() {
    let server = server();
    let proxy = FaultProxy::start(&server.endpoint());
    let storage = opened(at(&server, proxy.endpoint())).await;
    let version = written(put(&storage, "a", "one", PutMode::Create).await);
    for fault in [ProxyFault::ResetBefore, ProxyFault::DropAnswer] {
        for method in ["GET", "POST"] {
            proxy.inject(ProxyRule::new(fault.clone()).method(method).times(2));
        }
        assert_eq!(storage.read(&key("a")).await.expect("read").0, "one");
        written(put(&storage, "b", "two", PutMode::Overwrite).await);
        proxy.clear();
    }
    // The connection of gRPC carries several requests, and all of them break with it.
    for fault in [Fault::Reset, Fault::ResetAfter] {
        for verb in [Verb::Head, Verb::List, Verb::Copy] {
            next(&server, verb, fault.clone());
        }
        assert_eq!(
            storage.head(&key("a")).await.expect("there").version,
            version
        );
        let listed = storage.list_all(&Default::default()).await.expect("listed");
        assert_eq!(listed.len(), 2);
        let (from, to) = (key("a"), key("b"));
        written(storage.copy(&from, &to, PutMode::Overwrite.into()).await);
    }
}

#[tokio::test]
async fn f81_a_server_that_is_not_there_has_done_nothing() {
    // A port that no server listens on.
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = port.local_addr().expect("an address");
    drop(port);
    let storage = GcsBuilder::new("bucket")
        .endpoint(format!("http://{address}"))
        .settings(settings());
    let storage = opened(storage).await;
    let outcome = put(&storage, "a", "one", PutMode::Create).await;
    assert!(
        matches!(outcome, Err(StorageError::Unavailable { .. })),
        "{outcome:?}"
    );
    let deleted = storage.delete_one(key("a").into()).await;
    assert!(
        matches!(deleted, Err(StorageError::Unavailable { .. })),
        "{deleted:?}"
    );
}

/// Hands out tokens by number, and counts.
#[derive(Debug, Default)]
struct Vault {
    fetched: AtomicUsize,
    closed: bool,
}

#[async_trait]
impl TokenSource for Vault {
    async fn fetch(&self) -> Result<Token, BoxError> {
        let number = self.fetched.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        match number {
            0 => Ok(Token::new("SECRET-1")),
            _ if self.closed => Err("the vault is closed".into()),
            _ => Ok(Token::new("SECRET-2")),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f87_a_token_that_expires_is_renewed_once_for_all() {
    let server = GcsServer::start(GcsOptions {
        tokens: vec!["SECRET-1".to_owned(), "SECRET-2".to_owned()],
        ..GcsOptions::default()
    });
    let vault = Arc::new(Vault::default());
    let storage = opened(builder(&server).token_source(Arc::clone(&vault) as _)).await;
    let closed = builder(&server).token_source(Arc::new(Vault {
        closed: true,
        ..Vault::default()
    }));
    let closed = opened(closed).await;
    written(put(&storage, "a", "x", PutMode::Create).await);
    assert_eq!(closed.read(&key("a")).await.expect("read").0, "x");
    let now = server.world().now();
    server.switches().set(|it: &mut Behaviour| {
        it.credentials_until
            .insert("Bearer SECRET-1".to_owned(), now);
    });
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let storage = storage.clone();
            tokio::spawn(async move { storage.read(&key("a")).await })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic").expect("read");
    }
    assert_eq!(vault.fetched.load(Ordering::SeqCst), 2);
    let error = closed.read(&key("a")).await.expect_err("no token");
    assert_eq!(setting_in(&error), Some("credentials"), "{error:?}");
    let shown = format!("{error} {error:?} {storage:?} {:?}", server.requests());
    assert!(!shown.contains("SECRET"), "{shown}");
}

fn setting_in(error: &StorageError) -> Option<&'static str> {
    match error {
        StorageError::Misconfigured { setting, .. } => Some(setting),
        _ => None,
    }
}

#[tokio::test]
async fn f87_f89_what_to_change_is_named_and_no_secret_shown() {
    let server = GcsServer::start(GcsOptions {
        tokens: vec!["good".to_owned()],
        ..GcsOptions::default()
    });
    let ask = async |builder: GcsBuilder| {
        let storage = opened(builder.endpoint(server.endpoint()).settings(settings())).await;
        let listed = storage.list_all(&Default::default()).await;
        let stored = put(&storage, "a", "x", PutMode::Overwrite).await;
        let errors = [listed.expect_err("refused"), stored.expect_err("refused")];
        let shown = format!("{storage:?} {errors:?} {} {}", errors[0], errors[1]);
        assert!(!shown.contains("SECRET"), "{shown}");
        errors
    };
    for error in ask(GcsBuilder::new(server.bucket()).token("SECRET")).await {
        assert_eq!(setting_in(&error), Some("credentials"), "{error:?}");
    }
    for error in ask(GcsBuilder::new("elsewhere").token("good")).await {
        assert_eq!(setting_in(&error), Some("bucket"), "{error:?}");
    }
    // Another project's bucket, or one that its owner does not pay for.
    let good = || GcsBuilder::new(server.bucket()).token("good");
    let refused = |status: u16, said: &str| {
        server.switches().clear();
        let rule = Rule::new(Fault::Refuse(Answer::new(status, said)));
        server.switches().inject(rule);
    };
    refused(403, "forbidden");
    for error in ask(good()).await {
        assert!(
            matches!(error, StorageError::PermissionDenied { .. }),
            "{error:?}"
        );
    }
    refused(
        400,
        "Bucket is requester pays bucket but no user project provided.",
    );
    for error in ask(good()).await {
        assert_eq!(setting_in(&error), Some("user_project"), "{error:?}");
    }
}

#[tokio::test]
async fn f90_a_redirect_to_another_host_is_not_followed() {
    let server = server();
    let elsewhere = FileServer::in_memory();
    elsewhere.put("bucket/a", "another user's");
    let proxy = FaultProxy::start(&server.endpoint());
    let storage = opened(at(&server, proxy.endpoint()).token("SECRET")).await;
    written(put(&storage, "a", "one", PutMode::Create).await);
    for status in [301, 302, 307, 308] {
        let to = elsewhere.url("bucket/a");
        proxy.clear();
        proxy.inject(ProxyRule::new(ProxyFault::Redirect(status, to)));
        let read = storage.read(&key("a")).await;
        assert!(read.is_err(), "{status}: {read:?}");
        let outcome = put(&storage, "b", "x", PutMode::Create).await;
        assert!(
            !matches!(outcome, Ok(PutOutcome::Written(_))),
            "{status}: {outcome:?}"
        );
    }
    assert!(elsewhere.requests().is_empty(), "no request was sent there");
}

/// A clock by which the store lives, too: a pause of the client lets the store's time pass at once. Nothing here
/// is ever late, so what is waited for as long as for a time-out does not come.
#[derive(Debug)]
struct Shared {
    world: Arc<World>,
    start: SystemTime,
}

impl Clock for Shared {
    fn now(&self) -> SystemTime {
        self.world.now()
    }

    fn monotonic(&self) -> Duration {
        let since = self.world.now().duration_since(self.start);
        since.unwrap_or_default()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        if duration >= RemoteSettings::default().stall_timeout {
            return Box::pin(std::future::pending());
        }
        self.world.move_clock_forward(duration);
        Box::pin(tokio::task::yield_now())
    }
}

#[tokio::test]
async fn f91_one_write_a_second_is_spaced_and_all_writes_land() {
    const WRITES: u64 = 50;
    let server = server();
    let world = Arc::clone(server.world());
    let start = world.now();
    let clock = Arc::new(Shared { world, start });
    server
        .switches()
        .set(|it: &mut Behaviour| it.one_write_a_second = true);
    let storage = builder(&server)
        .settings(RemoteSettings::default().trusting_conditions())
        .clock(Arc::clone(&clock) as _)
        .entropy(Arc::new(SeededEntropy::new(91)));
    let storage = opened(storage).await;
    let mut version = written(put(&storage, "a", "0", PutMode::Create).await);
    let mut most = 0;
    for number in 1..WRITES {
        let before = asked(&server, Verb::Write).len();
        let update = PutMode::Update(version);
        version = written(put(&storage, "a", number.to_string(), update).await);
        most = most.max(asked(&server, Verb::Write).len() - before);
    }
    assert_eq!(server.world().writes(), WRITES);
    assert_eq!(storage.read(&key("a")).await.expect("read").0, "49");
    let attempts = asked(&server, Verb::Write).len();
    assert!(most <= 12, "{most} attempts of one write");
    assert!(attempts <= 8 * WRITES as usize, "{attempts} attempts");
    let took = clock.monotonic();
    println!(
        "{WRITES} writes to one object: {attempts} attempts, {most} at most for one, {took:?} of the store's time"
    );
}

#[tokio::test]
async fn f92_the_client_repeats_nothing_by_itself() {
    let server = server();
    let once = settings().with_retry(RetrySettings::default().with_attempts(1));
    let storage = opened(builder(&server).settings(once)).await;
    written(put(&storage, "a", "one", PutMode::Overwrite).await);
    let large = vec![7; 16 << 20];
    for fault in [
        Fault::Refuse(Answer::new(503, "backendError")),
        Fault::Reset,
    ] {
        for verb in [
            Verb::Write,
            Verb::BeginUpload,
            Verb::CompleteUpload,
            Verb::Read,
            Verb::Head,
            Verb::Delete,
            Verb::List,
            Verb::Copy,
        ] {
            let before = asked(&server, verb).len();
            let rule = server.switches().inject(Rule::new(fault.clone()).on(verb));
            let done = fails(&storage, verb, &large).await;
            assert!(done, "{verb:?}, {fault:?}");
            assert_eq!(
                asked(&server, verb).len(),
                before + 1,
                "{verb:?}, {fault:?}"
            );
            rule.remove();
            connected(&storage).await;
        }
    }
}

/// Comes back once calls get through: that a connection broke is found out by the next call, which then never reaches
/// the server.
async fn connected(storage: &RemoteStorage) {
    for _ in 0..100 {
        let list = storage.list_all(&Default::default()).await;
        let head = storage.head(&key("a")).await;
        if list.is_ok() && head.is_ok() {
            return;
        }
    }
    panic!("no call gets through");
}

/// Has a request of this verb sent, and returns whether it failed.
async fn fails(storage: &RemoteStorage, verb: Verb, large: &[u8]) -> bool {
    let failed = |outcome| !matches!(outcome, Ok(PutOutcome::Written(_)));
    match verb {
        Verb::Write => failed(put(storage, "b", "two", PutMode::Overwrite).await),
        Verb::BeginUpload | Verb::CompleteUpload => {
            failed(put(storage, "b", large.to_vec(), PutMode::Overwrite).await)
        }
        Verb::Read => storage.read(&key("a")).await.is_err(),
        Verb::Head => storage.head(&key("a")).await.is_err(),
        Verb::List => storage.list_all(&Default::default()).await.is_err(),
        Verb::Delete => {
            let deleted = storage.delete_one(key("a").into()).await;
            !matches!(deleted, Ok(DeleteOutcome::Deleted))
        }
        _ => failed(
            storage
                .copy(&key("a"), &key("b"), PutMode::Overwrite.into())
                .await,
        ),
    }
}

#[tokio::test]
async fn f93_a_delete_of_what_is_not_there_is_done() {
    let server = server();
    let storage = open(&server).await;
    written(put(&storage, "a", "one", PutMode::Create).await);
    let keys = ["a", "missing", "a"].map(|at| Deletion::from(key(at)));
    let answers: Vec<_> = storage
        .delete(futures::stream::iter(keys).boxed())
        .collect()
        .await;
    for (at, answer) in &answers {
        assert!(
            matches!(answer, Ok(DeleteOutcome::Deleted)),
            "{at}: {answer:?}"
        );
    }
    // Of one state, it is not.
    let one_state = Deletion::of(key("missing"), Version::new("1700000000000000"));
    let refused = storage.delete_one(one_state).await;
    assert!(matches!(refused, Ok(DeleteOutcome::Refused)), "{refused:?}");
    // The service itself has said that there is nothing.
    let said: Vec<_> = asked(&server, Verb::Delete);
    assert_eq!(said.len(), 4);
    // A bucket that is not there is another matter.
    let elsewhere = GcsBuilder::new("elsewhere")
        .endpoint(server.endpoint())
        .settings(settings());
    let elsewhere = opened(elsewhere).await;
    let error = elsewhere.delete_one(key("a").into()).await;
    assert_eq!(
        error.as_ref().err().and_then(setting_in),
        Some("bucket"),
        "{error:?}"
    );
}
