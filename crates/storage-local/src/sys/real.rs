//! The system calls of the operating system.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::buffer::spare_capacity;
use rustix::fs::{
    self, AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, Timespec, Timestamps,
};
use rustix::io::retry_on_intr;

use super::{EntryKind, Errno, FileSystem, Open, Result, Stat, Sys};

const NANOS: i128 = 1_000_000_000;
/// How often a call is made again that met a change under way.
const ATTEMPTS: usize = 64;

/// The operating system.
#[derive(Debug)]
pub(crate) struct RealSys {
    /// Whether paths are walked segment by segment because the kernel (or a sandbox) has no `openat2`.
    walk: AtomicBool,
    /// Whether the kernel, or the file system, has no reads of the page cache alone.
    waits: AtomicBool,
}

impl RealSys {
    pub(crate) fn new() -> Self {
        Self::with(!cfg!(target_os = "linux"))
    }

    fn with(walk: bool) -> Self {
        Self {
            walk: AtomicBool::new(walk),
            waits: AtomicBool::new(walk),
        }
    }

    /// Returns the system calls as an old kernel offers them.
    #[cfg(test)]
    pub(crate) fn without_openat2() -> Self {
        Self::with(true)
    }

    /// Opens segment by segment, each relative to the one before, none followed.
    fn walk(dir: BorrowedFd<'_>, path: &str, how: Open) -> Result<OwnedFd> {
        let same_device = matches!(how, Open::DirectoryHere | Open::CreateNew);
        let device = match same_device {
            true => Some(fs::fstat(dir)?.st_dev),
            false => None,
        };
        let step = |dir: BorrowedFd<'_>, name: &str, flags: OFlags, mode| {
            for _ in 0..ATTEMPTS {
                match retry_on_intr(|| fs::openat(dir, name, flags | OFlags::NOFOLLOW, mode)) {
                    // With O_DIRECTORY a link gives ENOTDIR, the same as a file.
                    Err(Errno::NOTDIR) => match Self::kind_at(dir, name)? {
                        EntryKind::Symlink => return Err(Errno::LOOP),
                        // Put there in between.
                        EntryKind::Directory => {}
                        _ => return Err(Errno::NOTDIR),
                    },
                    Ok(fd)
                        if device.is_some_and(|d| !fs::fstat(&fd).is_ok_and(|s| s.st_dev == d)) =>
                    {
                        return Err(Errno::XDEV);
                    }
                    other => return other,
                }
            }
            Err(Errno::AGAIN)
        };
        let mut current: Option<OwnedFd> = None;
        let mut rest = path;
        while let Some((name, tail)) = rest.split_once('/') {
            let at = current.as_ref().map_or(dir, AsFd::as_fd);
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            current = Some(step(at, name, flags, Mode::empty())?);
            rest = tail;
        }
        let at = current.as_ref().map_or(dir, AsFd::as_fd);
        let (flags, mode) = flags(how);
        step(at, rest, flags, mode)
    }

    fn kind_at(dir: BorrowedFd<'_>, name: &str) -> Result<EntryKind> {
        let stat = fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(kind(FileType::from_raw_mode(stat.st_mode)))
    }

    /// Opens in one call; `None` if there is no such call.
    #[cfg(target_os = "linux")]
    fn open_at_once(&self, dir: BorrowedFd<'_>, path: &str, how: Open) -> Option<Result<OwnedFd>> {
        use rustix::fs::ResolveFlags;

        let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        if matches!(how, Open::DirectoryHere | Open::CreateNew) {
            resolve |= ResolveFlags::NO_XDEV;
        }
        let (flags, mode) = flags(how);
        // Said by NO_SYMLINKS already; both together call a link "not a directory".
        let flags = flags - OFlags::NOFOLLOW;
        // EAGAIN: something was renamed during the walk and the kernel could not be sure.
        for _ in 0..ATTEMPTS {
            match fs::openat2(dir, path, flags, mode, resolve) {
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(Errno::NOSYS) => {
                    self.walk.store(true, Ordering::Relaxed);
                    return None;
                }
                // A sandbox that does not know the call says "not permitted"; the walk finds out.
                Err(Errno::PERM) => return None,
                other => return Some(other),
            }
        }
        None
    }

    #[cfg(not(target_os = "linux"))]
    fn open_at_once(&self, _: BorrowedFd<'_>, _: &str, _: Open) -> Option<Result<OwnedFd>> {
        None
    }
}

/// ext4, and ext2 and ext3, which cannot set space aside.
const EXT: u32 = 0xEF53;

/// Returns the number of the type of a file system.
#[cfg(target_os = "linux")]
fn number(dir: BorrowedFd<'_>) -> Option<u32> {
    let stat = fs::fstatfs(dir).ok()?;
    // Some platforms sign-extend the 32-bit number.
    u32::try_from(i128::from(stat.f_type) & 0xFFFF_FFFF).ok()
}

#[cfg(not(target_os = "linux"))]
fn number(_: BorrowedFd<'_>) -> Option<u32> {
    None
}

/// Returns whether a file system has one of these numbers.
fn is_one_of(dir: BorrowedFd<'_>, known: &[u32]) -> bool {
    number(dir).is_some_and(|number| known.contains(&number))
}

#[cfg(target_os = "linux")]
fn file_system(dir: BorrowedFd<'_>) -> FileSystem {
    use std::os::fd::AsRawFd;

    let mount = fs::statx(dir, c"", AtFlags::EMPTY_PATH, fs::StatxFlags::MNT_ID).ok();
    let told = |stat: &fs::Statx| stat.stx_mask & fs::StatxFlags::MNT_ID.bits() != 0;
    let device = fs::fstat(dir).ok().map(|stat| describe(&stat).dev);
    FileSystem {
        number: number(dir),
        device: device.map(|device| (fs::major(device), fs::minor(device))),
        mount_id: mount.filter(told).map(|stat| stat.stx_mnt_id),
        path: std::fs::read_link(format!("/proc/self/fd/{}", dir.as_raw_fd())).ok(),
        ..FileSystem::default()
    }
}

#[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
#[allow(
    clippy::unnecessary_cast,
    reason = "the integer types of `statfs` differ among platforms"
)]
fn file_system(dir: BorrowedFd<'_>) -> FileSystem {
    /// The same number on both.
    const MNT_LOCAL: u64 = 0x1000;

    let Ok(stat) = fs::fstatfs(dir) else {
        return FileSystem::default();
    };
    let name = stat.f_fstypename.iter().take_while(|byte| **byte != 0);
    let name: Vec<u8> = name.map(|byte| *byte as u8).collect();
    FileSystem {
        name: Some(String::from_utf8_lossy(&name).into_owned()),
        is_local: Some(stat.f_flags as u64 & MNT_LOCAL != 0),
        ..FileSystem::default()
    }
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple", target_os = "freebsd")))]
fn file_system(_: BorrowedFd<'_>) -> FileSystem {
    FileSystem::default()
}

/// Reads the first two numbers of a version such as `6.1.0-13-amd64`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn flags(how: Open) -> (OFlags, Mode) {
    let always = OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let file = Mode::from_raw_mode(0o666);
    match how {
        Open::Read => (always | OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()),
        Open::Directory | Open::DirectoryHere => {
            (always | OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
        }
        Open::CreateNew => (always | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, file),
        Open::ReadWrite => (
            always | OFlags::RDWR | OFlags::CREATE | OFlags::NONBLOCK,
            file,
        ),
    }
}

fn kind(file_type: FileType) -> EntryKind {
    match file_type {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Symlink,
        FileType::Fifo => EntryKind::Fifo,
        FileType::Socket => EntryKind::Socket,
        FileType::CharacterDevice | FileType::BlockDevice => EntryKind::Device,
        FileType::Unknown => EntryKind::Unknown,
    }
}

#[expect(
    clippy::unnecessary_cast,
    reason = "the integer types of `stat` differ among platforms"
)]
fn describe(stat: &fs::Stat) -> Stat {
    Stat {
        dev: stat.st_dev as u64,
        ino: stat.st_ino as u64,
        links: stat.st_nlink as u64,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        mtime: i128::from(stat.st_mtime) * NANOS + i128::from(stat.st_mtime_nsec),
        kind: kind(FileType::from_raw_mode(stat.st_mode)),
    }
}

impl Sys for RealSys {
    fn open_root(&self, path: &Path) -> Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        retry_on_intr(|| fs::openat(CWD, path, flags, Mode::empty()))
    }

    fn open(&self, dir: BorrowedFd<'_>, path: &str, how: Open) -> Result<OwnedFd> {
        if !self.walk.load(Ordering::Relaxed)
            && let Some(opened) = self.open_at_once(dir, path, how)
        {
            return opened;
        }
        Self::walk(dir, path, how)
    }

    #[cfg(target_os = "linux")]
    fn open_cached(&self, dir: BorrowedFd<'_>, path: &str) -> Result<OwnedFd> {
        use rustix::fs::ResolveFlags;

        if self.waits.load(Ordering::Relaxed) {
            return Err(Errno::AGAIN);
        }
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::CACHED;
        let (flags, mode) = flags(Open::Read);
        // As in `open_at_once`.
        let flags = flags - OFlags::NOFOLLOW;
        let opened = fs::openat2(dir, path, flags, mode, resolve);
        // Older kernels know neither the call nor, before 5.12, that flag; a sandbox may forbid the call.
        if let Err(Errno::INVAL | Errno::NOSYS | Errno::PERM) = opened {
            self.waits.store(true, Ordering::Relaxed);
        }
        opened
    }

    fn mkdir(&self, dir: BorrowedFd<'_>, name: &str) -> Result<()> {
        fs::mkdirat(dir, name, Mode::from_raw_mode(0o777))
    }

    fn stat(&self, file: BorrowedFd<'_>) -> Result<Stat> {
        Ok(describe(&fs::fstat(file)?))
    }

    fn stat_at(&self, dir: BorrowedFd<'_>, name: &str) -> Result<Stat> {
        Ok(describe(&fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    fn visit_dir(&self, dir: BorrowedFd<'_>, each: &mut dyn FnMut(&[u8], EntryKind)) -> Result<()> {
        for entry in fs::Dir::read_from(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                each(name, kind(entry.file_type()));
            }
        }
        Ok(())
    }

    fn read_at(&self, file: BorrowedFd<'_>, length: usize, offset: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // The size comes from the file system: a damaged or hostile file must not abort the process.
        bytes.try_reserve_exact(length).map_err(|_| Errno::NOMEM)?;
        while bytes.len() < length {
            let at = offset + bytes.len() as u64;
            let read = retry_on_intr(|| rustix::io::pread(file, spare_capacity(&mut bytes), at))?;
            if read == 0 {
                break;
            }
        }
        // The allocator may have given more room than was asked for.
        bytes.truncate(length);
        Ok(bytes)
    }

    #[cfg(target_os = "linux")]
    fn read_cached_at(&self, file: BorrowedFd<'_>, length: usize, offset: u64) -> Result<Vec<u8>> {
        use rustix::io::{IoSliceMut, ReadWriteFlags, preadv2};

        if self.waits.load(Ordering::Relaxed) {
            return Err(Errno::AGAIN);
        }
        let mut bytes = vec![0; length];
        let parts = &mut [IoSliceMut::new(&mut bytes)];
        match preadv2(file, parts, offset, ReadWriteFlags::NOWAIT) {
            Ok(read) if read == length => Ok(bytes),
            // Part of it is on the disk.
            Ok(_) => Err(Errno::AGAIN),
            Err(errno) => {
                if matches!(errno, Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) {
                    self.waits.store(true, Ordering::Relaxed);
                }
                Err(errno)
            }
        }
    }

    #[cfg(target_os = "linux")]
    fn reserve(&self, file: BorrowedFd<'_>, length: u64) -> Result<()> {
        fs::fallocate(file, fs::FallocateFlags::KEEP_SIZE, 0, length)
    }

    #[cfg(not(target_os = "linux"))]
    fn reserve(&self, _: BorrowedFd<'_>, _: u64) -> Result<()> {
        Err(Errno::NOSYS)
    }

    fn is_reserving_worth_it(&self, dir: BorrowedFd<'_>) -> bool {
        // It saves ext4 a reservation for each block. btrfs compresses nothing that was reserved, and behind a network
        // it is a request more.
        is_one_of(dir, &[EXT])
    }

    fn write_at(&self, file: BorrowedFd<'_>, bytes: &[u8], offset: u64) -> Result<usize> {
        retry_on_intr(|| rustix::io::pwrite(file, bytes, offset))
    }

    #[cfg(target_os = "linux")]
    fn copy_range(
        &self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        offset: u64,
        length: usize,
    ) -> Result<usize> {
        let (mut read, mut write) = (offset, offset);
        fs::copy_file_range(from, Some(&mut read), to, Some(&mut write), length)
    }

    #[cfg(not(target_os = "linux"))]
    fn copy_range(&self, _: BorrowedFd<'_>, _: BorrowedFd<'_>, _: u64, _: usize) -> Result<usize> {
        Err(Errno::NOSYS)
    }

    fn set_mtime(&self, file: BorrowedFd<'_>, mtime: i128) -> Result<()> {
        let last_modification = Timespec {
            tv_sec: i64::try_from(mtime.div_euclid(NANOS)).map_err(|_| Errno::OVERFLOW)?,
            tv_nsec: mtime.rem_euclid(NANOS) as _,
        };
        let times = Timestamps {
            last_access: last_modification,
            last_modification,
        };
        fs::futimens(file, &times)
    }

    fn fsync(&self, file: BorrowedFd<'_>) -> Result<()> {
        #[cfg(target_vendor = "apple")]
        match fs::fcntl_fullfsync(file) {
            Err(Errno::NOTSUP | Errno::INVAL | Errno::NOTTY) => {}
            other => return other,
        }
        retry_on_intr(|| fs::fsync(file))
    }

    #[cfg(target_os = "linux")]
    fn syncfs(&self, dir: BorrowedFd<'_>) -> Result<()> {
        retry_on_intr(|| fs::syncfs(dir))
    }

    #[cfg(not(target_os = "linux"))]
    fn syncfs(&self, _: BorrowedFd<'_>) -> Result<()> {
        Err(Errno::NOSYS)
    }

    #[cfg(target_os = "linux")]
    fn can_syncfs(&self, dir: BorrowedFd<'_>) -> bool {
        // A list of those that do, not of those that do not: FUSE, for one, answers "done" without
        // asking its server. ext2-4, xfs, btrfs, tmpfs, f2fs, zfs, bcachefs, overlayfs.
        const KNOWN: [u32; 8] = [
            EXT,
            0x5846_5342,
            0x9123_683E,
            0x0102_1994,
            0xF2F5_2010,
            0x2FC1_2FC1,
            0xCA45_1A4E,
            0x794C_7630,
        ];
        is_one_of(dir, &KNOWN)
    }

    #[cfg(not(target_os = "linux"))]
    fn can_syncfs(&self, _: BorrowedFd<'_>) -> bool {
        false
    }

    fn rename(
        &self,
        from: BorrowedFd<'_>,
        name: &str,
        to: BorrowedFd<'_>,
        new: &str,
    ) -> Result<()> {
        fs::renameat(from, name, to, new)
    }

    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    fn rename_new(
        &self,
        from: BorrowedFd<'_>,
        name: &str,
        to: BorrowedFd<'_>,
        new: &str,
    ) -> Result<()> {
        fs::renameat_with(from, name, to, new, fs::RenameFlags::NOREPLACE)
    }

    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    fn rename_new(&self, _: BorrowedFd<'_>, _: &str, _: BorrowedFd<'_>, _: &str) -> Result<()> {
        Err(Errno::NOSYS)
    }

    fn link(&self, from: BorrowedFd<'_>, name: &str, to: BorrowedFd<'_>, new: &str) -> Result<()> {
        fs::linkat(from, name, to, new, AtFlags::empty())
    }

    fn unlink(&self, dir: BorrowedFd<'_>, name: &str) -> Result<()> {
        fs::unlinkat(dir, name, AtFlags::empty())
    }

    fn lock(&self, file: BorrowedFd<'_>, wait: bool) -> Result<()> {
        // `flock`, because its lock belongs to the open file description: it works among the threads of
        // a process, and closing another handle of the file does not end it. Record locks do both wrong.
        let operation = match wait {
            true => FlockOperation::LockExclusive,
            false => FlockOperation::NonBlockingLockExclusive,
        };
        retry_on_intr(|| fs::flock(file, operation))
    }

    fn unlock(&self, file: BorrowedFd<'_>) -> Result<()> {
        fs::flock(file, FlockOperation::Unlock)
    }

    fn file_system(&self, dir: BorrowedFd<'_>) -> FileSystem {
        file_system(dir)
    }

    fn mounts(&self) -> Option<Vec<u8>> {
        match cfg!(target_os = "linux") {
            true => std::fs::read("/proc/self/mountinfo").ok(),
            false => None,
        }
    }

    fn kernel(&self) -> Option<(u32, u32)> {
        match cfg!(target_os = "linux") {
            true => version(&std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?),
            false => None,
        }
    }

    #[cfg(target_os = "linux")]
    fn refresh(&self, dir: BorrowedFd<'_>) -> Result<()> {
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
        retry_on_intr(|| fs::statx(dir, c"", flags, fs::StatxFlags::BASIC_STATS)).map(drop)
    }

    #[cfg(not(target_os = "linux"))]
    fn refresh(&self, _: BorrowedFd<'_>) -> Result<()> {
        // There is no such call, and no network file system is trusted.
        Ok(())
    }

    fn open_files_limit(&self) -> u64 {
        rustix::process::getrlimit(rustix::process::Resource::Nofile)
            .current
            .unwrap_or(u64::MAX)
    }
}
