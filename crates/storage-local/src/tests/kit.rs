//! The vocabulary of the tests.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt;
use icefield_storage::{
    Key, ListOptions, ObjectClass, Payload, Prefix, PutMode, PutOptions, PutOutcome, Storage,
    StorageError, StorageExt, Version,
};
use tempfile::TempDir;

use crate::sys::Sys;
use crate::sys::habits::Habits;
use crate::sys::real::RealSys;
use crate::sys::twin::Twin;
use crate::{Fsync, LocalStorage, LocalStorageBuilder};

/// The key of a branch in the format.
pub(super) const REF: &str = "refs/branch.main/ref.json";

pub(super) fn key(text: &str) -> Key {
    Key::parse(text).expect("a valid key")
}

/// Makes a directory in memory, if there is a place for it: the tests that go through thousands of stores
/// spare the disk.
pub(super) fn quick_dir() -> TempDir {
    TempDir::new_in("/dev/shm")
        .or_else(|_| TempDir::new())
        .expect("a temporary directory")
}

/// A directory with a store on the twin of the operating system.
pub(super) struct Rig {
    pub(super) dir: TempDir,
    pub(super) twin: Arc<Twin>,
    pub(super) store: LocalStorage,
}

impl Rig {
    pub(super) fn new(habits: Habits) -> Self {
        Self::with(habits, |builder| builder)
    }

    pub(super) fn with(
        habits: Habits,
        set: impl FnOnce(LocalStorageBuilder) -> LocalStorageBuilder,
    ) -> Self {
        let dir = quick_dir();
        let twin = Twin::new(habits);
        let store = open_twin(dir.path(), &twin, set);
        Self { dir, twin, store }
    }

    /// Opens the directory once more, as another process would.
    pub(super) fn again(&self) -> LocalStorage {
        open_twin(self.dir.path(), &self.twin, |builder| builder)
    }

    /// Returns the names of temporary files.
    pub(super) fn temporary(&self) -> Vec<String> {
        temporary(self.dir.path())
    }
}

pub(super) fn open_twin(
    path: &Path,
    twin: &Arc<Twin>,
    set: impl FnOnce(LocalStorageBuilder) -> LocalStorageBuilder,
) -> LocalStorage {
    let twin: Arc<Twin> = Arc::clone(twin);
    set(LocalStorage::builder(path).sys(twin))
        .open()
        .expect("opened")
}

/// Opens a directory plainly and without flushes.
pub(super) fn open(path: &Path) -> LocalStorage {
    LocalStorage::builder(path)
        .fsync(Fsync::None)
        .open()
        .expect("opened")
}

pub(super) fn temporary(root: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(root.join(".icefield-local/tmp")) else {
        return Vec::new();
    };
    entries
        .map(|entry| {
            entry
                .expect("read")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

/// The words of a test, for every store.
pub(super) trait Speak: Storage {
    fn try_put(
        &self,
        at: &str,
        payload: impl Into<Payload>,
        mode: PutMode,
        class: ObjectClass,
    ) -> impl Future<Output = Result<PutOutcome, StorageError>> {
        let (at, payload) = (key(at), payload.into());
        let options = PutOptions::mode(mode).with_class(class);
        async move { self.put(&at, payload, options).await }
    }

    /// Puts and returns the version, which there must be.
    async fn write(&self, at: &str, bytes: &str, mode: PutMode) -> Version {
        let bytes = Bytes::copy_from_slice(bytes.as_bytes());
        let put = self.try_put(at, bytes, mode, ObjectClass::Metadata).await;
        written(put.unwrap_or_else(|error| panic!("put of {at}: {error:?}")))
    }

    /// Creates a chunk.
    async fn chunk(&self, at: &str, bytes: impl Into<Bytes>) -> Version {
        let put = self.try_put(at, bytes.into(), PutMode::Create, ObjectClass::Chunk);
        written(
            put.await
                .unwrap_or_else(|error| panic!("put of {at}: {error:?}")),
        )
    }

    /// Reads a whole object, `None` if there is none.
    async fn text(&self, at: &str) -> Option<String> {
        let read = self.try_read(&key(at)).await;
        let read = read.unwrap_or_else(|error| panic!("read of {at}: {error:?}"));
        read.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Lists the keys of all objects.
    async fn keys(&self) -> Vec<String> {
        let list = self.list_objects(ListOptions::prefix(Prefix::all()));
        let list: Vec<_> = list.try_collect().await.expect("listed");
        list.into_iter().map(|meta| meta.key.to_string()).collect()
    }
}

impl<S: Storage + ?Sized> Speak for S {}

#[track_caller]
pub(super) fn written(outcome: PutOutcome) -> Version {
    match outcome {
        PutOutcome::Written(written) => written.version,
        other => panic!("the write must be done, is {other:?}"),
    }
}

#[track_caller]
pub(super) fn refused(outcome: &PutOutcome) {
    assert!(matches!(outcome, PutOutcome::Refused), "{outcome:?}");
}

/// Opens a directory with the system calls of this kernel and with those of an old one.
pub(super) fn both_ways(root: &Path) -> [LocalStorage; 2] {
    let ways: [Arc<dyn Sys>; 2] = [
        Arc::new(RealSys::new()),
        Arc::new(RealSys::without_openat2()),
    ];
    ways.map(|sys| {
        LocalStorage::builder(root)
            .fsync(Fsync::None)
            .sys(sys)
            .open()
            .expect("opened")
    })
}

#[track_caller]
pub(super) fn is_not_an_object<T: std::fmt::Debug>(result: Result<T, StorageError>, what: &str) {
    match result {
        Err(StorageError::NotAnObject { found, .. }) if found == what => {}
        other => panic!("must be {what}, is {other:?}"),
    }
}

#[track_caller]
pub(super) fn unsupported<T: std::fmt::Debug>(result: Result<T, StorageError>) -> String {
    match result {
        Err(error @ StorageError::Unsupported { .. }) => error.to_string(),
        other => panic!("must be unsupported, is {other:?}"),
    }
}

/// Says that a test, or a part of one, was not run, past the capture of libtest.
pub(super) fn skipped(what: &str, why: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "SKIPPED {what}: {why}");
}

/// Runs a test on a runtime of its own.
pub(super) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(test)
}
