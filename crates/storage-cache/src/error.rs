//! Errors of a cache that cannot be used.

use std::io;
use std::path::PathBuf;

/// The reason why a directory cannot hold a cache. An open cache reports no errors: the store does what the cache
/// cannot.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The text is no cache.
    #[error(
        "{text:?} is no cache: {problem}; write PATH or PATH,SIZE, such as /var/cache/ocean,20GiB"
    )]
    Spelling {
        /// The text.
        text: String,
        /// The rule that it breaks.
        problem: &'static str,
    },
    /// The bound leaves no room for chunks.
    #[error(
        "{bytes} bytes are too few for the cache {}: give it {least} at least, or leave it out", .path.display()
    )]
    TooSmall {
        /// The directory.
        path: PathBuf,
        /// The bound.
        bytes: u64,
        /// The least bound that is taken.
        least: u64,
    },
    /// Others may write there.
    #[error(
        "the cache {} {problem}, so that others could put wrong chunks there: choose another directory", .path.display()
    )]
    Unsafe {
        /// The directory, or the cache's own folder in it.
        path: PathBuf,
        /// The owner, the mode, or that it is a link.
        problem: &'static str,
    },
    /// The operating system refused.
    #[error(
        "the cache {} cannot be {action}: choose another directory, or leave the cache out", .path.display()
    )]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// The operation that failed, as a participle: `made`.
        action: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
}
