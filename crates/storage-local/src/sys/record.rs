//! The calls of a store on a directory, by inode, so that a test can play every crash.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::real::RealSys;
use super::{EntryKind, Open, Stat, Sys};

/// A file or directory of the recording. Inode numbers are used again, these are not.
pub(crate) type Id = usize;

/// One thing that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A new file or directory got its first name.
    Make {
        dir: Id,
        name: String,
        child: Id,
        is_dir: bool,
    },
    Write {
        file: Id,
        offset: u64,
        bytes: Vec<u8>,
    },
    /// The pending part of a file's data or of a directory's entries is durable.
    Fsync(Id),
    /// Everything is durable.
    Syncfs,
    Rename {
        from: Id,
        name: String,
        to: Id,
        new: String,
    },
    Link {
        child: Id,
        to: Id,
        new: String,
    },
    Unlink {
        dir: Id,
        name: String,
    },
    /// The test says how far it is, for instance that a write was acknowledged.
    Mark(String),
}

/// A directory tree, in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub(crate) files: HashMap<Id, Vec<u8>>,
    pub(crate) dirs: HashMap<Id, BTreeMap<String, Id>>,
}

/// The root of every recording.
pub(crate) const ROOT: Id = 0;

/// A recording: what was there at first, and what was done since.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    pub(crate) base: World,
    pub(crate) events: Vec<Event>,
    ids: HashMap<(u64, u64), Id>,
    next: Id,
}

impl Recording {
    /// Starts with what is in the directory `root`, all of it taken as durable.
    pub(crate) fn start(root: &Path) -> Self {
        let sys = RealSys::new();
        let mut recording = Self::default();
        let fd = sys.open_root(root).expect("the root of a recording exists");
        let stat = sys.stat(fd.as_fd()).expect("described");
        let id = recording.fresh(&stat);
        assert_eq!(id, ROOT);
        recording.load(&sys, fd.as_fd(), id);
        recording
    }

    fn load(&mut self, sys: &RealSys, dir: BorrowedFd<'_>, id: Id) {
        let mut names = BTreeMap::new();
        for name in sys.read_dir(dir).expect("read") {
            let name = String::from_utf8(name).expect("UTF-8");
            let stat = sys.stat_at(dir, &name).expect("described");
            let child = self.fresh(&stat);
            if stat.kind == EntryKind::Directory {
                let below = sys.open(dir, &name, Open::Directory).expect("opened");
                self.load(sys, below.as_fd(), child);
            } else {
                let file = sys.open(dir, &name, Open::Read).expect("opened");
                let size = usize::try_from(stat.size).expect("small");
                let bytes = sys.read_at(file.as_fd(), size, 0).expect("read");
                self.base.files.insert(child, bytes);
            }
            names.insert(name, child);
        }
        self.base.dirs.insert(id, names);
    }

    /// Gives an inode that was just made its id.
    pub(crate) fn fresh(&mut self, stat: &Stat) -> Id {
        let id = self.next;
        self.next += 1;
        self.ids.insert((stat.dev, stat.ino), id);
        id
    }

    /// Returns the id of an inode, `None` for what lies outside the root.
    pub(crate) fn id(&self, stat: &Stat) -> Option<Id> {
        self.ids.get(&(stat.dev, stat.ino)).copied()
    }
}
