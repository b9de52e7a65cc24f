//! Waiting for what a server does on threads of its own.

use std::time::Duration;

use icefield_storage::{Clock, SystemClock};

/// The longest wait: an event that takes longer than this will not happen.
const LIMIT: Duration = Duration::from_secs(60);

/// Waits until something holds. `what` says in words what was waited for.
///
/// It lets other tasks run and looks again, on the real clock: a test may have paused its own.
///
/// # Panics
/// If it does not hold within a minute: a test that hangs would say nothing.
pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = SystemClock.monotonic();
    while !holds() {
        let waited = SystemClock.monotonic().saturating_sub(begun);
        assert!(waited < LIMIT, "not within {LIMIT:?}: {what}");
        tokio::task::yield_now().await;
    }
}
