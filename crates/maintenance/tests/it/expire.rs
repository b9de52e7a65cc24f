//! Expiration: who stays, what is rewritten, and what is left when it is disturbed.

mod clocks;
mod costs;
mod disturbed;
mod logs;
mod model;
mod policies;
mod refs;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use icefield_core::test_suite::words::*;
use icefield_core::{Repository, SnapshotId};
use icefield_maintenance::{Expire, Expired, Plan, Policy};
use icefield_storage::{ManualClock, SeededEntropy, Storage};
use icefield_storage_memory::MemoryStorage;

/// A second, an hour and a day.
const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;
/// 2 November 2026, a Monday, at midnight.
const MONDAY: u64 = 1_793_577_600;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// A repository whose clock is moved by hand.
struct Lab {
    storage: Arc<dyn Storage>,
    clock: ManualClock,
    repository: Repository,
}

impl Lab {
    /// The repository is created at midnight, and has no commits.
    async fn new() -> Self {
        let clock = ManualClock::new(at(MONDAY));
        let storage = MemoryStorage::builder().clock(Arc::new(clock.clone()));
        let storage: Arc<dyn Storage> = Arc::new(storage.build());
        let builder = Repository::builder(Arc::clone(&storage))
            .clock(Arc::new(clock.clone()))
            .entropy(Arc::new(SeededEntropy::new(7)));
        let repository = builder.create().await.expect("created");
        Self {
            storage,
            clock,
            repository,
        }
    }

    /// An empty store on the same clock.
    fn empty(&self) -> Arc<dyn Storage> {
        let storage = MemoryStorage::builder().clock(Arc::new(self.clock.clone()));
        Arc::new(storage.build())
    }

    /// Opens it as another process would, through another store perhaps.
    async fn open(&self, storage: &Arc<dyn Storage>) -> Repository {
        let builder = Repository::builder(Arc::clone(storage)).clock(Arc::new(self.clock.clone()));
        builder.open().await.expect("opened")
    }

    /// Commits a group of its own to a branch at a time.
    async fn commit(&self, name: &str, seconds: u64) -> SnapshotId {
        self.clock.set(at(seconds));
        let session = writer_on(&self.repository, name).await;
        set(&session, &format!("/at{seconds}"), group()).await;
        commit(&session, &format!("{name} {seconds}")).await
    }

    async fn plan(&self, policy: Policy) -> Plan {
        let plan = Expire::new(policy).plan(&self.repository, &()).await;
        plan.expect("it can be planned")
    }

    async fn run(&self, policy: Policy) -> Expired {
        let done = Expire::new(policy).run(&self.repository, &()).await;
        done.expect("nothing disturbs it")
    }

    /// A history as a new process reads it, newest first, without the first snapshot of the repository, which must be
    /// the last.
    async fn history(&self, name: &str) -> Vec<SnapshotId> {
        let fresh = self.open(&self.storage).await;
        let tip = tip(&fresh, name).await;
        let infos = history(&fresh, tip).await;
        let mut ids: Vec<SnapshotId> = infos.iter().map(|info| info.id).collect();
        assert_eq!(ids.pop(), Some(SnapshotId::INITIAL));
        ids
    }
}

fn older_than(seconds: u64) -> Policy {
    let mut policy = Policy::default();
    policy.older_than = Some(at(seconds));
    policy
}
