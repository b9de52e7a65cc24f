//! A store whose reads of chunks wait until the test lets them go on.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use icefield::storage::{
    Advice, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, ListOptions,
    Object, ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError,
};
use tokio::sync::{Semaphore, watch};

/// The reads of chunks under way.
#[derive(Clone, Copy, Debug, Default)]
struct Reads {
    now: usize,
    most: usize,
}

#[derive(Debug)]
struct Gate {
    passes: Semaphore,
    reads: watch::Sender<Reads>,
}

/// Another store, whose reads of chunks wait at a gate and are counted until they end. Clones share the gate.
#[derive(Clone, Debug)]
pub(crate) struct GatedStorage {
    inner: Arc<dyn Storage>,
    gate: Arc<Gate>,
}

impl GatedStorage {
    /// Returns `inner` behind a closed gate.
    pub(crate) fn new(inner: Arc<dyn Storage>) -> Self {
        let gate = Gate {
            passes: Semaphore::new(0),
            reads: watch::Sender::default(),
        };
        Self {
            inner,
            gate: Arc::new(gate),
        }
    }

    /// Lets so many reads pass, those first that have waited longest.
    pub(crate) fn let_pass(&self, reads: usize) {
        self.gate.passes.add_permits(reads);
    }

    /// Lets all reads pass, also those to come.
    pub(crate) fn open(&self) {
        self.gate.passes.close();
    }

    /// Waits until so many reads are under way.
    pub(crate) async fn under_way(&self, reads: usize) {
        let mut seen = self.gate.reads.subscribe();
        seen.wait_for(|seen| seen.now >= reads).await.unwrap();
    }

    /// Returns the most reads that were under way at once.
    pub(crate) fn most(&self) -> usize {
        self.gate.reads.borrow().most
    }
}

/// A read that is under way until it is dropped.
struct UnderWay(Arc<Gate>);

impl UnderWay {
    fn begin(gate: &Arc<Gate>) -> Self {
        gate.reads.send_modify(|reads| {
            reads.now += 1;
            reads.most = reads.most.max(reads.now);
        });
        Self(Arc::clone(gate))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.reads.send_modify(|reads| reads.now -= 1);
    }
}

impl fmt::Display for GatedStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, behind a gate", self.inner)
    }
}

#[async_trait]
impl Storage for GatedStorage {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        if !key.as_str().starts_with("chunks/") {
            return self.inner.get(key, options).await;
        }
        let _under_way = UnderWay::begin(&self.gate);
        // An open gate has no more passes to give.
        if let Ok(pass) = self.gate.passes.acquire().await {
            pass.forget();
        }
        self.inner.get(key, options).await
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        self.inner.head(key).await
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.inner.put(key, payload, options).await
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        self.inner.list(options)
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
        self.inner.copy(from, to, options).await
    }

    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        self.inner.advice().await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        self.inner.sync().await
    }

    fn try_get_blocking(
        &self,
        _key: &Key,
        _options: &GetOptions,
    ) -> Option<Result<Object, StorageError>> {
        None
    }
}
