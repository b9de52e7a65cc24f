//! The costs of a piece of work: requests, bytes, and rounds.
//!
//! A *round* is one link in a chain of dependent requests: ten reads at once are one round, two reads of
//! which the second needs the answer of the first are two. Latency to the store times rounds is what a user
//! waits for, so it is counted honestly, in virtual time: the store is put one virtual second away, and the
//! seconds that pass are the rounds. This needs a current-thread runtime whose clock stands still.
//!
//! ```
//! # use std::sync::Arc;
//! # use icefield_storage::{Key, Storage, StorageExt, wrap::Meter};
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let inner: Arc<dyn Storage> = Arc::new(icefield_storage_memory::MemoryStorage::new());
//! let meter = Meter::new(inner);
//! let storage = meter.storage();
//! let (a, b) = (Key::parse("a")?, Key::parse("b")?);
//!
//! let (_, both) = meter.measure(async { tokio::join!(storage.exists(&a), storage.exists(&b)) }).await;
//! assert_eq!((both.rounds, both.counts.total.head), (1, 2));
//!
//! let (_, one_by_one) = meter.measure(async { (storage.exists(&a).await, storage.exists(&b).await) }).await;
//! assert_eq!((one_by_one.rounds, one_by_one.counts.total.head), (2, 2));
//! # Ok(())
//! # }
//! ```

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::{CountingStorage, Counts, LatencyStorage};
use crate::Storage;

/// The virtual distance to the store. Long, so that the few milliseconds other code may wait do not count.
const ROUND: Duration = Duration::from_secs(1);

/// The cost of a piece of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The length of the longest chain of dependent requests.
    pub rounds: u64,
    /// The requests and bytes.
    pub counts: Counts,
}

/// Measures the cost of work on a store: the requests, the bytes, and the longest chain of requests that wait for each
/// other.
///
/// The store is one virtual second away, behind a [`CountingStorage`]. Time is tokio's, which must be paused, or every
/// request really takes a second.
#[derive(Clone, Debug)]
pub struct Meter {
    counting: CountingStorage,
}

impl Meter {
    /// Returns a meter for `inner`.
    pub fn new(inner: Arc<dyn Storage>) -> Self {
        let far = LatencyStorage::new(inner, ROUND);
        Self {
            counting: CountingStorage::new(Arc::new(far)),
        }
    }

    /// Returns the store to work on.
    pub fn storage(&self) -> Arc<dyn Storage> {
        Arc::new(self.counting.clone())
    }

    /// Runs `work`, and returns its result and its cost. Work that runs at the same time is included, so measure one
    /// thing at a time.
    pub async fn measure<T>(&self, work: impl Future<Output = T>) -> (T, Cost) {
        self.counting.reset();
        // Not the time of the day nor of the machine: what the runtime was asked to wait for.
        let start = Instant::now();
        let value = work.await;
        let elapsed = start.elapsed();
        let cost = Cost {
            rounds: elapsed.as_secs() / ROUND.as_secs(),
            counts: self.counting.reset(),
        };
        (value, cost)
    }
}
