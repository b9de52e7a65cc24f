//! Deletes. Directories stay: a writer that is about to create a file in one must not lose it.

use std::os::fd::AsFd;

use icefield_storage::{DeleteOutcome, Deletion, PlantedBug, StorageError, planted};

use crate::abilities::{Abilities, Exclusion};
use crate::error;
use crate::lock::KeyLock;
use crate::names::split;
use crate::settings::Fsync;
use crate::store::Store;
use crate::sys::{EntryKind, Errno};
use crate::version::nanos;

impl Store {
    /// Deletes one object.
    pub(crate) fn delete(&self, deletion: &Deletion) -> Result<DeleteOutcome, StorageError> {
        let key = &deletion.key;
        self.check_writable(key)?;
        let missing = || match deletion.version {
            None => DeleteOutcome::Deleted,
            Some(_) => DeleteOutcome::Refused,
        };
        let (path, name) = split(key);
        let Some(folder) = self.folder("delete", path)? else {
            self.check_root_is_there()?;
            return Ok(missing());
        };
        match self.sys.stat_at(folder.as_fd(), name) {
            Ok(stat) if stat.kind == EntryKind::File => {}
            // Objects may lie below, but there is none of this name.
            Ok(stat) if stat.kind == EntryKind::Directory => return Ok(missing()),
            Ok(stat) => return Err(error::not_an_object(key.as_str(), stat.kind)),
            Err(Errno::NOENT) => {
                self.check_root_is_there()?;
                return Ok(missing());
            }
            Err(errno) => return Err(error::of_key("delete", key, errno)),
        }
        let abilities = match self.abilities() {
            // A full disk is when deletes matter most. The probe needs room, the locks are there.
            Err(StorageError::NoSpace { .. }) => {
                Abilities::unprobed(self.trusts_locks(self.root_for_writing()?))
            }
            abilities => abilities?,
        };
        if deletion.version.is_some() {
            self.check_exclusion(&abilities, "conditional delete")?;
        }
        if self.fsync == Fsync::Each {
            self.durability.flush_way(self, folder.as_fd(), path)?;
        }
        let mut lock = match abilities.locks {
            Exclusion::Nothing => None,
            _ => Some(KeyLock::acquire(self, key, folder.as_fd())?),
        };
        let there = match self.open_object(key) {
            Ok((_, stat)) => stat,
            Err(error) if error.is_not_found() => return Ok(missing()),
            Err(error) => return Err(error),
        };
        if let Some(version) = &deletion.version {
            match self.head(key) {
                Ok(meta)
                    if meta.version == *version || planted(PlantedBug::DeleteIgnoresVersion) => {}
                Ok(_) => return Ok(DeleteOutcome::Refused),
                Err(error) if error.is_not_found() => return Ok(missing()),
                Err(error) => return Err(error),
            }
        }
        if let Some(lock) = &mut lock
            && let Err(errno) = lock.note_deleted(there.mtime, nanos(self.clock.now()))
        {
            tracing::warn!(%key, %errno, "cannot note the time stamp of a deleted object");
        }
        let _in_flight = (self.fsync != Fsync::None).then(|| self.durability.begin(path));
        if let Err(errno) = self.sys.unlink(folder.as_fd(), name) {
            let failed = error::of_key("delete", key, errno);
            match self.sys.stat_at(folder.as_fd(), name) {
                Ok(now) if now.is_same_file(&there) => return Err(failed),
                Err(Errno::NOENT) => {}
                _ => {
                    self.note_unknown(key);
                    return Ok(DeleteOutcome::Unknown(failed));
                }
            }
        }
        drop(lock);
        match self.fsync {
            Fsync::None => {}
            Fsync::Commit => self.durability.record_folder(path, abilities.syncfs),
            Fsync::Each => {
                if let Err(error) = self.durability.flush_folder(self, folder.as_fd(), path) {
                    return Ok(DeleteOutcome::Unknown(error));
                }
            }
        }
        Ok(DeleteOutcome::Deleted)
    }
}
