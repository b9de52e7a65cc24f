//! The resources of one process: its runtime, its threads, and the calls and the work that it waits for at its end.
//!
//! A forked child has the memory of its parent but none of its threads, and a thread that does not exist in the child may
//! hold any lock. The child therefore starts a generation of its own, with a fresh runtime, and neither uses nor drops
//! the resources of its parent.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::runtime::{Builder, Runtime};

use super::calls::PythonCalls;
use super::disks::Disks;
use super::lasting::LastingWork;
use crate::errors::Failure;
use crate::task::LoopNotifier;

/// The runtime's threads for blocking file operations.
const BLOCKING_THREADS: usize = 64;

/// The number of forks between the first process and this one.
static FORKS: AtomicUsize = AtomicUsize::new(0);

static FIRST: Generation = Generation::new();

/// The resources that one process owns. Those of its parents stay allocated and unused.
pub(super) struct Generation {
    engine: OnceLock<Engine>,
    pub(super) calls: PythonCalls,
    pub(super) lasting: LastingWork,
    next: OnceLock<Box<Self>>,
}

/// The threads of one process, started when the first work needs them.
pub(super) struct Engine {
    pub(super) runtime: Runtime,
    pub(super) notifier: LoopNotifier,
    pub(super) disks: Arc<Disks>,
}

impl Generation {
    const fn new() -> Self {
        Self {
            engine: OnceLock::new(),
            calls: PythonCalls::new(),
            lasting: LastingWork::new(),
            next: OnceLock::new(),
        }
    }

    /// Returns the generation of this process. Only a child asks for the generation after its parent's, so no other process
    /// initializes it.
    pub(super) fn current() -> &'static Self {
        let mut generation = &FIRST;
        for _ in 0..forks() {
            generation = generation.next.get_or_init(|| Box::new(Self::new()));
        }
        generation
    }

    /// Returns the threads, which the first call starts.
    ///
    /// # Errors
    /// `io`, if the operating system starts no threads.
    pub(super) fn engine(&'static self) -> Result<&'static Engine, Failure> {
        if let Some(engine) = self.engine.get() {
            return Ok(engine);
        }
        let started = Engine::start(&self.calls).map_err(|error| {
            Failure::new(
                "io",
                format!("the operating system gives no threads to work with: {error}"),
            )
        })?;
        Ok(self.engine.get_or_init(|| started))
    }
}

impl Engine {
    fn start(calls: &'static PythonCalls) -> io::Result<Self> {
        Ok(Self {
            runtime: Builder::new_multi_thread()
                .thread_name("icefield")
                .max_blocking_threads(BLOCKING_THREADS)
                .enable_all()
                .build()?,
            notifier: LoopNotifier::start(calls)?,
            disks: Arc::default(),
        })
    }
}

/// Returns the number of forks between the first process and this one.
pub(super) fn forks() -> usize {
    FORKS.load(Ordering::Acquire)
}

/// Begins the generation of a forked child.
pub(super) fn begin_after_fork() {
    FORKS.fetch_add(1, Ordering::AcqRel);
    // The child has one thread at this point. A second fork while another thread initialized the generation would leave
    // it half initialized for ever.
    let _initialized = Generation::current();
}
