//! The abilities that a file system can be trusted with.

/// The abilities that the file system can be trusted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Abilities {
    /// Creating a file that exists fails.
    pub(crate) exclusive_create: bool,
    /// How a finished file gets a name that must be free.
    pub(crate) place: Placement,
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
pub(crate) enum Placement {
    /// `renameat2` with `RENAME_NOREPLACE`.
    Rename,
    /// `link`, then `unlink` of the old name.
    Link,
    /// Neither is there, or neither keeps its word.
    Nothing,
}

impl Abilities {
    /// Returns what is safe to assume of a file system that could not be probed, with locks as they mostly are.
    pub(crate) fn unprobed(trusted: bool) -> Self {
        Self {
            exclusive_create: false,
            place: Placement::Nothing,
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
        } else if self.place == Placement::Nothing {
            Some("conditional create: this file system lets a rename or link replace what is there")
        } else {
            None
        }
    }
}
