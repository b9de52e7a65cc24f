//! Flushes: making durable what a handle has recorded, and the way to it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use icefield_storage::{Key, PlantedBug, StorageError, planted};

use super::{Durability, Held, MAX_FOLDERS, Pending};
use crate::error;
use crate::names::split;
use crate::settings::Fsync;
use crate::store::Store;
use crate::sys::{Errno, Open};
use crate::threads::{in_parallel, lock};

impl Durability {
    /// Makes an object durable now, whichever writer made it, if it is there.
    pub(crate) fn flush_object(&self, store: &Store, key: &Key) -> Result<(), StorageError> {
        self.flush_file_of(store, key)?;
        let path = split(key).0;
        match store.folder("flush", path)? {
            Some(folder) => {
                self.flush_way(store, folder.as_fd(), path)?;
                self.flush_folder(store, folder.as_fd(), path)
            }
            None => Ok(()),
        }
    }

    fn flush_file_of(&self, store: &Store, key: &Key) -> Result<(), StorageError> {
        match store.open_object(key) {
            Ok((file, _)) => {
                let flushed = store.sys.fsync(file.as_fd());
                flushed.map_err(|errno| self.fail(key.as_str(), errno))
            }
            // Deleted since, or never written, and with it all that could be lost.
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Makes the entries of an open directory durable.
    pub(crate) fn flush_folder(
        &self,
        store: &Store,
        folder: BorrowedFd<'_>,
        path: &str,
    ) -> Result<(), StorageError> {
        if planted(PlantedBug::SkipDirectoryFlush) {
            return Ok(());
        }
        match store.sys.fsync(folder) {
            // There is no such flush here, so none can have failed. The names are durable when the
            // file system likes.
            Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => {
                tracing::debug!(path, "directories cannot be flushed on this file system");
                Ok(())
            }
            flushed => {
                flushed.map_err(|errno| self.fail(&format!("{}/{path}", store.name()), errno))
            }
        }
    }

    /// Makes the entries durable that lead to an open directory: another process may have made it a
    /// moment ago and not have flushed them yet.
    pub(crate) fn flush_way(
        &self,
        store: &Store,
        folder: BorrowedFd<'_>,
        path: &str,
    ) -> Result<(), StorageError> {
        let root = store.root()?.ok_or_else(|| store.gone())?;
        let mut flushed = Vec::new();
        let mut child = path;
        let mut opened: Option<OwnedFd> = None;
        while !child.is_empty() {
            let stat = store.sys.stat(opened.as_ref().map_or(folder, AsFd::as_fd));
            let stat = stat.map_err(|errno| error::of_place("flush", child, errno))?;
            let id = (stat.dev, stat.ino);
            if lock(&self.durable).get(child) == Some(&id) {
                break;
            }
            let parent = child.rsplit_once('/').map_or("", |(parent, _)| parent);
            if parent.is_empty() {
                self.flush_folder(store, root, parent)?;
            } else {
                let folder = match store.sys.open(root, parent, Open::DirectoryHere) {
                    Ok(folder) => folder,
                    // Removed since, and with it all that could be lost.
                    Err(Errno::NOENT) => return Ok(()),
                    Err(errno) => return Err(error::of_place("flush", parent, errno)),
                };
                self.flush_folder(store, folder.as_fd(), parent)?;
                opened = Some(folder);
            }
            flushed.push((child.to_owned(), id));
            child = parent;
        }
        self.flush_above(store)?;
        let mut durable = lock(&self.durable);
        if durable.len() + flushed.len() > MAX_FOLDERS {
            durable.clear();
        }
        durable.extend(flushed);
        Ok(())
    }

    /// Makes the entries above the root durable, once: those that this handle made, and the one of a
    /// root that it found, if it may.
    fn flush_above(&self, store: &Store) -> Result<(), StorageError> {
        let mut above = lock(&self.above);
        let Some(folders) = &*above else {
            return Ok(());
        };
        for folder in folders {
            self.flush_folder(store, folder.as_fd(), "..")?;
        }
        if folders.is_empty()
            && let Ok(folder) = store.sys.open_root(&store.path.join(".."))
        {
            let _ = store.sys.fsync(folder.as_fd());
        }
        *above = None;
        Ok(())
    }

    /// Makes durable all that this handle wrote, names that a write has taken and not acknowledged yet included.
    pub(crate) fn sync(&self, store: &Store) -> Result<(), StorageError> {
        if store.fsync == Fsync::None {
            return Ok(());
        }
        let _one_at_a_time = lock(&self.syncing);
        // First: a write that ends after this look is flushed here, one that ended before it has flushed or recorded its
        // directory, or made the handle fail.
        let in_flight: Vec<String> = lock(&self.in_flight).keys().cloned().collect();
        self.check()?;
        let mut pending = std::mem::take(&mut *lock(&self.pending));
        pending.folders.extend(in_flight);
        let result = self.flush(store, &pending);
        if result.is_err() {
            // Either the handle takes no more writes, or nothing was tried yet and the next call will.
            let mut now = lock(&self.pending);
            now.files.extend(pending.files);
            now.folders.extend(pending.folders);
            now.objects.extend(pending.objects);
            now.everything |= pending.everything;
        }
        result
    }

    fn flush(&self, store: &Store, pending: &Pending) -> Result<(), StorageError> {
        let Some(root) = store.root()? else {
            return Ok(());
        };
        // With the root gone, everything is; "flushed" would be a lie.
        store.check_root_is_there()?;
        let name = store.name();
        let final_error = |errno| self.fail(&name, errno);
        if pending.everything {
            store.sys.syncfs(root).map_err(final_error)?;
            return self.flush_above(store);
        }
        let files = (pending.files.iter()).filter(|_| !planted(PlantedBug::SyncForgetsChunks));
        let files = files.map(|Held(file)| Job::File(file));
        let objects = pending.objects.iter().map(Job::Object);
        let folders = pending.folders.iter().map(|path| Job::Folder(path));
        // One after another, each flush is a turn of the disk of its own; together they share one.
        in_parallel(
            &files.chain(objects).chain(folders).collect::<Vec<_>>(),
            |job| match job {
                Job::File(file) => store.sys.fsync(file.as_fd()).map_err(final_error),
                Job::Object(key) => self.flush_file_of(store, key),
                // A directory that was removed since has nothing left to lose.
                Job::Folder(path) => match store.folder("flush", path)? {
                    Some(folder) => {
                        self.flush_way(store, folder.as_fd(), path)?;
                        self.flush_folder(store, folder.as_fd(), path)
                    }
                    None => Ok(()),
                },
            },
        )
    }
}

/// One thing to flush.
#[derive(Debug)]
enum Job<'a> {
    File(&'a OwnedFd),
    Object(&'a Key),
    Folder(&'a str),
}
