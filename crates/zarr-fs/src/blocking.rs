//! The hop from a task to a thread that may wait for files; and the way back, for callers that block.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::TreeError;

/// How many threads of one tree are in the file system at once.
const IN_FLIGHT: usize = 64;

/// Bounds how many threads, and so how many open files, one tree has at once.
#[derive(Clone, Debug)]
pub(crate) struct Threads(Arc<Semaphore>);

impl Default for Threads {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(IN_FLIGHT)))
    }
}

impl Threads {
    /// Runs work on a thread that may wait. Without a runtime that is the caller's.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        action: &'static str,
        name: &str,
        work: impl FnOnce() -> Result<T, TreeError> + Send + 'static,
    ) -> Result<T, TreeError> {
        if Handle::try_current().is_err() {
            return work();
        }
        let lost = || TreeError::Lost {
            action,
            name: name.to_owned(),
        };
        let permit = Arc::clone(&self.0).acquire_owned().await;
        // The permit goes along: a caller that gives up does not free a thread that goes on.
        let hop = move || {
            let _permit = permit;
            work()
        };
        tokio::task::spawn_blocking(hop).await.map_err(|_| lost())?
    }
}
