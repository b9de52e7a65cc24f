//! Reports of how far an operation is.

/// Receives the progress of an operation, on the task that runs it. Implementations must return quickly, because the
/// work waits. `()` ignores all reports.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use icefield_maintenance::Progress;
///
/// /// Counts the bytes that were dealt with.
/// #[derive(Default)]
/// struct Bytes(AtomicU64);
///
/// impl Progress for Bytes {
///     fn advance(&self, _steps: u64, bytes: u64) {
///         self.0.fetch_add(bytes, Ordering::Relaxed);
///     }
/// }
/// # let progress = Bytes::default();
/// # progress.advance(1, 10);
/// # assert_eq!(progress.0.into_inner(), 10);
/// ```
pub trait Progress: Send + Sync {
    /// Announces the next stage, in words for people (`"reading manifests"`), with the number of its steps if that is
    /// known.
    fn stage(&self, name: &'static str, steps: Option<u64>) {
        let _ = (name, steps);
    }

    /// Adds steps to those that were announced.
    fn more(&self, steps: u64) {
        let _ = steps;
    }

    /// Reports steps of the stage that are done, and the bytes that they dealt with.
    fn advance(&self, steps: u64, bytes: u64) {
        let _ = (steps, bytes);
    }
}

/// Progress is not reported.
impl Progress for () {}
