//! How many bytes are held, counted as they come and go.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that are held now, and the most that were.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    now: AtomicU64,
    peak: AtomicU64,
}

impl Gauge {
    /// Counts bytes for as long as the result lives.
    pub(super) fn hold(self: &Arc<Self>, bytes: u64) -> Held {
        let now = self.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(now, Ordering::Relaxed);
        Held {
            gauge: Arc::clone(self),
            bytes,
        }
    }

    /// Returns the most bytes that were held at once.
    pub(super) fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
}

/// Bytes that are held.
#[derive(Debug)]
pub(super) struct Held {
    gauge: Arc<Gauge>,
    bytes: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.gauge.now.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_that_was_held_is_known() {
        let gauge = Arc::new(Gauge::default());
        let (three, four) = (gauge.hold(3), gauge.hold(4));
        drop(three);
        let two = gauge.hold(2);
        assert_eq!(gauge.peak(), 7);
        drop((two, four));
        assert_eq!(gauge.now.load(Ordering::Relaxed), 0);
    }
}
