//! Storing a value: written to a temporary file beside its place, then renamed into it. Where no reader looks before all
//! is written, a new one is written in its place.

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::fd::{AsFd, OwnedFd};

use super::base::Base;
use super::files::{self, EntryKind, Errno, at};
use super::settings::Durability;
use crate::{Naming, TEMPORARY, TreeError, TreeKey, TreePrefix};

/// How often a write begins again because a directory on its way was removed, or an empty one stood in its place.
const ATTEMPTS: usize = 64;

/// A file on its way to becoming a value. Dropping it removes its temporary name.
struct Temporary<'a> {
    directory: &'a OwnedFd,
    name: String,
    file: OwnedFd,
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        // After a rename there is nothing of this name, nor will there ever be again.
        let _ = files::unlink(at(self.directory), OsStr::new(&self.name));
    }
}

/// The outcome of one attempt to store.
enum Attempt {
    Stored,
    /// There is a value already.
    Exists,
    /// Something was removed meanwhile, or an empty directory was.
    Again,
}

impl Base {
    pub(super) fn set(&self, key: &TreeKey, value: &[u8]) -> Result<(), TreeError> {
        self.store(key, value, false).map(|_| ())
    }

    pub(super) fn set_if_not_exists(&self, key: &TreeKey, value: &[u8]) -> Result<bool, TreeError> {
        self.store(key, value, true)
    }

    pub(super) fn check_writable(&self, key: &TreeKey) -> Result<(), TreeError> {
        if self.read_only {
            return Err(TreeError::ReadOnly {
                store: self.name.clone(),
            });
        }
        Naming::native()
            .check(key)
            .map_err(|source| self.unnameable(key, source))
    }

    fn store(&self, key: &TreeKey, value: &[u8], only_new: bool) -> Result<bool, TreeError> {
        self.check_writable(key)?;
        for _ in 0..ATTEMPTS {
            let Some(parent) = self.make_parents(key)? else {
                continue;
            };
            match self.attempt(&parent, key, value, only_new)? {
                Attempt::Again => {}
                Attempt::Exists => return Ok(false),
                Attempt::Stored if self.durability == Durability::FileAndDirectory => {
                    return match files::sync(at(&parent)) {
                        Ok(()) => Ok(true),
                        Err(errno) => Err(self.not_durable(key, errno)),
                    };
                }
                Attempt::Stored => return Ok(true),
            }
        }
        Err(self.failed("write", key.as_str(), Errno::NOENT))
    }

    pub(super) fn not_durable(&self, key: &TreeKey, errno: Errno) -> TreeError {
        TreeError::NotDurable {
            store: self.name.clone(),
            name: key.to_string(),
            source: errno.into(),
        }
    }

    /// Opens the directory of a key and makes it, and those above it, if need be. `None` if one was removed again.
    fn make_parents(&self, key: &TreeKey) -> Result<Option<OwnedFd>, TreeError> {
        let mut here = match self.reopen() {
            Err(Errno::NOENT) if self.held.is_none() => {
                std::fs::create_dir_all(&self.path)
                    .map_err(|error| self.io("write", key.as_str(), error))?;
                files::open_base(&self.path)
            }
            other => other,
        }
        .map_err(|errno| match errno {
            Errno::NOTDIR => TreeError::NotADirectory {
                store: self.name.clone(),
            },
            errno => self.failed("write", key.as_str(), errno),
        })?;
        let mut segments: Vec<_> = key.segments().collect();
        segments.pop();
        if segments.len() > 1
            && let Ok(parent) = files::open_below(at(&here), OsStr::new(&segments.join("/")))
        {
            return Ok(Some(parent));
        }
        for (depth, name) in segments.iter().enumerate() {
            let path = || segments[..=depth].join("/");
            here = match files::open_directory(at(&here), OsStr::new(name)) {
                Ok(directory) => directory,
                Err(Errno::NOENT) => {
                    match files::make_directory(at(&here), name) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(Errno::NOENT) => return Ok(None),
                        Err(errno) => return Err(self.failed("write", key.as_str(), errno)),
                    }
                    if self.durability == Durability::FileAndDirectory {
                        files::sync(at(&here))
                            .map_err(|errno| self.failed("write", key.as_str(), errno))?;
                    }
                    match files::open_directory(at(&here), OsStr::new(name)) {
                        Ok(directory) => directory,
                        Err(Errno::NOENT) => return Ok(None),
                        Err(errno) => return Err(self.failed("write", key.as_str(), errno)),
                    }
                }
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    return Err(self.in_the_way(&here, name, path(), key));
                }
                Err(errno) => return Err(self.failed("write", key.as_str(), errno)),
            };
        }
        Ok(Some(here))
    }

    /// Says what stands where a directory should be.
    fn in_the_way(&self, here: &OwnedFd, name: &str, path: String, key: &TreeKey) -> TreeError {
        let store = self.name.clone();
        match files::stat_at(at(here), OsStr::new(name)) {
            Ok(stat) if stat.kind == EntryKind::Link => TreeError::Link { store, name: path },
            Ok(stat) if stat.kind == EntryKind::File => TreeError::BelowAValue {
                store,
                key: key.clone(),
                parent: path,
            },
            Ok(stat) => self.not_a_file(&path, stat.kind),
            Err(errno) => self.failed("write", key.as_str(), errno),
        }
    }

    fn attempt(
        &self,
        parent: &OwnedFd,
        key: &TreeKey,
        value: &[u8],
        only_new: bool,
    ) -> Result<Attempt, TreeError> {
        let fail = |errno| self.failed("write", key.as_str(), errno);
        let last = key.segments().next_back().unwrap_or_default();
        // Whether case matters shows only by a temporary file: the first value has one.
        if self.unseen && self.case_matters.get().is_some() {
            self.check_case_of(key)?;
            match files::create_file(at(parent), last) {
                Ok(file) => {
                    self.fill_new(parent, last, &file, value).map_err(fail)?;
                    return Ok(Attempt::Stored);
                }
                Err(Errno::NOENT) => return Ok(Attempt::Again),
                // Something is there: the way of values that are seen.
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(fail(errno)),
            }
        }
        match files::stat_at(at(parent), OsStr::new(last)) {
            Ok(stat) => match stat.kind {
                EntryKind::File if only_new => {
                    self.check_case_of(key)?;
                    return Ok(Attempt::Exists);
                }
                EntryKind::File => {}
                EntryKind::Directory => return self.make_room(parent, last, key),
                EntryKind::Link => {
                    return Err(TreeError::Link {
                        store: self.name.clone(),
                        name: key.to_string(),
                    });
                }
                other => return Err(self.not_a_file(key.as_str(), other)),
            },
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(fail(errno)),
        }
        let temporary = match self.temporary(parent) {
            Ok(temporary) => temporary,
            Err(Errno::NOENT) => return Ok(Attempt::Again),
            Err(errno) => return Err(fail(errno)),
        };
        self.probe_case(&temporary);
        self.check_case_of(key)?;
        self.fill(&temporary.file, value).map_err(fail)?;
        #[cfg(test)]
        if let Some(act) = self.before_rename {
            act();
        }
        let renamed = match only_new {
            true => files::rename_new(at(parent), &temporary.name, last),
            false => files::rename(at(parent), &temporary.name, last),
        };
        let Err(errno) = renamed else {
            return Ok(Attempt::Stored);
        };
        // Network file systems say that it failed when only the answer was lost.
        let ours = files::stat(at(&temporary.file)).map_err(fail)?;
        let there = files::stat_at(at(parent), OsStr::new(last));
        if there.is_ok_and(|there| there.id == ours.id) {
            return Ok(Attempt::Stored);
        }
        match errno {
            // The place is looked at again, first thing.
            Errno::NOENT | Errno::EXIST | Errno::ISDIR | Errno::NOTEMPTY => Ok(Attempt::Again),
            errno => Err(fail(errno)),
        }
    }

    fn fill(&self, file: &OwnedFd, value: &[u8]) -> Result<(), Errno> {
        files::write_all(at(file), value)?;
        match self.durability {
            Durability::None => Ok(()),
            Durability::File | Durability::FileAndDirectory => files::sync(at(file)),
        }
    }

    /// Fills a file in its place; half a value does not stay there.
    fn fill_new(
        &self,
        parent: &OwnedFd,
        name: &str,
        file: &OwnedFd,
        value: &[u8],
    ) -> Result<(), Errno> {
        self.fill(file, value).inspect_err(|_| {
            let _ = files::unlink(at(parent), OsStr::new(name));
        })
    }

    fn temporary<'a>(&self, directory: &'a OwnedFd) -> Result<Temporary<'a>, Errno> {
        loop {
            let mut random = [0; 16];
            self.entropy.fill(&mut random);
            let mut name = String::from(TEMPORARY);
            for byte in random {
                let _ = write!(name, "{byte:02x}");
            }
            match files::create_file(directory.as_fd(), &name) {
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
                Ok(file) => {
                    return Ok(Temporary {
                        directory,
                        name,
                        file,
                    });
                }
            }
        }
    }

    /// Removes a directory without keys from the place of a value.
    fn make_room(&self, parent: &OwnedFd, last: &str, key: &TreeKey) -> Result<Attempt, TreeError> {
        let prefix = TreePrefix::parse(&format!("{key}/"))?;
        let in_the_way = |below| TreeError::AboveKeys {
            store: self.name.clone(),
            key: key.clone(),
            below,
        };
        if let Some(below) = self.first_below(&prefix)? {
            return Err(in_the_way(below));
        }
        self.prune_below(&prefix)?;
        match files::remove_directory(at(parent), OsStr::new(last)) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR) => Ok(Attempt::Again),
            Err(_) => Err(in_the_way("things that are no keys".to_owned())),
        }
    }

    /// Finds out whether the file system tells `a` from `A`, by a file that is there anyway.
    fn probe_case(&self, temporary: &Temporary<'_>) {
        self.case_matters.get_or_init(|| {
            let other = temporary.name.to_ascii_uppercase();
            match files::stat_at(at(temporary.directory), OsStr::new(&other)) {
                Ok(_) => {
                    tracing::warn!(store = self.name, "the file system ignores case");
                    false
                }
                Err(_) => true,
            }
        });
    }

    /// Refuses a key of which the file system has a segment in other letters.
    fn check_case_of(&self, key: &TreeKey) -> Result<(), TreeError> {
        if self.case_matters.get() != Some(&false) {
            return Ok(());
        }
        let fail = |errno| self.failed("write", key.as_str(), errno);
        let mut here = self.reopen().map_err(fail)?;
        for segment in key.segments() {
            let folded = segment.to_lowercase();
            let mut existing = None;
            files::read_directory(at(&here), |name| {
                if let Ok(name) = name.to_str()
                    && name != segment
                    && name.to_lowercase() == folded
                {
                    existing = Some(name.to_owned());
                }
                existing.is_none()
            })
            .map_err(fail)?;
            if let Some(existing) = existing {
                return Err(TreeError::CaseCollision {
                    store: self.name.clone(),
                    key: key.clone(),
                    existing,
                });
            }
            here = match files::open_directory(at(&here), OsStr::new(segment)) {
                Ok(directory) => directory,
                Err(_) => break,
            };
        }
        Ok(())
    }
}
