//! A place where requests wait until a test lets them go on.

use std::sync::Arc;

use tokio::sync::watch;

/// Holds requests until it is opened. Clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate {
    open: Arc<watch::Sender<bool>>,
    arrived: Arc<watch::Sender<usize>>,
}

impl Gate {
    /// Returns a closed gate.
    pub fn new() -> Self {
        Self {
            open: Arc::new(watch::Sender::new(false)),
            arrived: Arc::new(watch::Sender::new(0)),
        }
    }

    /// Lets every request through, now and later.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Waits until so many requests have come to the gate.
    pub async fn reached_by(&self, requests: usize) {
        let mut arrived = self.arrived.subscribe();
        let _same = arrived.wait_for(|count| *count >= requests).await;
    }

    pub(crate) async fn pass(&self) {
        self.arrived.send_modify(|count| *count += 1);
        let mut open = self.open.subscribe();
        let _same = open.wait_for(|open| *open).await;
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}
