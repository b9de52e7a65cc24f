//! The entries of a directory, of whatever kind: for imports, which name what lists leave out, and look where lists must
//! not.

use std::ffi::{OsStr, OsString};

use super::base::Base;
use super::files::{self, EntryKind, Errno, Names, Stat, at};
use super::resolve::{self, Found, Stop};
use crate::{TreeError, TreeKey, TreePrefix};

/// Something that stands in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RawEntry {
    /// The path below the base, with slashes; what is not UTF-8 replaced.
    pub path: String,
    /// Whether nothing was replaced. Otherwise no key leads there.
    pub is_utf8: bool,
    /// Its kind.
    pub kind: RawKind,
}

impl RawEntry {
    /// Returns the last segment of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// The kind of file that stands under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RawKind {
    /// A regular file.
    File {
        /// Its bytes.
        size: u64,
    },
    /// A directory.
    Directory,
    /// A symbolic link, wherever it leads.
    Link,
    /// Something that is never opened: `a FIFO`, `a socket`, `a device`.
    Other(&'static str),
}

impl From<Stat> for RawKind {
    fn from(stat: Stat) -> Self {
        match stat.kind {
            EntryKind::File => Self::File { size: stat.size },
            EntryKind::Directory => Self::Directory,
            EntryKind::Link => Self::Link,
            other => Self::Other(other.name()),
        }
    }
}

/// Whether a directory is gone into.
pub(super) type Enter = Box<dyn FnMut(&RawEntry) -> bool + Send>;

/// A walk under way, from one directory into those below it that `enter` names.
pub(super) struct RawWalk {
    prefix: Option<TreePrefix>,
    enter: Enter,
    open: Vec<Level>,
}

/// A directory that is being read.
struct Level {
    /// Its path, with a final slash unless it is empty.
    path: String,
    is_utf8: bool,
    names: Names,
}

impl RawWalk {
    pub(super) fn new(prefix: TreePrefix, enter: Enter) -> Self {
        Self {
            prefix: Some(prefix),
            enter,
            open: Vec::new(),
        }
    }

    /// Returns the next entries, `portion` at most; none at the end.
    pub(super) fn entries(
        &mut self,
        base: &Base,
        portion: usize,
    ) -> Result<Vec<RawEntry>, TreeError> {
        if let Some(prefix) = self.prefix.take() {
            self.open.push(base.raw_level(&prefix)?);
        }
        let mut entries = Vec::new();
        while let Some(level) = self.open.last_mut() {
            let Some((name, entry)) = level.next(base)? else {
                self.open.pop();
                continue;
            };
            if entry.kind == RawKind::Directory && (self.enter)(&entry) {
                let below = level.below(&name, &entry, base)?;
                self.open.push(below);
            }
            entries.push(entry);
            if entries.len() == portion {
                break;
            }
        }
        Ok(entries)
    }
}

impl Level {
    fn next(&mut self, base: &Base) -> Result<Option<(OsString, RawEntry)>, TreeError> {
        loop {
            let read = self.names.next();
            let read = read.map_err(|errno| base.failed("list", &self.path, errno))?;
            let Some((name, kind)) = read else {
                return Ok(None);
            };
            let path = format!("{}{}", self.path, name.to_string_lossy());
            let kind = match kind {
                Some(EntryKind::File) | None => match self.stat(&name) {
                    Ok(stat) => stat.into(),
                    // Gone again.
                    Err(Errno::NOENT) => continue,
                    Err(errno) => return Err(base.failed("list", &path, errno)),
                },
                Some(EntryKind::Directory) => RawKind::Directory,
                Some(EntryKind::Link) => RawKind::Link,
                Some(other) => RawKind::Other(other.name()),
            };
            let is_utf8 = self.is_utf8 && name.to_str().is_some();
            let entry = RawEntry {
                path,
                is_utf8,
                kind,
            };
            return Ok(Some((name, entry)));
        }
    }

    fn stat(&self, name: &OsStr) -> Result<Stat, Errno> {
        files::stat_at(self.names.directory()?, name)
    }

    /// Opens a directory of this one.
    fn below(&self, name: &OsStr, entry: &RawEntry, base: &Base) -> Result<Self, TreeError> {
        let open = || Names::of(files::open_directory(self.names.directory()?, name)?);
        let names = open().map_err(|errno| {
            let is_link = self
                .stat(name)
                .is_ok_and(|stat| stat.kind == EntryKind::Link);
            let stop = if is_link {
                Stop::Link
            } else {
                Stop::System(errno)
            };
            base.stopped("list", &entry.path, stop)
        })?;
        Ok(Self {
            path: format!("{}/", entry.path),
            is_utf8: entry.is_utf8,
            names,
        })
    }
}

impl Base {
    /// Opens the directory of a prefix.
    fn raw_level(&self, prefix: &TreePrefix) -> Result<Level, TreeError> {
        let name = prefix.as_str();
        let stopped = |stop| self.stopped("list", name, stop);
        let root = self.open_base()?.ok_or_else(|| stopped(Stop::Absent))?;
        let directory = match resolve::open(root, prefix.segments(), self.links) {
            Ok(Found::Directory(directory, _)) => directory,
            Ok(_) => return Err(stopped(Stop::System(Errno::NOTDIR))),
            Err(stop) => return Err(stopped(stop)),
        };
        let names = Names::of(directory).map_err(|errno| self.failed("list", name, errno))?;
        Ok(Level {
            path: name.to_owned(),
            is_utf8: true,
            names,
        })
    }

    pub(super) fn raw_kind(&self, key: &TreeKey) -> Result<Option<RawKind>, TreeError> {
        let stopped = |stop| self.stopped("read", key.as_str(), stop);
        let Some(root) = self.open_base()? else {
            return Ok(None);
        };
        let mut parents = key.segments();
        let last = parents.next_back().unwrap_or_default();
        let parent = match resolve::open(root, parents, self.links) {
            Ok(Found::Directory(directory, _)) => directory,
            Ok(_) | Err(Stop::Absent | Stop::Circle) => return Ok(None),
            Err(stop) => return Err(stopped(stop)),
        };
        match files::stat_at(at(&parent), OsStr::new(last)) {
            Ok(stat) => Ok(Some(stat.into())),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(stopped(Stop::System(errno))),
        }
    }
}
