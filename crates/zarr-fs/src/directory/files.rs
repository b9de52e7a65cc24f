//! The system calls: each relative to an open directory, none following a symbolic link in its last segment.

use std::ffi::{CStr, OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::buffer::spare_capacity;
use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::retry_on_intr;

pub(super) use rustix::io::Errno;

/// The kind of file that stands under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Directory,
    Link,
    Fifo,
    Socket,
    Device,
}

impl EntryKind {
    /// Returns how messages call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Link => "a symbolic link",
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::Device => "a device",
        }
    }
}

/// The facts that the file system knows of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stat {
    pub(super) kind: EntryKind,
    pub(super) size: u64,
    /// Seconds since 1970.
    pub(super) modified: i64,
    /// Device and inode.
    pub(super) id: (u64, u64),
}

fn kind_of(found: FileType) -> EntryKind {
    match found {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Link,
        FileType::Fifo => EntryKind::Fifo,
        FileType::Socket => EntryKind::Socket,
        _ => EntryKind::Device,
    }
}

#[expect(
    clippy::unnecessary_cast,
    reason = "the integer types of `stat` differ among platforms"
)]
fn describe(stat: &fs::Stat) -> Stat {
    Stat {
        kind: kind_of(FileType::from_raw_mode(stat.st_mode)),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified: stat.st_mtime as i64,
        id: (stat.st_dev as u64, stat.st_ino as u64),
    }
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Opens the base, following what links lead to it.
pub(super) fn open_base(path: &Path) -> Result<OwnedFd, Errno> {
    retry_on_intr(|| fs::openat(CWD, path, DIRECTORY, Mode::empty()))
}

/// Opens a directory that is not a link (`ENOTDIR` or `ELOOP` otherwise).
pub(super) fn open_directory(at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    retry_on_intr(|| fs::openat(at, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()))
}

/// Opens a directory some levels down in one call, if no link is on the way; whatever the error, the way step by step
/// tells more, and goes where this cannot: along paths without end, and on systems without the call.
#[cfg(target_os = "linux")]
pub(super) fn open_below(at: BorrowedFd<'_>, path: &OsStr) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    retry_on_intr(|| fs::openat2(at, path, DIRECTORY, Mode::empty(), resolve))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn open_below(_: BorrowedFd<'_>, _: &OsStr) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// Opens a file that is known to be regular; should it be a FIFO by now, does not wait for its other end.
pub(super) fn open_file(at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    retry_on_intr(|| fs::openat(at, name, flags, Mode::empty()))
}

/// Makes a file (`EEXIST` if anything is there).
pub(super) fn create_file(at: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    retry_on_intr(|| fs::openat(at, name, flags, Mode::from_raw_mode(0o666)))
}

pub(super) fn make_directory(at: BorrowedFd<'_>, name: &str) -> Result<(), Errno> {
    fs::mkdirat(at, name, Mode::from_raw_mode(0o777))
}

pub(super) fn stat(file: BorrowedFd<'_>) -> Result<Stat, Errno> {
    Ok(describe(&fs::fstat(file)?))
}

/// Describes the entry itself, also if it is a link.
pub(super) fn stat_at(at: BorrowedFd<'_>, name: &OsStr) -> Result<Stat, Errno> {
    Ok(describe(&fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW)?))
}

pub(super) fn read_link(at: BorrowedFd<'_>, name: &OsStr) -> Result<Vec<u8>, Errno> {
    Ok(fs::readlinkat(at, name, Vec::new())?.into_bytes())
}

/// Calls `each` with every name but `.` and `..`, in no order, until it says false.
pub(super) fn read_directory(
    at: BorrowedFd<'_>,
    mut each: impl FnMut(&CStr) -> bool,
) -> Result<(), Errno> {
    for entry in fs::Dir::read_from(at)? {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." && !each(name) {
            break;
        }
    }
    Ok(())
}

/// A directory that is read name by name.
pub(super) struct Names(fs::Dir);

impl Names {
    pub(super) fn of(directory: OwnedFd) -> Result<Self, Errno> {
        fs::Dir::new(directory).map(Self)
    }

    /// Returns the next name but `.` and `..`, in no order, and what stands there, if the directory itself tells.
    pub(super) fn next(&mut self) -> Result<Option<(OsString, Option<EntryKind>)>, Errno> {
        while let Some(entry) = self.0.read() {
            let entry = entry?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                let kind = match entry.file_type() {
                    FileType::Unknown => None,
                    known => Some(kind_of(known)),
                };
                return Ok(Some((OsStr::from_bytes(name.to_bytes()).to_owned(), kind)));
            }
        }
        Ok(None)
    }

    pub(super) fn directory(&self) -> Result<BorrowedFd<'_>, Errno> {
        self.0.fd()
    }
}

/// Reads up to `length` bytes into an empty buffer with that much room; fewer only at the end of the file.
pub(super) fn read_at(
    file: BorrowedFd<'_>,
    bytes: &mut Vec<u8>,
    length: usize,
    offset: u64,
) -> Result<(), Errno> {
    while bytes.len() < length {
        let at = offset + bytes.len() as u64;
        if retry_on_intr(|| rustix::io::pread(file, spare_capacity(bytes), at))? == 0 {
            break;
        }
    }
    // The buffer may have more room than was asked for.
    bytes.truncate(length);
    Ok(())
}

pub(super) fn write_all(file: BorrowedFd<'_>, bytes: &[u8]) -> Result<(), Errno> {
    let mut done = 0;
    while done < bytes.len() {
        match retry_on_intr(|| rustix::io::write(file, &bytes[done..]))? {
            0 => return Err(Errno::IO),
            written => done += written,
        }
    }
    Ok(())
}

pub(super) fn sync(file: BorrowedFd<'_>) -> Result<(), Errno> {
    retry_on_intr(|| fs::fsync(file))
}

pub(super) fn rename(at: BorrowedFd<'_>, from: &str, to: &str) -> Result<(), Errno> {
    fs::renameat(at, from, at, to)
}

/// Renames unless something is there (`EEXIST`); where the file system cannot, makes a second name.
pub(super) fn rename_new(at: BorrowedFd<'_>, from: &str, to: &str) -> Result<(), Errno> {
    match fs::renameat_with(at, from, at, to, RenameFlags::NOREPLACE) {
        Err(Errno::NOSYS | Errno::INVAL | Errno::OPNOTSUPP) => {
            fs::linkat(at, from, at, to, AtFlags::empty())
        }
        other => other,
    }
}

pub(super) fn unlink(at: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    fs::unlinkat(at, name, AtFlags::empty())
}

/// Removes a directory that is empty.
pub(super) fn remove_directory(at: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    fs::unlinkat(at, name, AtFlags::REMOVEDIR)
}

/// A borrowed descriptor of an owned one, without the trait at each call.
pub(super) fn at(file: &OwnedFd) -> BorrowedFd<'_> {
    file.as_fd()
}
