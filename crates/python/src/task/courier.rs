//! Tells event loops that work is done.
//!
//! One thread does it for the runtime, so that no thread of that ever waits for the GIL; and what ends while it waits for
//! the GIL is told in one call per event loop. Threads that wait for disks tell by themselves.

use std::io;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use pyo3::intern;
use pyo3::prelude::*;

use crate::process;

/// A future of an event loop that waits for the end of some work.
pub(super) struct Waiter {
    event_loop: Py<PyAny>,
    future: Py<PyAny>,
}

impl Waiter {
    pub(super) fn new(event_loop: Py<PyAny>, future: Py<PyAny>) -> Self {
        Self { event_loop, future }
    }
}

pub(crate) struct Courier {
    post: Mutex<Sender<Vec<Waiter>>>,
}

impl Courier {
    pub(crate) fn start() -> io::Result<Self> {
        let (post, letters) = mpsc::channel();
        thread::Builder::new()
            .name("icefield-asyncio".to_owned())
            .spawn(move || deliver(&letters))?;
        Ok(Self {
            post: Mutex::new(post),
        })
    }

    pub(super) fn tell(&self, waiters: Vec<Waiter>) {
        let post = self.post.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(unsent) = post.send(waiters) {
            // The interpreter is about to end: nobody can take the references any more.
            std::mem::forget(unsent);
        }
    }
}

fn deliver(letters: &Receiver<Vec<Waiter>>) {
    while let Ok(mut waiters) = letters.recv() {
        let attached = process::in_python(|py| {
            while let Ok(more) = letters.try_recv() {
                waiters.extend(more);
            }
            tell_loops(py, std::mem::take(&mut waiters));
        });
        if attached.is_none() {
            std::mem::forget(waiters);
            return;
        }
    }
}

/// Tells event loops on this thread, which may wait for the GIL.
pub(super) fn tell(waiters: Vec<Waiter>) {
    let mut waiters = waiters;
    let attached = process::in_python(|py| tell_loops(py, std::mem::take(&mut waiters)));
    if attached.is_none() {
        std::mem::forget(waiters);
    }
}

fn tell_loops(py: Python<'_>, waiters: Vec<Waiter>) {
    let mut loops: Vec<(Py<PyAny>, Vec<Py<PyAny>>)> = Vec::new();
    for Waiter { event_loop, future } in waiters {
        let known = loops.iter_mut().find(|(known, _)| known.is(&event_loop));
        match known {
            Some((_, futures)) => futures.push(future),
            None => loops.push((event_loop, vec![future])),
        }
    }
    for (event_loop, futures) in loops {
        let told = Py::new(py, Told { futures }).and_then(|told| {
            event_loop.call_method1(py, intern!(py, "call_soon_threadsafe"), (told,))
        });
        // A loop that is closed runs nothing any more, so nobody waits there.
        drop(told);
    }
}

/// Runs on the event loop.
#[pyclass(frozen, module = "icefield._native")]
struct Told {
    futures: Vec<Py<PyAny>>,
}

#[pymethods]
impl Told {
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
