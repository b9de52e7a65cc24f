//! Who raises an interrupt at each step of some work.

use std::sync::atomic::{AtomicUsize, Ordering};

use icefield_core::Interrupt;
use icefield_maintenance::Progress;

/// Raises an interrupt after so many calls.
pub(crate) struct After {
    interrupt: Interrupt,
    calls: AtomicUsize,
    last: usize,
}

impl After {
    pub(crate) fn calls(last: usize, interrupt: &Interrupt) -> Self {
        Self {
            interrupt: interrupt.clone(),
            calls: AtomicUsize::new(0),
            last,
        }
    }

    fn call(&self) {
        if self.calls.fetch_add(1, Ordering::SeqCst) == self.last {
            self.interrupt.raise();
        }
    }
}

impl Progress for After {
    fn stage(&self, _: &'static str, _: Option<u64>) {
        self.call();
    }

    fn advance(&self, _: u64, _: u64) {
        self.call();
    }
}
