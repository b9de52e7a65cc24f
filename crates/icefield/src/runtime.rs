//! The runtime that blocking callers hand their work to.

use std::io;
use std::sync::{Mutex, PoisonError};

use tokio::runtime::{Builder, Handle, Runtime};

use crate::Error;

/// Threads that may wait for a disk at once.
const BLOCKING_THREADS: usize = 64;

static RUNTIME: Mutex<Option<Runtime>> = Mutex::new(None);

/// Returns the one runtime that this crate owns, started at the first call: for synchronous callers, which
/// hand their work to it and wait on a channel, as
/// [`ZarrStore::with_runtime`](crate::ZarrStore::with_runtime) does. Programs that have a runtime of their own
/// do not need it, and it is never entered with `block_on` from here.
///
/// # Errors
/// If the operating system gives it no threads.
pub fn runtime() -> Result<Handle, Error> {
    let mut runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = &*runtime {
        return Ok(runtime.handle().clone());
    }
    let started = start().map_err(Error::io)?;
    let handle = started.handle().clone();
    *runtime = Some(started);
    Ok(handle)
}

fn start() -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .thread_name("icefield")
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_runtime() {
        let (one, other) = (runtime().expect("starts"), runtime().expect("starts"));
        assert_eq!(one.id(), other.id());
        let (sender, receiver) = std::sync::mpsc::channel();
        one.spawn(async move { sender.send(1) });
        assert_eq!(receiver.recv(), Ok(1));
    }
}
