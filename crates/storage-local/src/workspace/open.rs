//! The first use of the hidden directory: it is made, tidied, and the file system probed in it.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use icefield_storage::StorageError;

use super::{HIDDEN, Workspace};
use crate::abilities::Abilities;
use crate::error;
use crate::lock;
use crate::probe::probe;
use crate::store::{ATTEMPTS, Store};
use crate::sys::{EntryKind, Errno, Open};
use crate::threads;
use crate::version::last_modified;

/// How old a temporary file must be before a stranger removes it.
pub(crate) const GRACE: Duration = Duration::from_secs(24 * 60 * 60);

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

impl Store {
    /// Returns the hidden directory, made and probed at the first write.
    pub(crate) fn workspace(&self) -> Result<Arc<Workspace>, StorageError> {
        let mut slot = threads::lock(&self.workspace);
        if let Some(workspace) = &*slot {
            return Ok(Arc::clone(workspace));
        }
        let root = self.root_for_writing()?;
        let workspace = Arc::new(Workspace::open(self, root)?);
        *slot = Some(Arc::clone(&workspace));
        Ok(workspace)
    }

    /// Returns what the file system can be trusted with; the first call probes it.
    pub(crate) fn abilities(&self) -> Result<Abilities, StorageError> {
        if let Some(abilities) = self.abilities.get() {
            return Ok(*abilities);
        }
        let fail = |errno| error::of_place("write", &self.name(), errno);
        for _ in 0..ATTEMPTS {
            let workspace = self.workspace()?;
            let trusted = self.trusts_locks(self.root_for_writing()?);
            match probe(self, workspace.tmp.as_fd(), trusted) {
                Ok(abilities) => return Ok(*self.abilities.get_or_init(|| abilities)),
                Err(Errno::NOENT) => {
                    self.check_root_is_there()?;
                    self.forget_workspace(&workspace);
                }
                Err(errno) => return Err(fail(errno)),
            }
        }
        Err(fail(Errno::AGAIN))
    }

    /// Returns whether the whole file system can be flushed, as far as that is known.
    pub(crate) fn syncfs(&self) -> bool {
        self.abilities
            .get()
            .is_some_and(|abilities| abilities.syncfs)
    }

    /// Forgets the hidden directory because it is gone; the next use makes it again.
    pub(crate) fn forget_workspace(&self, seen: &Arc<Workspace>) {
        let mut slot = threads::lock(&self.workspace);
        if slot.as_ref().is_some_and(|now| Arc::ptr_eq(now, seen)) {
            *slot = None;
        }
    }
}
