//! Reports of how far an import or export is.

use icefield_core::{ArrayMetadata, NodePath};

/// Receives the progress of an import or export, on the task that runs it. Implementations must return quickly, because
/// the copying waits. `()` ignores all reports.
pub trait Progress: Send + Sync {
    /// Adds chunks that are expected at most. An array may have fewer than its grid has room for; those that do not
    /// exist are reported by [`Progress::absent`].
    fn expected(&self, chunks: u64) {
        let _ = chunks;
    }

    /// Reports that the chunks of an array are being listed.
    fn array(&self, path: &NodePath) {
        let _ = path;
    }

    /// Reports that a chunk of this many bytes is done.
    fn chunk(&self, bytes: u64) {
        let _ = bytes;
    }

    /// Reports expected chunks that do not exist.
    fn absent(&self, chunks: u64) {
        let _ = chunks;
    }

    /// Reports that all chunks are done, and that the commit or the final rename begins.
    fn finishing(&self) {}
}

/// As many chunks as the grid of an array has room for.
pub(crate) fn most_chunks(array: &ArrayMetadata) -> u64 {
    (array.chunk_counts.iter()).fold(1, |most, count| most.saturating_mul(u64::from(*count)))
}

/// Ignores all reports.
impl Progress for () {}
