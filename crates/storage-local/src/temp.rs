//! A file on its way to becoming an object: written out of sight, then given its name.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use icefield_storage::{Key, StorageError};

use crate::error;
use crate::store::{ATTEMPTS, Store};
use crate::sys::{Errno, Open, Stat, Sys};
use crate::version::Digester;
use crate::workspace::Workspace;

/// Writes all of `bytes` at `offset`.
pub(crate) fn write_all(
    sys: &dyn Sys,
    file: &OwnedFd,
    bytes: &[u8],
    offset: u64,
) -> Result<(), Errno> {
    let mut done = 0;
    while done < bytes.len() {
        match sys.write_at(file.as_fd(), &bytes[done..], offset + done as u64)? {
            0 => return Err(Errno::IO),
            written => done += written,
        }
    }
    Ok(())
}

/// A temporary file. Dropping it removes it, unless it was given another name.
#[derive(Debug)]
pub(crate) struct Temp {
    sys: Arc<dyn Sys>,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) name: String,
    pub(crate) file: Arc<OwnedFd>,
    pub(crate) size: u64,
    digest: Digester,
    moved: bool,
}

impl Temp {
    /// Makes an empty file and locks it, so that others can see that its writer lives.
    pub(crate) fn create(store: &Store, key: &Key) -> Result<Self, StorageError> {
        let fail = |errno| error::of_place("write", key.as_str(), errno);
        for _ in 0..ATTEMPTS {
            let workspace = store.workspace()?;
            let name = store.random_name();
            match store
                .sys
                .open(workspace.tmp.as_fd(), &name, Open::CreateNew)
            {
                Ok(file) => {
                    let temp = Self {
                        sys: Arc::clone(&store.sys),
                        workspace,
                        name,
                        file: Arc::new(file),
                        size: 0,
                        digest: Digester::default(),
                        moved: false,
                    };
                    // The name is not known elsewhere yet; a file system without locks is not safe from
                    // the grace alone, but a write of a day is not worth refusing all writes.
                    let _ = store.sys.lock(temp.file.as_fd(), false);
                    return Ok(temp);
                }
                Err(Errno::EXIST) => {}
                Err(Errno::NOENT) => {
                    store.check_root_is_there()?;
                    store.forget_workspace(&workspace);
                }
                Err(errno) => return Err(fail(errno)),
            }
        }
        Err(fail(Errno::EXIST))
    }

    /// Appends bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        write_all(&*self.sys, &self.file, bytes, self.size)?;
        self.size += bytes.len() as u64;
        self.digest.update(bytes);
        Ok(())
    }

    /// Appends `length` bytes of another file, inside the kernel as far as that goes.
    pub(crate) fn copy_from(&mut self, from: &OwnedFd, length: u64) -> Result<(), Errno> {
        const STEP: usize = 1 << 26;
        const BUFFER: usize = 1 << 20;
        let end = self.size + length;
        let mut in_kernel = true;
        while self.size < end {
            let left = usize::try_from(end - self.size).unwrap_or(STEP).min(STEP);
            if in_kernel {
                let (from, to) = (from.as_fd(), self.file.as_fd());
                match self.sys.copy_range(from, to, self.size, left) {
                    Ok(copied) if copied > 0 => {
                        self.size += copied as u64;
                        continue;
                    }
                    // Nothing copied: some file systems say so instead of refusing.
                    Ok(_) => in_kernel = false,
                    Err(errno) if cannot_copy(errno) => in_kernel = false,
                    Err(Errno::INTR) => continue,
                    Err(errno) => return Err(errno),
                }
            }
            let part = self
                .sys
                .read_at(from.as_fd(), left.min(BUFFER), self.size)?;
            if part.is_empty() {
                return Err(Errno::STALE);
            }
            write_all(&*self.sys, &self.file, &part, self.size)?;
            self.size += part.len() as u64;
        }
        Ok(())
    }

    /// Makes the content durable.
    pub(crate) fn sync(&self) -> Result<(), Errno> {
        self.sys.fsync(self.file.as_fd())
    }

    pub(crate) fn stat(&self) -> Result<Stat, Errno> {
        self.sys.stat(self.file.as_fd())
    }

    /// Returns the digest for the version of an object with this content.
    pub(crate) fn digest(&self) -> Option<u64> {
        self.digest.finish(self.size)
    }

    /// Moves the time stamp past `floor`, by the smallest step that the file system keeps, and returns
    /// the new state.
    pub(crate) fn move_past(&self, floor: i128) -> Result<Stat, Errno> {
        // Microseconds first: the ETag of the reference counts in them.
        for step in [1_000, 1_000_000, 1_000_000_000, 2_000_000_000] {
            self.sys.set_mtime(self.file.as_fd(), floor + step)?;
            let stat = self.stat()?;
            if stat.mtime > floor {
                return Ok(stat);
            }
        }
        Err(Errno::OVERFLOW)
    }

    /// Says that the file no longer has its temporary name.
    pub(crate) fn moved(&mut self) {
        self.moved = true;
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        if !self.moved {
            let _ = self.sys.unlink(self.workspace.tmp.as_fd(), &self.name);
        }
    }
}

fn cannot_copy(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOSYS | Errno::XDEV | Errno::INVAL | Errno::OPNOTSUPP | Errno::PERM | Errno::BADF
    )
}
