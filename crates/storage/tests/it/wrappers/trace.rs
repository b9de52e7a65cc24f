//! The contents of a log, and what it never shows.

use std::io;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::stream::{BoxStream, StreamExt};
use icefield_storage::wrap::TracingStorage;
use icefield_storage::{
    Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, GetRange, Key, KeyForm,
    ListOptions, Object, ObjectMeta, Payload, Prefix, PutMode, PutOptions, PutOutcome, Storage,
    StorageError, StorageExt,
};
use icefield_storage_memory::MemoryStorage;
use tracing::Level;
use tracing_subscriber::fmt::MakeWriter;

use super::{key, memory, store};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no panic")).into_owned()
    }

    /// Starts to log on this thread at `level`.
    fn start(&self, level: Level) -> tracing::subscriber::DefaultGuard {
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_ansi(false)
            .without_time()
            .with_writer(self.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn each_operation_is_one_line() {
    let storage = TracingStorage::new(memory());
    let log = Log::default();
    let guard = log.start(Level::DEBUG);
    store(&storage, "chunks/1", "0123456789").await;
    let _ = storage
        .put(&key("chunks/1"), "x".into(), PutMode::Create.into())
        .await;
    let _ = storage
        .get(&key("chunks/1"), GetRange::Suffix(4).into())
        .await;
    let _ = storage.try_get_blocking(&key("chunks/1"), &Default::default());
    let _ = storage.head(&key("chunks/2")).await;
    let _ = storage.list_all(&Prefix::all()).await;
    let _ = storage
        .copy(&key("chunks/1"), &key("chunks/3"), Default::default())
        .await;
    let _ = storage.delete_one(key("chunks/1").into()).await;
    let _ = storage.sync().await;
    drop(guard);
    let text = log.text();
    let lines: Vec<&str> = text.lines().collect();
    for (line, parts) in lines.iter().zip([
        ["put", "chunks/1", "bytes=10", "written"],
        ["put", "chunks/1", "bytes=1", "refused"],
        ["get", "chunks/1", "bytes=4", "read"],
        ["get", "chunks/1", "bytes=10", "read"],
        ["head", "chunks/2", "", "does not exist"],
        ["list", "", "", "1 objects"],
        ["copy", "chunks/3", "", "written"],
        ["delete", "chunks/1", "", "deleted"],
        ["sync", "", "", "durable"],
    ]) {
        assert!(
            line.contains("DEBUG") && line.contains("icefield::storage"),
            "{line}"
        );
        for part in parts {
            assert!(line.contains(part), "{part:?} is not in {line}");
        }
    }
    assert_eq!(lines.len(), 9, "{text}");
}

#[tokio::test]
async fn nothing_is_logged_above_debug() {
    let log = Log::default();
    let guard = log.start(Level::INFO);
    store(&TracingStorage::new(memory()), "a", "x").await;
    drop(guard);
    assert_eq!(log.text(), "");
}

/// Fails with an error whose cause quotes the request.
#[derive(Debug)]
struct Leaky;

impl std::fmt::Display for Leaky {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("leaky")
    }
}

impl Leaky {
    fn error() -> StorageError {
        StorageError::Unavailable {
            action: "request",
            target: "an object".to_owned(),
            source: "403 for Authorization: s3cr3t".into(),
        }
    }
}

#[async_trait]
impl Storage for Leaky {
    fn capabilities(&self) -> Capabilities {
        Capabilities::full(KeyForm::Raw)
    }
    async fn get(&self, _: &Key, _: GetOptions) -> Result<Object, StorageError> {
        Err(Self::error())
    }
    async fn head(&self, _: &Key) -> Result<ObjectMeta, StorageError> {
        std::future::pending().await
    }
    async fn put(&self, _: &Key, _: Payload, _: PutOptions) -> Result<PutOutcome, StorageError> {
        Ok(PutOutcome::Unknown(Self::error()))
    }
    fn list(&self, _: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        Box::pin(futures::stream::iter([Err(Self::error())]))
    }
    fn delete(
        &self,
        _: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        Box::pin(futures::stream::iter([(key("a"), Err(Self::error()))]))
    }
    async fn copy(&self, from: &Key, _: &Key, _: CopyOptions) -> Result<PutOutcome, StorageError> {
        Err(StorageError::NotFound { key: from.clone() })
    }
    async fn sync(&self) -> Result<(), StorageError> {
        Err(Self::error())
    }
}

#[tokio::test]
async fn no_secret_and_no_control_character_is_logged() {
    let storage = TracingStorage::new(Arc::new(Leaky));
    let log = Log::default();
    let guard = log.start(Level::TRACE);
    let nasty = key("line\nbreak/\u{1b}[31mred");
    let _ = storage.get(&nasty, Default::default()).await;
    let options = PutOptions::default().with_user_metadata("token", "s3cr3t");
    let _ = storage.put(&nasty, "s3cr3t".into(), options).await;
    let _ = storage.copy(&nasty, &nasty, Default::default()).await;
    let _ = storage.list_all(&Prefix::all()).await;
    let _ = storage.delete_one(nasty.clone().into()).await;
    let _ = storage.sync().await;
    drop(guard);
    let text = log.text();
    assert_eq!(text.lines().count(), 6, "{text}");
    assert!(!text.contains("s3cr3t"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[tokio::test]
async fn a_list_is_reported_once_with_what_it_could_not_read() {
    let memory = MemoryStorage::new();
    assert!(memory.plant_unreadable(b"a/", 0));
    store(&memory, "b", "x").await;
    let storage = TracingStorage::new(Arc::new(memory));
    let log = Log::default();
    let guard = log.start(Level::DEBUG);
    let listed: Vec<_> = storage.list(Default::default()).collect().await;
    drop(guard);
    assert_eq!(listed.len(), 2);
    let text = log.text();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains("1 objects, 1 unreadable"), "{text}");
}

#[tokio::test]
async fn dropped_operation_is_logged_as_abandoned() {
    let storage = TracingStorage::new(Arc::new(Leaky));
    let log = Log::default();
    let guard = log.start(Level::DEBUG);
    let at = key("a");
    let mut head = storage.head(&at);
    assert!(futures::poll!(&mut head).is_pending());
    drop(head);
    drop(guard);
    assert!(log.text().contains("abandoned"), "{}", log.text());
}
