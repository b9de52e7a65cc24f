//! The hidden directory: temporary files and locks.
//!
//! ```text
//! .icefield-local/tmp/<random>     a file being written; its writer holds a lock on it
//! .icefield-local/locks/0 … f      one lock per share of the keys; never deleted
//! ```
//!
//! It lies in the root, on the same file system as the objects, so that a rename can move a file into
//! place; and not below `refs/`, where the reference implementation would take it for a branch.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use icefield_storage::StorageError;

use crate::error;
use crate::lock;
use crate::store::Store;
use crate::sys::{EntryKind, Errno, Open};
use crate::version::last_modified;

/// The name of the hidden directory.
pub(crate) const HIDDEN: &str = ".icefield-local";
/// How old a temporary file must be before a stranger removes it.
pub(crate) const GRACE: Duration = Duration::from_secs(24 * 60 * 60);

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

impl Workspace {
    /// Opens the hidden directory, makes it if need be, and removes what dead writers left behind.
    pub(crate) fn open(store: &Store, root: BorrowedFd<'_>) -> Result<Self, StorageError> {
        let make = |dir: BorrowedFd<'_>, name: &str| match store.sys.open(
            dir,
            name,
            Open::DirectoryHere,
        ) {
            Err(Errno::NOENT) => match store.sys.mkdir(dir, name) {
                Ok(()) | Err(Errno::EXIST) => store.sys.open(dir, name, Open::DirectoryHere),
                Err(errno) => Err(errno),
            },
            other => other,
        };
        let fail = |errno| error::of_place("write", &format!("{}/{HIDDEN}", store.name()), errno);
        let hidden = match make(root, HIDDEN) {
            Err(Errno::NOENT) => {
                store.check_root_is_there()?;
                return Err(fail(Errno::NOENT));
            }
            other => other.map_err(fail)?,
        };
        let tmp = make(hidden.as_fd(), "tmp").map_err(fail)?;
        let locks = make(hidden.as_fd(), "locks").map_err(fail)?;
        let workspace = Self { tmp, locks };
        lock::make_all(&*store.sys, workspace.locks.as_fd()).map_err(fail)?;
        // Where locks end at this machine, a temporary file whose writer lives on another one looks abandoned.
        if store.trusts_locks(root) {
            workspace.reclaim(store);
        }
        Ok(workspace)
    }

    /// Removes temporary files that are old and whose writer is dead. Best effort: the next handle
    /// tries again.
    fn reclaim(&self, store: &Store) {
        let now = store.clock.now();
        let tmp = self.tmp.as_fd();
        for name in store.sys.read_dir(tmp).unwrap_or_default() {
            let Ok(name) = std::str::from_utf8(&name) else {
                continue;
            };
            let Ok(stat) = store.sys.stat_at(tmp, name) else {
                continue;
            };
            let age = now.duration_since(last_modified(&stat)).unwrap_or_default();
            if stat.kind != EntryKind::File || age < GRACE {
                continue;
            }
            let Ok(file) = store.sys.open(tmp, name, Open::Read) else {
                continue;
            };
            if store.sys.lock(file.as_fd(), false).is_ok() {
                tracing::info!(name, "removing the temporary file of a dead writer");
                let _ = store.sys.unlink(tmp, name);
            }
        }
    }
}
