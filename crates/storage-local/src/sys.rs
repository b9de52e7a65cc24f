//! Every system call of this backend, behind one small trait.
//!
//! Nothing else in the crate touches the file system. A test puts a layer of its own in the place of
//! [`RealSys`](real::RealSys): one that records what was done, fails at the call it is told to, or plays a file system
//! with bad habits. A call does one thing and knows nothing of keys, locks or commits.
//!
//! Paths are relative to an open directory, never start with a slash and hold no `..`; [`Sys::open`]
//! is the only call that takes more than one segment, and it never follows a symbolic link.

pub(crate) mod real;

#[cfg(feature = "call-hook")]
pub(crate) mod hooked;

#[cfg(test)]
pub(crate) mod habits;
#[cfg(test)]
mod plan;
#[cfg(test)]
pub(crate) mod record;
#[cfg(test)]
pub(crate) mod twin;

use std::fmt;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

pub(crate) use rustix::io::Errno;

pub(crate) type Result<T> = std::result::Result<T, Errno>;

/// The kind of file that stands under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Directory,
    Symlink,
    Fifo,
    Socket,
    Device,
    /// The directory does not say; ask [`Sys::stat_at`].
    Unknown,
}

impl EntryKind {
    /// Returns how an error message calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Symlink => "a symbolic link",
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Unknown => "something unknown",
        }
    }
}

/// The metadata of a file in the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) links: u64,
    pub(crate) size: u64,
    /// Nanoseconds since 1970.
    pub(crate) mtime: i128,
    pub(crate) kind: EntryKind,
}

impl Stat {
    /// Returns whether both describe one inode.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        (self.dev, self.ino) == (other.dev, other.ino)
    }
}

/// The properties of the file system that a directory lies in, as the operating system states them; `None`: it does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileSystem {
    /// The number of its type, on Linux.
    pub(crate) number: Option<u32>,
    /// The name of its type, on other systems.
    pub(crate) name: Option<String>,
    /// Whether it is on this machine, on other systems.
    pub(crate) is_local: Option<bool>,
    /// Major and minor number of the device, as the table of mounts has it.
    pub(crate) device: Option<(u32, u32)>,
    /// The number of the mount in that table.
    pub(crate) mount_id: Option<u64>,
    /// The path of the directory, without symbolic links.
    pub(crate) path: Option<PathBuf>,
}

/// Where a read may look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFrom {
    /// Anywhere: it may wait.
    Disk,
    /// In the page cache alone.
    Cache,
}

/// How to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Open {
    /// For reading. Never waits for the other end of a FIFO.
    Read,
    /// A directory.
    Directory,
    /// A directory on the same file system as the one the path starts at.
    DirectoryHere,
    /// For writing; the file must not exist yet. On the same file system as the start of the path.
    CreateNew,
    /// For reading and writing; created if missing.
    ReadWrite,
}

/// The system calls.
pub(crate) trait Sys: fmt::Debug + Send + Sync + 'static {
    /// Opens a directory by its path, following symbolic links: only ever used for the root and above.
    fn open_root(&self, path: &Path) -> Result<OwnedFd>;
    /// Opens `path` below `dir`. `ELOOP` if any segment is a symbolic link.
    fn open(&self, dir: BorrowedFd<'_>, path: &str, how: Open) -> Result<OwnedFd>;
    /// Opens `path` below `dir` for reading if the kernel can do so without waiting for the disk; otherwise, and wherever there is
    /// no such call, `EAGAIN`.
    fn open_cached(&self, _dir: BorrowedFd<'_>, _path: &str) -> Result<OwnedFd> {
        Err(Errno::AGAIN)
    }
    fn mkdir(&self, dir: BorrowedFd<'_>, name: &str) -> Result<()>;
    fn stat(&self, file: BorrowedFd<'_>) -> Result<Stat>;
    /// Describes an entry itself, also if it is a symbolic link.
    fn stat_at(&self, dir: BorrowedFd<'_>, name: &str) -> Result<Stat>;
    /// Tells all names except `.` and `..`, in no order.
    fn visit_dir(&self, dir: BorrowedFd<'_>, each: &mut dyn FnMut(&[u8], EntryKind)) -> Result<()>;
    /// Reads all names of a directory that has few.
    fn read_dir(&self, dir: BorrowedFd<'_>) -> Result<Vec<Vec<u8>>> {
        let mut names = Vec::new();
        self.visit_dir(dir, &mut |name, _| names.push(name.to_vec()))?;
        Ok(names)
    }
    /// Reads up to `length` bytes; fewer only at the end of the file.
    fn read_at(&self, file: BorrowedFd<'_>, length: usize, offset: u64) -> Result<Vec<u8>>;
    /// As [`Sys::read_at`], if the page cache has all of the bytes; otherwise, and wherever there is no such call, `EAGAIN`.
    fn read_cached_at(
        &self,
        _file: BorrowedFd<'_>,
        _length: usize,
        _offset: u64,
    ) -> Result<Vec<u8>> {
        Err(Errno::AGAIN)
    }
    /// Sets `length` bytes of space aside for an empty file, whose length stays 0.
    fn reserve(&self, file: BorrowedFd<'_>, length: u64) -> Result<()>;
    /// Returns whether [`Sys::reserve`] makes writes cheaper on the file system of `dir`.
    fn is_reserving_worth_it(&self, dir: BorrowedFd<'_>) -> bool;
    /// Writes some of `bytes` at `offset` and returns how many.
    fn write_at(&self, file: BorrowedFd<'_>, bytes: &[u8], offset: u64) -> Result<usize>;
    /// Copies up to `length` bytes inside the kernel to the same offset and returns how many.
    fn copy_range(
        &self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        offset: u64,
        length: usize,
    ) -> Result<usize>;
    fn set_mtime(&self, file: BorrowedFd<'_>, mtime: i128) -> Result<()>;
    /// Makes a file's data, or a directory's entries, durable.
    fn fsync(&self, file: BorrowedFd<'_>) -> Result<()>;
    /// Makes the whole file system durable; reports every write-back error since `dir` was opened.
    fn syncfs(&self, dir: BorrowedFd<'_>) -> Result<()>;
    /// Returns whether [`Sys::syncfs`] does what it says on the file system of `dir`.
    fn can_syncfs(&self, dir: BorrowedFd<'_>) -> bool;
    /// Renames, replacing what is there.
    fn rename(&self, from: BorrowedFd<'_>, name: &str, to: BorrowedFd<'_>, new: &str)
    -> Result<()>;
    /// Renames unless something is there (`EEXIST`).
    fn rename_new(
        &self,
        from: BorrowedFd<'_>,
        name: &str,
        to: BorrowedFd<'_>,
        new: &str,
    ) -> Result<()>;
    /// Makes a second name unless something is there (`EEXIST`).
    fn link(&self, from: BorrowedFd<'_>, name: &str, to: BorrowedFd<'_>, new: &str) -> Result<()>;
    fn unlink(&self, dir: BorrowedFd<'_>, name: &str) -> Result<()>;
    /// Locks an open file against every other open file description of it, in this process or another.
    /// The lock ends with the description at the latest. Without `wait`: `EAGAIN` if it is taken.
    fn lock(&self, file: BorrowedFd<'_>, wait: bool) -> Result<()>;
    fn unlock(&self, file: BorrowedFd<'_>) -> Result<()>;
    /// Returns what kind of file system a directory lies in.
    fn file_system(&self, dir: BorrowedFd<'_>) -> FileSystem;
    /// Returns the table of mounts, in the form of `/proc/self/mountinfo`; `None` where there is none.
    fn mounts(&self) -> Option<Vec<u8>>;
    /// Returns the first two numbers of the kernel's version; `None` if it is not Linux, or does not say.
    fn kernel(&self) -> Option<(u32, u32)>;
    /// Asks the file system, past all caches, whether the entries of a directory have changed.
    fn refresh(&self, dir: BorrowedFd<'_>) -> Result<()>;
    /// Returns how many files this process may have open.
    fn open_files_limit(&self) -> u64;
}
