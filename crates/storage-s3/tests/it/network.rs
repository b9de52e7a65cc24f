//! Storms, broken bodies, credentials that expire: what a network does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use icefield_storage::remote::RetrySettings;
use icefield_storage::{
    BoxError, Clock, GetOptions, GetRange, PutMode, PutOutcome, Storage, StorageError, StorageExt,
    SystemClock,
};
use icefield_storage_s3::{CredentialSource, Credentials};
use icefield_testservers::{
    Answer, Behaviour, Fault, FaultProxy, FileServer, ProxyFault, ProxyRule, Rule, Verb,
};

use crate::support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f79_a_storm_passes_and_everything_goes_on() {
    let server = server();
    let patient = settings().with_retry(
        RetrySettings::default()
            .with_attempts(200)
            .with_pauses(Duration::from_millis(1), Duration::from_millis(20))
            .with_rate(1000, 100),
    );
    let storage = builder(&server).settings(patient).open().expect("sound");
    server.switches().set(|it: &mut Behaviour| it.storm = 1.0);
    let puts: Vec<_> = (0..20)
        .map(|number| {
            let storage = storage.clone();
            tokio::spawn(
                async move { put(&storage, &format!("k{number}"), "x", PutMode::Create).await },
            )
        })
        .collect();
    // Three seconds, by the real clock.
    SystemClock.sleep(Duration::from_secs(3)).await;
    let stormed = server.requests().len();
    server.switches().set(|it: &mut Behaviour| it.storm = 0.5);
    for put in puts {
        written(put.await.expect("no panic"));
    }
    // A thousand a second at most, and a hundred beforehand.
    assert!(
        stormed <= 20 + 100 + 3300,
        "{stormed} attempts in the storm"
    );
    println!("20 calls, {stormed} attempts in 3 s");
    server.switches().set(|it: &mut Behaviour| it.storm = 1.0);
    let error = put(&open(&server), "a", "x", PutMode::Create)
        .await
        .expect_err("a storm");
    assert!(matches!(error, StorageError::Throttled { .. }), "{error:?}");
}

#[tokio::test]
async fn f80_what_is_tried_again_and_what_is_not() {
    let server = server();
    let storage = open(&server);
    let attempts = async |answer: Answer, verb: Verb| {
        let rule = Rule::new(Fault::Refuse(answer))
            .on(verb)
            .times(u64::from(ATTEMPTS) - 1);
        let rule = server.switches().inject(rule);
        let done = put(&storage, "a", "x", PutMode::Overwrite).await.is_ok();
        let fired = rule.fired();
        rule.remove();
        (done, fired)
    };
    for status in [408, 429, 500, 502, 503, 504] {
        let outcome = attempts(Answer::new(status, "Later"), Verb::Write).await;
        assert_eq!(outcome, (true, u64::from(ATTEMPTS) - 1), "{status}");
    }
    for status in [400, 403, 404, 501] {
        let outcome = attempts(Answer::new(status, "Never"), Verb::Write).await;
        assert_eq!(outcome, (false, 1), "{status}");
    }
}

#[tokio::test]
async fn f81_f82_bodies_that_break_off_are_taken_up_again() {
    let server = server();
    let storage = open(&server);
    let bytes: Vec<u8> = (0..200_000_u32).map(|at| (at % 251) as u8).collect();
    written(put(&storage, "a", bytes.clone(), PutMode::Create).await);
    for range in [
        GetRange::All,
        GetRange::Bounded(1000..150_000),
        GetRange::Suffix(90_000),
    ] {
        let rule = Rule::new(Fault::Truncate(50_000)).on(Verb::Read).times(2);
        let rule = server.switches().inject(rule);
        let object = storage
            .get(&key("a"), range.clone().into())
            .await
            .expect("read");
        let wanted = range.resolve(200_000).expect("inside");
        let (start, end) = (wanted.start as usize, wanted.end as usize);
        assert_eq!(
            object.bytes().await.expect("whole"),
            bytes[start..end],
            "{range:?}"
        );
        assert!(rule.fired() >= 1);
        rule.remove();
    }
    server
        .switches()
        .inject(Rule::new(Fault::Truncate(0)).on(Verb::Read));
    let error = storage
        .read(&key("a"))
        .await
        .expect_err("never a whole body");
    assert!(error.is_retryable(), "{error:?}");
    server.switches().clear();
    let proxy = FaultProxy::start(&server.endpoint());
    let storage = at(&server, proxy.endpoint()).open().expect("sound");
    proxy.inject(ProxyRule::new(ProxyFault::ResetBefore).times(2));
    assert_eq!(storage.read(&key("a")).await.expect("read").0, bytes);
    proxy.inject(ProxyRule::new(ProxyFault::HalfBody).method("GET").times(1));
    assert_eq!(storage.read(&key("a")).await.expect("read").0, bytes);
}

#[tokio::test]
async fn f84_a_body_that_stalls_is_given_up_and_its_place_is_free() {
    let server = server();
    let settings = settings()
        .with_timeouts(Duration::from_secs(5), Duration::from_millis(100))
        .with_requests(3);
    let storage = builder(&server).settings(settings).open().expect("sound");
    written(put(&storage, "a", vec![9; 100_000], PutMode::Create).await);
    let rule = Rule::new(Fault::Stall(30_000)).on(Verb::Read).times(1);
    let rule = server.switches().inject(rule);
    assert_eq!(
        storage.read(&key("a")).await.expect("read").0.len(),
        100_000
    );
    assert_eq!((rule.fired(), storage.free_requests()), (1, 3));
    rule.remove();
    server
        .switches()
        .inject(Rule::new(Fault::Stall(0)).on(Verb::Read));
    let error = storage.read(&key("a")).await.expect_err("nothing comes");
    assert!(
        matches!(error, StorageError::Unavailable { .. }),
        "{error:?}"
    );
    assert_eq!(storage.free_requests(), 3);
}

/// Hands out keys by number, and counts.
#[derive(Debug)]
struct Counting(AtomicUsize, bool);

#[async_trait]
impl CredentialSource for Counting {
    async fn fetch(&self) -> Result<Credentials, BoxError> {
        let number = self.0.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        match number {
            0 => Ok(Credentials::new("test", "testtest")),
            _ if self.1 => Err("the vault is closed".into()),
            _ => Ok(Credentials::new("next", "nextnext")),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f87_credentials_that_expire_are_renewed_once_for_all() {
    let options = icefield_testservers::S3Options {
        more_keys: vec![("next".to_owned(), "nextnext".to_owned())],
        ..Default::default()
    };
    let server = icefield_testservers::S3Server::start(options);
    let source = Arc::new(Counting(AtomicUsize::new(0), false));
    let storage = builder(&server)
        .credential_source(Arc::clone(&source) as _)
        .open();
    let storage = storage.expect("sound");
    written(put(&storage, "a", "x", PutMode::Create).await);
    let now = server.world().now();
    server.switches().set(|it: &mut Behaviour| {
        it.credentials_until
            .insert("Credential=test/".to_owned(), now);
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
    assert_eq!(source.0.load(Ordering::SeqCst), 2);
    let closed = Arc::new(Counting(AtomicUsize::new(0), true));
    let storage = builder(&server)
        .credential_source(closed)
        .open()
        .expect("sound");
    let error = storage.read(&key("a")).await.expect_err("no key");
    assert!(
        matches!(
            error,
            StorageError::Misconfigured {
                setting: "credentials",
                ..
            }
        ),
        "{error:?}"
    );
    assert!(error.to_string().contains("vault"), "{error}");
}

#[tokio::test]
async fn f88_f89_what_to_change_is_named() {
    let server = server();
    let said = async |storage: icefield_storage::remote::RemoteStorage| match storage
        .read(&key("a"))
        .await
        .expect_err("wrong")
    {
        StorageError::Misconfigured { setting, .. } => setting,
        StorageError::PermissionDenied { .. } => "permission",
        other => panic!("{other:?}"),
    };
    let refuse = |answer: Answer| {
        server.switches().clear();
        server.switches().inject(Rule::new(Fault::Refuse(answer)));
    };
    refuse(Answer::time_too_skewed());
    assert_eq!(said(open(&server)).await, "clock");
    refuse(Answer::wrong_region());
    assert_eq!(said(open(&server)).await, "region");
    refuse(Answer::expired_token().with_status(400));
    assert_eq!(said(open(&server)).await, "credentials");
    server.switches().clear();
    let elsewhere = icefield_storage_s3::S3Builder::new("no-such-bucket")
        .endpoint(server.endpoint())
        .credentials(Credentials::new(server.access_key(), server.secret_key()))
        .settings(settings());
    assert_eq!(said(elsewhere.open().expect("sound")).await, "bucket");
    let stranger = builder(&server).credentials(Credentials::new("who", "hidden"));
    assert_eq!(said(stranger.open().expect("sound")).await, "credentials");
    let anonymous = builder(&server).anonymous().open().expect("sound");
    assert_eq!(said(anonymous).await, "permission");
}

#[tokio::test]
async fn f90_a_redirect_to_another_host_is_not_followed() {
    let server = server();
    let elsewhere = FileServer::in_memory();
    let proxy = FaultProxy::start(&server.endpoint());
    let storage = at(&server, proxy.endpoint()).open().expect("sound");
    for status in [301, 302, 307, 308] {
        let to = elsewhere.url("bucket/a");
        proxy.clear();
        proxy.inject(ProxyRule::new(ProxyFault::Redirect(status, to)));
        assert!(storage.read(&key("a")).await.is_err(), "{status}");
        let outcome = put(&storage, "a", "x", PutMode::Create).await;
        assert!(
            !matches!(outcome, Ok(PutOutcome::Written(_))),
            "{outcome:?}"
        );
    }
    assert!(elsewhere.requests().is_empty(), "no request was sent there");
}

#[tokio::test]
async fn f85_an_old_state_is_seen_to_be_another_one() {
    let server = server();
    let storage = open(&server);
    let first = written(put(&storage, "a", "one", PutMode::Create).await);
    let second = written(put(&storage, "a", "two", PutMode::Update(first.clone())).await);
    server
        .switches()
        .inject(Rule::new(Fault::StaleRead(1)).on(Verb::Read).times(1));
    let options = GetOptions::default().with_if_match(second);
    let read = storage
        .get(&key("a"), options)
        .await
        .map(|object| object.meta.version);
    assert!(
        matches!(read, Err(StorageError::PreconditionFailed { .. })),
        "{read:?}"
    );
}
