//! Finds out, once per handle and before its first write, what the file system can be trusted with.
//!
//! A list of file system names would be wrong tomorrow. The probe does what the store will do, on
//! names of its own, and looks.

use std::os::fd::{AsFd, BorrowedFd};

use crate::store::Store;
use crate::sys::{Errno, Open, Sys};

/// What the file system can be trusted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Creating a file that exists fails.
    pub(crate) exclusive_create: bool,
    /// How a finished file gets a name that must be free.
    pub(crate) place: Place,
    /// A lock keeps others out.
    pub(crate) locks: bool,
    /// `a` and `A` are one name.
    pub(crate) ignores_case: bool,
    /// Two spellings of one accented letter are one name, or names come back changed, or only some
    /// names can be had at all.
    pub(crate) changes_names: bool,
    /// `syncfs` can stand in for many single flushes.
    pub(crate) syncfs: bool,
}

/// How to give a file a name that must be free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// `renameat2` with `RENAME_NOREPLACE`.
    Rename,
    /// `link`, then `unlink` of the old name.
    Link,
    /// Neither is there, or neither keeps its word.
    Nothing,
}

const COMPOSED: &str = "\u{e9}";
const DECOMPOSED: &str = "e\u{301}";

/// Probes in the directory `tmp`, leaving nothing behind.
pub(crate) fn probe(store: &Store, tmp: BorrowedFd<'_>) -> Result<Facts, Errno> {
    let mut names = Names {
        sys: &*store.sys,
        tmp,
        used: Vec::new(),
    };
    // Letters in front: the random part may be all digits.
    let stem = format!("probe{}", store.random_name());
    names.run(&stem)
}

struct Names<'a> {
    sys: &'a dyn Sys,
    tmp: BorrowedFd<'a>,
    used: Vec<String>,
}

impl Drop for Names<'_> {
    fn drop(&mut self) {
        for name in &self.used {
            let _ = self.sys.unlink(self.tmp, name);
        }
    }
}

impl Names<'_> {
    fn run(&mut self, stem: &str) -> Result<Facts, Errno> {
        let (first, second) = (format!("{stem}a"), format!("{stem}b"));
        self.create(&first)?;
        let exclusive_create = self.create(&first) == Err(Errno::EXIST);
        self.create(&second)?;
        let ignores_case = self.sys.stat_at(self.tmp, &first.to_uppercase()).is_ok();
        let changes_names = self.changes_names(stem)?;
        let place = self.place(&first, &second)?;
        let locks = self.locks(&second)?;
        Ok(Facts {
            exclusive_create,
            place,
            locks,
            ignores_case,
            changes_names,
            syncfs: self.sys.can_syncfs(self.tmp),
        })
    }

    fn create(&mut self, name: &str) -> Result<(), Errno> {
        self.used.push(name.to_owned());
        self.sys.open(self.tmp, name, Open::CreateNew).map(drop)
    }

    fn changes_names(&mut self, stem: &str) -> Result<bool, Errno> {
        let (composed, decomposed) = (format!("{stem}{COMPOSED}"), format!("{stem}{DECOMPOSED}"));
        match self.create(&composed) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::ILSEQ) => return Ok(true),
            Err(errno) => return Err(errno),
        }
        if self.sys.stat_at(self.tmp, &decomposed).is_ok() {
            return Ok(true);
        }
        let names = self.sys.read_dir(self.tmp)?;
        let kept = |wanted: &str| names.iter().any(|entry| entry.name == wanted.as_bytes());
        Ok(!kept(&composed) || !kept(&format!("{stem}b")))
    }

    /// Moves `first` to a free name and onto `second`, and believes only what it then sees.
    fn place(&mut self, first: &str, second: &str) -> Result<Place, Errno> {
        let free = format!("{first}c");
        self.used.push(free.clone());
        let (sys, tmp) = (self.sys, self.tmp);
        let target = sys.stat_at(tmp, second)?;
        let untouched = || {
            sys.stat_at(tmp, second)
                .is_ok_and(|now| now.is_same_file(&target))
        };
        if sys.rename_new(tmp, first, tmp, second) == Err(Errno::EXIST)
            && untouched()
            && sys.rename_new(tmp, first, tmp, &free).is_ok()
        {
            let moved =
                sys.stat_at(tmp, first) == Err(Errno::NOENT) && sys.stat_at(tmp, &free).is_ok();
            return Ok(if moved { Place::Rename } else { Place::Nothing });
        }
        // A rename that replaced `second` in spite of all has removed `first`; that is no file system
        // to look for a second way on.
        let Ok(source) = sys.stat_at(tmp, first) else {
            return Ok(Place::Nothing);
        };
        let linked = sys.link(tmp, first, tmp, second) == Err(Errno::EXIST)
            && untouched()
            && sys.link(tmp, first, tmp, &free).is_ok()
            && sys
                .stat_at(tmp, &free)
                .is_ok_and(|now| now.is_same_file(&source));
        Ok(if linked { Place::Link } else { Place::Nothing })
    }

    fn locks(&self, name: &str) -> Result<bool, Errno> {
        let one = self.sys.open(self.tmp, name, Open::ReadWrite)?;
        let other = self.sys.open(self.tmp, name, Open::ReadWrite)?;
        Ok(self.sys.lock(one.as_fd(), false).is_ok()
            && self.sys.lock(other.as_fd(), false) == Err(Errno::AGAIN))
    }
}
