//! Finds out, once per handle and before its first write, what the file system can be trusted with.
//!
//! A list of file system names would be wrong tomorrow. The probe does what the store will do, on
//! names of its own, and looks. One thing it cannot see from one machine, whether locks keep out writers on others;
//! that is judged by the type of the file system (`reach.rs`).

use std::os::fd::{AsFd, BorrowedFd};

use crate::store::Store;
use crate::sys::{Errno, Open, Stat, Sys};

/// The abilities that the file system can be trusted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Creating a file that exists fails.
    pub(crate) exclusive_create: bool,
    /// How a finished file gets a name that must be free.
    pub(crate) place: Place,
    /// The reach of a lock.
    pub(crate) locks: Exclusion,
    /// `a` and `A` are one name.
    pub(crate) ignores_case: bool,
    /// Two spellings of one accented letter are one name, or names come back changed, or only some
    /// names can be had at all.
    pub(crate) changes_names: bool,
    /// `syncfs` can stand in for many single flushes.
    pub(crate) syncfs: bool,
    /// A long file is written in less time if space is set aside for it first.
    pub(crate) reserve: bool,
}

/// The reach of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exclusion {
    /// It keeps all other writers out, or the caller says so.
    Everywhere,
    /// It keeps out those on this machine; of others nothing is known.
    Here,
    /// There are no locks, or every writer gets one.
    Nothing,
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

impl Facts {
    /// Returns what is safe to assume of a file system that could not be probed, with locks as they mostly are.
    pub(crate) fn unprobed(trusted: bool) -> Self {
        Self {
            exclusive_create: false,
            place: Place::Nothing,
            locks: match trusted {
                true => Exclusion::Everywhere,
                false => Exclusion::Here,
            },
            ignores_case: true,
            changes_names: true,
            syncfs: false,
            reserve: false,
        }
    }

    /// Returns why a name that must be free cannot be had here, if it cannot.
    pub(crate) fn no_free_name(&self) -> Option<&'static str> {
        if !self.exclusive_create {
            Some("exclusive create: this file system opens what it was told to create")
        } else if self.place == Place::Nothing {
            Some("conditional create: this file system lets a rename or link replace what is there")
        } else {
            None
        }
    }
}

const COMPOSED: &str = "\u{e9}";
const DECOMPOSED: &str = "e\u{301}";

/// Probes in the directory `tmp`, leaving nothing behind.
/// `trusted`: locks that work here work everywhere.
pub(crate) fn probe(store: &Store, tmp: BorrowedFd<'_>, trusted: bool) -> Result<Facts, Errno> {
    let mut names = Names {
        sys: &*store.sys,
        tmp,
        trusted,
        used: Vec::new(),
    };
    // Letters in front: the random part may be all digits.
    let stem = format!("probe{}", store.random_name());
    names.run(&stem)
}

struct Names<'a> {
    sys: &'a dyn Sys,
    tmp: BorrowedFd<'a>,
    trusted: bool,
    used: Vec<String>,
}

impl Drop for Names<'_> {
    fn drop(&mut self) {
        for name in &self.used {
            let _ = self.sys.unlink(self.tmp, name);
        }
    }
}

/// How a call that must refuse went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// It refused.
    Right,
    /// It did not.
    Weak,
    /// There is no such call here.
    Missing,
}

/// Judges a call that must fail with `right`. An error that says nothing about the file system (a full
/// disk, no descriptor left) is no answer but a failure of the probe.
fn judge<T>(result: Result<T, Errno>, right: Errno) -> Result<Answer, Errno> {
    match result {
        Ok(_) => Ok(Answer::Weak),
        Err(errno) if errno == right => Ok(Answer::Right),
        Err(
            Errno::NOSYS
            | Errno::INVAL
            | Errno::OPNOTSUPP
            | Errno::PERM
            | Errno::NOTTY
            | Errno::NOLCK
            | Errno::MLINK
            | Errno::XDEV,
        ) => Ok(Answer::Missing),
        Err(errno) => Err(errno),
    }
}

impl Names<'_> {
    fn run(&mut self, stem: &str) -> Result<Facts, Errno> {
        let (first, second) = (format!("{stem}a"), format!("{stem}b"));
        self.create(&first)?;
        let exclusive = judge(self.create(&first), Errno::EXIST)?;
        self.create(&second)?;
        let shouted = self.sys.stat_at(self.tmp, &first.to_uppercase());
        let ignores_case = judge(shouted, Errno::NOENT)? == Answer::Weak;
        let changes_names = self.changes_names(stem)?;
        let place = self.place(&first, &second)?;
        let locks = match self.locks(&second)? {
            true if self.trusted => Exclusion::Everywhere,
            true => Exclusion::Here,
            false => Exclusion::Nothing,
        };
        Ok(Facts {
            exclusive_create: exclusive == Answer::Right,
            place,
            locks,
            ignores_case,
            changes_names,
            syncfs: self.sys.can_syncfs(self.tmp),
            reserve: self.sys.is_reserving_worth_it(self.tmp),
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
        let other = self.sys.stat_at(self.tmp, &decomposed);
        if judge(other, Errno::NOENT)? == Answer::Weak {
            return Ok(true);
        }
        let names = self.sys.read_dir(self.tmp)?;
        let kept = |wanted: &str| names.iter().any(|name| name == wanted.as_bytes());
        Ok(!kept(&composed) || !kept(&format!("{stem}b")))
    }

    /// Moves `first` onto `second` and to a free name, and believes only what it then sees.
    fn place(&mut self, first: &str, second: &str) -> Result<Place, Errno> {
        let free = format!("{first}c");
        self.used.push(free.clone());
        let (sys, tmp) = (self.sys, self.tmp);
        let (source, target) = (sys.stat_at(tmp, first)?, sys.stat_at(tmp, second)?);
        let is = |name: &str, wanted: &Stat| match sys.stat_at(tmp, name) {
            Ok(there) => Ok(there.is_same_file(wanted)),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(errno),
        };
        match judge(sys.rename_new(tmp, first, tmp, second), Errno::EXIST)? {
            Answer::Right if is(second, &target)? => {
                sys.rename_new(tmp, first, tmp, &free)?;
                let moved = is(&free, &source)? && !is(first, &source)?;
                return Ok(if moved { Place::Rename } else { Place::Nothing });
            }
            Answer::Missing => {}
            // It replaced what it had to spare; no file system to look for a second way on.
            Answer::Right | Answer::Weak => return Ok(Place::Nothing),
        }
        if judge(sys.link(tmp, first, tmp, second), Errno::EXIST)? != Answer::Right
            || !is(second, &target)?
        {
            return Ok(Place::Nothing);
        }
        sys.link(tmp, first, tmp, &free)?;
        Ok(if is(&free, &source)? {
            Place::Link
        } else {
            Place::Nothing
        })
    }

    fn locks(&self, name: &str) -> Result<bool, Errno> {
        let one = self.sys.open(self.tmp, name, Open::ReadWrite)?;
        let other = self.sys.open(self.tmp, name, Open::ReadWrite)?;
        // The first lock must be granted; "granted" is what `judge` calls weak.
        if judge(self.sys.lock(one.as_fd(), false), Errno::AGAIN)? != Answer::Weak {
            return Ok(false);
        }
        Ok(judge(self.sys.lock(other.as_fd(), false), Errno::AGAIN)? == Answer::Right)
    }
}
