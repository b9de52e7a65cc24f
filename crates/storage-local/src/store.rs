//! The state of one handle of a local store, and how it finds places below its root.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use icefield_storage::{Clock, Entropy, Key, StorageError};
use tokio::sync::Semaphore;

use crate::abilities::Abilities;
use crate::durability::Durability;
use crate::error;
use crate::names::{Names, split};
use crate::reach::Standing;
use crate::settings::{Fsync, Locks};
use crate::sys::{EntryKind, Errno, Open, ReadFrom, Stat, Sys};
use crate::workspace::{self, Workspace};

/// How often a write starts again because a directory was removed under its feet.
pub(crate) const ATTEMPTS: usize = 8;

/// The state behind [`LocalStorage`](crate::LocalStorage).
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) sys: Arc<dyn Sys>,
    pub(crate) path: PathBuf,
    pub(crate) fsync: Fsync,
    pub(crate) read_only: bool,
    pub(crate) create_root: bool,
    pub(crate) locks: Locks,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    /// Reads in flight. Apart from the writes, which may wait for a lock that another process holds.
    pub(crate) reads: Arc<Semaphore>,
    pub(crate) writes: Arc<Semaphore>,
    pub(crate) durability: Durability,
    /// Opened once: what the path means later does not matter.
    root: OnceLock<OwnedFd>,
    /// The file system of the root, or of what there was of the way to it, when the store was opened.
    pub(crate) opened_on: OnceLock<Standing>,
    /// The file system of the root.
    pub(crate) standing: OnceLock<Standing>,
    place: OnceLock<String>,
    pub(crate) workspace: Mutex<Option<Arc<Workspace>>>,
    pub(crate) abilities: OnceLock<Abilities>,
    pub(crate) names: Names,
}

/// Everything a [`Store`] is made from.
pub(crate) struct Parts {
    pub(crate) sys: Arc<dyn Sys>,
    pub(crate) path: PathBuf,
    pub(crate) fsync: Fsync,
    pub(crate) read_only: bool,
    pub(crate) create_root: bool,
    pub(crate) locks: Locks,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) max_in_flight: usize,
}

/// An open directory below the root, or the root itself.
#[derive(Debug)]
pub(crate) enum Folder<'a> {
    Root(BorrowedFd<'a>),
    Below(OwnedFd),
}

impl AsFd for Folder<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Root(fd) => *fd,
            Self::Below(fd) => fd.as_fd(),
        }
    }
}

impl Store {
    pub(crate) fn new(parts: Parts) -> Self {
        // A read holds one descriptor, a write up to five; a quarter of what the process may have
        // each, so that two handles and the rest of the program still fit.
        let limit = usize::try_from(parts.sys.open_files_limit()).unwrap_or(usize::MAX);
        let reads = parts.max_in_flight.min(limit / 8).max(1);
        let writes = parts.max_in_flight.min(limit / 16).clamp(1, 16);
        Self {
            durability: Durability::new(limit),
            sys: parts.sys,
            path: parts.path,
            fsync: parts.fsync,
            read_only: parts.read_only,
            create_root: parts.create_root,
            locks: parts.locks,
            clock: parts.clock,
            entropy: parts.entropy,
            reads: Arc::new(Semaphore::new(reads)),
            writes: Arc::new(Semaphore::new(writes)),
            root: OnceLock::new(),
            opened_on: OnceLock::new(),
            standing: OnceLock::new(),
            place: OnceLock::new(),
            workspace: Mutex::new(None),
            abilities: OnceLock::new(),
            names: Names::default(),
        }
    }

    /// Returns the place by which handles of this process know each other.
    pub(crate) fn place(&self) -> String {
        if let Some(place) = self.place.get() {
            return place.clone();
        }
        match std::fs::canonicalize(&self.path) {
            Ok(path) => {
                let place = format!("file:{}", path.display());
                self.place.get_or_init(|| place).clone()
            }
            // Not there yet.
            Err(_) => format!("file:{}", self.path.display()),
        }
    }

    /// Returns how messages call this store.
    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Returns the root, or `None` while it does not exist.
    pub(crate) fn root(&self) -> Result<Option<BorrowedFd<'_>>, StorageError> {
        if let Some(root) = self.root.get() {
            return Ok(Some(root.as_fd()));
        }
        match self.sys.open_root(&self.path) {
            Ok(root) => Ok(Some(self.root.get_or_init(|| root).as_fd())),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::NOTDIR) => Err(error::not_an_object(&self.name(), EntryKind::File)),
            Err(errno) => Err(error::of_place("open", &self.name(), errno)),
        }
    }

    /// Returns the root, making it and the directories above it if that is allowed.
    pub(crate) fn root_for_writing(&self) -> Result<BorrowedFd<'_>, StorageError> {
        if let Some(root) = self.root()? {
            return Ok(root);
        }
        if !self.create_root {
            return Err(StorageError::Failed {
                action: "open",
                target: self.name(),
                source: "the directory does not exist".into(),
            });
        }
        self.make_directory(&self.path)
            .map_err(|errno| error::of_place("create", &self.name(), errno))?;
        self.root()?.ok_or_else(|| self.gone())
    }

    /// Makes a directory and those above it, and notes whose entries must be made durable.
    fn make_directory(&self, path: &Path) -> Result<(), Errno> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::NOENT);
        };
        let name = name.to_str().ok_or(Errno::ILSEQ)?;
        let above = match self.sys.open_root(parent) {
            Err(Errno::NOENT) => {
                self.make_directory(parent)?;
                self.sys.open_root(parent)?
            }
            other => other?,
        };
        match self.sys.mkdir(above.as_fd(), name) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        self.durability.note_above(above);
        Ok(())
    }

    /// Returns the error for a root that was removed.
    pub(crate) fn gone(&self) -> StorageError {
        StorageError::Failed {
            action: "use",
            target: self.name(),
            source: "the directory was removed while it was open".into(),
        }
    }

    /// Fails if the root was removed: then "not found" would be a lie.
    pub(crate) fn check_root_is_there(&self) -> Result<(), StorageError> {
        let Some(root) = self.root()? else {
            return Ok(());
        };
        match self.sys.stat(root) {
            Ok(stat) if stat.links > 0 => Ok(()),
            Ok(_) => Err(self.gone()),
            Err(errno) => Err(error::of_place("use", &self.name(), errno)),
        }
    }

    /// Opens the object under a key for reading and describes it.
    pub(crate) fn open_object(&self, key: &Key) -> Result<(OwnedFd, Stat), StorageError> {
        self.open_object_from(ReadFrom::Disk, key)
    }

    /// As [`Store::open_object`]. From the page cache, what needs the disk is an error.
    pub(crate) fn open_object_from(
        &self,
        source: ReadFrom,
        key: &Key,
    ) -> Result<(OwnedFd, Stat), StorageError> {
        let missing = || StorageError::NotFound { key: key.clone() };
        if workspace::is_reserved(key.as_str()) {
            return Err(missing());
        }
        let root = self.root()?.ok_or_else(missing)?;
        let opened = match source {
            ReadFrom::Disk => self.sys.open(root, key.as_str(), Open::Read),
            ReadFrom::Cache => self.sys.open_cached(root, key.as_str()),
        };
        let file = match opened {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::NOTDIR) => {
                self.check_root_is_there()?;
                return Err(missing());
            }
            Err(errno) => return Err(error::of_key("read", key, errno)),
        };
        let stat = self
            .sys
            .stat(file.as_fd())
            .map_err(|errno| error::of_key("read", key, errno))?;
        match stat.kind {
            EntryKind::File => {}
            // As in every store: objects may lie below the name, but there is none under it.
            EntryKind::Directory => return Err(missing()),
            other => return Err(error::not_an_object(key.as_str(), other)),
        }
        if !self.names.is_exact(&*self.sys, root, key)? {
            return Err(missing());
        }
        Ok((file, stat))
    }

    /// Opens the directory `path` (empty: the root), `None` if there is none.
    pub(crate) fn folder(
        &self,
        action: &'static str,
        path: &str,
    ) -> Result<Option<Folder<'_>>, StorageError> {
        let Some(root) = self.root()? else {
            return Ok(None);
        };
        if path.is_empty() {
            return Ok(Some(Folder::Root(root)));
        }
        match self.sys.open(root, path, Open::DirectoryHere) {
            Ok(fd) => Ok(Some(Folder::Below(fd))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(error::of_place(action, path, errno)),
        }
    }

    /// Opens the directory `path` for a write, making what is missing.
    pub(crate) fn make_folder(&self, path: &str) -> Result<Folder<'_>, StorageError> {
        let root = self.root_for_writing()?;
        if path.is_empty() {
            return Ok(Folder::Root(root));
        }
        for _ in 0..ATTEMPTS {
            match self.sys.open(root, path, Open::DirectoryHere) {
                Ok(fd) => return Ok(Folder::Below(fd)),
                Err(Errno::NOENT) => {}
                Err(Errno::NOTDIR) => return Err(self.below_a_file(root, path)),
                Err(errno) => return Err(error::of_place("write", path, errno)),
            }
            match self.make_below(root, path) {
                Ok(fd) => return Ok(Folder::Below(fd)),
                // A directory was removed just as we were to use it.
                Err(Errno::NOENT) => self.check_root_is_there()?,
                Err(Errno::NOTDIR) => return Err(self.below_a_file(root, path)),
                Err(errno) => return Err(error::of_place("create", path, errno)),
            }
        }
        Err(error::of_place("create", path, Errno::AGAIN))
    }

    fn make_below(&self, root: BorrowedFd<'_>, path: &str) -> Result<OwnedFd, Errno> {
        let mut current: Option<OwnedFd> = None;
        for name in path.split('/') {
            let at = current.as_ref().map_or(root, AsFd::as_fd);
            let next = match self.sys.open(at, name, Open::DirectoryHere) {
                Err(Errno::NOENT) => {
                    match self.sys.mkdir(at, name) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(errno) => return Err(errno),
                    }
                    self.sys.open(at, name, Open::DirectoryHere)?
                }
                other => other?,
            };
            current = Some(next);
        }
        current.ok_or(Errno::INVAL)
    }

    /// Returns the error for a key below an object, naming that object.
    fn below_a_file(&self, root: BorrowedFd<'_>, path: &str) -> StorageError {
        let ends = path.match_indices('/').map(|(at, _)| at);
        for end in ends.chain([path.len()]) {
            let prefix = &path[..end];
            match self.sys.open(root, prefix, Open::Directory) {
                Ok(_) => {}
                Err(Errno::LOOP) => return error::not_an_object(prefix, EntryKind::Symlink),
                Err(_) => {
                    return StorageError::Unsupported {
                        store: self.name(),
                        what: format!("an object in {path}: {prefix} is an object itself"),
                    };
                }
            }
        }
        error::of_place("write", path, Errno::NOTDIR)
    }

    /// Returns what stands under `name`: `None` for nothing, an error for something that is no object.
    pub(crate) fn stat_object(
        &self,
        action: &'static str,
        folder: BorrowedFd<'_>,
        key: &Key,
    ) -> Result<Option<Stat>, StorageError> {
        match self.sys.stat_at(folder, split(key).1) {
            Ok(stat) if stat.kind == EntryKind::File => Ok(Some(stat)),
            Ok(stat) => Err(error::not_an_object(key.as_str(), stat.kind)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(error::of_key(action, key, errno)),
        }
    }

    /// Refuses what no write may do, before anything is touched.
    pub(crate) fn check_writable(&self, key: &Key) -> Result<(), StorageError> {
        if self.read_only {
            return Err(StorageError::ReadOnly { store: self.name() });
        }
        if workspace::is_reserved(key.as_str()) {
            return Err(StorageError::Unsupported {
                store: self.name(),
                what: format!("the key {key}: this name is kept for locks and temporary files"),
            });
        }
        self.durability.check()
    }

    /// Returns a fresh random name.
    pub(crate) fn random_name(&self) -> String {
        let mut bytes = [0; 12];
        self.entropy.fill(&mut bytes);
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
