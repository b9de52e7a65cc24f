//! Lists: a walk in byte order of the keys, one directory at a time.
//!
//! Byte order of keys is not the order of a plain walk: `a-b` and `a.b` come before `a/…`. Sorting each
//! directory with a `/` behind the names of its directories makes it so.

mod names;

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use icefield_storage::{Key, ListOptions, MAX_KEY_BYTES, ObjectMeta, StorageError};

use crate::error;
use crate::store::Store;
use crate::sys::{Errno, Kind, Open};
use crate::version::{DIGEST_BELOW, last_modified, version};
use crate::workspace;

use names::{Name, Portion};

/// Directories that a walk keeps open.
const KEPT_OPEN: usize = 4;

/// A walk on its way.
#[derive(Debug)]
pub(crate) struct Walk {
    prefix: String,
    start_after: Option<String>,
    without_versions: bool,
    stack: Vec<Level>,
    begun: bool,
    /// Found, not yet handed out.
    ready: VecDeque<ObjectMeta>,
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

fn join(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        _ => format!("{path}/{name}"),
    }
}

impl Walk {
    pub(crate) fn new(options: &ListOptions) -> Self {
        Self {
            prefix: options.prefix.as_str().to_owned(),
            start_after: options.start_after.as_ref().map(ToString::to_string),
            without_versions: options.without_versions,
            stack: Vec::new(),
            begun: false,
            ready: VecDeque::new(),
        }
    }

    /// Takes what [`Walk::advance`] found.
    pub(crate) fn take(&mut self) -> Vec<ObjectMeta> {
        std::mem::take(&mut self.ready).into()
    }

    /// Walks on until `count` objects are found or the walk is over; returns whether it is over. After an
    /// error it can be called again and goes on where it was.
    pub(crate) fn advance(&mut self, store: &Store, count: usize) -> Result<bool, StorageError> {
        if !self.begun {
            if !workspace::is_reserved(&self.prefix) && is_spelt_right(store, &self.prefix)? {
                self.stack.extend(read_level(store, self.prefix.clone())?);
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
            let (path, is_folder) = (join(&level.path, name.text()), name.is_folder());
            if self.is_before_start(&path, is_folder) {
                self.step();
                continue;
            }
            if is_folder {
                let below = match path.len() < MAX_KEY_BYTES {
                    true => read_level(store, path)?,
                    false => None,
                };
                self.step();
                self.stack.extend(below);
                if let Some(above) = self.stack.len().checked_sub(KEPT_OPEN + 1) {
                    self.stack[above].folder = None;
                }
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
            match Key::parse(&path) {
                Ok(key) => {
                    let found = describe(store, folder, &key, name, self.without_versions)?;
                    self.ready.extend(found);
                }
                Err(error) => tracing::warn!(path, %error, "skipping a file that has no key"),
            }
            self.step();
        }
        Ok(false)
    }

    fn step(&mut self) {
        if let Some(level) = self.stack.last_mut() {
            level.names.step();
        }
    }

    /// Returns whether the entry, with everything below it, lies before the part that is asked for.
    fn is_before_start(&self, path: &str, is_folder: bool) -> bool {
        let Some(start) = self.start_after.as_deref() else {
            return false;
        };
        if is_folder {
            let below = format!("{path}/");
            !start.starts_with(&below) && *below < *start
        } else {
            path <= start
        }
    }
}

/// Reads the first names of a directory, `None` if there is none.
fn read_level(store: &Store, path: String) -> Result<Option<Level>, StorageError> {
    let Some(folder) = open_folder(store, &path)? else {
        return Ok(None);
    };
    let names = match (&folder, store.root()?) {
        (Some(folder), _) => Portion::first(store, &path, folder.as_fd())?,
        (None, Some(root)) => Portion::first(store, &path, root)?,
        (None, None) => return Ok(None),
    };
    Ok(Some(Level {
        path,
        names,
        folder,
    }))
}

/// Returns whether a prefix is the name of a directory letter by letter, where case is ignored; the root
/// has no name.
fn is_spelt_right(store: &Store, prefix: &str) -> Result<bool, StorageError> {
    let (Some(root), Ok(key)) = (store.root()?, Key::parse(prefix)) else {
        return Ok(true);
    };
    store.names.is_exact(store, root, &key)
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

/// Describes a file of the walk, `None` if it is gone, or no object, or not finished.
fn describe(
    store: &Store,
    folder: BorrowedFd<'_>,
    key: &Key,
    name: &str,
    without_version: bool,
) -> Result<Option<ObjectMeta>, StorageError> {
    let fail = |errno| error::of_key("list", key, errno);
    let gone = |errno| matches!(errno, Errno::NOENT | Errno::LOOP | Errno::NXIO);
    let stat = match store.sys.stat_at(folder, name) {
        Ok(stat) if stat.kind != Kind::File => return Ok(None),
        Ok(stat) => stat,
        Err(errno) if gone(errno) => return Ok(None),
        Err(errno) => return Err(fail(errno)),
    };
    if stat.size >= DIGEST_BELOW || without_version {
        return Ok(Some(ObjectMeta {
            key: key.clone(),
            size: stat.size,
            version: version(&stat, None),
            last_modified: Some(last_modified(&stat)),
        }));
    }
    let file = match store.sys.open(folder, name, Open::Read) {
        Ok(file) => file,
        Err(errno) if gone(errno) => return Ok(None),
        Err(errno) => return Err(fail(errno)),
    };
    let stat = store.sys.stat(file.as_fd()).map_err(fail)?;
    if stat.kind != Kind::File {
        return Ok(None);
    }
    match store.describe(key, file, stat)? {
        Some(state) => Ok(Some(state.meta)),
        // Being written at this moment, by a program that writes in place: read what it has come to.
        None => store
            .head(key)
            .map(Some)
            .or_else(|error| match error.is_not_found() {
                true => Ok(None),
                false => Err(error),
            }),
    }
}
