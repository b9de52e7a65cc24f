//! The store as one simulated process sees it: with an identity of its own, latency, faults, and times at which it cannot reach it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt as _};
use icefield_storage::wrap::FaultyStorage;
use icefield_storage::wrap::fault::{Plan, Rates};
use icefield_storage::{
    Advice, Capabilities, Clock, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key,
    ListOptions, Object, ObjectMeta, Payload, PutOptions, PutOutcome, SeededEntropy, Storage,
    StorageError,
};

use crate::time::{WorldClock, WorldTime};
use crate::trace::Trace;

/// The longest way of a request to the store, and of its answer back.
const LONGEST_MS: u64 = 40;

/// The store behind a network, for one process.
#[derive(Clone)]
pub(crate) struct ProcessStorage {
    /// Distinct for every process of every run of this program: handles of one process share what it names.
    place: String,
    number: usize,
    faulty: FaultyStorage,
    world: WorldTime,
    clock: WorldClock,
    trace: Trace,
    dice: Arc<SeededEntropy>,
    is_cut_off: Arc<AtomicBool>,
}

impl ProcessStorage {
    pub(crate) fn new(
        (place, number): (String, usize),
        store: Arc<dyn Storage>,
        world: &WorldTime,
        trace: &Trace,
        (seed, faults): (u64, u64),
    ) -> Self {
        let clock = world.clock(0);
        let plan = Plan::seeded(seed, rates(faults));
        Self {
            place,
            number,
            faulty: FaultyStorage::new(store, plan).with_clock(Arc::new(clock.clone())),
            world: world.clone(),
            clock,
            trace: trace.clone(),
            dice: Arc::new(SeededEntropy::new(seed ^ 0x5eed)),
            is_cut_off: Arc::default(),
        }
    }

    /// Cuts the process off from the store, or joins it again.
    pub(crate) fn cut_off(&self, is_cut_off: bool) {
        self.is_cut_off.store(is_cut_off, Ordering::SeqCst);
    }

    /// Ends all faults, and lets writes that are on their way arrive.
    pub(crate) async fn heal(&self) {
        self.cut_off(false);
        self.faulty.set_plan(Plan::none());
        self.faulty.deliver_pending().await;
    }

    async fn way(&self) {
        let millis = 1 + self.dice.below(LONGEST_MS);
        self.clock.sleep(Duration::from_millis(millis)).await;
    }

    /// Lets a request travel to the store.
    async fn request(&self, verb: &'static str, key: &str) -> Result<(), StorageError> {
        self.way().await;
        if self.is_cut_off.load(Ordering::SeqCst) {
            let (action, target) = ("request", key.to_owned());
            let source =
                format!("process {} is cut off from the store: {verb}", self.number).into();
            return Err(StorageError::Unavailable {
                action,
                target,
                source,
            });
        }
        Ok(())
    }

    fn note(&self, verb: &str, key: &str, outcome: &str) {
        let number = self.number;
        self.trace.note(self.world.elapsed(), || {
            format!("process {number} {verb} {key}: {outcome}")
        });
    }

    /// Lets an answer travel back.
    async fn answer<T>(
        &self,
        verb: &str,
        key: &str,
        outcome: Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let word = match &outcome {
            Ok(_) => "ok".to_owned(),
            Err(error) => error.to_string(),
        };
        self.note(verb, key, &word);
        self.way().await;
        outcome
    }
}

/// Returns the rates of faults: so many in a thousand requests, of each kind that the contract of stores permits and that is no
/// damage: a chunk that is cut off is reported as such.
fn rates(faults: u64) -> Rates {
    Rates {
        short: 0,
        longest_delay: Duration::from_secs(90),
        ..Rates::lawful(faults)
    }
}

impl fmt::Display for ProcessStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

impl fmt::Debug for ProcessStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ProcessStorage").field(&self.place).finish()
    }
}

#[async_trait]
impl Storage for ProcessStorage {
    fn place(&self) -> Option<String> {
        Some(self.place.clone())
    }

    fn capabilities(&self) -> Capabilities {
        self.faulty.capabilities()
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        self.request("get", key.as_str()).await?;
        let outcome = self.faulty.get(key, options).await;
        self.answer("get", key.as_str(), outcome).await
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        self.request("head", key.as_str()).await?;
        let outcome = self.faulty.head(key).await;
        self.answer("head", key.as_str(), outcome).await
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.request("put", key.as_str()).await?;
        let outcome = self.faulty.put(key, payload, options).await;
        self.answer("put", key.as_str(), outcome).await
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        let this = self.clone();
        stream::once(async move {
            match this.request("list", "").await {
                Ok(()) => this.faulty.list(options),
                Err(error) => stream::once(async { Err(error) }).boxed(),
            }
        })
        .flatten()
        .boxed()
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        let this = self.clone();
        deletions
            .then(move |deletion| {
                let this = this.clone();
                async move {
                    let key = deletion.key.clone();
                    if let Err(error) = this.request("delete", key.as_str()).await {
                        return (key, Err(error));
                    }
                    let one = stream::once(async move { deletion }).boxed();
                    let mut answers = this.faulty.delete(one);
                    let outcome = match answers.next().await {
                        Some((_, outcome)) => outcome,
                        None => Ok(DeleteOutcome::Refused),
                    };
                    let outcome = this.answer("delete", key.as_str(), outcome).await;
                    (key, outcome)
                }
            })
            .boxed()
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.request("copy", to.as_str()).await?;
        let outcome = self.faulty.copy(from, to, options).await;
        self.answer("copy", to.as_str(), outcome).await
    }

    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        Ok(Vec::new())
    }

    async fn sync(&self) -> Result<(), StorageError> {
        self.faulty.sync().await
    }
}
