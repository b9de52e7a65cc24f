//! Notifies event loops that work is done.
//!
//! One thread notifies on behalf of the runtime, so that no thread of the runtime waits for the GIL. Work that ends while
//! that thread waits for the GIL shares one call per event loop. Threads that wait for disks notify by themselves.

use std::io;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use pyo3::intern;
use pyo3::prelude::*;

use crate::process::PythonCalls;

/// A future of an event loop that waits for the end of some work.
pub(super) struct LoopWaiter {
    event_loop: Py<PyAny>,
    future: Py<PyAny>,
}

impl LoopWaiter {
    pub(super) fn new(event_loop: Py<PyAny>, future: Py<PyAny>) -> Self {
        Self { event_loop, future }
    }
}

/// The thread that notifies event loops.
pub(crate) struct LoopNotifier {
    sender: Mutex<Sender<Vec<LoopWaiter>>>,
    calls: &'static PythonCalls,
}

impl LoopNotifier {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the operating system starts no thread.
    pub(crate) fn start(calls: &'static PythonCalls) -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel();
        thread::Builder::new()
            .name("icefield-asyncio".to_owned())
            .spawn(move || notify_all(&receiver, calls))?;
        Ok(Self {
            sender: Mutex::new(sender),
            calls,
        })
    }

    /// Lets the thread complete futures; returns at once.
    pub(super) fn notify(&self, waiters: Vec<LoopWaiter>) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(unsent) = sender.send(waiters) {
            // The interpreter is about to end: no thread can release the references any more.
            std::mem::forget(unsent);
        }
    }

    /// Completes futures on this thread, which may wait for the GIL.
    pub(super) fn notify_from_here(&self, waiters: Vec<LoopWaiter>) {
        let mut waiters = waiters;
        let attached = (self.calls).in_python(|py| notify_loops(py, std::mem::take(&mut waiters)));
        if attached.is_none() {
            std::mem::forget(waiters);
        }
    }
}

fn notify_all(receiver: &Receiver<Vec<LoopWaiter>>, calls: &'static PythonCalls) {
    while let Ok(mut waiters) = receiver.recv() {
        let attached = calls.in_python(|py| {
            while let Ok(more) = receiver.try_recv() {
                waiters.extend(more);
            }
            notify_loops(py, std::mem::take(&mut waiters));
        });
        if attached.is_none() {
            std::mem::forget(waiters);
            return;
        }
    }
}

fn notify_loops(py: Python<'_>, waiters: Vec<LoopWaiter>) {
    let mut loops: Vec<(Py<PyAny>, Vec<Py<PyAny>>)> = Vec::new();
    for LoopWaiter { event_loop, future } in waiters {
        let known = loops.iter_mut().find(|(known, _)| known.is(&event_loop));
        match known {
            Some((_, futures)) => futures.push(future),
            None => loops.push((event_loop, vec![future])),
        }
    }
    for (event_loop, futures) in loops {
        let called = Py::new(py, FutureCompletion { futures }).and_then(|completion| {
            event_loop.call_method1(py, intern!(py, "call_soon_threadsafe"), (completion,))
        });
        // A closed loop runs no callbacks, and no coroutine waits on it.
        drop(called);
    }
}

/// The callback that completes futures on their event loop.
#[pyclass(frozen, module = "icefield._native")]
struct FutureCompletion {
    futures: Vec<Py<PyAny>>,
}

#[pymethods]
impl FutureCompletion {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        for future in &self.futures {
            let future = future.bind(py);
            if !future.call_method0(intern!(py, "done"))?.is_truthy()? {
                future.call_method1(intern!(py, "set_result"), (py.None(),))?;
            }
        }
        Ok(())
    }
}
