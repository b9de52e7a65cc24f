//! Finds out, once per handle and before its first write, what the file system can be trusted with.
//!
//! A list of file system names would be wrong tomorrow. The probe does what the store will do, on
//! names of its own, and looks. One thing it cannot see from one machine, whether locks keep out writers on others;
//! that is judged by the type of the file system (`reach.rs`).

use std::os::fd::{AsFd, BorrowedFd};

use crate::abilities::{Abilities, Exclusion, Placement};
use crate::store::Store;
use crate::sys::{Errno, Open, Stat, Sys};

const COMPOSED: &str = "\u{e9}";
const DECOMPOSED: &str = "e\u{301}";

/// Probes in the directory `tmp`, leaving nothing behind.
/// `trusted`: locks that work here work everywhere.
pub(crate) fn probe(store: &Store, tmp: BorrowedFd<'_>, trusted: bool) -> Result<Abilities, Errno> {
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
    fn run(&mut self, stem: &str) -> Result<Abilities, Errno> {
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
        Ok(Abilities {
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
    fn place(&mut self, first: &str, second: &str) -> Result<Placement, Errno> {
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
                return Ok(if moved {
                    Placement::Rename
                } else {
                    Placement::Nothing
                });
            }
            Answer::Missing => {}
            // It replaced what it had to spare; no file system to look for a second way on.
            Answer::Right | Answer::Weak => return Ok(Placement::Nothing),
        }
        if judge(sys.link(tmp, first, tmp, second), Errno::EXIST)? != Answer::Right
            || !is(second, &target)?
        {
            return Ok(Placement::Nothing);
        }
        sys.link(tmp, first, tmp, &free)?;
        Ok(if is(&free, &source)? {
            Placement::Link
        } else {
            Placement::Nothing
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
