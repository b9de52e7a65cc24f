//! Lists: a walk in byte order of the keys, one directory at a time.
//!
//! Byte order of keys is not the order of a plain walk: `a-b` and `a.b` come before `a/…`. Sorting each
//! directory with a `/` behind the names of its directories makes it so.
//!
//! Nothing is left out but empty directories: what is no object, or has a name that is no key, is yielded by name. Symbolic
//! links are never followed.

mod names;

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::LazyLock;

use icefield_storage::{
    Key, ListOptions, ObjectMeta, Prefix, StorageError, UnreadableName, Version,
};

use crate::error;
use crate::store::Store;
use crate::sys::{EntryKind, Errno, Open, ReadFrom, Stat};
use crate::version::{DIGEST_BELOW, last_modified, version};
use crate::workspace;

use names::{Name, Portion};

/// Directories that a walk keeps open.
const KEPT_OPEN: usize = 4;

/// A version that no object has.
static NO_VERSION: LazyLock<Version> = LazyLock::new(|| Version::new("-"));

/// An item of a list.
type Item = Result<ObjectMeta, StorageError>;

/// A walk on its way.
#[derive(Debug)]
pub(crate) struct ListWalk {
    prefix: String,
    start_after: Option<String>,
    /// Nothing from here on is wanted.
    end: Option<String>,
    without_versions: bool,
    stack: Vec<Level>,
    begun: bool,
    /// Found, not yet handed out.
    ready: VecDeque<Item>,
}

/// A directory on the way down to where the walk is.
#[derive(Debug)]
struct Level {
    /// Empty for the root.
    path: String,
    names: Portion,
    folder: Option<OwnedFd>,
}

impl Level {
    /// Opens the directory again if it was closed on the way; returns whether it is still there.
    fn reopen(&mut self, store: &Store) -> Result<bool, StorageError> {
        if self.path.is_empty() || self.folder.is_some() {
            return Ok(true);
        }
        self.folder = open_folder(store, &self.path)?.flatten();
        Ok(self.folder.is_some())
    }

    /// Reads the next names; returns whether the directory is still there.
    fn read_on(&mut self, store: &Store) -> Result<bool, StorageError> {
        if !self.reopen(store)? {
            return Ok(false);
        }
        let Some(root) = store.root()? else {
            return Err(store.gone());
        };
        let folder = self.folder.as_ref().map_or(root, AsFd::as_fd);
        self.names.read_on(store, &self.path, folder)?;
        Ok(true)
    }
}

fn join(path: &str, name: &[u8]) -> Vec<u8> {
    let mut joined = Vec::with_capacity(path.len() + 1 + name.len());
    if !path.is_empty() {
        joined.extend_from_slice(path.as_bytes());
        joined.push(b'/');
    }
    joined.extend_from_slice(name);
    joined
}

impl ListWalk {
    pub(crate) fn new(options: &ListOptions) -> Self {
        Self {
            prefix: options.prefix.as_str().to_owned(),
            start_after: options.start_after.as_ref().map(ToString::to_string),
            end: options.end_at.as_ref().map(|prefix| format!("{prefix}/")),
            without_versions: options.without_versions,
            stack: Vec::new(),
            begun: false,
            ready: VecDeque::new(),
        }
    }

    /// Takes what [`ListWalk::advance`] found.
    pub(crate) fn take(&mut self) -> Vec<Item> {
        std::mem::take(&mut self.ready).into()
    }

    /// Walks on until `count` objects are found or the walk is over; returns whether it is over. After an
    /// error it can be called again and goes on where it was.
    pub(crate) fn advance(&mut self, store: &Store, count: usize) -> Result<bool, StorageError> {
        if !self.begun {
            if !workspace::is_reserved(&self.prefix) && is_spelt_right(store, &self.prefix)? {
                self.stack
                    .extend(self.read_level(store, self.prefix.clone())?);
            }
            self.begun = true;
        }
        while self.ready.len() < count {
            let Some(level) = self.stack.last_mut() else {
                // A directory that was removed reads as empty, and "nothing there" would be a lie.
                store.check_root_is_there()?;
                return Ok(true);
            };
            if level.names.is_used_up() {
                if !level.read_on(store)? {
                    self.stack.pop();
                }
                continue;
            }
            let Some(name) = level.names.head() else {
                self.stack.pop();
                continue;
            };
            let (path, is_folder) = (join(&level.path, name.bytes()), name.is_folder());
            if self
                .end
                .as_deref()
                .is_some_and(|end| *path >= *end.as_bytes())
            {
                self.stack.clear();
                continue;
            }
            if self.is_before_start(&path, is_folder) {
                self.step();
                continue;
            }
            if is_folder {
                self.enter(store, &path)?;
                continue;
            }
            let Some(level) = self.stack.last_mut() else {
                continue;
            };
            if !level.reopen(store)? {
                self.stack.pop();
                continue;
            }
            let (Some(root), Some(name)) = (store.root()?, level.names.head().map(Name::text))
            else {
                return Err(store.gone());
            };
            let folder = level.folder.as_ref().map_or(root, AsFd::as_fd);
            let found = describe(store, folder, &path, name, self.without_versions)?;
            self.ready.extend(found);
            self.step();
        }
        Ok(false)
    }

    /// Goes into the directory that comes next, `path` with its `/`. One whose name is no prefix of keys is yielded instead,
    /// unless it is known to be empty.
    fn enter(&mut self, store: &Store, path: &[u8]) -> Result<(), StorageError> {
        let name = path.strip_suffix(b"/").unwrap_or(path);
        let unreadable = |problem: &str| UnreadableName::new(path, problem);
        let text = std::str::from_utf8(name);
        let below = match text.map(|text| (text, Prefix::parse(text))) {
            Ok((text, Ok(_))) => self.read_level(store, text.to_owned())?,
            Ok((text, Err(_))) => {
                let level = self.read_level(store, text.to_owned())?;
                if level.is_some_and(|level| level.names.head().is_some()) {
                    let problem = "it is a directory whose name is too long for any key below it";
                    self.ready.push_back(Err(unreadable(problem).into()));
                }
                None
            }
            Err(_) => {
                let problem = "it is a directory whose name is not UTF-8";
                self.ready.push_back(Err(unreadable(problem).into()));
                None
            }
        };
        self.step();
        self.stack.extend(below);
        if let Some(above) = self.stack.len().checked_sub(KEPT_OPEN + 1) {
            self.stack[above].folder = None;
        }
        Ok(())
    }

    /// Reads the first names of a directory, `None` if there is none.
    fn read_level(&self, store: &Store, path: String) -> Result<Option<Level>, StorageError> {
        let Some(folder) = open_folder(store, &path)? else {
            return Ok(None);
        };
        let Some(root) = store.root()? else {
            return Ok(None);
        };
        let fd = folder.as_ref().map_or(root, AsFd::as_fd);
        let names = Portion::first(store, &path, fd, self.passed_in(&path))?;
        Ok(Some(Level {
            path,
            names,
            folder,
        }))
    }

    /// Returns the name up to which all names of a directory lie before the part that is asked for.
    fn passed_in(&self, path: &str) -> Option<&str> {
        let start = self.start_after.as_deref()?;
        let below = match path {
            "" => start,
            path => start.strip_prefix(path)?.strip_prefix('/')?,
        };
        below.split('/').next()
    }

    fn step(&mut self) {
        if let Some(level) = self.stack.last_mut() {
            level.names.step();
        }
    }

    /// Returns whether the entry, with everything below it, lies before the part that is asked for.
    fn is_before_start(&self, path: &[u8], is_folder: bool) -> bool {
        let Some(start) = self.start_after.as_deref().map(str::as_bytes) else {
            return false;
        };
        match is_folder {
            true => !start.starts_with(path) && path < start,
            false => path <= start,
        }
    }
}

/// Returns whether a prefix is the name of a directory letter by letter, where case is ignored; the root
/// has no name.
fn is_spelt_right(store: &Store, prefix: &str) -> Result<bool, StorageError> {
    let (Some(root), Ok(key)) = (store.root()?, Key::parse(prefix)) else {
        return Ok(true);
    };
    store.names.is_exact(&*store.sys, root, &key)
}

/// Opens a directory: `None` if there is none, `Some(None)` for the root.
fn open_folder(store: &Store, path: &str) -> Result<Option<Option<OwnedFd>>, StorageError> {
    let Some(root) = store.root()? else {
        return Ok(None);
    };
    if path.is_empty() {
        return Ok(Some(None));
    }
    match store.sys.open(root, path, Open::Directory) {
        Ok(folder) => Ok(Some(Some(folder))),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(error::of_place("list", path, errno)),
    }
}

/// Describes what stands under a name that was no directory, `None` if it is gone, or one by now. The error is of a name
/// that cannot be yielded as an object.
fn describe(
    store: &Store,
    folder: BorrowedFd<'_>,
    path: &[u8],
    name: Option<&str>,
    without_version: bool,
) -> Result<Option<Item>, StorageError> {
    let Some(name) = name else {
        // The system calls of this backend take text, and there is nothing to learn that would make it a key.
        return Ok(UnreadableName::parse(path, 0)
            .err()
            .map(|name| Err(name.into())));
    };
    let stat = match store.sys.stat_at(folder, name) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => {
            let path = String::from_utf8_lossy(path);
            return Err(error::of_place("list", &path, errno));
        }
    };
    match stat.kind {
        EntryKind::Directory => return Ok(None),
        EntryKind::File => {}
        other => return Ok(Some(Err(no_object(path, other)))),
    }
    match UnreadableName::parse(path, stat.size) {
        Ok(key) => describe_file(store, folder, &key, name, stat, without_version),
        Err(unreadable) => Ok(Some(Err(unreadable.into()))),
    }
}

/// Returns the item for something that is neither a file nor a directory.
fn no_object(path: &[u8], kind: EntryKind) -> StorageError {
    let problem = match kind {
        EntryKind::Symlink => "it is a symbolic link, which is not followed".to_owned(),
        other => format!("it is {}, not an object", other.name()),
    };
    UnreadableName::new(path, problem).into()
}

/// Describes a file of the walk, `None` if it is gone, or not finished.
fn describe_file(
    store: &Store,
    folder: BorrowedFd<'_>,
    key: &Key,
    name: &str,
    stat: Stat,
    without_version: bool,
) -> Result<Option<Item>, StorageError> {
    let fail = |errno| error::of_key("list", key, errno);
    let replaced_by = |kind| Some(Err(no_object(key.as_str().as_bytes(), kind)));
    let version = match without_version {
        true => Some(NO_VERSION.clone()),
        false => (stat.size >= DIGEST_BELOW).then(|| version(&stat, None)),
    };
    if let Some(version) = version {
        return Ok(Some(Ok(ObjectMeta {
            key: key.clone(),
            size: stat.size,
            version,
            last_modified: Some(last_modified(&stat)),
        })));
    }
    let file = match store.sys.open(folder, name, Open::Read) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Ok(replaced_by(EntryKind::Symlink)),
        Err(Errno::NXIO) => return Ok(replaced_by(EntryKind::Socket)),
        Err(errno) => return Err(fail(errno)),
    };
    let stat = store.sys.stat(file.as_fd()).map_err(fail)?;
    match stat.kind {
        EntryKind::File => {}
        EntryKind::Directory => return Ok(None),
        other => return Ok(replaced_by(other)),
    }
    match store.describe(ReadFrom::Disk, key, file, stat)? {
        Some(state) => Ok(Some(Ok(state.meta))),
        // Being written at this moment, by a program that writes in place: read what it has come to.
        None => match store.head(key) {
            Ok(meta) => Ok(Some(Ok(meta))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        },
    }
}
