//! Threads that wait for disks in place of those who ask.
//!
//! The runtime has such threads, too, but two of its threads pass a value on before one of them waits. What is at most
//! one call of the operating system long is worth less than that.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Threads that may wait at once. A disk behind a network wants more of them than there are processors.
const THREADS: usize = 64;

type Job = Box<dyn FnOnce() + Send>;

/// The threads of one process. They start when there is work for them, and stay.
#[derive(Default)]
pub(crate) struct Disks {
    queue: Mutex<Queue>,
    more: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Those that run, and those that are about to start.
    threads: usize,
    idle: usize,
}

impl Disks {
    /// Does a job soon. It must not panic. Without any thread it is done at once.
    pub(crate) fn run(self: &Arc<Self>, job: impl FnOnce() + Send + 'static) {
        let mut queue = self.lock();
        queue.jobs.push_back(Box::new(job));
        if queue.idle >= queue.jobs.len() {
            drop(queue);
            self.more.notify_one();
        } else if queue.threads < THREADS {
            queue.threads += 1;
            drop(queue);
            self.start();
        }
    }

    fn start(self: &Arc<Self>) {
        let disks = Arc::clone(self);
        let name = "icefield-disk".to_owned();
        let started = thread::Builder::new().name(name).spawn(move || {
            disks.work();
        });
        if started.is_err() {
            let mut queue = self.lock();
            queue.threads -= 1;
            // As long as there is another thread, that one will come to it; one that was about to start comes here, too.
            let jobs = match queue.threads {
                0 => mem::take(&mut queue.jobs),
                _ => VecDeque::new(),
            };
            drop(queue);
            jobs.into_iter().for_each(|job| job());
        }
    }

    fn work(&self) {
        let mut queue = self.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                drop(queue);
                job();
                queue = self.lock();
            } else {
                queue.idle += 1;
                queue = self
                    .more
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
                queue.idle -= 1;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
