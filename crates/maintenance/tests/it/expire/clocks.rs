//! Bounds of age where clocks disagree.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use icefield_core::test_suite::words::*;
use icefield_core::{Repository, collection};
use icefield_maintenance::{Expire, ExpireError, Policy};
use icefield_storage::wrap::ReadOnlyStorage;
use icefield_storage::{
    Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, ListOptions, ManualClock,
    Object, ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError,
};

use super::{DAY, Lab, MONDAY, at, older_than};

#[tokio::test]
async fn by_clocks_that_disagree_nothing_expires_for_its_age() {
    let lab = Lab::new().await;
    for day in 0..3 {
        lab.commit("main", MONDAY + day * DAY).await;
    }
    let now = MONDAY + 9 * DAY;
    lab.clock.set(at(now));
    let by = async |storage: &Arc<dyn Storage>, host| {
        let clock = Arc::new(ManualClock::new(at(host)));
        let opened = Repository::builder(Arc::clone(storage)).clock(clock);
        opened.open().await.expect("opened")
    };
    let before = objects(&lab.storage).await;
    let expire = Expire::new(older_than(MONDAY + DAY));
    for host in [now - 301, now + 301, now + 300 * DAY] {
        let repository = by(&lab.storage, host).await;
        for refused in [
            expire.plan(&repository, &()).await.map(drop),
            expire.run(&repository, &()).await.map(drop),
        ] {
            is!(
                refused,
                Err(ExpireError::ClocksApart(apart))
                    if (apart.store_time, apart.host_time) == (at(now), at(host)),
            );
        }
        // Rules that count need no clock.
        let mut counted = Policy::default();
        counted.last = 1;
        is!(Expire::new(counted).plan(&repository, &()).await, Ok(_));
    }
    assert_eq!(objects(&lab.storage).await, before);
    // Where nothing can be written, nothing is asked, and nothing can be lost.
    let read_only: Arc<dyn Storage> = Arc::new(ReadOnlyStorage::new(Arc::clone(&lab.storage)));
    let repository = by(&read_only, now + 301).await;
    is!(expire.plan(&repository, &()).await, Ok(plan) if plan.released() == 1);
    let repository = by(&lab.storage, now + 299).await;
    is!(expire.run(&repository, &()).await, Ok(done) if done.plan.released() == 1);
}

/// Why a store cannot be asked for the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Silence {
    /// It takes no writes of the objects that tell the time.
    Denied,
    /// It does not tell when an object was written.
    Undated,
}

/// A store that cannot be asked for the time, and takes all other writes.
#[derive(Debug)]
struct Silent(Arc<dyn Storage>, Silence);

impl fmt::Display for Silent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, silent", self.0)
    }
}

#[async_trait]
impl Storage for Silent {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        self.0.get(key, options).await
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        let mut meta = self.0.head(key).await?;
        if self.1 == Silence::Undated {
            meta.last_modified = None;
        }
        Ok(meta)
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        if self.1 == Silence::Denied && key.as_str().starts_with(&collection::probes()) {
            return Err(StorageError::PermissionDenied {
                action: "write",
                target: key.to_string(),
                source: "a rule of the bucket".into(),
            });
        }
        self.0.put(key, payload, options).await
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        self.0.list(options)
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        self.0.delete(deletions)
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.0.copy(from, to, options).await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        self.0.sync().await
    }
}

#[tokio::test]
async fn where_the_store_cannot_be_asked_an_expiration_is_planned_and_not_done() {
    let lab = Lab::new().await;
    for day in 0..3 {
        lab.commit("main", MONDAY + day * DAY).await;
    }
    lab.clock.set(at(MONDAY + 9 * DAY));
    let before = objects(&lab.storage).await;
    let expire = Expire::new(older_than(MONDAY + DAY));
    for silence in [Silence::Denied, Silence::Undated] {
        let silent: Arc<dyn Storage> = Arc::new(Silent(Arc::clone(&lab.storage), silence));
        let repository = lab.open(&silent).await;
        is!(expire.plan(&repository, &()).await, Ok(plan) if plan.released() == 1);
        let refused = expire.run(&repository, &()).await;
        match silence {
            Silence::Denied => is!(
                refused,
                Err(ExpireError::Storage(StorageError::PermissionDenied { .. }))
            ),
            Silence::Undated => is!(
                refused,
                Err(ExpireError::Storage(StorageError::Unsupported { .. }))
            ),
        }
        assert_eq!(objects(&lab.storage).await, before, "{silence:?}");
    }
}
