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

mod flush;

use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use icefield_storage::{Key, StorageError};

use crate::names::split;
use crate::sys::{Errno, Sys};
use crate::threads::lock;

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
        sys: &dyn Sys,
        file: Arc<OwnedFd>,
        folder: &str,
        syncfs: bool,
    ) -> Result<(), StorageError> {
        match Held::new(file, self.held_limit) {
            Ok(held) => lock(&self.pending).files.push(held),
            Err(_) if syncfs => lock(&self.pending).everything = true,
            // The directory can wait; this file cannot.
            Err(file) => sys
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
}
