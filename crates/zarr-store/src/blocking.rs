//! Waiting for asynchronous work from a thread that may block.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;

use bytes::Bytes;
use icefield_core::ByteRange;
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::key::ZarrKey;
use crate::store::explain;
use crate::{BlockingError, ZarrStore, ZarrStoreError};

impl ZarrStore {
    /// Sets the runtime on which [`ZarrStore::wait`] runs its work.
    ///
    /// It should have worker threads that no other code uses. A runtime without worker threads must be driven by
    /// another thread for as long as calls wait.
    #[must_use]
    pub fn with_runtime(mut self, runtime: Handle) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// As [`ZarrStore::get_range`], without waiting for a network; `None` where it would have to. May block on a disk:
    /// call it from a thread that may.
    ///
    /// # Errors
    /// Those of [`ZarrStore::get_range`], inside the `Some`.
    pub fn try_get_range(
        &self,
        key: &str,
        range: ByteRange,
    ) -> Option<Result<Option<Bytes>, ZarrStoreError>> {
        match self.parse(key) {
            Ok(named) => self.try_read(key, &named, range),
            Err(error) => Some(Err(error)),
        }
    }

    pub(crate) fn try_read(
        &self,
        key: &str,
        named: &ZarrKey,
        range: ByteRange,
    ) -> Option<Result<Option<Bytes>, ZarrStoreError>> {
        let ZarrKey::Chunk { array, index } = named else {
            return Some(self.read_document(key, named, range));
        };
        let chunk = self.session().try_chunk_blocking(array, index, range)?;
        Some(chunk.map_err(|error| explain(key, range, error)))
    }

    /// Hands work to the store's runtime and waits for its result on this thread.
    ///
    /// May be called from any thread that may block, also from a worker of that very runtime if it has several
    /// threads: its other tasks then move to another worker.
    ///
    /// # Errors
    /// The errors of the work, and [`ZarrStoreError::Blocking`]: no runtime, a runtime that was shut down, or a thread
    /// that would wait for itself.
    pub fn wait<T, F>(&self, work: F) -> Result<T, ZarrStoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ZarrStoreError>> + Send + 'static,
    {
        let runtime = self.runtime.as_ref().ok_or(BlockingError::NoRuntime)?;
        wait_on(runtime, work)?
    }
}

/// Runs work on a runtime and waits for it; never calls `block_on`, which panics inside asynchronous code.
fn wait_on<T, F>(runtime: &Handle, work: F) -> Result<T, BlockingError>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let run = || {
        let (sender, receiver) = mpsc::sync_channel(1);
        runtime.spawn(async move {
            // The receiver is gone only if the waiting thread is gone.
            let _ = sender.send(work.await);
        });
        // The runtime drops the sender with the work, should it be shut down.
        receiver.recv().map_err(|_| BlockingError::Dropped)
    };
    let on_same_runtime = Handle::try_current().is_ok_and(|current| current.id() == runtime.id());
    if !on_same_runtime {
        return run();
    }
    match runtime.runtime_flavor() {
        RuntimeFlavor::CurrentThread => Err(BlockingError::OnRuntimeThread),
        // Panics, before it runs anything, where the thread cannot be spared: inside a `LocalSet`.
        _ => catch_unwind(AssertUnwindSafe(|| tokio::task::block_in_place(run)))
            .unwrap_or(Err(BlockingError::OnRuntimeThread)),
    }
}

#[cfg(test)]
mod tests;
