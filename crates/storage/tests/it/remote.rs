//! Stores behind a network, without one: a store in memory whose requests fail as they are told to.
//!
//! The conformance suite holds on it also while one request in ten fails, before its effect or after it.

mod scripted;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use icefield_storage::conformance::{Effort, failures};
use icefield_storage::remote::{
    Answer, Deleted, Fault, FaultKind, Limits, Page, Remote, RemoteSettings, RemoteStorage,
    RetrySettings, Stored, WriteRequest,
};
use icefield_storage::{
    Bytes, Capabilities, Clock, CopyOptions, Deletion, GetOptions, GetRange, Key, ListOptions,
    Object, Payload, PutMode, PutOptions, PutOutcome, SeededEntropy, Storage, StorageError,
    StorageExt, SystemClock,
};

use scripted::{Fate, Scripted};

fn quick() -> RemoteSettings {
    let retry = RetrySettings::default()
        .with_pauses(Duration::ZERO, Duration::ZERO)
        .with_rate(1_000_000, 1_000_000);
    RemoteSettings::default()
        .with_retry(retry)
        .with_multipart(1 << 19, 1 << 18)
        .with_parallel_reads(1 << 20)
}

fn effort() -> Effort {
    Effort {
        racers: 8,
        rounds: 10,
        many: 510,
        large: 2 << 20,
        ..Effort::default()
    }
}

fn key(text: &str) -> Key {
    Key::parse(text).expect("a valid key")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_promise_holds() {
    let fresh = |_: &str| {
        let remote = Scripted::new(|_, _| Fate::Fine);
        let storage: Arc<dyn Storage> = Arc::new(RemoteStorage::new(remote, quick()));
        async move { storage }
    };
    let failed = failures(fresh, &effort()).await;
    assert!(failed.is_empty(), "{failed:#?}");
}

/// A write whose object is replaced at once, while its answer is lost, is in doubt: these cases do not allow for it.
const WITHOUT_DOUBT: [&str; 3] = [
    "racing_update_and_delete_have_one_winner",
    "racing_create_and_overwrite_agree",
    "counted_updates_are_never_lost",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_promise_holds_while_requests_fail() {
    let seeds = AtomicU64::new(1);
    let failed_requests = Arc::new(AtomicU64::new(0));
    let fresh = |_: &str| {
        let random = SeededEntropy::new(seeds.fetch_add(1, Ordering::SeqCst));
        let counted = Arc::clone(&failed_requests);
        let script = move |action: &'static str, _| {
            let kind = match random.below(3) {
                0 => FaultKind::Throttled,
                1 if !matches!(action, "write" | "complete" | "delete") => FaultKind::InDoubt,
                _ => FaultKind::NotDone,
            };
            let fate = match (random.below(20), kind) {
                (0, kind) => Fate::Before(kind),
                (1, _) if action != "delete" => Fate::After(FaultKind::InDoubt),
                _ => Fate::Fine,
            };
            counted.fetch_add(u64::from(fate != Fate::Fine), Ordering::SeqCst);
            fate
        };
        let storage: Arc<dyn Storage> =
            Arc::new(RemoteStorage::new(Scripted::new(script), quick()));
        async move { storage }
    };
    let mut failed = failures(fresh, &effort()).await;
    failed.retain(|(name, _)| !WITHOUT_DOUBT.contains(name));
    assert!(failed.is_empty(), "{failed:#?}");
    println!("{} requests failed", failed_requests.load(Ordering::SeqCst));
}

/// Patient as by default, on tokio's paused clock, with a fixed seed.
fn patient(remote: Scripted, settings: RemoteSettings) -> RemoteStorage {
    let entropy = Arc::new(SeededEntropy::new(1));
    RemoteStorage::with_sources(
        remote,
        settings.trusting_conditions(),
        Arc::new(PausedClock),
        entropy,
    )
}

/// Tokio's clock, also for measuring: paused, it stands still until all wait.
#[derive(Debug)]
struct PausedClock;

impl Clock for PausedClock {
    fn now(&self) -> std::time::SystemTime {
        std::time::UNIX_EPOCH
    }

    fn monotonic(&self) -> Duration {
        static START: std::sync::OnceLock<tokio::time::Instant> = std::sync::OnceLock::new();
        tokio::time::Instant::now() - *START.get_or_init(tokio::time::Instant::now)
    }

    fn sleep(&self, duration: Duration) -> futures::future::BoxFuture<'static, ()> {
        SystemClock.sleep(duration)
    }
}

#[tokio::test(start_paused = true)]
async fn f79_a_minute_of_refusals_is_waited_for_without_a_flood() {
    const CALLS: u64 = 50;
    let end = tokio::time::Instant::now() + Duration::from_secs(60);
    let remote = Scripted::new(move |_, _| match tokio::time::Instant::now() < end {
        true => Fate::Before(FaultKind::Throttled),
        false => Fate::Fine,
    });
    let storage = patient(remote.clone(), RemoteSettings::default());
    let calls = (0..CALLS).map(|number| {
        let (storage, at) = (storage.clone(), key(&format!("k{number}")));
        tokio::spawn(async move {
            storage
                .put(&at, "x".into(), PutOptions::mode(PutMode::Create))
                .await
        })
    });
    for outcome in futures::future::join_all(calls).await {
        let outcome = outcome.expect("no panic");
        assert!(matches!(outcome, Ok(PutOutcome::Written(_))), "{outcome:?}");
    }
    let attempts = remote.requests();
    // Each call at first, a hundred at once, then twenty a second for not much longer than the storm.
    assert!(attempts <= CALLS + 100 + 20 * 75, "{attempts} attempts");
    assert!(
        attempts <= CALLS * 20,
        "{attempts} attempts, twenty for a call at most"
    );
    println!("{CALLS} calls in a minute of refusals: {attempts} attempts");
    let before = remote.requests();
    storage.read(&key("k0")).await.expect("everything goes on");
    assert_eq!(remote.requests(), before + 1);
}

#[tokio::test(start_paused = true)]
async fn f79_f92_a_storm_without_end_is_a_typed_error_within_the_deadline() {
    let remote = Scripted::new(|_, _| Fate::Before(FaultKind::Throttled));
    let retry = RetrySettings::default().with_attempts(1000);
    let storage = patient(remote, RemoteSettings::default().with_retry(retry));
    let begun = tokio::time::Instant::now();
    let error = storage.read(&key("a")).await.expect_err("never");
    assert!(matches!(error, StorageError::Throttled { .. }), "{error:?}");
    assert!(
        begun.elapsed() <= Duration::from_secs(180),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn f84_silence_is_given_up_and_a_write_in_it_is_in_doubt() {
    let remote = Scripted::new(|action, _| match action {
        "write" => Fate::Silence,
        _ => Fate::Fine,
    });
    let storage = patient(remote, RemoteSettings::default().with_requests(2));
    let begun = tokio::time::Instant::now();
    let (at, create) = (key("a"), PutOptions::mode(PutMode::Create));
    let outcome = storage.put(&at, "x".into(), create).await;
    assert!(matches!(outcome, Ok(PutOutcome::Unknown(_))), "{outcome:?}");
    assert!(
        begun.elapsed() < Duration::from_secs(300),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(storage.free_requests(), 2);
}

#[tokio::test(start_paused = true)]
async fn f84_a_stream_is_given_up_when_the_store_stalls_not_when_its_source_does() {
    let slowly = || {
        let parts = futures::stream::iter(0..5).then(|_| async {
            SystemClock.sleep(Duration::from_secs(600)).await;
            Ok(Bytes::from_static(b"part"))
        });
        Payload::Stream {
            size: None,
            stream: parts.boxed(),
        }
    };
    let settings = RemoteSettings::default().with_multipart(1, 1);
    let put = async |fate| {
        let remote = Scripted::new(move |action, _| match action {
            "write a stream" => fate,
            _ => Fate::Fine,
        });
        let storage = patient(remote.in_streams(), settings.clone());
        let create = PutOptions::mode(PutMode::Create);
        let outcome = storage.put(&key("a"), slowly(), create).await;
        (outcome, storage.free_requests())
    };
    let begun = tokio::time::Instant::now();
    let (outcome, free) = put(Fate::Fine).await;
    assert!(matches!(outcome, Ok(PutOutcome::Written(_))), "{outcome:?}");
    assert_eq!(free, settings.requests);
    assert!(begun.elapsed() >= Duration::from_secs(3000));
    let begun = tokio::time::Instant::now();
    let (outcome, free) = put(Fate::Silence).await;
    assert!(matches!(outcome, Ok(PutOutcome::Unknown(_))), "{outcome:?}");
    assert_eq!(free, settings.requests);
    // The time that the source takes, and then one attempt's time.
    let most = Duration::from_secs(3000) + 2 * settings.attempt_timeout;
    assert!(begun.elapsed() < most, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn who_is_not_there_is_given_up_soon_unless_he_was_there_before() {
    let gone = |from| {
        move |_: &'static str, request| match request >= from {
            true => Fate::Before(FaultKind::Unreachable),
            false => Fate::Fine,
        }
    };
    let attempts = RetrySettings::default().contact_attempts;
    let remote = Scripted::new(gone(0));
    let storage = patient(remote.clone(), RemoteSettings::default());
    let error = storage
        .read(&key("a"))
        .await
        .expect_err("no server is there");
    assert!(
        matches!(error, StorageError::Unavailable { .. }),
        "{error:?}"
    );
    assert_eq!(remote.requests(), u64::from(attempts));

    let remote = Scripted::new(gone(1));
    let storage = patient(remote.clone(), RemoteSettings::default());
    let missing = storage.read(&key("a")).await.expect_err("it is empty");
    assert!(missing.is_not_found(), "{missing:?}");
    storage
        .read(&key("a"))
        .await
        .expect_err("no server is there");
    assert!(remote.requests() > u64::from(3 * attempts));
}

#[tokio::test(start_paused = true)]
async fn f84_a_body_that_drips_is_given_up() {
    let remote = Scripted::new(|action, _| match action {
        "read" => Fate::Drip,
        _ => Fate::Fine,
    });
    let storage = patient(remote, RemoteSettings::default().with_requests(1));
    let at = key("a");
    let bytes = Bytes::from(vec![7; 100_000]);
    let create = PutOptions::mode(PutMode::Create);
    let outcome = storage.put(&at, bytes.into(), create).await;
    assert!(matches!(outcome, Ok(PutOutcome::Written(_))), "{outcome:?}");
    let begun = tokio::time::Instant::now();
    let error = storage.read(&at).await.expect_err("a byte in 19 s");
    assert!(
        matches!(error, StorageError::Unavailable { .. }),
        "{error:?}"
    );
    assert!(
        begun.elapsed() < Duration::from_secs(300),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(storage.free_requests(), 1);
}

/// The end of an object is one body, however long: it must not be kept in memory for a reader that never comes.
#[tokio::test(start_paused = true)]
async fn a_long_body_is_not_read_ahead_of_its_reader() {
    let remote = Scripted::new(|action, _| match action {
        "read" => Fate::Drip,
        _ => Fate::Fine,
    });
    let settings = RemoteSettings::default()
        .with_multipart(1 << 22, 1 << 18)
        .with_parallel_reads(1 << 18);
    let storage = patient(remote.clone(), settings);
    let (at, bytes) = (key("a"), Bytes::from(vec![7; 3 << 20]));
    let create = PutOptions::mode(PutMode::Create);
    let outcome = storage.put(&at, bytes.into(), create).await;
    assert!(matches!(outcome, Ok(PutOutcome::Written(_))), "{outcome:?}");
    let suffix = GetOptions::range(GetRange::Suffix(2 << 20));
    let object = storage.get(&at, suffix).await.expect("there");
    SystemClock.sleep(Duration::from_secs(60)).await;
    assert_eq!(remote.dripped(), 0, "no caller has asked for a byte");
    drop(object);
    // A bounded range comes by itself.
    let object = storage.get(&at, GetOptions::default()).await;
    let object = object.expect("there");
    SystemClock.sleep(Duration::from_secs(60)).await;
    assert!(remote.dripped() > 0);
    drop(object);
}

/// A reader that waits for a permit must not hold one: with one request in flight nothing else would ever end.
#[tokio::test(start_paused = true)]
async fn one_request_at_a_time_is_enough_to_copy_what_is_large() {
    for in_streams in [false, true] {
        let remote = Scripted::new(|_, _| Fate::Fine);
        let remote = match in_streams {
            true => remote.in_streams(),
            false => remote,
        };
        let settings = RemoteSettings::default()
            .with_requests(1)
            .with_multipart(1 << 19, 1 << 18)
            .with_parallel_reads(1 << 19);
        let storage = patient(remote, settings);
        let bytes = Bytes::from((0..3 << 20).map(|at| (at % 251) as u8).collect::<Vec<_>>());
        let (from, to) = (key("from"), key("to"));
        let create = || PutOptions::mode(PutMode::Create);
        let outcome = storage.put(&from, bytes.clone().into(), create()).await;
        assert!(matches!(outcome, Ok(PutOutcome::Written(_))), "{outcome:?}");
        let copied = storage.copy(&from, &to, CopyOptions::default()).await;
        assert!(matches!(copied, Ok(PutOutcome::Written(_))), "{copied:?}");
        assert_eq!(storage.read(&to).await.expect("there").0, bytes);
        // A body that is not read holds nothing, either.
        let object = storage.get(&to, GetOptions::default()).await;
        let object = object.expect("there");
        assert_eq!(storage.read(&from).await.expect("there").0, bytes);
        assert_eq!(object.bytes().await.expect("whole"), bytes);
        assert_eq!(storage.free_requests(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn f79_calls_that_gave_up_owe_nothing_to_those_that_follow() {
    const CALLS: usize = 10_000;
    let begun = tokio::time::Instant::now();
    let storm = begun + Duration::from_secs(10);
    let remote = Scripted::new(
        move |_, request| match tokio::time::Instant::now() < storm {
            true => Fate::Before(FaultKind::Throttled),
            // Now and then something goes wrong later, too.
            false if request % 2 == 0 => Fate::Before(FaultKind::Throttled),
            false => Fate::Fine,
        },
    );
    let storage = patient(remote, RemoteSettings::default());
    let calls = (0..CALLS).map(|_| {
        let storage = storage.clone();
        tokio::spawn(async move { storage.read(&key("a")).await.is_err() })
    });
    futures::future::join_all(calls).await;
    let missing = storage.read(&key("a")).await.expect_err("it is empty");
    assert!(missing.is_not_found(), "{missing:?}");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_completion_is_not_cleaned_up() {
    let completes = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&completes);
    let remote = Scripted::new(move |action, _| match action {
        "complete" => {
            seen.fetch_add(1, Ordering::SeqCst);
            Fate::Silence
        }
        "abort" => panic!("it may have become an object"),
        _ => Fate::Fine,
    });
    let storage = patient(
        remote,
        RemoteSettings::default().with_multipart(1 << 18, 1 << 18),
    );
    let writing = {
        let storage = storage.clone();
        let bytes = Bytes::from(vec![1; 1 << 20]);
        tokio::spawn(async move {
            let create = PutOptions::mode(PutMode::Create);
            storage.put(&key("a"), bytes.into(), create).await
        })
    };
    while completes.load(Ordering::SeqCst) == 0 {
        SystemClock.sleep(Duration::from_millis(1)).await;
    }
    writing.abort();
    assert!(writing.await.expect_err("dropped").is_cancelled());
    SystemClock.sleep(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn a13_a_store_that_ignores_conditions_is_found_out() {
    #[derive(Clone, Debug)]
    struct Careless(Scripted);

    impl fmt::Display for Careless {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a careless store")
        }
    }

    #[async_trait]
    impl Remote for Careless {
        fn capabilities(&self) -> Capabilities {
            self.0.capabilities()
        }
        fn place(&self) -> String {
            self.0.place()
        }
        fn limits(&self) -> Limits {
            self.0.limits()
        }
        fn is_known_to_honour_conditions(&self) -> bool {
            false
        }
        async fn get(
            &self,
            key: &Key,
            options: &GetOptions,
            most: Option<u64>,
        ) -> Result<Object, Fault> {
            self.0.get(key, options, most).await
        }
        async fn head(&self, key: &Key) -> Result<Stored, Fault> {
            self.0.head(key).await
        }
        async fn put(
            &self,
            key: &Key,
            bytes: Bytes,
            write: &WriteRequest,
        ) -> Result<Answer, Fault> {
            let mut write = write.clone();
            // Create is honoured, Update is not: some stores are like that.
            if let PutMode::Update(_) = write.mode {
                write.mode = PutMode::Overwrite;
            }
            self.0.put(key, bytes, &write).await
        }
        async fn delete(&self, deletion: &Deletion) -> Deleted {
            self.0.delete(deletion).await
        }
        async fn list(&self, options: &ListOptions, token: Option<&str>) -> Result<Page, Fault> {
            self.0.list(options, token).await
        }
    }

    let remote = Careless(Scripted::new(|_, _| Fate::Fine));
    let storage = RemoteStorage::new(remote.clone(), quick());
    let put = storage
        .put(&key("a"), "x".into(), PutOptions::mode(PutMode::Create))
        .await;
    match put {
        Err(StorageError::Unsupported { what, .. }) => assert!(what.contains("If-Match"), "{what}"),
        other => panic!("{other:?}"),
    }
    assert!(
        storage
            .list_all(&Default::default())
            .await
            .expect("listed")
            .is_empty()
    );
    let trusting = RemoteStorage::new(remote, quick().trusting_conditions());
    let put = trusting
        .put(&key("a"), "x".into(), PutOptions::mode(PutMode::Create))
        .await;
    assert!(matches!(put, Ok(PutOutcome::Written(_))), "{put:?}");
}
