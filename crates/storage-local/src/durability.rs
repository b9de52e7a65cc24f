//! Writes that are not durable yet, and how they become so.
//!
//! Which put flushes what:
//!
//! | put | `none` | `commit` | `each` |
//! |---|---|---|---|
//! | chunk, `Create` | – | recorded for `sync` | file, directory |
//! | metadata, `Create` | – | file; directory recorded | file, directory |
//! | `Update`, `Overwrite` | – | file, directory | file, directory |
//! | delete | – | directory recorded | directory |
//!
//! The file of a metadata object is flushed before it gets its name, so that a loss of power leaves no
//! torn object under a name that counts; a flush too many it is not, `sync` would have to do it anyway.
//! Chunks are flushed together: torn, they are garbage under a random name.
//!
//! # Failed flushes are final
//! After a failed `fsync` the kernel may have dropped the data and call the next one a success
//! (that is how databases lost data). A handle whose flush failed therefore refuses every further
//! write and `sync`: it cannot tell which of its users wrote what was lost. What fails before a flush is
//! tried (a directory cannot be opened, say) is an ordinary error; everything stays recorded.
//!
//! # Writes in flight
//! A name is there for all to see before its directory is flushed or recorded. The caller of the write may be gone by then, and
//! another one of the same handle may find the object and call `sync`. So a write announces the directory before it takes
//! the name, and `sync` flushes announced directories as well.
//!
//! # What others wrote
//! A refused `Create` may find the very object that it was to write, left by a writer that was killed
//! before its own `sync`. So the object under a refused `Create` is recorded as well, and so is what a
//! write of unknown outcome may have left.

use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use icefield_storage::{Key, StorageError};

use crate::blocking::in_parallel;
use crate::builder::Fsync;
use crate::error;
use crate::store::{Store, lock, split};
use crate::sys::{Errno, Open};

/// Directories remembered, waiting or durable.
const MAX_FOLDERS: usize = 4096;
/// Files that one process keeps open for `sync`, over all handles.
const MAX_HELD: usize = 256;

static HELD: AtomicUsize = AtomicUsize::new(0);

/// A file kept open until it is flushed: only a handle from before the write-back hears of its errors.
#[derive(Debug)]
struct Held(Arc<OwnedFd>);

impl Held {
    fn new(file: Arc<OwnedFd>, limit: usize) -> Result<Self, Arc<OwnedFd>> {
        match HELD.fetch_add(1, Ordering::Relaxed) < limit {
            true => Ok(Self(file)),
            false => {
                HELD.fetch_sub(1, Ordering::Relaxed);
                Err(file)
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
struct Pending {
    files: Vec<Held>,
    folders: HashSet<String>,
    /// Objects of which no file is at hand: written by another handle and found to be what was to be
    /// written, or written by this one as far as it knows.
    objects: HashSet<Key>,
    /// More than these: the whole file system must be flushed.
    everything: bool,
}

/// A write that is about to change the entries of a directory. Dropped once it has flushed or recorded the directory.
#[derive(Debug)]
pub(crate) struct InFlight<'a> {
    durability: &'a Durability,
    folder: String,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let mut in_flight = lock(&self.durability.in_flight);
        if let Some(writes) = in_flight.get_mut(&self.folder) {
            *writes -= 1;
            if *writes == 0 {
                in_flight.remove(&self.folder);
            }
        }
    }
}

/// The durability of what one handle wrote.
#[derive(Debug)]
pub(crate) struct Durability {
    held_limit: usize,
    pending: Mutex<Pending>,
    /// Directories in which a write may have taken a name that it has not flushed or recorded yet, and how many such writes.
    in_flight: Mutex<HashMap<String, usize>>,
    /// Held during a whole `sync`, so that a second one does not return before the first has flushed
    /// what it took.
    syncing: Mutex<()>,
    failed: Mutex<Option<String>>,
    /// Directories whose own entry is known to be durable, with device and inode.
    durable: Mutex<HashMap<String, (u64, u64)>>,
    /// Directories above the root that got an entry when the root was made.
    /// `None` once they are durable.
    above: Mutex<Option<Vec<OwnedFd>>>,
}

impl Durability {
    /// Returns an empty record for a process that may have `open_files` files open.
    pub(crate) fn new(open_files: usize) -> Self {
        Self {
            held_limit: MAX_HELD.min(open_files / 4),
            pending: Mutex::default(),
            in_flight: Mutex::default(),
            syncing: Mutex::default(),
            failed: Mutex::default(),
            durable: Mutex::default(),
            above: Mutex::new(Some(Vec::new())),
        }
    }

    /// Fails if an earlier flush failed.
    pub(crate) fn check(&self) -> Result<(), StorageError> {
        match &*lock(&self.failed) {
            None => Ok(()),
            Some(why) => Err(StorageError::Failed {
                action: "write",
                target: why.clone(),
                source: "an earlier flush to disk failed, so what this handle wrote may be lost: \
                         open the store anew and write it again"
                    .into(),
            }),
        }
    }

    /// Returns the error for a flush that failed, and remembers it: it is final. Not for what fails on
    /// the way to a flush, which can be tried again.
    fn fail(&self, what: &str, errno: Errno) -> StorageError {
        tracing::error!(what, %errno, "a flush to disk failed");
        let mut failed = lock(&self.failed);
        if failed.is_none() {
            *failed = Some(what.to_owned());
        }
        // Not `of_place`: whatever the reason, a success of the next attempt would prove nothing.
        StorageError::Failed {
            action: "flush",
            target: what.to_owned(),
            source: std::io::Error::from(errno).into(),
        }
    }

    /// Announces a change of the entries of a directory.
    pub(crate) fn begin(&self, folder: &str) -> InFlight<'_> {
        let mut in_flight = lock(&self.in_flight);
        *in_flight.entry(folder.to_owned()).or_default() += 1;
        InFlight {
            durability: self,
            folder: folder.to_owned(),
        }
    }

    /// Notes a directory above the root that got a new entry.
    pub(crate) fn note_above(&self, folder: OwnedFd) {
        lock(&self.above).get_or_insert_default().push(folder);
    }

    /// Records a chunk that was written, to be flushed by `sync`.
    pub(crate) fn record_file(
        &self,
        store: &Store,
        file: Arc<OwnedFd>,
        folder: &str,
        syncfs: bool,
    ) -> Result<(), StorageError> {
        match Held::new(file, self.held_limit) {
            Ok(held) => lock(&self.pending).files.push(held),
            Err(_) if syncfs => lock(&self.pending).everything = true,
            // The directory can wait; this file cannot.
            Err(file) => store
                .sys
                .fsync(file.as_fd())
                .map_err(|errno| self.fail(folder, errno))?,
        }
        self.record_folder(folder, syncfs);
        Ok(())
    }

    /// Records an object, whichever writer made it, to be flushed by `sync` if it is there then.
    pub(crate) fn record_object(&self, key: &Key, syncfs: bool) {
        {
            let mut pending = lock(&self.pending);
            if syncfs && pending.objects.len() >= MAX_FOLDERS {
                pending.everything = true;
            }
            if pending.everything {
                return;
            }
            pending.objects.insert(key.clone());
        }
        self.record_folder(split(key).0, syncfs);
    }

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

    /// Records a directory whose entries changed, to be flushed by `sync`.
    pub(crate) fn record_folder(&self, folder: &str, syncfs: bool) {
        let mut pending = lock(&self.pending);
        if pending.everything {
            return;
        }
        if syncfs && pending.folders.len() >= MAX_FOLDERS {
            pending.everything = true;
            pending.folders.clear();
        } else if !pending.folders.contains(folder) {
            pending.folders.insert(folder.to_owned());
        }
    }

    /// Makes the entries of an open directory durable.
    pub(crate) fn flush_folder(
        &self,
        store: &Store,
        folder: BorrowedFd<'_>,
        path: &str,
    ) -> Result<(), StorageError> {
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
        let files = pending.files.iter().map(|Held(file)| Job::File(file));
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
