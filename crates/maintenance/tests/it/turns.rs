//! Two tasks on one store, whose operations are put into any order.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use futures::future::{BoxFuture, FutureExt, poll_fn};
use futures::stream::{BoxStream, StreamExt};
use icefield_core::collection;
use icefield_storage::{
    Advice, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, ListOptions,
    Object, ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError,
};

/// Who may do the next operation of a store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    given: Arc<AtomicBool>,
    taken: Arc<AtomicUsize>,
}

impl Turn {
    /// Waits for the turn for an operation on an object, and takes it.
    async fn take_for(&self, key: &Key) {
        if !is_private(key.as_str()) {
            self.take().await;
        }
    }

    /// Waits for the turn, and takes it.
    fn take(&self) -> impl Future<Output = ()> + Send + 'static {
        let turn = self.clone();
        poll_fn(
            move |context| match turn.given.swap(false, Ordering::SeqCst) {
                true => {
                    turn.taken.fetch_add(1, Ordering::SeqCst);
                    Poll::Ready(())
                }
                // Sets of futures poll only those that ask for it.
                false => {
                    context.waker().wake_by_ref();
                    Poll::Pending
                }
            },
        )
    }
}

/// A task of which one operation is let through at a time.
pub(crate) struct Actor<T> {
    turn: Turn,
    work: Option<BoxFuture<'static, T>>,
    result: Option<T>,
}

impl<T> Actor<T> {
    pub(crate) fn new(turn: &Turn, work: impl Future<Output = T> + Send + 'static) -> Self {
        Self {
            turn: turn.clone(),
            // It is polled more often between two waits of the test than a runtime would allow.
            work: Some(tokio::task::unconstrained(work).boxed()),
            result: None,
        }
    }

    /// Goes on to the end of the next operation, and up to the one after it; false if there was none.
    pub(crate) fn step(&mut self) -> bool {
        let before = self.turn.taken.load(Ordering::SeqCst);
        self.turn.given.store(true, Ordering::SeqCst);
        self.poll();
        self.turn.given.store(false, Ordering::SeqCst);
        self.turn.taken.load(Ordering::SeqCst) > before
    }

    fn poll(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        // A task that waits for anything but its turn is polled again: nothing else runs.
        for _ in 0..64 {
            let Some(work) = &mut self.work else { return };
            if let Poll::Ready(result) = work.poll_unpin(&mut context) {
                (self.result, self.work) = (Some(result), None);
                return;
            }
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.work.is_none()
    }

    /// Goes on to the end.
    pub(crate) fn finish(&mut self) {
        while !self.is_done() {
            assert!(self.step() || self.is_done(), "the task waits for nothing");
        }
    }

    pub(crate) fn into_result(mut self) -> T {
        self.finish();
        self.result.expect("it has ended")
    }
}

/// Whether no other program touches an object: that which is created to ask the store for its time. When that is done makes
/// no difference to others, and orders that differ in it alone are one.
fn is_private(key: &str) -> bool {
    key.starts_with(&collection::probes())
}

/// A store whose operations each need a turn.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    inner: Arc<dyn Storage>,
    turn: Turn,
    capabilities: Capabilities,
}

impl Turns {
    pub(crate) fn on(inner: &Arc<dyn Storage>) -> (Arc<dyn Storage>, Turn) {
        Self::reporting(inner, inner.capabilities())
    }

    /// The same, reported as a store whose versions are digests, as those of S3 are.
    pub(crate) fn with_digests(inner: &Arc<dyn Storage>) -> (Arc<dyn Storage>, Turn) {
        let mut capabilities = inner.capabilities();
        capabilities.exact_versions = false;
        Self::reporting(inner, capabilities)
    }

    fn reporting(inner: &Arc<dyn Storage>, capabilities: Capabilities) -> (Arc<dyn Storage>, Turn) {
        let turn = Turn::default();
        let turns = Self {
            inner: Arc::clone(inner),
            turn: turn.clone(),
            capabilities,
        };
        (Arc::new(turns), turn)
    }
}

impl fmt::Display for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, in turns", self.inner)
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Storage for Turns {
    fn place(&self) -> Option<String> {
        self.inner.place()
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        self.turn.take().await;
        self.inner.get(key, options).await
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        self.turn.take_for(key).await;
        self.inner.head(key).await
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.turn.take_for(key).await;
        self.inner.put(key, payload, options).await
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        let this = self.clone();
        let list = async move {
            if !is_private(options.prefix.as_str()) {
                this.turn.take().await;
            }
            this.inner.list(options)
        };
        list.flatten_stream().boxed()
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        let this = self.clone();
        let each = deletions.then(move |deletion| {
            let this = this.clone();
            async move {
                this.turn.take_for(&deletion.key).await;
                let one = futures::stream::iter([deletion]).boxed();
                let mut outcomes = this.inner.delete(one);
                outcomes.next().await.expect("one outcome for each")
            }
        });
        each.boxed()
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.turn.take().await;
        self.inner.copy(from, to, options).await
    }

    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        self.inner.advice().await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        self.turn.take().await;
        self.inner.sync().await
    }

    fn try_get_blocking(&self, _: &Key, _: &GetOptions) -> Option<Result<Object, StorageError>> {
        // It would pass by the turns.
        None
    }
}
