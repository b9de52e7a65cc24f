//! Failures of storage that pass. The layer below the gateway that knows networks repeats requests; the gateway does not.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::TryStreamExt;
use icefield::storage::remote::{
    Answer, Deleted, Fault, FaultKind, Limits, Page, Remote, RemoteSettings, RemoteStorage,
    RetrySettings, Stored, WriteRequest,
};
use icefield::storage::wrap::fault::{Decision, FaultyStorage, Matcher, Plan, Verb};
use icefield::storage::{
    Bytes, Capabilities, Deletion, GetOptions, Key, ListOptions, Object, Storage, StorageError,
};

use crate::world::{Store, World, bytes};

/// The kinds of objects that a first chunk is found by, in the order in which they are read.
const STEPS: [&str; 4] = ["refs/", "snapshots/", "manifests/", "chunks/"];

/// A store as one request sees it: each fails or does not.
#[derive(Debug)]
struct EachOnce(Arc<FaultyStorage>);

impl fmt::Display for EachOnce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a store with faults")
    }
}

fn fault(error: StorageError) -> Fault {
    match error.is_retryable() {
        true => Fault::new(FaultKind::InDoubt, error),
        false => Fault::new(FaultKind::Final, error),
    }
}

#[async_trait]
impl Remote for EachOnce {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn place(&self) -> String {
        "faults".to_owned()
    }

    fn limits(&self) -> Limits {
        Limits::whole(1 << 20)
    }

    fn is_known_to_honour_conditions(&self) -> bool {
        true
    }

    async fn get(
        &self,
        key: &Key,
        options: &GetOptions,
        at_most: Option<u64>,
    ) -> Result<Object, Fault> {
        assert_eq!(at_most, None, "reads in parts are off");
        self.0.get(key, options.clone()).await.map_err(fault)
    }

    async fn head(&self, key: &Key) -> Result<Stored, Fault> {
        let meta = self.0.head(key).await.map_err(fault)?;
        Ok(Stored {
            meta,
            write_id: None,
            etag: None,
        })
    }

    async fn put(&self, _: &Key, _: Bytes, _: &WriteRequest) -> Result<Answer, Fault> {
        Err(self.cannot("writing").into())
    }

    async fn delete(&self, _: &Deletion) -> Deleted {
        Err(self.cannot("deleting").into())
    }

    async fn list(&self, options: &ListOptions, _: Option<&str>) -> Result<Page, Fault> {
        let listed: Result<Vec<_>, _> = self.0.list(options.clone()).try_collect().await;
        let entries = listed.map_err(fault)?.into_iter().map(Ok).collect();
        Ok(Page {
            entries,
            next: None,
        })
    }
}

/// A server over a store that fails the first read below a prefix, with what lies between the two.
async fn failing_once(
    step: &str,
    between: impl Fn(Arc<FaultyStorage>) -> Arc<dyn Storage>,
) -> (World, Arc<FaultyStorage>) {
    let (store, _) = Store::small().await;
    let faulty = FaultyStorage::new(Arc::clone(&store.storage), Plan::none());
    let faulty = Arc::new(faulty);
    let store = Store {
        storage: between(Arc::clone(&faulty)),
        ..store
    };
    let world = World::serving(&store).await;
    let first = Matcher::verb(Verb::Get).below(step);
    faulty.set_plan(Plan::none().on(first, 0, Decision::FailBefore));
    (world, faulty)
}

#[tokio::test]
async fn a_store_behind_a_network_that_fails_once_is_asked_again() {
    let retry = RetrySettings::default().with_pauses(Duration::ZERO, Duration::ZERO);
    let settings = RemoteSettings::default()
        .with_retry(retry)
        .with_parallel_reads(0);
    for step in STEPS {
        let patient = |faulty| -> Arc<dyn Storage> {
            Arc::new(RemoteStorage::new(EachOnce(faulty), settings.clone()))
        };
        let (world, faulty) = failing_once(step, patient).await;
        let reply = world.get("/main/g/a/c/0").await;
        assert_eq!((reply.status, reply.body), (200, bytes(0, 2000)), "{step}");
        assert_eq!(faulty.trace().faults().count(), 1, "{step}");
    }
}

#[tokio::test]
async fn a_failure_that_passes_is_unavailable_and_is_not_kept() {
    for step in STEPS {
        let (world, faulty) = failing_once(step, |faulty| faulty).await;
        let reply = world.get("/main/g/a/c/0").await;
        assert_eq!(reply.status, 503, "{step}: {}", reply.text());
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{step}");
        assert_eq!(faulty.trace().faults().count(), 1, "{step}");
        let reply = world.get("/main/g/a/c/0").await;
        assert_eq!((reply.status, reply.body), (200, bytes(0, 2000)), "{step}");
    }
}
