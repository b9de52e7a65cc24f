//! The locks that order the mutations of a key, among threads and among processes.
//!
//! Keys share a fixed number of lock files by hash. A lock file is never deleted, so no writer ever holds
//! a lock on a file that has lost its name; and the lock is the operating system's, so it ends with its
//! owner. Readers take none. The number of files and the hash are part of what all writers of a
//! directory must agree on.
//!
//! A lock file also remembers the time stamp of the latest object deleted under it (its own time stamp,
//! valid once the file is not empty), so that a key that is deleted and made again never gets the
//! version it had before: inodes are reused, and the clock of a file system ticks slowly.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use icefield_storage::{Key, StorageError};
use xxhash_rust::xxh3::xxh3_64;

use crate::error;
use crate::store::{ATTEMPTS, Store};
use crate::sys::{EntryKind, Errno, Open, Sys};
use crate::workspace::HIDDEN;

/// Few, so that they can all be made at once; enough, because a lock is held for microseconds.
const SHARES: u64 = 16;

/// Returns the name of the lock file that guards a key. `a` and `A` share it, also where they are two objects: whether
/// they are one may differ between machines that have mounted one directory.
fn lock_name(key: &Key) -> String {
    let hash = xxh3_64(key.as_str().to_lowercase().as_bytes());
    format!("{:x}", hash % SHARES)
}

/// Makes all lock files, unless they are there: a full disk must not stop a delete for want of one.
pub(crate) fn make_all(sys: &dyn Sys, locks: BorrowedFd<'_>) -> Result<(), Errno> {
    let last = format!("{:x}", SHARES - 1);
    if sys.stat_at(locks, &last).is_ok() {
        return Ok(());
    }
    for share in 0..SHARES {
        sys.open(locks, &format!("{share:x}"), Open::ReadWrite)?;
    }
    Ok(())
}

/// A lock that is held. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct KeyLock {
    sys: Arc<dyn Sys>,
    file: OwnedFd,
    /// The time stamp of the latest object deleted under this lock.
    pub(crate) deleted: Option<i128>,
}

impl KeyLock {
    /// Waits for the lock of `key`, whose directory is `folder`. Blocks: call it from a thread that may.
    pub(crate) fn acquire(
        store: &Store,
        key: &Key,
        folder: BorrowedFd<'_>,
    ) -> Result<Self, StorageError> {
        let name = lock_name(key);
        let place = format!("{HIDDEN}/locks/{name}");
        let fail = |errno| error::of_place("lock", &place, errno);
        for _ in 0..ATTEMPTS {
            let workspace = store.workspace()?;
            let file = match store
                .sys
                .open(workspace.locks.as_fd(), &name, Open::ReadWrite)
            {
                Ok(file) => file,
                // The hidden directory was removed under our feet.
                Err(Errno::NOENT) => {
                    store.check_root_is_there()?;
                    store.forget_workspace(&workspace);
                    continue;
                }
                Err(errno) => return Err(fail(errno)),
            };
            let found = store.sys.stat(file.as_fd()).map_err(fail)?;
            if found.kind != EntryKind::File {
                return Err(error::not_an_object(&place, found.kind));
            }
            store.sys.lock(file.as_fd(), true).map_err(fail)?;
            let stat = store.sys.stat(file.as_fd()).map_err(fail)?;
            // A clean-up with `rm` came while we waited: this lock no longer keeps any writer out.
            if stat.links == 0 {
                store.forget_workspace(&workspace);
                continue;
            }
            let lock = Self {
                sys: Arc::clone(&store.sys),
                file,
                deleted: (stat.size > 0).then_some(stat.mtime),
            };
            // A network file system remembers for a while which file a name led to. The former holder of
            // the lock, on another machine, may have replaced it.
            if store.is_shared() {
                let fail = |errno| error::of_place("compare", key.as_str(), errno);
                store.sys.refresh(folder).map_err(fail)?;
            }
            return Ok(lock);
        }
        Err(fail(Errno::AGAIN))
    }

    /// Remembers that an object with this time stamp is about to be deleted, unless it lies far in the
    /// future: then some clock was wrong, and later objects shall not be measured by it.
    pub(crate) fn note_deleted(&mut self, mtime: i128, now: i128) -> Result<(), Errno> {
        if self.deleted.is_some_and(|latest| latest >= mtime) {
            return Ok(());
        }
        let file = self.file.as_fd();
        if self.deleted.is_none() || is_far_ahead(mtime, now) {
            self.sys.write_at(file, b".", 0)?;
            // The clock that counts is the file system's, which has just dated this write.
            let now = self.sys.stat(file)?.mtime;
            if is_far_ahead(mtime, now) {
                let kept = self.deleted.unwrap_or(now);
                self.sys.set_mtime(file, kept)?;
                self.deleted = Some(kept);
                return Ok(());
            }
        }
        self.sys.set_mtime(file, mtime)?;
        self.deleted = Some(mtime);
        Ok(())
    }
}

/// Returns whether the time stamp of an object lies too far in the future to be believed. Where time
/// stamps are coarse, quick updates run ahead of the clock, but never that far.
pub(crate) fn is_far_ahead(mtime: i128, now: i128) -> bool {
    const HOUR: i128 = 3_600_000_000_000;
    mtime - now >= HOUR
}

impl Drop for KeyLock {
    fn drop(&mut self) {
        // Not left to the close: a child forked at this moment has a copy of the descriptor.
        let _ = self.sys.unlock(self.file.as_fd());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two machines one may have mounted a directory so that case is ignored, and the other one not.
    #[test]
    fn spellings_that_a_file_system_may_take_for_one_share_a_lock() {
        for (one, other) in [
            ("refs/branch.Main/ref.json", "refs/branch.main/ref.json"),
            (
                "refs/branch.\u{c9}t\u{e9}/ref.json",
                "refs/branch.\u{e9}t\u{c9}/ref.json",
            ),
        ] {
            let name = |text| lock_name(&Key::parse(text).expect("a key"));
            assert_eq!(name(one), name(other), "{one}");
        }
    }
}
