//! Work that the process waits for before it ends, because its effects are visible to others: commits, changes of refs,
//! maintenance.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use icefield::Interrupt;

/// The longest time that the process waits at its end.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The lasting work of one process that is running.
pub(super) struct LastingWork {
    state: Mutex<LastingState>,
    ended: Condvar,
}

struct LastingState {
    /// Whether the interpreter waits for this work at its end.
    is_hooked: bool,
    next: u64,
    /// The running work by number, with the interrupt that ends it early if it has one.
    running: BTreeMap<u64, Option<Interrupt>>,
}

/// Lasting work that is running until this is dropped.
pub(crate) struct RunningWork {
    lasting: &'static LastingWork,
    number: u64,
}

impl LastingWork {
    pub(super) const fn new() -> Self {
        Self {
            state: Mutex::new(LastingState {
                is_hooked: false,
                next: 0,
                running: BTreeMap::new(),
            }),
            ended: Condvar::new(),
        }
    }

    /// Adds work that begins. Returns whether it is the first work of the process, which then registers the wait.
    pub(super) fn add(&'static self, interrupt: Option<Interrupt>) -> (RunningWork, bool) {
        let mut state = self.lock();
        state.next += 1;
        let number = state.next;
        state.running.insert(number, interrupt);
        let is_first = !std::mem::replace(&mut state.is_hooked, true);
        let lasting = self;
        (RunningWork { lasting, number }, is_first)
    }

    /// Asks all work that has an interrupt to end early.
    pub(super) fn interrupt(&self) {
        for interrupt in self.lock().running.values().flatten() {
            interrupt.raise();
        }
    }

    /// Waits until no work is running, for at most `longest`; returns how many pieces of work still run. The caller must not
    /// hold the GIL.
    pub(super) fn wait(&self, longest: Duration) -> usize {
        let running = |state: &mut LastingState| !state.running.is_empty();
        let waited = self.ended.wait_timeout_while(self.lock(), longest, running);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.running.len()
    }

    fn lock(&self) -> MutexGuard<'_, LastingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RunningWork {
    fn drop(&mut self) {
        self.lasting.lock().running.remove(&self.number);
        self.lasting.ended.notify_all();
    }
}
