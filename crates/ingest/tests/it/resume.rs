//! Imports that break off and go on.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt};
use icefield_core::{BranchName, CommitOutcome, Repository};
use icefield_ingest::{
    ChunkLayout, ChunkLength, Import, ImportError, ImportReport, PlanError, abandon_imports,
};
use icefield_storage::{
    Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, ListOptions, Object,
    ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError,
};
use icefield_storage_memory::MemoryStorage;
use icefield_testkit::classic::Classic;
use icefield_testkit::stores::keys_below;

use crate::common::classic::Files;
use crate::common::damage::Numbers;
use crate::common::exported;

/// A store that dies after so many operations: from then on all fail, or never end.
struct Dying {
    inner: Arc<dyn Storage>,
    left: AtomicU64,
    hangs: bool,
    puts: AtomicU64,
}

impl Dying {
    fn after(inner: &Arc<dyn Storage>, operations: u64, hangs: bool) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::clone(inner),
            left: AtomicU64::new(operations),
            hangs,
            puts: AtomicU64::new(0),
        })
    }

    async fn live(&self) -> Result<(), StorageError> {
        let left = self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            });
        match left {
            Ok(_) => Ok(()),
            Err(_) if self.hangs => std::future::pending().await,
            Err(_) => Err(StorageError::Failed {
                action: "reach",
                target: "the store".to_owned(),
                source: "it is dead".into(),
            }),
        }
    }
}

impl fmt::Debug for Dying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dying")
    }
}

impl fmt::Display for Dying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a dying store")
    }
}

#[async_trait]
impl Storage for Dying {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        self.live().await?;
        self.inner.get(key, options).await
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        self.live().await?;
        self.inner.head(key).await
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.live().await?;
        if key.as_str().starts_with("chunks/") {
            self.puts.fetch_add(1, Ordering::SeqCst);
        }
        self.inner.put(key, payload, options).await
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        self.inner.list(options)
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        let is_dead = self.left.load(Ordering::SeqCst) == 0;
        if !is_dead {
            return self.inner.delete(deletions);
        }
        let dead = |deletion: Deletion| {
            let error = StorageError::Failed {
                action: "reach",
                target: "the store".to_owned(),
                source: "it is dead".into(),
            };
            stream::iter([(deletion.key, Err(error))])
        };
        deletions.flat_map(dead).boxed()
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.live().await?;
        self.inner.copy(from, to, options).await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        self.live().await?;
        self.inner.sync().await
    }
}

const FILES: u32 = 12;

/// Files of three or four times, so that most chunks are put together.
pub(crate) fn files() -> Vec<(String, Classic)> {
    let mut first = 0;
    let file = |number: u32| {
        let count = if number % 3 == 2 { 3 } else { 4 };
        let times: Vec<f64> = (first..first + count).map(f64::from).collect();
        let file = Classic::new().dimension("time", count).dimension("x", 50);
        let file = file.doubles("time", &["time"], &times);
        let values: Vec<f64> = (first * 50..(first + count) * 50).map(f64::from).collect();
        first += count;
        (
            format!("{number:02}.nc"),
            file.doubles("air", &["time", "x"], &values),
        )
    };
    (0..FILES).map(file).collect()
}

pub(crate) async fn import(files: &Files) -> Import {
    let mut sources = Vec::new();
    for number in 0..FILES {
        sources.push(files.open(&format!("{number:02}.nc")).await);
    }
    let mut sources = sources.into_iter();
    let first = sources.next().unwrap();
    let import = Import::new(first).concat("time", sources);
    import.resumable("test").resume_every(1)
}

pub(crate) async fn run(
    import: &Import,
    storage: Arc<dyn Storage>,
) -> Result<ImportReport, ImportError> {
    let repository = Repository::open(storage).await?;
    let imported = import
        .run(&repository, BranchName::main(), "import")
        .await?;
    match imported.commit {
        CommitOutcome::Committed(_) => Ok(imported.report),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn created() -> Arc<dyn Storage> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    Repository::create(Arc::clone(&storage)).await.unwrap();
    storage
}

/// The contents for a reader, and the number of chunks that an uninterrupted import stores.
pub(crate) async fn whole(import: &Import) -> (BTreeMap<String, Vec<u8>>, u64, u64) {
    let storage = created().await;
    let counted = Dying::after(&storage, u64::MAX, false);
    let report = run(import, Arc::<Dying>::clone(&counted)).await.unwrap();
    assert_eq!(report.resumed_chunks, 0);
    let operations = u64::MAX - counted.left.load(Ordering::SeqCst);
    assert_eq!(
        keys_below(&storage, "icefield/").await,
        Vec::<String>::new()
    );
    let repository = Repository::open(storage).await.unwrap();
    let puts = counted.puts.load(Ordering::SeqCst);
    (exported(&repository).await, puts, operations)
}

pub(crate) fn has_landed(error: &ImportError) -> bool {
    matches!(error, ImportError::AlreadyLanded { .. })
        || matches!(
            error.of_one_source(),
            ImportError::Plan(PlanError::AlreadyExists { .. })
        )
}

/// Breaks an import off after so many operations, one way or the other.
pub(crate) async fn broken(
    import: &Import,
    storage: &Arc<dyn Storage>,
    after: u64,
    hangs: bool,
) -> bool {
    let dying = Dying::after(storage, after, hangs);
    let attempt = async {
        let repository = Repository::open(Arc::<Dying>::clone(&dying)).await?;
        import.run(&repository, BranchName::main(), "import").await
    };
    tokio::select! {
        biased;
        ended = attempt => ended.is_err(),
        // The process is gone: nothing is cleaned up.
        () = async {
            while dying.left.load(Ordering::SeqCst) > 0 {
                tokio::task::yield_now().await;
            }
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
        }, if hangs => true,
    }
}

#[tokio::test]
async fn an_import_that_breaks_off_anywhere_goes_on_to_the_same_result() {
    let files_of = Files::new();
    let _sources = files_of.sources(&files()).await;
    let chunks = ChunkLength::parse_each("time=5,x=20").unwrap();
    let rearranged = ChunkLayout::kept().with_chunks(chunks);
    for layout in [ChunkLayout::kept(), rearranged] {
        let import = import(&files_of).await.layout(layout);
        let (expected, all_puts, operations) = whole(&import).await;
        assert!(all_puts > 10, "{all_puts}");
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
        let mut spared = 0;
        for point in 0..20 {
            let storage = created().await;
            // Most go on more than once.
            let mut begun = 0;
            for _ in 0..=numbers.below(3) {
                let after = numbers.below(operations as usize) as u64;
                begun += u64::from(broken(&import, &storage, after, point % 2 == 0).await);
            }
            let counted = Dying::after(&storage, u64::MAX, false);
            let found = match run(&import, Arc::<Dying>::clone(&counted)).await {
                Ok(report) => {
                    let puts = counted.puts.load(Ordering::SeqCst);
                    assert!(puts <= all_puts, "{puts} of {all_puts}");
                    assert!(puts + report.resumed_chunks >= all_puts, "{report:?}");
                    spared += all_puts - puts;
                    report.resumed_chunks
                }
                // An attempt before has landed, and the one behind it may have said so.
                Err(error) if has_landed(&error) => 0,
                Err(error) => panic!("{point}: {error:?}"),
            };
            let repository = Repository::open(Arc::clone(&storage)).await.unwrap();
            assert_eq!(
                exported(&repository).await,
                expected,
                "{point} {begun} {found}"
            );
            // The lease of an attempt that died before it wrote anything down goes with the next collections.
            assert_eq!(
                keys_below(&storage, "icefield/imports/").await,
                Vec::<String>::new(),
                "{point}"
            );
        }
        assert!(spared > all_puts, "{spared} of {all_puts} for each");
    }
}

#[tokio::test]
async fn a_source_that_changed_is_imported_anew() {
    let files_of = Files::new();
    let _sources = files_of.sources(&files()).await;
    let before = import(&files_of).await;
    let (_, all_puts, operations) = whole(&before).await;
    let storage = created().await;
    assert!(broken(&before, &storage, operations - 8, false).await);
    // Another value in one of them.
    let (name, _) = &files()[4];
    let file = Classic::new().dimension("time", 4).dimension("x", 50);
    let file = file.doubles("time", &["time"], &[15.0, 16.0, 17.0, 18.0]);
    let values: Vec<f64> = (0..200).map(|at| -f64::from(at)).collect();
    files_of
        .write(name, &file.doubles("air", &["time", "x"], &values))
        .await;

    let after = import(&files_of).await;
    let counted = Dying::after(&storage, u64::MAX, false);
    let report = run(&after, Arc::<Dying>::clone(&counted)).await.unwrap();
    let puts = counted.puts.load(Ordering::SeqCst);
    assert!(
        report.resumed_chunks > 0 && puts > 0 && puts < all_puts,
        "{puts} {report:?}"
    );
    let repository = Repository::open(storage).await.unwrap();
    let (expected, ..) = whole(&after).await;
    assert_eq!(exported(&repository).await, expected);
}

#[tokio::test]
async fn an_import_that_is_abandoned_begins_anew() {
    let files_of = Files::new();
    let _sources = files_of.sources(&files()).await;
    let import = import(&files_of).await;
    let (expected, all_puts, operations) = whole(&import).await;
    let storage = created().await;
    assert!(broken(&import, &storage, operations - 8, false).await);
    assert_eq!(keys_below(&storage, "icefield/leases/").await.len(), 1);
    let left = keys_below(&storage, "icefield/imports/").await.len() as u64;
    assert!(left > 1);

    let repository = Repository::open(Arc::clone(&storage)).await.unwrap();
    assert_eq!(
        abandon_imports(&repository, Some("another")).await.unwrap(),
        []
    );
    let abandoned = abandon_imports(&repository, Some("test")).await.unwrap();
    assert_eq!(
        (abandoned[0].about.as_str(), abandoned[0].objects),
        ("test", left)
    );
    assert_eq!(abandoned[0].branch, "main");
    assert_eq!(
        keys_below(&storage, "icefield/").await,
        Vec::<String>::new()
    );
    assert_eq!(abandon_imports(&repository, None).await.unwrap(), []);

    let counted = Dying::after(&storage, u64::MAX, false);
    let report = run(&import, Arc::<Dying>::clone(&counted)).await.unwrap();
    assert_eq!(report.resumed_chunks, 0);
    assert_eq!(counted.puts.load(Ordering::SeqCst), all_puts);
    assert_eq!(exported(&repository).await, expected);
}

#[tokio::test]
async fn what_is_damaged_or_of_another_program_is_not_believed() {
    let files_of = Files::new();
    let _sources = files_of.sources(&files()).await;
    let import = import(&files_of).await;
    let (_, _, operations) = whole(&import).await;
    let storage = created().await;
    assert!(broken(&import, &storage, operations / 2, false).await);
    // One that is damaged is passed over: less is known.
    let lists = keys_below(&storage, "icefield/imports/").await;
    let list = lists
        .iter()
        .find(|key| !key.ends_with("begin.json"))
        .unwrap();
    icefield_testkit::stores::put(&storage, list, &b"damaged"[..]).await;
    run(&import, Arc::clone(&storage)).await.unwrap();

    let storage = created().await;
    assert!(broken(&import, &storage, operations / 2, false).await);
    let begin = keys_below(&storage, "icefield/imports/").await;
    let begin = begin
        .iter()
        .find(|key| key.ends_with("begin.json"))
        .unwrap();
    icefield_testkit::stores::put(&storage, begin, &br#"{"version": 99}"#[..]).await;
    let error = run(&import, Arc::clone(&storage)).await.unwrap_err();
    assert!(matches!(error, ImportError::NotResumed { .. }), "{error:?}");
}
