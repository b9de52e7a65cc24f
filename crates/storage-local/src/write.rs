//! Puts: write out of sight, then take the name in one step.
//!
//! ```text
//! temporary file ── write ── flush ──┐
//!                                    ├─ lock ─ compare ─ stamp ─ rename ─ unlock ── flush directory
//! ```
//!
//! Before the rename nothing has happened, and every failure is an error. After it the object is there,
//! and a failure is [`PutOutcome::Unknown`]. The lock is held for neither the writing nor the flushes.

use std::os::fd::AsFd;
use std::sync::Arc;

use bytes::Bytes;
use icefield_storage::{
    Key, ObjectClass, PlantedBug, PutMode, PutOutcome, StorageError, Version, Written, planted,
};

use crate::abilities::{Exclusion, Placement};
use crate::error;
use crate::lock::{KeyLock, is_far_ahead};
use crate::names::split;
use crate::settings::Fsync;
use crate::store::{ATTEMPTS, Folder, Store};
use crate::sys::{Errno, Stat};
use crate::temp::Temp;
use crate::version::{last_modified, version};

/// The parameters of one put, apart from the bytes.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) key: Key,
    pub(crate) mode: PutMode,
    pub(crate) class: ObjectClass,
}

/// When a write must be durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flush {
    /// The file before it gets its name.
    pub(crate) file: bool,
    /// The directory before the write is acknowledged.
    pub(crate) folder: bool,
}

impl Order {
    pub(crate) fn flush(&self, fsync: Fsync) -> Flush {
        let (file, folder) = match (fsync, &self.mode, self.class) {
            (Fsync::None, ..) => (false, false),
            (Fsync::Commit, PutMode::Create, ObjectClass::Chunk) => (false, false),
            (Fsync::Commit, PutMode::Create, ObjectClass::Metadata) => (true, false),
            (Fsync::Commit, ..) | (Fsync::Each, ..) => (true, true),
        };
        Flush { file, folder }
    }

    /// Returns whether the bytes may be written under the final name.
    pub(crate) fn in_place(&self) -> bool {
        self.mode == PutMode::Create && self.class == ObjectClass::Chunk
    }
}

impl Store {
    /// Puts bytes that are all here.
    pub(crate) fn put_bytes(
        &self,
        order: &Order,
        bytes: &Bytes,
    ) -> Result<PutOutcome, StorageError> {
        if order.in_place() {
            return self.create_in_place(order, bytes);
        }
        if self.is_refused(order)? {
            return self.refuse(order);
        }
        let mut temp = Temp::create(self, &order.key)?;
        temp.write(bytes)
            .map_err(|errno| error::of_place("write", order.key.as_str(), errno))?;
        self.publish(order, &mut temp)
    }

    /// Returns whether the condition of a put fails already, which saves writing the bytes. The answer
    /// "no" is not binding.
    pub(crate) fn is_refused(&self, order: &Order) -> Result<bool, StorageError> {
        self.check_writable(&order.key)?;
        let abilities = self.abilities()?;
        match &order.mode {
            PutMode::Overwrite => Ok(false),
            PutMode::Create => {
                self.check_create(&abilities)?;
                match self.open_object(&order.key) {
                    Ok(_) => Ok(true),
                    Err(error) if error.is_not_found() => Ok(false),
                    Err(error) => Err(error),
                }
            }
            PutMode::Update(expected) => {
                self.check_exclusion(&abilities, "conditional update")?;
                match self.head(&order.key) {
                    Ok(meta) => Ok(meta.version != *expected),
                    Err(error) if error.is_not_found() => Ok(true),
                    Err(error) => Err(error),
                }
            }
        }
    }

    /// Answers that the condition of a put failed. A writer that finds its own bytes under the key of a refused
    /// `Create` takes the object for its own, and may be the only one left to make it durable.
    pub(crate) fn refuse(&self, order: &Order) -> Result<PutOutcome, StorageError> {
        if order.mode == PutMode::Create {
            match self.fsync {
                Fsync::None => {}
                Fsync::Commit => self.durability.record_object(&order.key, self.syncfs()),
                Fsync::Each => self.durability.flush_object(self, &order.key)?,
            }
        }
        Ok(PutOutcome::Refused)
    }

    /// Records a write that may have happened, so that `sync` makes durable what its caller will find.
    pub(crate) fn note_unknown(&self, key: &Key) {
        if self.fsync != Fsync::None {
            self.durability.record_object(key, self.syncfs());
        }
    }

    /// Gives a finished file its name, if the condition holds.
    pub(crate) fn publish(
        &self,
        order: &Order,
        temp: &mut Temp,
    ) -> Result<PutOutcome, StorageError> {
        let key = &order.key;
        let flush = order.flush(self.fsync);
        let abilities = self.abilities()?;
        let fail = |errno| error::of_place("write", key.as_str(), errno);
        let is_early = planted(PlantedBug::SkipFileFlush) || planted(PlantedBug::NameBeforeFlush);
        if flush.file && !is_early {
            temp.sync().map_err(fail)?;
        }
        let (path, _) = split(key);
        for _ in 0..ATTEMPTS {
            let folder = match &order.mode {
                PutMode::Update(_) => match self.folder("write", path)? {
                    Some(folder) => folder,
                    None => {
                        self.check_root_is_there()?;
                        return self.refuse(order);
                    }
                },
                _ => self.make_folder(path)?,
            };
            if flush.folder {
                self.durability.flush_way(self, folder.as_fd(), path)?;
            }
            let lock = match abilities.locks {
                Exclusion::Nothing => None,
                _ => Some(KeyLock::acquire(self, key, folder.as_fd())?),
            };
            self.check_new_name(key)?;
            let current = self.stat_object("write", folder.as_fd(), key)?;
            if !self.holds(order, current.as_ref())? {
                drop(lock);
                return self.refuse(order);
            }
            let written = temp.stat().map_err(fail)?;
            let _in_flight = (self.fsync != Fsync::None).then(|| self.durability.begin(path));
            let stat = self.stamp(temp, written, current.as_ref(), lock.as_ref(), flush.file)?;
            match self.take_name(order, temp, &folder, &stat, abilities.place)? {
                Taken::Yes => {}
                Taken::Refused => {
                    drop(lock);
                    return self.refuse(order);
                }
                Taken::Again => continue,
                Taken::Unknown(error) => {
                    self.note_unknown(key);
                    return Ok(PutOutcome::Unknown(error));
                }
            }
            drop(lock);
            if flush.file && planted(PlantedBug::NameBeforeFlush) {
                temp.sync().map_err(fail)?;
            }
            if flush.folder {
                if let Err(error) = self.durability.flush_folder(self, folder.as_fd(), path) {
                    return Ok(PutOutcome::Unknown(error));
                }
            } else if flush.file {
                self.durability.record_folder(path, abilities.syncfs);
            } else if self.fsync != Fsync::None {
                let file = Arc::clone(&temp.file);
                let recorded =
                    self.durability
                        .record_file(&*self.sys, file, path, abilities.syncfs);
                if let Err(error) = recorded {
                    return Ok(PutOutcome::Unknown(error));
                }
            }
            return Ok(acknowledged(version(&stat, temp.digest()), &written));
        }
        Err(fail(Errno::AGAIN))
    }

    /// Decides the condition, under the lock.
    fn holds(&self, order: &Order, current: Option<&Stat>) -> Result<bool, StorageError> {
        match (&order.mode, current) {
            (PutMode::Overwrite, _) | (PutMode::Create, None) => Ok(true),
            (PutMode::Create, Some(_)) | (PutMode::Update(_), None) => Ok(false),
            (PutMode::Update(_), Some(_)) if planted(PlantedBug::UpdateComparesEarly) => Ok(true),
            (PutMode::Update(expected), Some(_)) => match self.head(&order.key) {
                Ok(meta) => Ok(meta.version == *expected),
                Err(error) if error.is_not_found() => Ok(false),
                Err(error) => Err(error),
            },
        }
    }

    /// Makes sure that the new state has a time stamp that no earlier state of the key had.
    fn stamp(
        &self,
        temp: &Temp,
        stat: Stat,
        current: Option<&Stat>,
        lock: Option<&KeyLock>,
        flush: bool,
    ) -> Result<Stat, StorageError> {
        // A clock that was wrong is not to be handed on to every later object.
        let deleted = lock
            .and_then(|lock| lock.deleted)
            .filter(|deleted| !is_far_ahead(*deleted, stat.mtime));
        let floor = current.map(|current| current.mtime).max(deleted);
        let Some(floor) = floor.filter(|floor| stat.mtime <= *floor) else {
            return Ok(stat);
        };
        let moved = temp.move_past(floor).and_then(|stat| {
            if flush {
                temp.sync()?;
            }
            Ok(stat)
        });
        moved.map_err(|errno| error::of_place("write", temp.name.as_str(), errno))
    }

    /// The one step that makes the object.
    fn take_name(
        &self,
        order: &Order,
        temp: &mut Temp,
        folder: &Folder<'_>,
        stat: &Stat,
        place: Placement,
    ) -> Result<Taken, StorageError> {
        let workspace = Arc::clone(&temp.workspace);
        let (tmp, folder) = (workspace.tmp.as_fd(), folder.as_fd());
        let name = split(&order.key).1;
        let done = match (&order.mode, place) {
            (PutMode::Create, _) if planted(PlantedBug::CreateReplaces) => {
                self.sys.rename(tmp, &temp.name, folder, name)
            }
            (PutMode::Create, Placement::Rename) => {
                self.sys.rename_new(tmp, &temp.name, folder, name)
            }
            (PutMode::Create, _) => self.sys.link(tmp, &temp.name, folder, name),
            _ => self.sys.rename(tmp, &temp.name, folder, name),
        };
        let is_ours = |place: Result<Stat, Errno>| place.map(|there| there.is_same_file(stat));
        if let Err(errno) = done {
            // A network file system may do it and say it failed. What is there tells.
            let there = is_ours(self.sys.stat_at(folder, name));
            let here = is_ours(self.sys.stat_at(tmp, &temp.name));
            match (there, here) {
                (Ok(true), _) => {}
                (Ok(false) | Err(Errno::NOENT), Ok(true)) => {
                    return match errno {
                        Errno::EXIST if order.mode == PutMode::Create => Ok(Taken::Refused),
                        Errno::NOENT => {
                            self.check_root_is_there()?;
                            Ok(Taken::Again)
                        }
                        _ => Err(error::of_key("write", &order.key, errno)),
                    };
                }
                _ => {
                    // The file may yet turn up; leave it alone.
                    temp.moved();
                    let error = error::of_place("write", order.key.as_str(), errno);
                    return Ok(Taken::Unknown(error));
                }
            }
        }
        if order.mode != PutMode::Create || place == Placement::Rename {
            temp.moved();
        }
        // After a link the drop of `temp` removes the first name.
        Ok(Taken::Yes)
    }
}

/// The outcome of the attempt to give a file its name.
#[derive(Debug)]
enum Taken {
    Yes,
    Refused,
    Again,
    Unknown(StorageError),
}

/// Returns the answer for a write that is done.
pub(crate) fn acknowledged(version: Version, written: &Stat) -> PutOutcome {
    PutOutcome::Written(Written {
        version,
        // As the file system dated the write, before any correction.
        store_time: Some(last_modified(written)),
    })
}
