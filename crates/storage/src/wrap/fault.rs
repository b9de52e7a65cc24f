//! A store on which everything can go wrong, repeatably.
//!
//! [`FaultyStorage`] numbers the operations that go to another store and lets a [`Plan`] decide what happens
//! to each: nothing, a failure before or after the effect, a late or double effect, a stale, short or garbled
//! read, a panic, a call that never returns, or the end of the process. What it did is in its [`Trace`], which
//! can be [replayed](Plan::replay).
//!
//! Every crash of a scenario, enumerated:
//!
//! ```
//! # use std::sync::Arc;
//! # use icefield_storage::{Key, PutMode, Storage, StorageError, StorageExt};
//! # use icefield_storage::wrap::fault::{FaultyStorage, Plan, crash_points};
//! # use icefield_storage_memory::MemoryStorage;
//! async fn publish(storage: &dyn Storage) -> Result<(), StorageError> {
//!     for key in ["chunks/1", "refs/main"] {
//!         let key = Key::parse(key)?;
//!         let _ = storage.put(&key, b"x".to_vec().into(), PutMode::Create.into()).await?;
//!     }
//!     Ok(())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), StorageError> {
//! let dry = FaultyStorage::new(Arc::new(MemoryStorage::new()), Plan::none());
//! publish(&dry).await?;
//!
//! for (k, when) in crash_points(dry.operations()) {
//!     let inner: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
//!     let dying = FaultyStorage::new(inner.clone(), Plan::stop_at(k, when));
//!     let _ = publish(&dying).await; // the process dies somewhere in here
//!
//!     // The next process finds a whole world, before and after the late write comes in.
//!     for _ in 0..2 {
//!         let published = inner.exists(&Key::parse("refs/main")?).await?;
//!         assert!(!published || inner.exists(&Key::parse("chunks/1")?).await?);
//!         dying.deliver_pending().await;
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The wrapper keeps every state of every object written through it, for stale reads and for
//! [`FaultyStorage::history`]. To learn the state before the first write and the time of a copy it makes reads
//! of its own, uncounted: put a [`CountingStorage`](super::CountingStorage) or a
//! [`LatencyStorage`](super::LatencyStorage) outside, not inside.

mod decision;
mod history;
mod inject;
mod pending;
mod plan;
mod storage;
mod trace;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::future::{self, Either};
use tokio::sync::watch;

use crate::{Clock, Key, Storage, StorageError, SystemClock};
pub use decision::{Decision, Delivery, Verb, When};
use history::History;
use pending::Pending;
pub use plan::{Matcher, Plan, Rates, crash_points};
pub use trace::{Event, Trace};

/// Another store, with faults. Clones are handles to the same one.
#[derive(Clone)]
pub struct FaultyStorage {
    inner: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<FaultState>>,
    /// How many operations hang.
    hung: Arc<watch::Sender<u64>>,
}

#[derive(Debug, Default)]
struct FaultState {
    plan: Plan,
    operations: u64,
    writes: u64,
    trace: Trace,
    stopped: bool,
    pending: Vec<Pending>,
    history: History,
}

/// A late write that has reached the store.
#[derive(Debug)]
pub struct Delivered {
    /// The number that the operation had.
    pub operation: u64,
    /// Its key.
    pub key: Key,
    /// Whether it changed the object: its condition held, and the store took it.
    pub took_effect: bool,
}

/// The source of every error that was injected.
#[derive(Debug, thiserror::Error)]
#[error("injected fault in operation {operation}: {decision}")]
pub struct InjectedFault {
    /// The number of the operation; of one after a [`Decision::Stop`], that of the stop.
    pub operation: u64,
    /// The fault.
    pub decision: Decision,
}

impl FaultyStorage {
    /// Returns `inner` with the faults of `plan`; delays are waited for by tokio's clock.
    pub fn new(inner: Arc<dyn Storage>, plan: Plan) -> Self {
        Self {
            inner,
            clock: Arc::new(SystemClock),
            state: Arc::new(Mutex::new(FaultState {
                plan,
                ..FaultState::default()
            })),
            hung: Arc::new(watch::Sender::new(0)),
        }
    }

    /// Returns the store with its delays waited for by `clock`.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Begins another plan: operations are counted from zero, the trace is empty, and a stop is over.
    /// Late writes are still to come, and the history goes on.
    pub fn set_plan(&self, plan: Plan) {
        let mut state = self.lock();
        let before = std::mem::take(&mut state.operations);
        for due in state.pending.iter_mut().filter_map(Pending::due_mut) {
            *due = due.saturating_sub(before);
        }
        state.plan = plan;
        state.writes = 0;
        state.trace = Trace::default();
        state.stopped = false;
    }

    /// Returns how many operations have begun, the one that stopped the store included, those after it not.
    pub fn operations(&self) -> u64 {
        self.lock().operations
    }

    /// Returns how many of them were writes.
    pub fn writes(&self) -> u64 {
        self.lock().writes
    }

    /// Returns what was asked and what was done to it.
    pub fn trace(&self) -> Trace {
        self.lock().trace.clone()
    }

    /// Returns whether a [`Decision::Stop`] was met.
    pub fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Returns how many late writes have not reached the store.
    pub fn pending(&self) -> usize {
        self.lock().pending.len()
    }

    /// Lets all late writes reach the store, in the order in which they were asked for, also if the store
    /// has stopped meanwhile: a write that is on its way arrives, whichever client sent it.
    pub async fn deliver_pending(&self) -> Vec<Delivered> {
        let pending = std::mem::take(&mut self.lock().pending);
        self.deliver(pending).await
    }

    /// Returns every state that an object has had, the one before its first write through this wrapper
    /// included; `None` where it did not exist. Empty if it was never written through the wrapper.
    pub fn history(&self, key: &Key) -> Vec<Option<Bytes>> {
        self.lock().history.states(key)
    }

    /// Runs `work` until it is done, or until an operation hangs ([`Decision::Cancel`]): then drops it there
    /// and returns `None`, like a caller that lost patience.
    pub async fn run_until_hung<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut hung = self.hung.subscribe();
        let before = *hung.borrow_and_update();
        let more = hung.wait_for(|now| *now > before);
        // Polled first, `work` also wins if it has ended although something that it left behind hangs.
        match future::select(std::pin::pin!(work), std::pin::pin!(more)).await {
            Either::Left((value, _)) => Some(value),
            Either::Right(_) => None,
        }
    }

    /// Returns whether an error was injected rather than made by a real store.
    pub fn is_injected(error: &StorageError) -> bool {
        match error {
            StorageError::Unavailable { source, .. } | StorageError::Failed { source, .. } => {
                source.is::<InjectedFault>()
            }
            _ => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, FaultState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for FaultyStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("FaultyStorage")
            .field("inner", &self.inner)
            .field("operations", &state.operations)
            .field("stopped", &state.stopped)
            .field("pending", &state.pending.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for FaultyStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, with faults", self.inner)
    }
}
