//! Imports by processes that are killed while they write down what is done.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use icefield_core::{BranchName, Repository};
use icefield_ingest::Import;
use icefield_storage::{
    Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, ListOptions, Object,
    ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError,
};
use icefield_storage_local::LocalStorage;

use crate::common::classic::Files;
use crate::common::damage::Numbers;
use crate::common::exported;
use crate::resume::{files, has_landed, import, run, whole};

/// Where a process that is to be killed works.
const PLACE: &str = "ICEFIELD_TEST_KILLED_IN";
const NAME: &str =
    "resume_kill::an_import_whose_process_is_killed_as_it_writes_down_what_is_done_goes_on";
const ROUNDS: usize = 20;
/// The number of the write below `icefield/imports/` after which a process waits to be killed: however late that is, it does
/// nothing more.
const LAST: &str = "ICEFIELD_TEST_KILLED_AFTER";
/// The outputs of a process before it writes anything below `icefield/imports/`, and afterwards.
const WRITES: &str = "writes down";
const WROTE: &str = "wrote down";

fn store(place: &Path, name: &str) -> Arc<dyn Storage> {
    Arc::new(LocalStorage::open(place.join(name)).unwrap())
}

async fn imported(place: &Path) -> Import {
    import(&Files::at(store(place, "files"))).await
}

/// A store of a process that says what it is about to write down, and hangs once it has done so for the last time.
#[derive(Debug)]
struct Telling {
    storage: Arc<dyn Storage>,
    left: AtomicUsize,
}

impl std::fmt::Display for Telling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.storage.fmt(f)
    }
}

#[async_trait]
impl Storage for Telling {
    fn place(&self) -> Option<String> {
        self.storage.place()
    }

    fn capabilities(&self) -> Capabilities {
        self.storage.capabilities()
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        self.storage.get(key, options).await
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        self.storage.head(key).await
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        let writes_down = key.as_str().starts_with("icefield/imports/");
        if writes_down {
            println!("{WRITES}");
        }
        let outcome = self.storage.put(key, payload, options).await;
        if writes_down {
            println!("{WROTE}");
            if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
                std::future::pending::<()>().await;
            }
        }
        outcome
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        self.storage.list(options)
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        self.storage.delete(deletions)
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.storage.copy(from, to, options).await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        self.storage.sync().await
    }
}

/// The work of a process that is killed, unless it comes to its end before.
async fn work(place: &Path) {
    let last = std::env::var(LAST).unwrap().parse().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(Telling {
        storage: store(place, "repository"),
        left: AtomicUsize::new(last),
    });
    let repository = Repository::open(storage).await.unwrap();
    let import = imported(place).await;
    match import.run(&repository, BranchName::main(), "import").await {
        Ok(_) => {}
        Err(error) if has_landed(&error) => {}
        Err(error) => panic!("{error:?}"),
    }
}

/// Starts a process, and kills it once it has written down something for the `nth` time, or a moment after it began to. Returns
/// whether it came to that.
fn kill(place: &Path, nth: usize, moment: Option<Duration>) -> bool {
    let mut child: Child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture", "--test-threads", "1"])
        .env(PLACE, place)
        .env(LAST, nth.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (mut begun, mut ended) = (0, 0);
    for line in lines {
        let line = line.unwrap();
        begun += usize::from(line.contains(WRITES));
        ended += usize::from(line.contains(WROTE));
        match moment {
            Some(moment) if begun == nth => std::thread::sleep(moment),
            None if ended == nth => {}
            _ => continue,
        }
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    assert!(status.success() || begun >= nth, "{status}");
    begun >= nth
}

#[tokio::test]
async fn an_import_whose_process_is_killed_as_it_writes_down_what_is_done_goes_on() {
    if let Some(place) = std::env::var_os(PLACE) {
        return work(Path::new(&place)).await;
    }
    let template = tempfile::tempdir().unwrap();
    let files_of = Files::at(store(template.path(), "files"));
    for (name, file) in files() {
        files_of.write(&name, &file).await;
    }
    let (expected, all_puts, _) = whole(&imported(template.path()).await).await;
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    let (mut resumed, mut killed) = (0, 0);
    for round in 0..ROUNDS {
        let place = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(template.path().join("files"), place.path().join("files"))
            .unwrap();
        let storage = store(place.path(), "repository");
        Repository::create(Arc::clone(&storage)).await.unwrap();
        // Some are killed more than once.
        for _ in 0..=numbers.below(3) {
            // Chunks that are copied side by side may be recorded at once, so that there are few writes.
            let nth = 1 + numbers.below(3);
            let moment = Duration::from_micros(numbers.below(1500) as u64);
            let moment = (numbers.below(2) == 0).then_some(moment);
            killed += usize::from(kill(place.path(), nth, moment));
        }
        match run(&imported(place.path()).await, Arc::clone(&storage)).await {
            Ok(report) => {
                assert!(report.resumed_chunks <= all_puts, "{report:?}");
                resumed += report.resumed_chunks;
            }
            Err(error) if has_landed(&error) => {}
            Err(error) => panic!("{round}: {error:?}"),
        }
        let repository = Repository::open(storage).await.unwrap();
        assert_eq!(exported(&repository).await, expected, "{round}");
    }
    assert!(killed > ROUNDS / 2, "{killed}");
    assert!(resumed >= ROUNDS as u64 / 4, "{resumed} of {all_puts} each");
}
