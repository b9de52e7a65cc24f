//! The hop from a task to a thread that may wait.
//!
//! One hop per operation. How many threads are in the file system at once is bounded, apart for reads
//! and writes, because a write may wait for a lock that another process holds. A process that has run
//! out of file descriptors all the same waits a little and tries again, a few times.

use std::sync::Arc;
use std::time::Duration;

use icefield_storage::{Key, PutOutcome, StorageError};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::error;
use crate::store::Store;

/// How often an operation is tried that finds no free file descriptor.
const TRIES: u32 = 8;

/// The work did not come back.
#[derive(Debug)]
pub(crate) enum Lost {
    /// It never began: the runtime is shutting down.
    NeverRan,
    /// It panicked on the way.
    Panicked,
}

impl Lost {
    /// Returns the error that says so.
    pub(crate) fn to_error(&self, action: &'static str, target: &str) -> StorageError {
        let why = match self {
            Self::NeverRan => "the runtime is shutting down",
            Self::Panicked => "BUG: the file system thread panicked",
        };
        StorageError::Failed {
            action,
            target: target.to_owned(),
            source: why.into(),
        }
    }
}

/// Runs `work` on `state` on a thread that may wait, and gives the state back.
pub(crate) async fn run_with<S, T, W>(
    store: &Arc<Store>,
    permits: &Arc<Semaphore>,
    mut state: S,
    work: W,
) -> Result<(S, Result<T, StorageError>), Lost>
where
    S: Send + 'static,
    T: Send + 'static,
    W: Fn(&Store, &mut S) -> Result<T, StorageError> + Send + Sync + 'static,
{
    let work = Arc::new(work);
    let mut pause = Duration::from_millis(2);
    for attempt in 1.. {
        // The permit goes along: a caller that gives up does not free a thread that goes on.
        let permit = Arc::clone(permits).acquire_owned().await;
        let (hop_store, hop_work) = (Arc::clone(store), Arc::clone(&work));
        let hop = move || {
            let _permit = permit;
            let result = hop_work(&hop_store, &mut state);
            (state, result)
        };
        let on_runtime = Handle::try_current().is_ok();
        let (back, result) = if on_runtime {
            match tokio::task::spawn_blocking(hop).await {
                Ok(done) => done,
                Err(error) if error.is_cancelled() => return Err(Lost::NeverRan),
                Err(_) => return Err(Lost::Panicked),
            }
        } else {
            hop()
        };
        state = back;
        match result {
            Err(error) if error::is_exhausted(&error) && attempt < TRIES && on_runtime => {
                store.clock.sleep(pause).await;
                pause *= 2;
            }
            result => return Ok((state, result)),
        }
    }
    Err(Lost::NeverRan)
}

/// Runs `work` on a thread that may wait; what is lost is an error.
pub(crate) async fn run<T, W>(
    store: &Arc<Store>,
    permits: &Arc<Semaphore>,
    action: &'static str,
    target: &str,
    work: W,
) -> Result<T, StorageError>
where
    T: Send + 'static,
    W: Fn(&Store) -> Result<T, StorageError> + Send + Sync + 'static,
{
    match run_with(store, permits, (), move |store, ()| work(store)).await {
        Ok(((), result)) => result,
        Err(lost) => Err(lost.to_error(action, target)),
    }
}

/// Turns what came back of a write into an answer: work that panicked may have written.
pub(crate) fn settle(
    store: &Store,
    key: &Key,
    done: Result<Result<PutOutcome, StorageError>, Lost>,
) -> Result<PutOutcome, StorageError> {
    match done {
        Ok(result) => result,
        Err(lost @ Lost::NeverRan) => Err(lost.to_error("write", key.as_str())),
        Err(lost @ Lost::Panicked) => {
            store.note_unknown(key);
            Ok(PutOutcome::Unknown(lost.to_error("write", key.as_str())))
        }
    }
}
