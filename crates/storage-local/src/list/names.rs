//! The names in a directory in the order of the keys that begin with them, a portion at a time: a directory may have any
//! number of names, and only so many are held.

use std::os::fd::BorrowedFd;

use icefield_storage::StorageError;

use crate::error;
use crate::store::Store;
use crate::sys::{EntryKind, Errno};
use crate::version::nanos;
use crate::workspace;

/// Names of the first portion; tests make do with a few.
const PORTION: usize = if cfg!(test) { 3 } else { 1 << 18 };
/// A later portion has at least this part of all names, so that the directory is not read ever so often.
const PORTIONS: usize = if cfg!(test) { 16 } else { 32 };

/// A name in a directory, that of a directory with a `/` behind it: so they compare as the keys that begin with them.
///
/// Bytes: a file system has names that are not UTF-8, too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name(Box<[u8]>);

impl Name {
    pub(super) fn is_folder(&self) -> bool {
        self.0.ends_with(b"/")
    }

    /// The name, that of a directory with its `/`.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The name without a `/`; `None` if it is not UTF-8.
    pub(super) fn text(&self) -> Option<&str> {
        let name = self.0.strip_suffix(b"/").unwrap_or(&self.0);
        std::str::from_utf8(name).ok()
    }
}

/// Some names of a directory, ascending.
#[derive(Debug)]
pub(super) struct Portion {
    names: Vec<Name>,
    next: usize,
    /// Whether there are names behind these.
    more: bool,
    /// All names that were seen.
    seen: usize,
}

impl Portion {
    /// Reads the first names of a directory, of those after some name if there is one.
    pub(super) fn first(
        store: &Store,
        path: &str,
        folder: BorrowedFd<'_>,
        after: Option<&str>,
    ) -> Result<Self, StorageError> {
        let after = after.map(|name| Name(name.as_bytes().into()));
        Gather::new(after, PORTION).read(store, path, folder)
    }

    /// The name that comes next.
    pub(super) fn head(&self) -> Option<&Name> {
        self.names.get(self.next)
    }

    pub(super) fn step(&mut self) {
        self.next += 1;
    }

    /// Whether the directory has to be read again for what comes next.
    pub(super) fn is_used_up(&self) -> bool {
        self.more && self.next == self.names.len()
    }

    /// Reads the names after these.
    pub(super) fn read_on(
        &mut self,
        store: &Store,
        path: &str,
        folder: BorrowedFd<'_>,
    ) -> Result<(), StorageError> {
        let last = self.names.pop();
        self.names = Vec::new();
        self.next = 0;
        let most = PORTION.max(self.seen / PORTIONS);
        let gather = Gather::new(last.clone(), most);
        match gather.read(store, path, folder) {
            Ok(portion) => {
                *self = portion;
                Ok(())
            }
            Err(error) => {
                // It is tried again from here.
                self.names.extend(last);
                self.next = self.names.len();
                Err(error)
            }
        }
    }
}

/// Gathers the smallest names after some name.
struct Gather {
    after: Option<Name>,
    most: usize,
    names: Vec<Name>,
    /// Names above this belong to a later portion.
    limit: Option<Name>,
    seen: usize,
}

impl Gather {
    fn new(after: Option<Name>, most: usize) -> Self {
        Self {
            after,
            most,
            names: Vec::new(),
            limit: None,
            seen: 0,
        }
    }

    fn add(&mut self, name: &[u8]) {
        self.seen += 1;
        let is_before = self.after.as_ref().is_some_and(|after| name <= &*after.0);
        let is_behind = self.limit.as_ref().is_some_and(|limit| name > &*limit.0);
        if is_before || is_behind {
            return;
        }
        self.names.push(Name(name.into()));
        if self.names.len() == 2 * self.most {
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.names.sort_unstable();
        // A directory that changes is read twice.
        self.names.dedup();
        if self.names.len() > self.most {
            self.names.truncate(self.most);
            self.limit = self.names.last().cloned();
        }
    }

    /// Reads a directory. If it changes meanwhile, it is read a second time: some file systems move an entry that is
    /// replaced to a place that the first reading had passed, and an object that was there all the time would be missing.
    /// A time stamp shows a change only once its clock has ticked, so a directory that changed a moment ago counts as
    /// changing.
    fn read(
        mut self,
        store: &Store,
        path: &str,
        folder: BorrowedFd<'_>,
    ) -> Result<Portion, StorageError> {
        // The slowest clock of a file system ticks every two seconds, and is rounded down.
        const TICK: i128 = 4_000_000_000;
        let fail = |errno| error::of_place("list", path, errno);
        let before = store.sys.stat(folder).map_err(fail)?.mtime;
        self.read_once(store, folder).map_err(fail)?;
        let after = store.sys.stat(folder).map_err(fail)?.mtime;
        if after != before || after > nanos(store.clock.now()) - TICK {
            self.read_once(store, folder).map_err(fail)?;
        }
        self.sort();
        self.names.shrink_to_fit();
        Ok(Portion {
            names: self.names,
            next: 0,
            more: self.limit.is_some(),
            seen: self.seen,
        })
    }

    fn read_once(&mut self, store: &Store, folder: BorrowedFd<'_>) -> Result<(), Errno> {
        let mut with_slash = Vec::new();
        let mut failed = None;
        store.sys.visit_dir(folder, &mut |name, kind| {
            let text = std::str::from_utf8(name).ok();
            if text.is_some_and(workspace::is_reserved) || failed.is_some() {
                return;
            }
            let kind = match (kind, text) {
                (EntryKind::Unknown, Some(text)) => match store.sys.stat_at(folder, text) {
                    Ok(stat) => stat.kind,
                    Err(Errno::NOENT) => return,
                    Err(errno) => return failed = Some(errno),
                },
                (kind, _) => kind,
            };
            match kind {
                EntryKind::Directory => {
                    with_slash.clear();
                    with_slash.extend_from_slice(name);
                    with_slash.push(b'/');
                    self.add(&with_slash);
                }
                // An entry that is no object is told apart when it is described.
                _ => self.add(name),
            }
        })?;
        failed.map_or(Ok(()), Err)
    }
}
