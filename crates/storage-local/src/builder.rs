//! The builder that opens a store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use icefield_storage::{Clock, Entropy, StorageError, SystemClock, SystemEntropy};

use crate::error;
use crate::settings::{Fsync, Locks};
use crate::storage::LocalStorage;
use crate::store::{Parts, Store};
use crate::sys::Sys;
use crate::sys::real::RealSys;

impl LocalStorage {
    /// Opens a directory with the default settings. Writes nothing: a directory that does not exist is an empty store,
    /// and is created at the first write.
    ///
    /// # Errors
    /// As [`LocalStorageBuilder::open`].
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, StorageError> {
        Self::builder(root).open()
    }

    /// Returns a builder with the default settings.
    pub fn builder(root: impl Into<PathBuf>) -> LocalStorageBuilder {
        LocalStorageBuilder::new(root.into())
    }
}

/// The settings with which a [`LocalStorage`] is opened. See [`LocalStorage::builder`].
///
/// ```no_run
/// use icefield_storage_local::{Fsync, LocalStorage};
///
/// # fn main() -> Result<(), icefield_storage::StorageError> {
/// // Each acknowledged write survives a loss of power.
/// let storage = LocalStorage::builder("/data/ocean").fsync(Fsync::Each).open()?;
/// # let _ = storage;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is opened until `open`"]
pub struct LocalStorageBuilder {
    root: PathBuf,
    fsync: Fsync,
    read_only: bool,
    create_root: bool,
    locks: Locks,
    max_in_flight: usize,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    sys: Arc<dyn Sys>,
}

impl LocalStorageBuilder {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self {
            root,
            fsync: Fsync::default(),
            read_only: false,
            create_root: true,
            locks: Locks::default(),
            max_in_flight: 64,
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            sys: Arc::new(RealSys::new()),
        }
    }

    /// Sets the moments at which writes are flushed to the disk; [`Fsync::Commit`] unless set.
    pub fn fsync(mut self, fsync: Fsync) -> Self {
        self.fsync = fsync;
        self
    }

    /// Refuses every write; off unless set. A directory without write permission needs no such setting: reading never
    /// writes.
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Creates the directory, and those above it, at the first write if it is missing; on unless unset.
    pub fn create_root(mut self, create_root: bool) -> Self {
        self.create_root = create_root;
        self
    }

    /// Sets whether locks of the file system are believed to reach other machines; [`Locks::Detect`] unless set. A
    /// probe finds locks that do not even work on this machine, and those are never believed.
    pub fn locks(mut self, locks: Locks) -> Self {
        self.locks = locks;
        self
    }

    /// Sets the number of reads that may be in the file system at once (64 unless set, fewer if the process may have
    /// few files open). At most 16 writes are, or this number if it is lower.
    pub fn max_in_flight(mut self, count: usize) -> Self {
        self.max_in_flight = count;
        self
    }

    /// Sets the clock by which abandoned temporary files age, and which waits.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the source of the random names of temporary files.
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }

    /// Calls a function before each system call, with its number, from 0, and its name.
    #[cfg(feature = "call-hook")]
    #[doc(hidden)]
    pub fn before_calls(
        mut self,
        hook: impl Fn(u64, &'static str) + Send + Sync + 'static,
    ) -> Self {
        self.sys = Arc::new(crate::sys::hooked::Hooked::new(Arc::new(hook)));
        self
    }

    #[cfg(test)]
    pub(crate) fn sys(mut self, sys: Arc<dyn Sys>) -> Self {
        self.sys = sys;
        self
    }

    /// Opens the store. Writes nothing: a directory that does not exist is an empty store.
    ///
    /// # Errors
    /// [`StorageError::NotAnObject`] or another error of the operating system, if the path leads to something that is
    /// no directory or cannot be opened.
    pub fn open(self) -> Result<LocalStorage, StorageError> {
        // The working directory may change before a missing root is made.
        let path = std::path::absolute(&self.root).map_err(|error| {
            StorageError::from_io_at("open", &self.root.display().to_string(), error)
        })?;
        let store = Store::new(Parts {
            sys: self.sys,
            path,
            fsync: self.fsync,
            read_only: self.read_only,
            create_root: self.create_root,
            locks: self.locks,
            clock: self.clock,
            entropy: self.entropy,
            max_in_flight: self.max_in_flight,
        });
        match store.root() {
            Ok(root) => {
                store.detect_file_system(root);
                Ok(LocalStorage(Arc::new(store)))
            }
            // Tried again when there is a descriptor to spare.
            Err(error) if error::is_exhausted(&error) => Ok(LocalStorage(Arc::new(store))),
            Err(error) => Err(error),
        }
    }
}

impl From<&Path> for LocalStorageBuilder {
    fn from(root: &Path) -> Self {
        Self::new(root.to_owned())
    }
}
