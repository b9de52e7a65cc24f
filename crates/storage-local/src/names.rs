//! Names on file systems that take two names for one.
//!
//! On such a file system the key `A` must neither read nor replace the object `a`. The file system
//! itself is asked which name is stored: no tables of letters.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, OnceLock};

use icefield_storage::{Key, StorageError};

use crate::error;
use crate::sys::{Errno, Open, Sys};
use crate::threads::lock;

/// How many directories are remembered as spelt right.
const REMEMBERED: usize = 4096;

/// Splits a key into the path of its directory (empty for the root) and the name in it.
pub(crate) fn split(key: &Key) -> (&str, &str) {
    key.as_str().rsplit_once('/').unwrap_or(("", key.as_str()))
}

/// The abilities about names that a handle has learned.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Whether the file system ignores case, as far as can be seen without writing.
    ignores_case: OnceLock<bool>,
    exact: Mutex<HashSet<String>>,
}

impl Names {
    /// Returns whether each name stands for itself alone, as far as is known without asking.
    pub(crate) fn are_exact(&self) -> bool {
        self.ignores_case.get() == Some(&false)
    }

    /// Returns whether the stored path of an object that was found is `key`, letter by letter.
    pub(crate) fn is_exact(
        &self,
        sys: &dyn Sys,
        root: BorrowedFd<'_>,
        key: &Key,
    ) -> Result<bool, StorageError> {
        let ignores_case = self.ignores_case(sys, root);
        if !ignores_case.map_err(|errno| error::of_key("read", key, errno))? {
            return Ok(true);
        }
        Ok(self.differing(sys, root, key)?.is_none())
    }

    /// Returns the first part of `key` that exists under another spelling only.
    pub(crate) fn differing(
        &self,
        sys: &dyn Sys,
        root: BorrowedFd<'_>,
        key: &Key,
    ) -> Result<Option<String>, StorageError> {
        let fail = |errno| error::of_key("read", key, errno);
        let text = key.as_str();
        let ends = text.match_indices('/').map(|(at, _)| at);
        let mut parent = String::new();
        for end in ends.chain([text.len()]) {
            let path = &text[..end];
            let name = path.rsplit('/').next().unwrap_or(path);
            if !lock(&self.exact).contains(path) {
                let folder = match parent.as_str() {
                    "" => None,
                    _ => match sys.open(root, &parent, Open::Directory) {
                        Ok(folder) => Some(folder),
                        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
                        Err(errno) => return Err(fail(errno)),
                    },
                };
                let folder = folder.as_ref().map_or(root, AsFd::as_fd);
                match sys.stat_at(folder, name) {
                    Ok(_) => {}
                    Err(Errno::NOENT) => return Ok(None),
                    Err(errno) => return Err(fail(errno)),
                }
                let entries = sys.read_dir(folder).map_err(fail)?;
                if !entries.iter().any(|entry| entry == name.as_bytes()) {
                    let folded = name.to_lowercase();
                    let there = entries
                        .iter()
                        .filter_map(|entry| std::str::from_utf8(entry).ok())
                        .find(|other| other.to_lowercase() == folded)
                        .unwrap_or("a name that it does not show");
                    return Ok(Some(
                        format!("{parent}/{there}").trim_start_matches('/').into(),
                    ));
                }
                // Objects come and go; directories of a store stay.
                if end < text.len() {
                    let mut exact = lock(&self.exact);
                    if exact.len() >= REMEMBERED {
                        exact.clear();
                    }
                    exact.insert(path.to_owned());
                }
            }
            parent = path.to_owned();
        }
        Ok(None)
    }

    /// Looks for a name in the root that is also found with its case swapped. A reader writes nothing,
    /// so it cannot make one to try.
    fn ignores_case(&self, sys: &dyn Sys, root: BorrowedFd<'_>) -> Result<bool, Errno> {
        if let Some(known) = self.ignores_case.get() {
            return Ok(*known);
        }
        let entries = sys.read_dir(root)?;
        let names: HashSet<_> = entries.iter().map(Vec::as_slice).collect();
        for name in &names {
            let swapped: Vec<u8> = name.iter().map(|byte| byte ^ case_bit(*byte)).collect();
            // Both spellings stored: two names.
            if swapped == *name || names.contains(swapped.as_slice()) {
                continue;
            }
            let (Ok(name), Ok(swapped)) = (std::str::from_utf8(name), String::from_utf8(swapped))
            else {
                continue;
            };
            let same = match (sys.stat_at(root, name), sys.stat_at(root, &swapped)) {
                (Ok(one), Ok(other)) => one.is_same_file(&other),
                (_, Err(Errno::NOENT)) => false,
                // Removed at this moment.
                (Err(Errno::NOENT), _) => continue,
                (Err(errno), _) | (_, Err(errno)) => return Err(errno),
            };
            return Ok(*self.ignores_case.get_or_init(|| same));
        }
        Ok(false)
    }
}

fn case_bit(byte: u8) -> u8 {
    if byte.is_ascii_alphabetic() { 0x20 } else { 0 }
}
