//! The real system calls, each with a call of a function before it: a process ends there, or tells its parent.

use std::fmt;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::real::RealSys;
use super::{FileSystem, Open, Result, Stat, Sys};

/// The function that is called before each system call, with its number, from 0, and its name.
pub(crate) type Hook = Arc<dyn Fn(u64, &'static str) + Send + Sync>;

/// The real system calls behind a hook. Questions about the machine, which touch no file, are not counted.
pub(crate) struct Hooked {
    real: RealSys,
    hook: Hook,
    calls: AtomicU64,
}

impl fmt::Debug for Hooked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooked").finish_non_exhaustive()
    }
}

impl Hooked {
    pub(crate) fn new(hook: Hook) -> Self {
        Self {
            real: RealSys::new(),
            hook,
            calls: AtomicU64::new(0),
        }
    }

    fn call(&self, name: &'static str) -> &RealSys {
        (self.hook)(self.calls.fetch_add(1, Ordering::SeqCst), name);
        &self.real
    }
}

impl Sys for Hooked {
    fn open_root(&self, path: &Path) -> Result<OwnedFd> {
        self.call("open_root").open_root(path)
    }

    fn open(&self, dir: BorrowedFd<'_>, path: &str, how: Open) -> Result<OwnedFd> {
        let name = match how {
            Open::Read => "open",
            Open::Directory | Open::DirectoryHere => "open_directory",
            Open::CreateNew => "create",
            Open::ReadWrite => "open_lock",
        };
        self.call(name).open(dir, path, how)
    }

    fn mkdir(&self, dir: BorrowedFd<'_>, name: &str) -> Result<()> {
        self.call("mkdir").mkdir(dir, name)
    }

    fn stat(&self, file: BorrowedFd<'_>) -> Result<Stat> {
        self.call("stat").stat(file)
    }

    fn stat_at(&self, dir: BorrowedFd<'_>, name: &str) -> Result<Stat> {
        self.call("stat_at").stat_at(dir, name)
    }

    fn visit_dir(
        &self,
        dir: BorrowedFd<'_>,
        each: &mut dyn FnMut(&[u8], super::EntryKind),
    ) -> Result<()> {
        self.call("visit_dir").visit_dir(dir, each)
    }

    fn read_at(&self, file: BorrowedFd<'_>, length: usize, offset: u64) -> Result<Vec<u8>> {
        self.call("read").read_at(file, length, offset)
    }

    fn reserve(&self, file: BorrowedFd<'_>, length: u64) -> Result<()> {
        self.call("reserve").reserve(file, length)
    }

    fn is_reserving_worth_it(&self, dir: BorrowedFd<'_>) -> bool {
        self.real.is_reserving_worth_it(dir)
    }

    fn write_at(&self, file: BorrowedFd<'_>, bytes: &[u8], offset: u64) -> Result<usize> {
        self.call("write").write_at(file, bytes, offset)
    }

    fn copy_range(
        &self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        offset: u64,
        length: usize,
    ) -> Result<usize> {
        self.call("copy_range").copy_range(from, to, offset, length)
    }

    fn set_mtime(&self, file: BorrowedFd<'_>, mtime: i128) -> Result<()> {
        self.call("set_mtime").set_mtime(file, mtime)
    }

    fn fsync(&self, file: BorrowedFd<'_>) -> Result<()> {
        self.call("fsync").fsync(file)
    }

    fn syncfs(&self, dir: BorrowedFd<'_>) -> Result<()> {
        self.call("syncfs").syncfs(dir)
    }

    fn can_syncfs(&self, dir: BorrowedFd<'_>) -> bool {
        self.real.can_syncfs(dir)
    }

    fn rename(
        &self,
        from: BorrowedFd<'_>,
        name: &str,
        to: BorrowedFd<'_>,
        new: &str,
    ) -> Result<()> {
        self.call("rename").rename(from, name, to, new)
    }

    fn rename_new(
        &self,
        from: BorrowedFd<'_>,
        name: &str,
        to: BorrowedFd<'_>,
        new: &str,
    ) -> Result<()> {
        self.call("rename_new").rename_new(from, name, to, new)
    }

    fn link(&self, from: BorrowedFd<'_>, name: &str, to: BorrowedFd<'_>, new: &str) -> Result<()> {
        self.call("link").link(from, name, to, new)
    }

    fn unlink(&self, dir: BorrowedFd<'_>, name: &str) -> Result<()> {
        self.call("unlink").unlink(dir, name)
    }

    fn lock(&self, file: BorrowedFd<'_>, wait: bool) -> Result<()> {
        self.call("lock").lock(file, wait)
    }

    fn unlock(&self, file: BorrowedFd<'_>) -> Result<()> {
        self.call("unlock").unlock(file)
    }

    fn file_system(&self, dir: BorrowedFd<'_>) -> FileSystem {
        self.real.file_system(dir)
    }

    fn mounts(&self) -> Option<Vec<u8>> {
        self.real.mounts()
    }

    fn kernel(&self) -> Option<(u32, u32)> {
        self.real.kernel()
    }

    fn refresh(&self, dir: BorrowedFd<'_>) -> Result<()> {
        self.call("refresh").refresh(dir)
    }

    fn open_files_limit(&self) -> u64 {
        self.real.open_files_limit()
    }
}
