//! Work that takes long without waiting.

use crate::SessionError;

/// Bytes of references whose merge takes about as long as the way to another thread and back.
pub(super) const AT_ONCE: usize = 64 << 10;

/// Runs what may take long without waiting, away from the tasks that others wait for.
pub(super) async fn run_blocking<T: Send + 'static>(
    small: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, SessionError> {
    if small {
        return Ok(work());
    }
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => (runtime.spawn_blocking(work).await)
            .map_err(|error| SessionError::Aborted(error.to_string())),
        // Polled outside of any runtime: no other task waits.
        Err(_) => Ok(work()),
    }
}
