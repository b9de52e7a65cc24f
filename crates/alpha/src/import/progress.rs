//! Reports of the progress of an import.

/// Receives reports of how far an import is, from the task that runs it. An implementation does little: the import waits.
pub trait Progress: Send + Sync {
    /// One more snapshot was read and checked.
    fn checked(&self) {}

    /// All are sound; so many commits follow.
    fn commits(&self, expected: u64) {
        let _ = expected;
    }

    /// A chunk of so many bytes was copied.
    fn chunk(&self, bytes: u64) {
        let _ = bytes;
    }

    /// One more commit was made.
    fn committed(&self) {}
}

/// Reports no progress.
impl Progress for () {}
