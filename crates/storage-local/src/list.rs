//! Lists: a walk in byte order of the keys, one directory at a time.
//!
//! Byte order of keys is not the order of a plain walk: `a-b` and `a.b` come before `a/…`. Sorting each
//! directory with a `/` behind the names of its directories makes it so.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use icefield_storage::{Key, ListOptions, MAX_KEY_BYTES, ObjectMeta, StorageError};

use crate::error;
use crate::store::Store;
use crate::sys::{Entry, Errno, Kind, Open};
use crate::version::{DIGEST_BELOW, last_modified, nanos, version};
use crate::workspace;

/// Directories that a walk keeps open.
const KEPT_OPEN: usize = 4;

/// A walk on its way.
#[derive(Debug)]
pub(crate) struct Walk {
    prefix: String,
    start_after: Option<String>,
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
    names: Vec<Name>,
    next: usize,
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
}

/// A name in a directory.
#[derive(Debug, PartialEq, Eq)]
struct Name {
    text: String,
    is_folder: bool,
}

impl Name {
    /// Compares as the keys compare that begin with the names.
    fn order(&self, other: &Self) -> Ordering {
        let (one, two) = (self.text.as_bytes(), other.text.as_bytes());
        let common = one.len().min(two.len());
        let next = |bytes: &[u8], is_folder: bool| {
            let slash = is_folder.then_some(b'/');
            bytes.get(common).copied().or(slash)
        };
        let rest = || next(one, self.is_folder).cmp(&next(two, other.is_folder));
        one[..common].cmp(&two[..common]).then_with(rest)
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
            let Some(name) = level.names.get(level.next) else {
                self.stack.pop();
                continue;
            };
            let path = join(&level.path, &name.text);
            if self.is_before_start(&path) {
                self.step();
                continue;
            }
            let Some(level) = self.stack.last_mut() else {
                continue;
            };
            if level.names[level.next].is_folder {
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
            if !level.reopen(store)? {
                self.stack.pop();
                continue;
            }
            let (Some(root), name) = (store.root()?, &level.names[level.next].text) else {
                return Err(store.gone());
            };
            let folder = level.folder.as_ref().map_or(root, AsFd::as_fd);
            match Key::parse(&path) {
                Ok(key) => {
                    self.ready.extend(describe(store, folder, &key, name)?);
                }
                Err(error) => tracing::warn!(path, %error, "skipping a file that has no key"),
            }
            self.step();
        }
        Ok(false)
    }

    fn step(&mut self) {
        if let Some(level) = self.stack.last_mut() {
            level.next += 1;
        }
    }

    /// Returns whether the entry, with everything below it, lies before the part that is asked for.
    fn is_before_start(&self, path: &str) -> bool {
        let Some(start) = self.start_after.as_deref() else {
            return false;
        };
        let is_folder = self
            .stack
            .last()
            .and_then(|level| level.names.get(level.next))
            .is_some_and(|name| name.is_folder);
        if is_folder {
            let below = format!("{path}/");
            !start.starts_with(&below) && *below < *start
        } else {
            path <= start
        }
    }
}

/// Reads and sorts a directory, `None` if there is none.
fn read_level(store: &Store, path: String) -> Result<Option<Level>, StorageError> {
    let Some(folder) = open_folder(store, &path)? else {
        return Ok(None);
    };
    let fail = |errno| error::of_place("list", &path, errno);
    let (folder, entries) = match folder {
        Some(folder) => {
            let entries = read_names(store, folder.as_fd()).map_err(fail)?;
            (Some(folder), entries)
        }
        None => match store.root()? {
            Some(root) => (None, read_names(store, root).map_err(fail)?),
            None => return Ok(None),
        },
    };
    let mut names = Vec::with_capacity(entries.len());
    for entry in entries {
        let Ok(text) = String::from_utf8(entry.name) else {
            tracing::warn!(path, "skipping a name that is not UTF-8");
            continue;
        };
        if workspace::is_reserved(&text) {
            continue;
        }
        let kind = match (entry.kind, store.root()?) {
            (Kind::Unknown, Some(root)) => {
                let at = folder.as_ref().map_or(root, AsFd::as_fd);
                match store.sys.stat_at(at, &text) {
                    Ok(stat) => stat.kind,
                    Err(Errno::NOENT) => continue,
                    Err(errno) => return Err(fail(errno)),
                }
            }
            (kind, _) => kind,
        };
        match kind {
            Kind::File | Kind::Directory => names.push(Name {
                text,
                is_folder: kind == Kind::Directory,
            }),
            other => tracing::debug!(
                path,
                text,
                kind = other.name(),
                "skipping what is no object"
            ),
        }
    }
    names.sort_unstable_by(Name::order);
    names.dedup();
    Ok(Some(Level {
        path,
        names,
        next: 0,
        folder,
    }))
}

/// Reads the names of a directory. If it changes meanwhile, it is read a second time: some file systems
/// move an entry that is replaced to a place that the first reading had passed, and an object that was
/// there all the time would be missing. A time stamp shows a change only once its clock has ticked, so a
/// directory that changed a moment ago counts as changing.
fn read_names(store: &Store, folder: BorrowedFd<'_>) -> Result<Vec<Entry>, Errno> {
    // The slowest clock of a file system ticks every two seconds, and is rounded down.
    const TICK: i128 = 4_000_000_000;
    let before = store.sys.stat(folder)?.mtime;
    let mut entries = store.sys.read_dir(folder)?;
    let after = store.sys.stat(folder)?.mtime;
    if after != before || after > nanos(store.clock.now()) - TICK {
        entries.extend(store.sys.read_dir(folder)?);
    }
    Ok(entries)
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
) -> Result<Option<ObjectMeta>, StorageError> {
    let fail = |errno| error::of_key("list", key, errno);
    let gone = |errno| matches!(errno, Errno::NOENT | Errno::LOOP | Errno::NXIO);
    let stat = match store.sys.stat_at(folder, name) {
        Ok(stat) if stat.kind != Kind::File => return Ok(None),
        Ok(stat) => stat,
        Err(errno) if gone(errno) => return Ok(None),
        Err(errno) => return Err(fail(errno)),
    };
    if stat.size >= DIGEST_BELOW {
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
