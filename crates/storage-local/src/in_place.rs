//! The shorter way of chunks: created under their final name, which must be free.
//!
//! A torn chunk is garbage that nothing names, so a temporary file and a second directory operation would
//! buy nothing.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use bytes::Bytes;
use icefield_storage::{Key, PutOutcome, StorageError};

use crate::error;
use crate::lock::KeyLock;
use crate::names::split;
use crate::settings::Fsync;
use crate::store::{ATTEMPTS, Store};
use crate::sys::{Errno, Open};
use crate::temp::write_all;
use crate::version::{digest, version};
use crate::write::{Order, acknowledged};

/// Space is set aside for files from this length on, in bytes: of shorter ones there is little to save.
const LONG: usize = 1 << 20;

impl Store {
    /// Creates a chunk under its final name.
    pub(crate) fn create_in_place(
        &self,
        order: &Order,
        bytes: &Bytes,
    ) -> Result<PutOutcome, StorageError> {
        let key = &order.key;
        self.check_writable(key)?;
        let abilities = self.abilities()?;
        self.check_create(&abilities)?;
        self.check_new_name(key)?;
        let fail = |errno| error::of_place("write", key.as_str(), errno);
        let (path, _) = split(key);
        let flush = order.flush(self.fsync);
        for _ in 0..ATTEMPTS {
            let root = self.root_for_writing()?;
            // Opened before there is an effect: from then on no descriptor may be wanting.
            let folder = match flush.folder {
                true => {
                    let folder = self.make_folder(path)?;
                    self.durability.flush_way(self, folder.as_fd(), path)?;
                    Some(folder)
                }
                false => None,
            };
            let file = match self.sys.open(root, key.as_str(), Open::CreateNew) {
                Ok(file) => file,
                Err(Errno::NOENT) => {
                    self.make_folder(path)?;
                    continue;
                }
                Err(Errno::EXIST) => {
                    let folder = self.make_folder(path)?;
                    return match self.stat_object("write", folder.as_fd(), key)? {
                        Some(_) => self.refuse(order),
                        // Deleted at this moment.
                        None => continue,
                    };
                }
                Err(Errno::NOTDIR) => {
                    self.make_folder(path)?;
                    return Err(fail(Errno::NOTDIR));
                }
                Err(errno) => {
                    // A network file system may make the file and then fail to say so.
                    return match self.is_left_behind(key) {
                        false => Err(fail(errno)),
                        true => {
                            self.note_unknown(key);
                            Ok(PutOutcome::Unknown(fail(errno)))
                        }
                    };
                }
            };
            if abilities.reserve && bytes.len() >= LONG {
                // A failure is no matter: the write meets the same one.
                let _ = self.sys.reserve(file.as_fd(), bytes.len() as u64);
            }
            let written = write_all(&*self.sys, &file, bytes, 0).and_then(|()| {
                if flush.file {
                    self.sys.fsync(file.as_fd())?;
                }
                self.sys.stat(file.as_fd())
            });
            let stat = match written {
                Ok(stat) => stat,
                Err(errno) => {
                    let error = fail(errno);
                    return match self.undo(key, &file) {
                        true => Err(error),
                        false => {
                            self.note_unknown(key);
                            Ok(PutOutcome::Unknown(error))
                        }
                    };
                }
            };
            let made = acknowledged(version(&stat, digest(bytes)), &stat);
            let kept = if let Some(folder) = folder {
                self.durability.flush_folder(self, folder.as_fd(), path)
            } else if self.fsync == Fsync::None {
                Ok(())
            } else {
                self.durability
                    .record_file(&*self.sys, Arc::new(file), path, abilities.syncfs)
            };
            return Ok(match kept {
                Ok(()) => made,
                Err(error) => PutOutcome::Unknown(error),
            });
        }
        Err(fail(Errno::AGAIN))
    }

    /// Returns whether there may be something under a key after all.
    fn is_left_behind(&self, key: &Key) -> bool {
        let (path, name) = split(key);
        match self.folder("write", path) {
            Ok(Some(folder)) => matches!(
                self.sys.stat_at(folder.as_fd(), name),
                Ok(_) | Err(Errno::IO | Errno::STALE | Errno::TIMEDOUT)
            ),
            _ => false,
        }
    }

    /// Removes a chunk that could not be finished; returns whether nothing is left of it.
    fn undo(&self, key: &Key, file: &OwnedFd) -> bool {
        let (path, name) = split(key);
        let remove = || -> Result<bool, StorageError> {
            let Ok(ours) = self.sys.stat(file.as_fd()) else {
                return Ok(false);
            };
            let Some(folder) = self.folder("write", path)? else {
                return Ok(true);
            };
            // Under the lock no writer deletes, so the name cannot change hands after the look.
            let _lock = KeyLock::acquire(self, key, folder.as_fd())?;
            match self.stat_object("write", folder.as_fd(), key)? {
                Some(there) if there.is_same_file(&ours) => {
                    Ok(self.sys.unlink(folder.as_fd(), name).is_ok())
                }
                _ => Ok(true),
            }
        };
        remove().unwrap_or(false)
    }
}
