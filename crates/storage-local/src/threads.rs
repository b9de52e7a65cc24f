//! Threads of this process that share work or state.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex; what it guards is consistent between any two statements.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many threads one operation uses at most.
const THREADS: usize = 16;

/// Does something with each item, several at a time, and returns an error if there was one. Blocks.
pub(crate) fn in_parallel<T: Sync, E: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    let run = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = work(item) {
                lock(&failed).get_or_insert(error);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..items.len().min(THREADS) {
            // Without another thread the work is done all the same.
            if std::thread::Builder::new()
                .spawn_scoped(scope, run)
                .is_err()
            {
                break;
            }
        }
        run();
    });
    let failed = lock(&failed).take();
    failed.map_or(Ok(()), Err)
}
