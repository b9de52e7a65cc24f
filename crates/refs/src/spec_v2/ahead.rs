//! Backups that are made ahead: while the objects of a commit are on their way, the state of `repo` that the commit is about to
//! replace is copied, too, so that the replacement need not wait for that.
//!
//! A backup serves one write, the first one that replaces its state: a write is looked for by the name of its backup. A backup
//! that no write uses is garbage, which a collection deletes once `repo` has another state.

use std::sync::{Mutex, MutexGuard, PoisonError};

use icefield_storage::Version;

/// The last backup that was made ahead, or is being made.
#[derive(Debug, Default)]
pub(super) struct Ahead(Mutex<Option<Backup>>);

#[derive(Debug)]
struct Backup {
    /// The state of `repo` that it is a copy of.
    of: Version,
    /// None while it is on its way, and once a write uses it.
    name: Option<String>,
}

impl Ahead {
    fn lock(&self) -> MutexGuard<'_, Option<Backup>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the caller is the first to ask for a backup of a state. Writers that commit at the same time share
    /// a write, and need one backup.
    pub(super) fn begins(&self, state: &Version) -> bool {
        let mut last = self.lock();
        let is_first = last.as_ref().is_none_or(|backup| backup.of != *state);
        if is_first {
            *last = Some(Backup {
                of: state.clone(),
                name: None,
            });
        }
        is_first
    }

    /// Notes that there is a backup of a state, which no write uses.
    pub(super) fn is_made(&self, state: &Version, name: String) {
        let mut last = self.lock();
        if let Some(backup) = last.as_mut().filter(|backup| backup.of == *state) {
            backup.name = Some(name);
        }
    }

    /// Returns the name of the backup of a state, to the first caller alone.
    pub(super) fn take(&self, state: &Version) -> Option<String> {
        let mut last = self.lock();
        let backup = last.as_mut().filter(|backup| backup.of == *state);
        backup?.name.take()
    }
}
