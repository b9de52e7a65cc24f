//! Lists: directory by directory, each sorted, without recursion.
//!
//! In memory are the names of the directories between the prefix and the place where the walk is.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, SystemTime};

use super::base::Base;
use super::files::{self, EntryKind, Errno, Stat};
use super::resolve::{self, Found, Stop};
use super::settings::{Links, Skipped, WhySkipped};
use crate::{Child, Entry, TEMPORARY, TreeError, TreePrefix};

/// A list under way.
pub(super) struct TreeWalk {
    prefix: Option<TreePrefix>,
    open: Vec<Frame>,
}

/// A directory, and what of it is still to come.
struct Frame {
    prefix: TreePrefix,
    id: (u64, u64),
    items: std::vec::IntoIter<Item>,
}

/// An entry of a directory that is, or may hold, a key.
struct Item {
    name: String,
    /// `None` for a directory.
    size: Option<u64>,
}

impl Item {
    /// Compares as the keys do that begin with the names.
    fn sort_key(&self) -> impl Ord + use<> {
        let mut key = self.name.clone().into_bytes();
        if self.size.is_none() {
            key.push(b'/');
        }
        key
    }
}

impl TreeWalk {
    pub(super) fn new(prefix: TreePrefix) -> Self {
        Self {
            prefix: Some(prefix),
            open: Vec::new(),
        }
    }

    fn begin(&mut self, base: &Base) -> Result<(), TreeError> {
        if let Some(prefix) = self.prefix.take() {
            self.enter(base, prefix)?;
        }
        Ok(())
    }

    fn enter(&mut self, base: &Base, prefix: TreePrefix) -> Result<(), TreeError> {
        let above: Vec<_> = self.open.iter().map(|frame| frame.id).collect();
        self.open.extend(base.frame(prefix, &above)?);
        Ok(())
    }

    /// Returns the next values below the prefix, `portion` at most; none at the end.
    pub(super) fn entries(&mut self, base: &Base, portion: usize) -> Result<Vec<Entry>, TreeError> {
        self.begin(base)?;
        let mut entries = Vec::new();
        while let Some(frame) = self.open.last_mut() {
            let Some(item) = frame.items.next() else {
                self.open.pop();
                continue;
            };
            match item.size {
                None => {
                    let below = frame.prefix.join(&item.name)?;
                    self.enter(base, below)?;
                }
                Some(size) => {
                    let key = frame.prefix.key(&item.name)?;
                    entries.push(Entry { key, size });
                    if entries.len() == portion {
                        break;
                    }
                }
            }
        }
        Ok(entries)
    }

    /// Returns the next values and prefixes directly below the prefix, `portion` at most; none at the end.
    pub(super) fn children(
        &mut self,
        base: &Base,
        portion: usize,
    ) -> Result<Vec<Child>, TreeError> {
        self.begin(base)?;
        let mut children = Vec::new();
        let Some(frame) = self.open.last_mut() else {
            return Ok(children);
        };
        while children.len() < portion {
            let Some(item) = frame.items.next() else {
                break;
            };
            match item.size {
                Some(size) => {
                    let key = frame.prefix.key(&item.name)?;
                    children.push(Child::Key(Entry { key, size }));
                }
                None => {
                    let below = frame.prefix.join(&item.name)?;
                    if base.first_below(&below)?.is_some() {
                        children.push(Child::Prefix(below));
                    }
                }
            }
        }
        Ok(children)
    }
}

/// The kind of an entry of a directory, once looked at.
enum Met {
    File(u64),
    Directory((u64, u64)),
    Skip(WhySkipped),
    /// Gone again.
    Nothing,
}

impl Base {
    /// Reads a directory; `None` if there is none. `above` are the directories that lead to it.
    fn frame(&self, prefix: TreePrefix, above: &[(u64, u64)]) -> Result<Option<Frame>, TreeError> {
        let Some(root) = self.open_base()? else {
            return Ok(None);
        };
        let (directory, stat) = match resolve::open(root, prefix.segments(), self.links) {
            Ok(Found::Directory(directory, stat)) => (directory, stat),
            Ok(_) | Err(Stop::Absent | Stop::Circle) => return Ok(None),
            Err(stop) => return Err(self.stopped("list", prefix.as_str(), stop)),
        };
        let mut names = Vec::new();
        files::read_directory(directory.as_fd(), |name| {
            names.push(OsStr::from_bytes(name.to_bytes()).to_owned());
            true
        })
        .map_err(|errno| self.failed("list", prefix.as_str(), errno))?;
        let mut items = Vec::new();
        for name in names {
            let Some(name) = name.to_str() else {
                let name = format!("{prefix}{}", name.to_string_lossy());
                self.skip(name, WhySkipped::NotUtf8);
                continue;
            };
            let is_circle = |id| id == stat.id || above.contains(&id);
            match self.meet(directory.as_fd(), &prefix, name)? {
                Met::File(size) => items.push(Item {
                    name: name.to_owned(),
                    size: Some(size),
                }),
                Met::Directory(id) if is_circle(id) => {
                    self.skip(format!("{prefix}{name}"), WhySkipped::Link);
                }
                Met::Directory(_) => items.push(Item {
                    name: name.to_owned(),
                    size: None,
                }),
                Met::Skip(why) => self.skip(format!("{prefix}{name}"), why),
                Met::Nothing => {}
            }
        }
        items.sort_by_cached_key(Item::sort_key);
        Ok(Some(Frame {
            prefix,
            id: stat.id,
            items: items.into_iter(),
        }))
    }

    fn meet(
        &self,
        directory: BorrowedFd<'_>,
        prefix: &TreePrefix,
        name: &str,
    ) -> Result<Met, TreeError> {
        let path = || format!("{prefix}{name}");
        let stat = match files::stat_at(directory, OsStr::new(name)) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(Met::Nothing),
            Err(errno) => return Err(self.failed("list", &path(), errno)),
        };
        if name.starts_with(TEMPORARY) {
            self.collect(directory, name, &stat);
            return Ok(Met::Nothing);
        }
        match stat.kind {
            EntryKind::File => Ok(Met::File(stat.size)),
            EntryKind::Directory => Ok(Met::Directory(stat.id)),
            EntryKind::Fifo | EntryKind::Socket | EntryKind::Device => {
                Ok(Met::Skip(WhySkipped::NotAFile))
            }
            EntryKind::Link => self.follow(&path()),
        }
    }

    fn follow(&self, path: &str) -> Result<Met, TreeError> {
        if self.links == Links::Refuse {
            return Err(self.stopped("list", path, Stop::Link));
        }
        let Some(root) = self.open_base()? else {
            return Ok(Met::Nothing);
        };
        match resolve::open(root, path.split('/'), self.links) {
            Ok(Found::File(_, stat)) => Ok(Met::File(stat.size)),
            Ok(Found::Directory(_, stat)) => Ok(Met::Directory(stat.id)),
            Ok(Found::Other(_)) => Ok(Met::Skip(WhySkipped::NotAFile)),
            Err(Stop::Absent | Stop::Circle | Stop::Outside) => Ok(Met::Skip(WhySkipped::Link)),
            Err(stop) => Err(self.stopped("list", path, stop)),
        }
    }

    /// Removes the temporary file of a writer that died long ago. Best effort: the next list tries again.
    fn collect(&self, directory: BorrowedFd<'_>, name: &str, stat: &Stat) {
        let written = u64::try_from(stat.modified).unwrap_or(0);
        let written = SystemTime::UNIX_EPOCH + Duration::from_secs(written);
        let age = self.clock.now().duration_since(written);
        // Without an age there is no question to this machine's clock, which may not be that of the file server.
        let is_old = self.leftover_age.is_zero() || age.is_ok_and(|age| age >= self.leftover_age);
        if is_old && !self.read_only && stat.kind == EntryKind::File {
            tracing::info!(name, "removing the temporary file of a dead writer");
            let _ = files::unlink(directory, OsStr::new(name));
        }
    }

    fn skip(&self, name: String, why: WhySkipped) {
        (self.skipped)(&Skipped { name, why });
    }

    /// Returns a key somewhere below a prefix, if there is one. Under [`Links::Refuse`] a link counts as one.
    pub(super) fn first_below(&self, prefix: &TreePrefix) -> Result<Option<String>, TreeError> {
        let mut seen = HashSet::new();
        let mut left = vec![prefix.clone()];
        while let Some(prefix) = left.pop() {
            let Some(root) = self.open_base()? else {
                return Ok(None);
            };
            let directory = match resolve::open(root, prefix.segments(), self.links) {
                Ok(Found::Directory(directory, stat)) if seen.insert(stat.id) => directory,
                Ok(_) | Err(Stop::Absent | Stop::Circle | Stop::Outside) => continue,
                Err(Stop::Link) => return Ok(Some(prefix.to_string())),
                Err(stop) => return Err(self.stopped("list", prefix.as_str(), stop)),
            };
            let mut found = None;
            let mut failed = None;
            let mut below = Vec::new();
            files::read_directory(directory.as_fd(), |name| {
                let Ok(name) = name.to_str() else { return true };
                let path = || format!("{prefix}{name}");
                match self.meet(directory.as_fd(), &prefix, name) {
                    Ok(Met::File(_)) | Err(TreeError::Link { .. }) => found = Some(path()),
                    Ok(Met::Directory(_)) => below.push(name.to_owned()),
                    Ok(Met::Skip(_) | Met::Nothing) => {}
                    Err(error) => failed = Some(error),
                }
                found.is_none() && failed.is_none()
            })
            .map_err(|errno| self.failed("list", prefix.as_str(), errno))?;
            if let Some(error) = failed {
                return Err(error);
            }
            if found.is_some() {
                return Ok(found);
            }
            for name in below {
                left.push(prefix.join(&name)?);
            }
        }
        Ok(None)
    }
}
