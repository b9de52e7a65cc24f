//! The hidden directory: temporary files and locks.
//!
//! ```text
//! .icefield-local/tmp/<random>     a file being written; its writer holds a lock on it
//! .icefield-local/locks/0 … f      one lock per share of the keys; never deleted
//! ```
//!
//! It lies in the root, on the same file system as the objects, so that a rename can move a file into
//! place; and not below `refs/`, where the reference implementation would take it for a branch.

mod open;

use std::os::fd::OwnedFd;

/// The name of the hidden directory.
pub(crate) const HIDDEN: &str = ".icefield-local";

/// Returns whether a path lies in a hidden directory, also on a file system that ignores case. Not only
/// in the one of this root: a directory below it may be the root of another store.
pub(crate) fn is_reserved(path: &str) -> bool {
    path.split('/')
        .any(|segment| segment.eq_ignore_ascii_case(HIDDEN))
}

/// The open hidden directory.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) tmp: OwnedFd,
    pub(crate) locks: OwnedFd,
}
