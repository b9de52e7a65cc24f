//! Stores behind a network, without one: a store in memory whose requests fail as they are told to.
//!
//! The conformance suite holds on it also while one request in ten fails, before its effect or after it.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use icefield_storage::conformance::{Effort, failures};
use icefield_storage::remote::{
    Answer, Deleted, Fault, FaultKind, Limits, Page, Part, Remote, RemoteSettings, RemoteStorage,
    RetrySettings, Stored, Upload, WriteRequest,
};
use icefield_storage::{
    Body, Bytes, Capabilities, Clock, Deletion, GetOptions, GetRange, Key, KeyForm, ListOptions,
    Object, PutMode, PutOptions, PutOutcome, SeededEntropy, Storage, StorageError, StorageExt,
    SystemClock,
};
use icefield_storage_memory::MemoryStorage;

/// What happens to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Fine,
    Before(FaultKind),
    After(FaultKind),
    Silence,
}

type Script = dyn Fn(&'static str, u64) -> Fate + Send + Sync;

/// Ids of writes, and parts of uploads.
#[derive(Default)]
struct Notes {
    ids: HashMap<Key, (icefield_storage::Version, String)>,
    uploads: BTreeMap<String, BTreeMap<u32, Bytes>>,
}

#[derive(Clone)]
struct Scripted {
    memory: MemoryStorage,
    notes: Arc<Mutex<Notes>>,
    script: Arc<Script>,
    requests: Arc<AtomicU64>,
}

impl Scripted {
    fn new(script: impl Fn(&'static str, u64) -> Fate + Send + Sync + 'static) -> Self {
        Self {
            memory: MemoryStorage::new(),
            notes: Arc::default(),
            script: Arc::new(script),
            requests: Arc::default(),
        }
    }

    fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }

    async fn send<T>(
        &self,
        action: &'static str,
        work: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        self.send_unless(action, |_| false, work).await
    }

    /// As [`Scripted::send`]; an answer that is `refused` is never lost.
    async fn send_unless<T>(
        &self,
        action: &'static str,
        refused: impl Fn(&T) -> bool,
        work: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let fate = (self.script)(action, self.requests.fetch_add(1, Ordering::SeqCst));
        let fault = |kind| {
            let (target, source) = ("the script".to_owned(), "as told".into());
            let error = match kind {
                FaultKind::Throttled => StorageError::Throttled {
                    action,
                    target,
                    source,
                },
                _ => StorageError::Unavailable {
                    action,
                    target,
                    source,
                },
            };
            Err(Fault::new(kind, error))
        };
        match fate {
            Fate::Fine => work.await,
            Fate::Before(kind) => fault(kind),
            // Of a write, only an answer that says "done" is lost: a refusal after an attempt in doubt is in
            // doubt itself, which the suite does not allow for.
            Fate::After(kind) => match work.await {
                Ok(answer) if refused(&answer) => Ok(answer),
                _ => fault(kind),
            },
            Fate::Silence => std::future::pending().await,
        }
    }

    async fn write(&self, key: &Key, bytes: Bytes, write: &WriteRequest) -> Result<Answer, Fault> {
        let options = PutOptions::mode(write.mode.clone());
        match self.memory.put(key, bytes.into(), options).await? {
            PutOutcome::Written(written) => {
                let id = (written.version.clone(), write.write_id.clone());
                self.notes
                    .lock()
                    .expect("unpoisoned")
                    .ids
                    .insert(key.clone(), id);
                Ok(Answer::Done(written))
            }
            PutOutcome::Refused => Ok(Answer::Refused),
            PutOutcome::Unknown(error) => Err(Fault::new(FaultKind::InDoubt, error)),
        }
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted")
    }
}

impl fmt::Display for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a scripted store")
    }
}

#[async_trait]
impl Remote for Scripted {
    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::full(KeyForm::Raw);
        capabilities.durable = false;
        capabilities
    }

    fn place(&self) -> String {
        "scripted".to_owned()
    }

    fn limits(&self) -> Limits {
        Limits::whole(4 << 20)
            .with_parts(1 << 18, 100)
            .with_delete_keys(7)
    }

    fn is_known_to_honour_conditions(&self) -> bool {
        false
    }

    async fn get(
        &self,
        key: &Key,
        options: &GetOptions,
        at_most: Option<u64>,
    ) -> Result<Object, Fault> {
        self.send("read", async {
            let mut object = self.memory.get(key, options.clone()).await?;
            let most = at_most.filter(|_| !matches!(options.range, GetRange::Suffix(_)));
            if let (Some(most), Body::Bytes(bytes)) = (most, &mut object.body) {
                let end = object.range.end.min(object.range.start + most);
                bytes.truncate((end - object.range.start) as usize);
                object.range.end = end;
            }
            Ok(object)
        })
        .await
    }

    async fn head(&self, key: &Key) -> Result<Stored, Fault> {
        self.send("look", async {
            let meta = self.memory.head(key).await?;
            let notes = self.notes.lock().expect("unpoisoned");
            let id = notes
                .ids
                .get(key)
                .filter(|(version, _)| *version == meta.version);
            Ok(Stored {
                write_id: id.map(|(_, id)| id.clone()),
                meta,
                etag: None,
            })
        })
        .await
    }

    async fn put(&self, key: &Key, bytes: Bytes, write: &WriteRequest) -> Result<Answer, Fault> {
        let refused = |answer: &Answer| *answer == Answer::Refused;
        let work = self.write(key, bytes, write);
        self.send_unless("write", refused, work).await
    }

    async fn delete(&self, deletion: &Deletion) -> Deleted {
        let work = async { Ok(self.memory.delete_one(deletion.clone()).await?) };
        self.send("delete", work).await
    }

    async fn delete_keys(&self, keys: &[Key]) -> Result<Vec<Deleted>, Fault> {
        assert!(keys.len() <= self.limits().delete_keys);
        self.send("delete", async {
            let deletions = futures::stream::iter(keys.to_vec())
                .map(Deletion::from)
                .boxed();
            let answers: Vec<_> = self.memory.delete(deletions).collect().await;
            Ok(answers
                .into_iter()
                .map(|(_, it)| it.map_err(Fault::from))
                .collect())
        })
        .await
    }

    async fn list(&self, options: &ListOptions, token: Option<&str>) -> Result<Page, Fault> {
        self.send("list", async {
            let mut options = options.clone();
            if let Some(token) = token {
                options.start_after = Some(Key::parse(token).map_err(StorageError::from)?);
            }
            let mut list = self.memory.list(options);
            let mut page = Page::default();
            while page.objects.len() < 100
                && let Some(object) = list.next().await
            {
                page.objects.push(object?);
            }
            if page.objects.len() == 100 {
                page.next = page.objects.last().map(|last| last.key.to_string());
            }
            Ok(page)
        })
        .await
    }

    async fn begin_upload(&self, _: &Key, write: &WriteRequest) -> Result<Upload, Fault> {
        self.send("begin", async {
            let id = format!("{}-{}", write.write_id, self.requests());
            let mut notes = self.notes.lock().expect("unpoisoned");
            notes.uploads.insert(id.clone(), BTreeMap::new());
            Ok(Upload { id })
        })
        .await
    }

    async fn put_part(
        &self,
        _: &Key,
        upload: &Upload,
        number: u32,
        bytes: Bytes,
    ) -> Result<Part, Fault> {
        self.send("part", async {
            let mut notes = self.notes.lock().expect("unpoisoned");
            let parts = notes.uploads.get_mut(&upload.id).expect("it has begun");
            parts.insert(number, bytes);
            let tag = number.to_string();
            Ok(Part { number, tag })
        })
        .await
    }

    async fn complete_upload(
        &self,
        key: &Key,
        upload: &Upload,
        parts: &[Part],
        write: &WriteRequest,
    ) -> Result<Answer, Fault> {
        let refused = |answer: &Answer| *answer == Answer::Refused;
        self.send_unless("complete", refused, async {
            let found = {
                let notes = self.notes.lock().expect("unpoisoned");
                notes.uploads.get(&upload.id).cloned()
            };
            let Some(found) = found else {
                let error = StorageError::NotFound { key: key.clone() };
                return Err(Fault::new(FaultKind::Vanished, error));
            };
            assert!(
                found.keys().copied().eq(1..=parts.len() as u32),
                "all parts, once"
            );
            let bytes: Vec<u8> = found.into_values().flatten().collect();
            let answer = self.write(key, bytes.into(), write).await?;
            if answer != Answer::Refused {
                self.notes
                    .lock()
                    .expect("unpoisoned")
                    .uploads
                    .remove(&upload.id);
            }
            Ok(answer)
        })
        .await
    }

    async fn abort_upload(&self, _: &Key, upload: &Upload) -> Result<(), Fault> {
        self.send("abort", async {
            self.notes
                .lock()
                .expect("unpoisoned")
                .uploads
                .remove(&upload.id);
            Ok(())
        })
        .await
    }
}

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

/// What is written and replaced at once, while its answer is lost, is in doubt: these cases do not allow for it.
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
