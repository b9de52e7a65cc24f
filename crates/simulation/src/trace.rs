//! The events of a run as one number: equal for equal runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The last events that a trace keeps in words.
const KEPT: usize = 400;

/// A digest of all events in their order, and the last of them in words. Clones share one trace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace(Arc<Mutex<Events>>);

#[derive(Debug)]
struct Events {
    digest: u64,
    count: u64,
    last: std::collections::VecDeque<String>,
}

impl Default for Events {
    fn default() -> Self {
        Self {
            // The basis of FNV-1a, 64 bits.
            digest: 0xcbf2_9ce4_8422_2325,
            count: 0,
            last: std::collections::VecDeque::new(),
        }
    }
}

impl Trace {
    fn lock(&self) -> MutexGuard<'_, Events> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an event.
    pub(crate) fn note(&self, at: Duration, event: impl FnOnce() -> String) {
        let event = format!("{:>12.6} {}", at.as_secs_f64(), event());
        let mut events = self.lock();
        for byte in event.bytes() {
            events.digest = (events.digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        events.count += 1;
        if events.last.len() == KEPT {
            events.last.pop_front();
        }
        events.last.push_back(event);
    }

    /// Returns the digest.
    pub(crate) fn digest(&self) -> u64 {
        self.lock().digest
    }

    /// Returns the number of events.
    pub(crate) fn count(&self) -> u64 {
        self.lock().count
    }

    /// Returns the last events, the newest last.
    pub(crate) fn last(&self) -> Vec<String> {
        self.lock().last.iter().cloned().collect()
    }
}
