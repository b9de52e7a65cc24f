//! Reports of how far an operation is.

/// Is told how far an operation is, from the task that runs it. Do little: the work waits.
pub trait Progress: Send + Sync {
    /// The next stage begins, in words for people (`"reading manifests"`), with the number of its steps where that is
    /// known.
    fn stage(&self, name: &'static str, steps: Option<u64>) {
        let _ = (name, steps);
    }

    /// So many more steps than were announced.
    fn more(&self, steps: u64) {
        let _ = steps;
    }

    /// So many steps of the stage are done, which dealt with so many bytes.
    fn advance(&self, steps: u64, bytes: u64) {
        let _ = (steps, bytes);
    }
}

/// Progress is not reported.
impl Progress for () {}
