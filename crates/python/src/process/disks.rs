//! Threads that wait for disks on behalf of callers.
//!
//! The runtime has such threads, too, but passes work through two other threads before one of them waits. That costs more than
//! work of at most one system call.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The largest number of threads. A network disk needs more of them than there are processors.
const THREADS: usize = 64;

type Job = Box<dyn FnOnce() + Send>;

/// The disk threads of one process. They start when work needs them, and stay.
#[derive(Default)]
pub(crate) struct Disks {
    queue: Mutex<Queue>,
    more: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Running threads, and threads that are about to start.
    threads: usize,
    idle: usize,
}

impl Disks {
    /// Queues a job, which must not panic. If no thread can start, runs it at once.
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
            // Another thread takes the job if there is one. A thread that was about to start and failed also comes here.
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
