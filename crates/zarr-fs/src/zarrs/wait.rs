//! Waiting for asynchronous work from a thread that may block.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use tokio::runtime::{Handle, RuntimeFlavor};
use zarrs_storage::StorageError;

/// Runs work and waits for it on this thread; never calls `block_on` of a runtime, which panics inside asynchronous
/// code.
pub(super) fn wait<R, F>(runtime: Option<&Handle>, work: F) -> Result<R, StorageError>
where
    R: Send + 'static,
    F: Future<Output = Result<R, StorageError>> + Send + 'static,
{
    let Some(runtime) = runtime else {
        // Work on files: done on this thread, or by the threads that a runtime keeps for waiting.
        return on_this_thread(work);
    };
    let run = || {
        let (sender, receiver) = mpsc::sync_channel(1);
        runtime.spawn(async move {
            // The receiver is gone only if the waiting thread is gone.
            let _ = sender.send(work.await);
        });
        // The runtime drops the sender with the work, should it be shut down.
        receiver
            .recv()
            .unwrap_or_else(|_| Err(StorageError::from("the runtime is shutting down")))
    };
    let on_same_runtime = Handle::try_current().is_ok_and(|current| current.id() == runtime.id());
    if !on_same_runtime {
        return run();
    }
    let would_wait_for_itself =
        || StorageError::from("this thread would wait for itself: call from another one");
    match runtime.runtime_flavor() {
        RuntimeFlavor::CurrentThread => Err(would_wait_for_itself()),
        // Panics, before it runs anything, where the thread cannot be spared: inside a `LocalSet`.
        _ => catch_unwind(AssertUnwindSafe(|| tokio::task::block_in_place(run)))
            .unwrap_or_else(|_| Err(would_wait_for_itself())),
    }
}

/// Wakes a thread that is parked.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Drives work to its end on this thread.
fn on_this_thread<R>(work: impl Future<Output = R>) -> R {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut work = pin!(work);
    loop {
        match work.as_mut().poll(&mut context) {
            Poll::Ready(result) => return result,
            Poll::Pending => thread::park(),
        }
    }
}
