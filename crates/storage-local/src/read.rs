//! Reads: everything that is said about an object comes from one open file.
//!
//! A short read of what the page cache has takes less time than the way to a thread that may wait, so it is tried first, on file systems
//! of this machine, with calls that fail where a path or bytes are not in memory.

use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

use icefield_storage::{Body, Bytes, GetOptions, GetRange, Key, Object, ObjectMeta, StorageError};

use crate::error;
use crate::store::{ATTEMPTS, Store};
use crate::sys::{Errno, ReadFrom, Stat};
use crate::version::{self, DIGEST_BELOW, digest, last_modified};

/// Longest range that a task reads itself, in bytes: copying more takes longer than a thread takes to start.
const CACHED_MOST: u64 = 64 << 10;

/// A state of an object, as seen through one open file.
#[derive(Debug)]
pub(crate) struct OpenedObject {
    pub(crate) file: OwnedFd,
    pub(crate) stat: Stat,
    pub(crate) meta: ObjectMeta,
    /// The bytes of a small object, which its version needs anyway.
    pub(crate) small: Option<Bytes>,
}

impl Store {
    /// Opens an object and finds out its version.
    pub(crate) fn state(&self, key: &Key) -> Result<OpenedObject, StorageError> {
        for _ in 0..ATTEMPTS {
            let (file, stat) = self.open_object(key)?;
            if let Some(state) = self.describe(ReadFrom::Disk, key, file, stat)? {
                return Ok(state);
            }
        }
        Err(changing(key))
    }

    /// Finds out the version of an open object, `None` if it changes at this moment.
    pub(crate) fn describe(
        &self,
        source: ReadFrom,
        key: &Key,
        file: OwnedFd,
        stat: Stat,
    ) -> Result<Option<OpenedObject>, StorageError> {
        let small = match stat.size < DIGEST_BELOW {
            true => match self.read_unchanged(source, key, &file, &stat, 0..stat.size)? {
                Some(bytes) => Some(bytes),
                None => return Ok(None),
            },
            false => None,
        };
        let meta = ObjectMeta {
            key: key.clone(),
            size: stat.size,
            version: version::version(&stat, small.as_deref().and_then(digest)),
            last_modified: Some(last_modified(&stat)),
        };
        Ok(Some(OpenedObject {
            file,
            stat,
            meta,
            small,
        }))
    }

    /// Reads bytes that are known to exist, `None` if the file is not what it was before.
    fn read_unchanged(
        &self,
        source: ReadFrom,
        key: &Key,
        file: &OwnedFd,
        stat: &Stat,
        range: Range<u64>,
    ) -> Result<Option<Bytes>, StorageError> {
        let fail = |errno| error::of_key("read", key, errno);
        let length = usize::try_from(range.end - range.start).map_err(|_| fail(Errno::NOMEM))?;
        let bytes = match source {
            ReadFrom::Disk => self.sys.read_at(file.as_fd(), length, range.start),
            ReadFrom::Cache => self.sys.read_cached_at(file.as_fd(), length, range.start),
        };
        let bytes = bytes.map_err(fail)?;
        // Our own writers never change a file that has a name; other programs do.
        let after = self.sys.stat(file.as_fd()).map_err(fail)?;
        let same = bytes.len() == length && (after.size, after.mtime) == (stat.size, stat.mtime);
        Ok(same.then(|| bytes.into()))
    }

    /// Reads an object or a range of it.
    pub(crate) fn get(&self, key: &Key, options: &GetOptions) -> Result<Object, StorageError> {
        for _ in 0..ATTEMPTS {
            if let Some(object) = self.get_once(ReadFrom::Disk, key, options)? {
                return Ok(object);
            }
        }
        Err(changing(key))
    }

    /// Reads as [`Store::get`] does, if that needs no more than the page cache and is short. `None` says nothing about the object.
    pub(crate) fn get_cached(&self, key: &Key, options: &GetOptions) -> Option<Object> {
        if matches!(&options.range, GetRange::Bounded(range) if range.end.saturating_sub(range.start) > CACHED_MOST)
        {
            return None;
        }
        // Opening a file may wait for a server; other names are compared letter by letter, which reads directories.
        if self.is_shared() || !self.names.are_exact() {
            return None;
        }
        self.get_once(ReadFrom::Cache, key, options).ok().flatten()
    }

    /// Reads an object or a range of it, `None` if it changes at this moment, or is too long to come from the cache.
    fn get_once(
        &self,
        source: ReadFrom,
        key: &Key,
        options: &GetOptions,
    ) -> Result<Option<Object>, StorageError> {
        let (file, stat) = self.open_object_from(source, key)?;
        let Some(state) = self.describe(source, key, file, stat)? else {
            return Ok(None);
        };
        let range = version::check(options, &state.meta, &state.stat)?;
        let bytes = match &state.small {
            Some(bytes) => Some(bytes.slice(range.start as usize..range.end as usize)),
            None if source == ReadFrom::Cache && range.end - range.start > CACHED_MOST => None,
            None => self.read_unchanged(source, key, &state.file, &state.stat, range.clone())?,
        };
        Ok(bytes.map(|bytes| Object {
            meta: state.meta,
            range,
            body: Body::Bytes(bytes),
        }))
    }

    /// Describes an object.
    pub(crate) fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        Ok(self.state(key)?.meta)
    }
}

fn changing(key: &Key) -> StorageError {
    StorageError::Unavailable {
        action: "read",
        target: key.to_string(),
        source: "another program is writing to the file".into(),
    }
}
