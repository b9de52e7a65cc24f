//! A collection on every backend: deletions, lists and times are where they differ.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::{BoxStream, StreamExt, TryStreamExt};
use icefield::maintenance::{Check, Collect, Expire, Policy};
use icefield::storage::{
    Advice, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, ListOptions,
    Object, ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError, StorageExt,
};
use icefield::{Fsync, LocalStorage, MemoryStorage};
use icefield_core::{
    BranchName, ByteRange, Clock, CommitOutcome, ManualClock, NodePath, PackSettings, Repository,
    SeededEntropy, Session, Settings, SnapshotId, SystemClock, WriteMode,
};
use icefield_storage_gcs::GcsBuilder;
use icefield_storage_s3::{Credentials, S3Builder};
use icefield_testservers::{GcsOptions, GcsServer, S3Options, S3Server};

use crate::suite::scratch::folder;

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// Bytes of a chunk, too many for a manifest.
const CHUNK: usize = 600;

/// A store, and how time passes for its objects.
pub(crate) struct Place {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) age: Box<dyn Fn(Duration)>,
}

/// A store whose clock can be moved where that of the machine tells the time: in the date of each answer, or also in the
/// times of its objects.
#[derive(Clone, Debug)]
pub(crate) struct Shifted {
    inner: Arc<dyn Storage>,
    ahead: Arc<Mutex<Duration>>,
    objects: bool,
}

impl Shifted {
    pub(crate) fn new(inner: impl Storage, objects: bool) -> Self {
        Self {
            inner: Arc::new(inner),
            ahead: Arc::default(),
            objects,
        }
    }

    fn ahead(&self) -> Duration {
        *self.ahead.lock().expect("no panic while adding")
    }

    pub(crate) fn pass(&self, time: Duration) {
        *self.ahead.lock().expect("no panic while adding") += time;
    }

    fn meta(&self, mut meta: ObjectMeta) -> ObjectMeta {
        if self.objects {
            meta.last_modified = meta.last_modified.map(|time| time + self.ahead());
        }
        meta
    }

    fn outcome(&self, outcome: PutOutcome) -> PutOutcome {
        match outcome {
            PutOutcome::Written(mut written) => {
                written.store_time = written.store_time.map(|time| time + self.ahead());
                PutOutcome::Written(written)
            }
            other => other,
        }
    }
}

impl fmt::Display for Shifted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Storage for Shifted {
    fn place(&self) -> Option<String> {
        self.inner.place()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        let mut object = self.inner.get(key, options).await?;
        object.meta = self.meta(object.meta);
        Ok(object)
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        Ok(self.meta(self.inner.head(key).await?))
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        Ok(self.outcome(self.inner.put(key, payload, options).await?))
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        let this = self.clone();
        let listed = self.inner.list(options);
        listed.map_ok(move |meta| this.meta(meta)).boxed()
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        self.inner.delete(deletions)
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        Ok(self.outcome(self.inner.copy(from, to, options).await?))
    }

    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        self.inner.advice().await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        self.inner.sync().await
    }

    fn try_get_blocking(&self, _: &Key, _: &GetOptions) -> Option<Result<Object, StorageError>> {
        // With the times that the other way gives.
        None
    }
}

pub(crate) struct World {
    pub(crate) place: Place,
    clock: ManualClock,
    pub(crate) repository: Repository,
}

pub(crate) fn path() -> NodePath {
    NodePath::parse("/a").expect("a path")
}

impl World {
    /// A world in which each chunk has an object of its own, also in buckets.
    pub(crate) async fn new(place: Place) -> Self {
        Self::with(place, PackSettings::off()).await
    }

    async fn with(place: Place, packs: PackSettings) -> Self {
        let clock = ManualClock::new(SystemClock.now());
        let repository = Repository::builder(Arc::clone(&place.storage))
            .settings(Settings::default().with_packs(packs))
            .clock(Arc::new(clock.clone()))
            .entropy(Arc::new(SeededEntropy::new(5)))
            .create()
            .await
            .expect("made");
        let world = Self {
            place,
            clock,
            repository,
        };
        let session = world.session("main").await;
        let document = r#"{"zarr_format": 3, "node_type": "array", "shape": [20], "data_type": "int8",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}"#;
        let group = r#"{"zarr_format": 3, "node_type": "group"}"#;
        for (at, document) in [(NodePath::root(), group), (path(), document)] {
            let set = session.set_metadata(&at, document.into(), WriteMode::Overwrite);
            set.await.expect("set");
        }
        world.commit(&session).await;
        world
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.clock.advance(time);
        (self.place.age)(time);
    }

    async fn session(&self, branch: &str) -> Session {
        let branch = BranchName::parse(branch).expect("a name");
        let session = self.repository.write_session(branch).await;
        session.expect("a session")
    }

    async fn commit(&self, session: &Session) -> SnapshotId {
        self.clock.advance(Duration::from_secs(1));
        match session.commit("a commit").await {
            Ok(CommitOutcome::Committed(id)) => id,
            other => panic!("not committed: {other:?}"),
        }
    }

    pub(crate) async fn commit_chunk(&self, branch: &str, index: u32) -> SnapshotId {
        let session = self.session(branch).await;
        write(&session, index).await;
        self.commit(&session).await
    }

    async fn keys(&self) -> Vec<String> {
        let listed = self.place.storage.list(Default::default());
        let listed: Vec<_> = listed.try_collect().await.expect("listed");
        listed.into_iter().map(|it| it.key.to_string()).collect()
    }

    async fn count(&self, prefix: &str) -> usize {
        let keys = self.keys().await;
        keys.iter().filter(|key| key.starts_with(prefix)).count()
    }

    /// Reads chunks of main by a handle that has nothing in memory.
    async fn reads(&self, indices: &[u32]) {
        let storage = Arc::clone(&self.place.storage);
        let repository = Repository::open(storage).await.expect("opened");
        let session = repository.read_session(BranchName::main()).await;
        let session = session.expect("readable");
        for index in indices {
            let read = session.chunk(&path(), &[*index], ByteRange::All).await;
            let bytes = read.expect("readable").expect("written");
            assert_eq!(bytes, vec![*index as u8; CHUNK]);
        }
    }
}

async fn write(session: &Session, index: u32) {
    let chunk = vec![index as u8; CHUNK].into();
    let (path, index) = (path(), [index]);
    let written = session.set_chunk(&path, &index, chunk, WriteMode::Overwrite);
    written.await.expect("written");
}

async fn a_collection_deletes_garbage_and_keeps_what_is_reachable(place: Place) {
    let world = World::new(place).await;
    let storage = Arc::clone(&world.place.storage);
    // Three commits on main, the first of them tagged; a branch that is deleted; a session that is given up.
    let first = world.commit_chunk("main", 0).await;
    drop(
        world
            .repository
            .create_tag("v1", first)
            .await
            .expect("made"),
    );
    drop(
        world
            .repository
            .create_branch("side", first)
            .await
            .expect("made"),
    );
    let second = world.commit_chunk("main", 1).await;
    let side = world.commit_chunk("side", 2).await;
    let name = BranchName::parse("side").expect("a name");
    drop(
        world
            .repository
            .delete_branch(&name)
            .await
            .expect("deleted"),
    );
    write(&world.session("main").await, 3).await;
    world.commit_chunk("main", 4).await;
    world.pass(2 * DAY);
    // A session that is open for more than a day, and says so.
    let open = world.session("main").await;
    write(&open, 5).await;
    world.pass(HOUR);
    write(&open, 6).await;
    world.pass(20 * HOUR);
    write(&open, 7).await;
    world.pass(10 * HOUR);
    open.renew_lease().await.expect("renewed");
    assert_eq!(world.count("icefield/leases/").await, 1);
    let chunks_before = world.count("chunks/").await;
    assert_eq!(chunks_before, 5 + 3);

    // Main keeps its newest snapshot, and the tag its own.
    let mut policy = Policy::default();
    policy.last = 1;
    let expired = Expire::new(policy);
    let expired = expired.run(&world.repository, &()).await.expect("expired");
    assert_eq!(expired.plan.new_parents.len(), 2, "{expired:#?}");
    let report = Collect::default().run(&world.repository).await;
    let report = report.expect("collected");
    assert!(report.held_back_by.is_some(), "{report:#?}");
    assert!(!report.unknown && report.failures.is_empty(), "{report:#?}");
    let deleted = [
        &report.snapshots,
        &report.transaction_logs,
        &report.manifests,
        &report.chunks,
    ];
    let deleted = deleted.map(|swept| swept.deleted);
    // The commit that made the array, the second one and that of the branch; the array had no manifest at first.
    assert_eq!(deleted, [3, 3, 2, 2], "{report:#?}");
    let keys = world.keys().await;
    assert!(keys.is_sorted(), "{keys:?}");
    for gone in [second, side] {
        assert!(!keys.iter().any(|key| key.ends_with(&gone.to_string())));
    }
    assert_eq!(world.count("chunks/").await, chunks_before - 2);

    // The spared chunks are committed, and all of them can be read.
    world.commit(&open).await;
    assert_eq!(world.count("icefield/leases/").await, 0);
    world.reads(&[0, 1, 4, 5, 6, 7]).await;
    let report = Check::new(Arc::clone(&storage)).run(&()).await;
    let report = report.expect("checked");
    assert!(report.is_sound() && report.warnings == 0, "{report:#?}");
    assert_eq!(report.garbage.map(|it| it.objects), Some(0));

    // A later one has nothing to do, and what it remembers of the first is right.
    world.commit_chunk("main", 8).await;
    world.pass(2 * DAY);
    let report = Collect::default().run(&world.repository).await;
    let report = report.expect("collected");
    assert!(report.marking.incremental, "{report:#?}");
    assert_eq!(report.total().deleted, 0, "{report:#?}");
    world.reads(&[0, 1, 4, 5, 6, 7, 8]).await;
    let state = icefield_core::collection::CollectionState::key();
    assert!(storage.exists(&state).await.expect("an answer"));
}

/// Runs a test on a runtime of its own.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(test);
}

#[test]
fn on_memory() {
    let clock = ManualClock::new(SystemClock.now());
    let storage = MemoryStorage::builder()
        .clock(Arc::new(clock.clone()))
        .build();
    run(a_collection_deletes_garbage_and_keeps_what_is_reachable(
        Place {
            storage: Arc::new(storage),
            age: Box::new(move |by| clock.advance(by)),
        },
    ));
}

/// Lets files be older than they are, as time has passed since; but for refs, which are compared with what a session has
/// read of them.
pub(crate) fn age_files(root: &Path, by: Duration) {
    for entry in std::fs::read_dir(root).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default();
        if name == "refs" || name == ".icefield-local" {
            continue;
        }
        if path.is_dir() {
            age_files(&path, by);
            continue;
        }
        let file = std::fs::File::options().write(true).open(&path);
        let file = file.expect("a file");
        let modified = file
            .metadata()
            .and_then(|it| it.modified())
            .expect("a time");
        file.set_modified(modified - by).expect("set");
    }
}

#[test]
fn on_a_local_disk() {
    let root: PathBuf = folder();
    let storage = LocalStorage::builder(&root).fsync(Fsync::None).open();
    let storage = Shifted::new(storage.expect("a new directory opens"), true);
    run(a_collection_deletes_garbage_and_keeps_what_is_reachable(
        Place {
            storage: Arc::new(storage.clone()),
            age: Box::new(move |by| {
                age_files(&root, by);
                storage.pass(by);
            }),
        },
    ));
}

/// A session that is open for two days beside a state of collections from three days ahead, on a real file system.
#[test]
fn on_a_local_disk_a_state_whose_date_was_set_neither_deletes_nor_blocks() {
    let root: PathBuf = folder();
    let storage = LocalStorage::builder(&root).fsync(Fsync::None).open();
    let storage: Arc<dyn Storage> = Arc::new(storage.expect("a new directory opens"));
    run(async {
        let place = Place {
            storage: Arc::clone(&storage),
            age: Box::new(|_| {}),
        };
        let world = World::new(place).await;
        let collect = async |dry_run| {
            // By the clock of the machine.
            let repository = Repository::open(Arc::clone(&storage))
                .await
                .expect("opened");
            let collect = Collect::default().dry_run(dry_run);
            collect.run(&repository).await.expect("collected")
        };
        collect(false).await;
        let state = root.join("icefield/gc/state.json");
        let ahead = SystemClock.now() + 3 * DAY;
        let file = std::fs::File::options().write(true).open(&state);
        file.and_then(|file| file.set_modified(ahead)).expect("set");
        let session = world.session("main").await;
        write(&session, 1).await;
        let (dry, wet) = (collect(true).await, collect(false).await);
        assert_eq!(
            (dry.total(), wet.chunks.deleted),
            (wet.total(), 0),
            "{wet:#?}"
        );
        assert!(wet.started_at < icefield::micros_of_time(ahead - 2 * DAY));
        world.commit(&session).await;
        world.reads(&[1]).await;
        assert_eq!(world.count("icefield/now/").await, 0);
    });
}

fn s3_of(server: &S3Server) -> impl Storage + use<> {
    let storage = S3Builder::new("bucket")
        .endpoint(server.endpoint())
        .credentials(Credentials::new(server.access_key(), server.secret_key()))
        .open();
    storage.expect("the settings are sound")
}

/// A proxy in front of the store, or one of its nodes, has a clock of its own, which dates the answers.
#[test]
fn on_s3_an_old_session_keeps_its_chunks_though_answers_have_the_date_of_another_clock() {
    let of_their_own = PackSettings::off();
    for (ahead, packs) in [
        (Duration::from_secs(10 * 60), of_their_own.clone()),
        (HOUR, of_their_own),
        (HOUR, PackSettings::default()),
    ] {
        let server = S3Server::start(S3Options::default());
        let ours = Arc::clone(server.world());
        // The client signs by the dates of answers, which the server of the test compares with the clock of the machine.
        let answers = Shifted::new(s3_of(&server), false);
        answers.pass(ahead);
        let storage: Arc<dyn Storage> = Arc::new(answers.clone());
        run(async {
            let place = Place {
                storage,
                age: Box::new(move |by| {
                    ours.move_clock_forward(by);
                    answers.pass(by);
                }),
            };
            let world = World::with(place, packs).await;
            let session = world.session("main").await;
            write(&session, 0).await;
            world.pass(Duration::from_secs(16 * 60));
            write(&session, 1).await;
            for _ in 0..2 {
                world.pass(20 * HOUR);
                session.renew_lease().await.expect("renewed");
            }
            let report = Collect::default().run(&world.repository).await;
            let report = report.expect("collected");
            assert_eq!(report.chunks.deleted, 0, "{ahead:?} ahead: {report:#?}");
            world.commit(&session).await;
            world.reads(&[0, 1]).await;
        });
    }
}

/// The chunks of an old session are in memory when a collection passes that does not know of it.
#[test]
fn on_s3_a_session_commits_its_pack_after_a_collection() {
    let server = S3Server::start(S3Options::default());
    let ours = Arc::clone(server.world());
    let storage = Shifted::new(s3_of(&server), false);
    run(async {
        let place = Place {
            storage: Arc::new(storage.clone()),
            age: Box::new(move |by| {
                ours.move_clock_forward(by);
                storage.pass(by);
            }),
        };
        let world = World::with(place, PackSettings::default()).await;
        let session = world.session("main").await;
        write(&session, 0).await;
        world.pass(2 * DAY);
        let report = Collect::default().run(&world.repository).await;
        report.expect("collected");
        assert_eq!(world.count("chunks/").await, 0);
        world.commit(&session).await;
        assert_eq!(world.count("chunks/").await, 1);
        world.reads(&[0]).await;
    });
}

#[test]
fn on_s3() {
    let server = S3Server::start(S3Options::default());
    let world = Arc::clone(server.world());
    // The world dates objects, and the machine the answers.
    let storage = Shifted::new(s3_of(&server), false);
    run(a_collection_deletes_garbage_and_keeps_what_is_reachable(
        Place {
            storage: Arc::new(storage.clone()),
            age: Box::new(move |by| {
                world.move_clock_forward(by);
                storage.pass(by);
            }),
        },
    ));
}

#[test]
fn on_gcs() {
    let server = GcsServer::start(GcsOptions::default());
    let world = Arc::clone(server.world());
    run(async {
        let storage = GcsBuilder::new("bucket")
            .endpoint(server.endpoint())
            .anonymous()
            .open()
            .await;
        let place = Place {
            storage: Arc::new(storage.expect("the settings are sound")),
            age: Box::new(move |by| world.move_clock_forward(by)),
        };
        a_collection_deletes_garbage_and_keeps_what_is_reachable(place).await;
    });
}
