//! Common parts of these tests.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, SystemTime};

use futures::future::{BoxFuture, FutureExt};
use icefield_core::test_suite::Trial;
use icefield_format::SpecVersion;
use icefield_storage::wrap::FaultyStorage;
use icefield_storage::wrap::fault::Plan;
use icefield_storage::{Clock, Storage};
use icefield_storage_memory::MemoryStorage;
use tokio::sync::Semaphore;

/// Returns an empty store.
pub(crate) fn memory() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::new())
}

/// Returns a trial on memory.
pub(crate) fn trial(name: &'static str) -> Trial {
    Trial::new(name, SpecVersion::V1, |_| async { memory() })
}

/// Returns a store on top of another that does what a plan says, and a handle to it.
pub(crate) fn faulty(inner: &Arc<dyn Storage>, plan: Plan) -> (FaultyStorage, Arc<dyn Storage>) {
    let faulty = FaultyStorage::new(Arc::clone(inner), plan);
    (faulty.clone(), Arc::new(faulty))
}

/// A clock whose sleepers wait until the test gives permits: a delay becomes a place to stop and look.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    pub(crate) waiting: Arc<Semaphore>,
    pub(crate) open: Arc<Semaphore>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self {
            waiting: Arc::new(Semaphore::new(0)),
            open: Arc::new(Semaphore::new(0)),
        }
    }

    /// Waits until a sleeper stands before the gate.
    pub(crate) async fn reached(&self) {
        let reached = self.waiting.acquire().await;
        reached.expect("never closed").forget();
    }

    /// Lets one pass.
    pub(crate) fn pass(&self) {
        self.open.add_permits(1);
    }
}

impl Clock for Gate {
    fn now(&self) -> SystemTime {
        Trial::start()
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        let gate = self.clone();
        async move {
            gate.waiting.add_permits(1);
            let pass = gate.open.acquire().await;
            pass.expect("never closed").forget();
        }
        .boxed()
    }
}

/// Runs a future on this thread, without any runtime.
pub(crate) fn without_runtime<T>(work: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut work = std::pin::pin!(work);
    loop {
        match work.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// Returns an error and all its causes, as a user sees them.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
