//! The process: its runtime, and what becomes of native objects in a child that was forked.
//!
//! A forked child has the memory of its parent but none of its threads, and any lock may be in the hands of a thread
//! that is not there. So the child starts a generation of its own, with a fresh runtime, and touches nothing that
//! belongs to its parent: not to use it, and not to drop it either.

mod calls;
mod disks;
mod lasting;
mod logs;

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::errors::Failure;
use crate::task::Courier;
use disks::Disks;

pub(crate) use calls::{hook, in_python, is_ending};
pub(crate) use lasting::{LONGEST, Running, lasting};
pub(crate) use logs::{initialize_logs, set_logs_filter};

/// Threads that may wait for a disk at once.
const BLOCKING_THREADS: usize = 64;

/// Forks between the first process and this one.
static GENERATION: AtomicUsize = AtomicUsize::new(0);

static FIRST: Generation = Generation::new();

/// What one process owns. Those of the parents stay where they are, for ever, unused.
struct Generation {
    engine: OnceLock<Engine>,
    calls: calls::Calls,
    lasting: lasting::Lasting,
    next: OnceLock<Box<Self>>,
}

struct Engine {
    runtime: Runtime,
    courier: Courier,
    disks: Arc<Disks>,
}

impl Generation {
    const fn new() -> Self {
        Self {
            engine: OnceLock::new(),
            calls: calls::Calls::new(),
            lasting: lasting::Lasting::new(),
            next: OnceLock::new(),
        }
    }

    /// Only a child asks for what comes behind its parent's, so nobody else initialises it.
    fn current() -> &'static Self {
        let mut generation = &FIRST;
        for _ in 0..GENERATION.load(Ordering::Acquire) {
            generation = generation.next.get_or_init(|| Box::new(Self::new()));
        }
        generation
    }

    fn engine(&self) -> Result<&Engine, Failure> {
        if let Some(engine) = self.engine.get() {
            return Ok(engine);
        }
        let started = Engine::start().map_err(|error| {
            Failure::new(
                "io",
                format!("the operating system gives no threads to work with: {error}"),
            )
        })?;
        Ok(self.engine.get_or_init(|| started))
    }
}

impl Engine {
    fn start() -> io::Result<Self> {
        Ok(Self {
            runtime: Builder::new_multi_thread()
                .thread_name("icefield")
                .max_blocking_threads(BLOCKING_THREADS)
                .enable_all()
                .build()?,
            courier: Courier::start()?,
            disks: Arc::default(),
        })
    }
}

/// Returns the runtime of this process, started at the first call.
pub(crate) fn runtime() -> Result<Handle, Failure> {
    Ok(Generation::current().engine()?.runtime.handle().clone())
}

/// Returns who tells the event loops of this process what is done.
pub(crate) fn courier() -> Result<&'static Courier, Failure> {
    Ok(&Generation::current().engine()?.courier)
}

/// Does a job on a thread that may wait for a disk. It must not panic.
pub(crate) fn on_disk(job: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    Generation::current().engine()?.disks.run(job);
    Ok(())
}

/// The process that made an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Birthplace(usize);

impl Birthplace {
    pub(crate) fn here() -> Self {
        Self(GENERATION.load(Ordering::Acquire))
    }

    pub(crate) fn is_here(self) -> bool {
        self == Self::here()
    }

    /// # Errors
    /// `forked`, if a parent of this process made the object.
    pub(crate) fn check(self) -> PyResult<()> {
        Ok(self.checked()?)
    }

    /// As [`Birthplace::check`], for those who are not in Python.
    pub(crate) fn checked(self) -> Result<(), Failure> {
        match self.is_here() {
            true => Ok(()),
            false => Err(Failure::new(
                "forked",
                "this object was made before the process was forked, and its connections and threads belong to \
                 the parent: open the repository again in this process, send the object as a pickle, or start \
                 processes with `spawn` or `forkserver`",
            )),
        }
    }
}

/// A value that only the process that made it touches. A forked child does not even drop it: that might wait for a
/// lock of a thread that is not there.
#[derive(Debug)]
pub(crate) struct Own<T> {
    birthplace: Birthplace,
    value: Option<T>,
}

impl<T> Own<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            birthplace: Birthplace::here(),
            value: Some(value),
        }
    }

    /// # Errors
    /// `forked`, if a parent of this process made the value.
    pub(crate) fn get(&self) -> Result<&T, Failure> {
        self.birthplace.checked()?;
        // It is taken only when this is dropped.
        self.value
            .as_ref()
            .ok_or_else(|| Failure::new("unknown", "a value was used after its end: this is a bug"))
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        if !self.birthplace.is_here() {
            std::mem::forget(self.value.take());
        }
    }
}

/// Runs work within the runtime's context on this thread: timers and `spawn` work in it.
pub(crate) fn within<T>(work: impl FnOnce() -> T) -> Result<T, Failure> {
    let handle = runtime()?;
    let _entered = handle.enter();
    Ok(work())
}

/// Runs work that waits for other work of this runtime, or for Python, on a thread of its own: the threads on which the
/// runtime itself waits for disks are few, and taken up by it they would never serve what it waits for.
pub(crate) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let started = std::thread::Builder::new()
        .name("icefield-aside".to_owned())
        .spawn(move || {
            // Whoever asked may have given up.
            let _ = sender.send(work());
        });
    if let Err(error) = started {
        let problem = format!("the operating system gives no thread to work on: {error}");
        return Err(Failure::new("io", problem));
    }
    receiver.await.map_err(|_| {
        Failure::new(
            "concurrency",
            "a thread ended before its work did: this is a bug",
        )
    })
}

/// Why Python is not called any more.
pub(crate) fn ending() -> Failure {
    let problem = "the Python interpreter is ending: wait for all work before the program ends";
    Failure::new("concurrency", problem)
}

/// The child will not touch what is the parent's. Locks that the parent shares with libraries are beyond this.
#[pyfunction]
pub(crate) fn before_fork() {}

#[pyfunction]
pub(crate) fn after_fork_in_child() {
    GENERATION.fetch_add(1, Ordering::AcqRel);
    // Here, where there is one thread: a second fork while another thread makes it would find it half made for ever.
    let _made = Generation::current();
}
