//! The use that a store makes of the locks it found: which conditional writes it promises, and which it refuses.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use icefield_storage::{Advice, Key, StorageError, Topic};

use crate::abilities::{Abilities, Exclusion};
use crate::reach::{OPT_IN, Reach, Standing};
use crate::settings::Locks;
use crate::store::Store;

impl Store {
    /// Looks at the file system once, when the store is opened. A root that is missing will most likely lie where the
    /// nearest directory above it does; the first write looks again.
    pub(crate) fn detect_file_system(&self, root: Option<BorrowedFd<'_>>) {
        let above = match root {
            Some(_) => None,
            None => self.nearest(),
        };
        let found = match (root, &above) {
            (Some(root), _) => self.standing(root).clone(),
            (None, Some(above)) => Standing::find(&*self.sys, above.as_fd(), false),
            (None, None) => return,
        };
        let _ = self.opened_on.set(found);
    }

    /// Opens the nearest directory above a root that does not exist.
    fn nearest(&self) -> Option<OwnedFd> {
        let mut above = self.path.ancestors().skip(1);
        above.find_map(|path| self.sys.open_root(path).ok())
    }

    /// Returns what is known of the file system of the root.
    pub(crate) fn standing(&self, root: BorrowedFd<'_>) -> &Standing {
        self.standing
            .get_or_init(|| Standing::find(&*self.sys, root, false))
    }

    /// Returns whether conditional writes may be expected to work, as far as that was known when the store was opened.
    pub(crate) fn promises_conditions(&self) -> bool {
        self.locks == Locks::Trusted || self.opened_on.get().is_none_or(Standing::is_proven)
    }

    /// Returns whether a lock keeps out the writers of all machines, if it keeps out those of this one.
    pub(crate) fn trusts_locks(&self, root: BorrowedFd<'_>) -> bool {
        self.standing(root).is_proven() || self.locks == Locks::Trusted
    }

    /// Returns whether other machines may change the directory.
    pub(crate) fn is_shared(&self) -> bool {
        let standing = self.standing.get();
        standing.is_none_or(|standing| standing.reach != Reach::Machine)
    }

    /// Returns what the locks of this place are good for, in words.
    pub(crate) fn advice(&self) -> Result<Advice, StorageError> {
        let standing = match self.root()? {
            Some(root) => Standing::find(&*self.sys, root, true),
            None => match self.nearest() {
                Some(above) => Standing::find(&*self.sys, above.as_fd(), true),
                None => return Err(self.gone()),
            },
        };
        let said = format!("{}: {}", standing.describe(), standing.consequence());
        Ok(match (standing.is_proven(), self.locks) {
            (true, _) => Advice::good(said),
            (false, Locks::Trusted) => {
                Advice::hint(format!("{said}; `locks=trusted` says that they do"))
            }
            (false, Locks::Detect) => Advice::hint(format!("{said}; {OPT_IN}")),
        }
        .on(Topic::Locks))
    }

    /// Returns why writes on a condition are refused here, if they are.
    fn no_exclusion(&self, abilities: &Abilities) -> Option<String> {
        match abilities.locks {
            Exclusion::Everywhere => None,
            Exclusion::Nothing => {
                Some("file locks on this file system exclude no other writer".to_owned())
            }
            Exclusion::Here => Some(match self.standing.get() {
                Some(it) => format!("on {}, {}; {OPT_IN}", it.kind, it.consequence()),
                None => OPT_IN.to_owned(),
            }),
        }
    }

    /// Fails if locks do not keep out all other writers. `action` names what needs them.
    pub(crate) fn check_exclusion(
        &self,
        abilities: &Abilities,
        action: &str,
    ) -> Result<(), StorageError> {
        match self.no_exclusion(abilities) {
            None => Ok(()),
            Some(why) => Err(self.unsupported(format!("{action}: {why}"))),
        }
    }

    /// Fails if a put may not ask for a free name here. One answer for chunks and for metadata: a commit needs all of
    /// it, and must not fail at its last step, with its chunks written.
    pub(crate) fn check_create(&self, abilities: &Abilities) -> Result<(), StorageError> {
        match abilities.no_free_name() {
            None => self.check_exclusion(abilities, "conditional create"),
            Some(what) => Err(self.unsupported(what.to_owned())),
        }
    }

    pub(crate) fn unsupported(&self, what: String) -> StorageError {
        StorageError::Unsupported {
            store: self.name(),
            what,
        }
    }

    /// Refuses to create a key that the file system would take for another one.
    pub(crate) fn check_new_name(&self, key: &Key) -> Result<(), StorageError> {
        let abilities = self.abilities()?;
        let refuse = |what: String| {
            Err(StorageError::Unsupported {
                store: self.name(),
                what,
            })
        };
        if abilities.changes_names && !key.as_str().is_ascii() {
            return refuse(format!(
                "the key {key}: this file system changes or confuses letters outside ASCII"
            ));
        }
        if !abilities.ignores_case {
            return Ok(());
        }
        let root = self.root_for_writing()?;
        match self.names.differing(&*self.sys, root, key)? {
            None => Ok(()),
            Some(there) => refuse(format!(
                "the key {key} next to {there}: this file system ignores case and takes them for one"
            )),
        }
    }
}
