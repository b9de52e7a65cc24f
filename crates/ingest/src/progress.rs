//! Reports of how far an import or export is.

use icefield_core::{ArrayMetadata, NodePath};

/// Receives reports of how far an import or export is, from the task that runs it. An implementation does little: the copying
/// waits.
pub trait Progress: Send + Sync {
    /// There are at most so many chunks more. Arrays may have fewer than their grid has room for; those that
    /// are not there are reported as [`Progress::absent`].
    fn expected(&self, chunks: u64) {
        let _ = chunks;
    }

    /// The chunks of an array are being looked for.
    fn array(&self, path: &NodePath) {
        let _ = path;
    }

    /// A chunk of so many bytes has been dealt with.
    fn chunk(&self, bytes: u64) {
        let _ = bytes;
    }

    /// So many of the expected chunks do not exist.
    fn absent(&self, chunks: u64) {
        let _ = chunks;
    }

    /// All chunks are there; the commit, or the final rename, begins.
    fn finishing(&self) {}
}

/// As many chunks as the grid of an array has room for.
pub(crate) fn most_chunks(array: &ArrayMetadata) -> u64 {
    (array.chunk_counts.iter()).fold(1, |most, count| most.saturating_mul(u64::from(*count)))
}

/// Ignores all reports.
impl Progress for () {}
