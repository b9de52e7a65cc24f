//! Erasing: files first, then the directories that this has emptied. Links are removed, never followed.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use super::base::Base;
use super::files::{self, EntryKind, Errno, at};
use super::resolve::{self, Found, Stop};
use super::settings::{Durability, Links};
use crate::{TreeError, TreeKey, TreePrefix};

/// How often a directory is emptied that others fill at the same time.
const ATTEMPTS: usize = 16;

/// A directory to be emptied, and then removed.
enum Task {
    Empty(Vec<OsString>),
    Remove(Vec<OsString>),
}

impl Base {
    pub(super) fn erase(&self, key: &TreeKey) -> Result<(), TreeError> {
        self.check_writable(key)?;
        let fail = |errno| self.failed("erase", key.as_str(), errno);
        let mut parents: Vec<OsString> = key.segments().map(OsString::from).collect();
        let Some(last) = parents.pop() else {
            return Ok(());
        };
        let Some(parent) = self.directory(&parents, "erase", key.as_str())? else {
            return Ok(());
        };
        let stat = match files::stat_at(at(&parent), &last) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(fail(errno)),
        };
        match stat.kind {
            EntryKind::File => {}
            EntryKind::Link if self.links == Links::FollowInside => {}
            EntryKind::Link => return Err(self.stopped("erase", key.as_str(), Stop::Link)),
            EntryKind::Directory => {
                let prefix = TreePrefix::parse(&format!("{key}/"))?;
                return match self.first_below(&prefix)? {
                    None => Ok(()),
                    Some(below) => Err(TreeError::AboveKeys {
                        store: self.name.clone(),
                        key: key.clone(),
                        below,
                    }),
                };
            }
            other => return Err(self.not_a_file(key.as_str(), other)),
        }
        match files::unlink(at(&parent), &last) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(fail(errno)),
        }
        if self.durability == Durability::FileAndDirectory {
            files::sync(at(&parent)).map_err(|errno| self.not_durable(key, errno))?;
        }
        self.prune_above(parents);
        Ok(())
    }

    pub(super) fn erase_prefix(&self, prefix: &TreePrefix) -> Result<(), TreeError> {
        if self.read_only {
            return Err(TreeError::ReadOnly {
                store: self.name.clone(),
            });
        }
        let name = prefix.as_str();
        let top: Vec<OsString> = prefix.segments().map(OsString::from).collect();
        let mut attempts = 0;
        let mut tasks = vec![Task::Empty(top.clone())];
        while let Some(task) = tasks.pop() {
            match task {
                Task::Empty(path) => {
                    if path.len() > top.len() || !top.is_empty() {
                        tasks.push(Task::Remove(path.clone()));
                    }
                    let Some(directory) = self.directory(&path, "erase", name)? else {
                        continue;
                    };
                    for below in self.empty(&directory, name)? {
                        let mut path = path.clone();
                        path.push(below);
                        tasks.push(Task::Empty(path));
                    }
                }
                Task::Remove(mut path) => {
                    let whole = path.clone();
                    let Some(last) = path.pop() else { continue };
                    let Some(parent) = self.directory(&path, "erase", name)? else {
                        continue;
                    };
                    match files::remove_directory(at(&parent), &last) {
                        // `NOTDIR`: the prefix is a value's name, and nothing is below it.
                        Ok(()) | Err(Errno::NOENT | Errno::NOTDIR) => {}
                        // Another writer wrote there meanwhile; if that goes on, what is written last stays.
                        Err(Errno::NOTEMPTY | Errno::EXIST) if attempts < ATTEMPTS => {
                            attempts += 1;
                            tasks.push(Task::Empty(whole));
                        }
                        Err(Errno::NOTEMPTY | Errno::EXIST) => {}
                        Err(errno) => return Err(self.failed("erase", name, errno)),
                    }
                }
            }
        }
        let mut above = top;
        above.pop();
        if self.durability == Durability::FileAndDirectory
            && let Some(directory) = self.directory(&above, "erase", name)?
        {
            files::sync(at(&directory)).map_err(|errno| self.failed("erase", name, errno))?;
        }
        self.prune_above(above);
        Ok(())
    }

    /// Removes everything in a directory but the directories, and returns those.
    fn empty(&self, directory: &OwnedFd, name: &str) -> Result<Vec<OsString>, TreeError> {
        let fail = |errno| self.failed("erase", name, errno);
        let mut names = Vec::new();
        files::read_directory(directory.as_fd(), |name| {
            names.push(OsStr::from_bytes(name.to_bytes()).to_owned());
            true
        })
        .map_err(fail)?;
        let mut directories = Vec::new();
        for name in names {
            match files::stat_at(at(directory), &name) {
                Ok(stat) if stat.kind == EntryKind::Directory => directories.push(name),
                Ok(_) => match files::unlink(at(directory), &name) {
                    Ok(()) | Err(Errno::NOENT) => {}
                    Err(errno) => return Err(fail(errno)),
                },
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(fail(errno)),
            }
        }
        Ok(directories)
    }

    /// Opens a directory without following links; `None` if there is none.
    fn directory(
        &self,
        path: &[OsString],
        action: &'static str,
        name: &str,
    ) -> Result<Option<OwnedFd>, TreeError> {
        let Some(base) = self.open_base()? else {
            return Ok(None);
        };
        match resolve::open(base, path.iter().cloned(), Links::Refuse) {
            Ok(Found::Directory(directory, _)) => Ok(Some(directory)),
            Ok(_) | Err(Stop::Absent) => Ok(None),
            Err(stop) => Err(self.stopped(action, name, stop)),
        }
    }

    /// Removes the directories of a path that are empty, from the deepest up, never the base. Best effort.
    fn prune_above(&self, mut path: Vec<OsString>) {
        while let Some(last) = path.pop() {
            let Ok(Some(parent)) = self.directory(&path, "erase", "") else {
                return;
            };
            if files::remove_directory(at(&parent), &last).is_err() {
                return;
            }
        }
    }

    /// Removes the empty directories below a prefix; never a file.
    pub(super) fn prune_below(&self, prefix: &TreePrefix) -> Result<(), TreeError> {
        let top: Vec<OsString> = prefix.segments().map(OsString::from).collect();
        let mut found = vec![top];
        let mut next = 0;
        while let Some(path) = found.get(next).cloned() {
            next += 1;
            let Some(directory) = self.directory(&path, "write", prefix.as_str())? else {
                continue;
            };
            files::read_directory(at(&directory), |name| {
                let name = OsStr::from_bytes(name.to_bytes());
                if files::stat_at(at(&directory), name)
                    .is_ok_and(|s| s.kind == EntryKind::Directory)
                {
                    let mut path = path.clone();
                    path.push(name.to_owned());
                    found.push(path);
                }
                true
            })
            .map_err(|errno| self.failed("write", prefix.as_str(), errno))?;
        }
        for mut path in found.into_iter().skip(1).rev() {
            if let Some(last) = path.pop()
                && let Some(parent) = self.directory(&path, "write", prefix.as_str())?
            {
                let _ = files::remove_directory(at(&parent), &last);
            }
        }
        Ok(())
    }
}
