//! Bad habits of file systems, for the real one to take on in a test.

use super::{Errno, FileSystem, Sys};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Which habits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Habits {
    /// `a` and `A` are one name; the one that was there first is kept.
    pub(crate) ignores_case: bool,
    /// The two spellings of `é` are one name.
    pub(crate) normalises: bool,
    /// Creating a file that exists opens it.
    pub(crate) weak_create: bool,
    /// There is no rename that does not replace.
    pub(crate) no_rename_new: bool,
    /// There is one, and it replaces.
    pub(crate) weak_rename_new: bool,
    /// There are no hard links.
    pub(crate) no_link: bool,
    /// There are no locks.
    pub(crate) no_lock: bool,
    /// Locks are granted to every caller.
    pub(crate) weak_lock: bool,
    /// Time stamps have this grain, in nanoseconds.
    pub(crate) grain: Option<i128>,
    /// The directory does not say what kind its entries have.
    pub(crate) untyped_entries: bool,
    /// There is no trustworthy `syncfs`.
    pub(crate) no_syncfs: bool,
    /// Setting space aside makes writes cheaper.
    pub(crate) reserves: bool,
    /// There is no copy inside the kernel.
    pub(crate) no_copy_range: bool,
    /// This many files may be open.
    pub(crate) open_files: Option<u64>,
    /// These flushes are skipped, though they say they were done.
    pub(crate) lazy: Lazy,
    /// Directories cannot be flushed.
    pub(crate) no_folder_flush: bool,
    /// The file system is this one, and not that of the test.
    pub(crate) ground: Ground,
    /// A write takes this many bytes at most.
    pub(crate) short_writes: Option<usize>,
}

/// The properties of a file system, as the system states them; unless planted, one of this machine.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    pub(crate) file_system: FileSystem,
    pub(crate) mounts: Option<Vec<u8>>,
    pub(crate) kernel: Option<(u32, u32)>,
}

impl Default for Ground {
    fn default() -> Self {
        Self {
            file_system: FileSystem {
                number: Some(0xEF53),
                ..FileSystem::default()
            },
            mounts: None,
            kernel: Some((6, 1)),
        }
    }
}

impl Ground {
    /// Returns a file system of a type, mounted with options.
    pub(crate) fn mounted(number: u32, kind: &str, options: &str) -> Self {
        let line = format!(
            "1 0 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n40 1 0:44 / /mnt rw,relatime shared:3 - {kind} source {options}\n"
        );
        Self {
            file_system: FileSystem {
                number: Some(number),
                mount_id: Some(40),
                path: Some("/mnt/r".into()),
                ..FileSystem::default()
            },
            mounts: Some(line.into_bytes()),
            ..Self::default()
        }
    }
}

/// Which flushes are skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Lazy {
    #[default]
    Nothing,
    Files,
    Directories,
}

impl Habits {
    fn fold(&self, name: &str) -> String {
        let mut folded = name.to_owned();
        if self.normalises {
            folded = folded.replace("e\u{301}", "\u{e9}");
        }
        if self.ignores_case {
            folded = folded.to_lowercase();
        }
        folded
    }

    /// Returns the path as it is really spelt, where some spelling of it exists.
    pub(crate) fn spell(&self, sys: &dyn Sys, dir: BorrowedFd<'_>, path: &str) -> String {
        if !self.ignores_case && !self.normalises {
            return path.to_owned();
        }
        let mut spelt: Vec<String> = Vec::new();
        let mut opened: Option<OwnedFd> = None;
        let mut lost = false;
        for name in path.split('/') {
            let at = opened.as_ref().map_or(dir, AsFd::as_fd);
            let entries = match lost {
                true => Vec::new(),
                false => sys.read_dir(at).unwrap_or_default(),
            };
            let wanted = self.fold(name);
            let there = entries
                .into_iter()
                .filter_map(|entry| String::from_utf8(entry).ok())
                .find(|there| self.fold(there) == wanted);
            let real = there.unwrap_or_else(|| name.to_owned());
            let below = sys.open(at, &real, super::Open::Directory);
            lost = below.is_err();
            opened = below.ok();
            spelt.push(real);
        }
        spelt.join("/")
    }

    /// Returns the time stamp as it is kept.
    pub(crate) fn keep(&self, mtime: i128) -> i128 {
        self.grain
            .map_or(mtime, |grain| mtime.div_euclid(grain) * grain)
    }

    pub(crate) fn unsupported(&self, missing: bool) -> super::Result<()> {
        if missing {
            Err(Errno::OPNOTSUPP)
        } else {
            Ok(())
        }
    }
}
