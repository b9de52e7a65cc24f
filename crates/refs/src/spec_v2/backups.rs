//! Which earlier states of `repo` nothing needs any more.

use std::collections::BTreeSet;

use futures::StreamExt;
use icefield_format::layout;
use icefield_storage::{ListOptions, ObjectMeta, PlantedBug, Prefix, StorageExt, planted};

use super::object::RepoObject;
use crate::{BranchName, RefsError, Tip};

impl RepoObject {
    /// Lists the backups that no page of the operations log is, and that no later page can be.
    ///
    /// Needed are the pages of today's log, and the backups that today's list names: when the list outgrows its page, one of
    /// those becomes the next. A backup that is not older than `repo` may belong to a write that is on its way. One whose age
    /// the store does not tell stays, too.
    ///
    /// # Errors
    /// [`RefsError::LogPageMissing`] or [`RefsError::LogRepeats`] if the log is broken: then any backup may be what mends it.
    pub(crate) async fn unneeded_backups(&self) -> Result<Vec<ObjectMeta>, RefsError> {
        let shared = self.shared();
        let state = self.read().await?;
        let stored = shared.storage.head(&shared.key).await?;
        let Some(replaced_at) = stored
            .last_modified
            .filter(|_| stored.version == state.version)
        else {
            // It was replaced just now: the next collection finds them.
            return Ok(Vec::new());
        };
        let pages = self.pages(&state).await?;
        let log = state.info.log();
        let named = log.updates().filter_map(|update| update.backup.clone());
        let needed: BTreeSet<String> = pages.into_iter().chain(named).collect();
        let prefix = Prefix::parse(layout::OVERWRITTEN)?;
        let mut objects = shared.storage.list_objects(ListOptions::prefix(prefix));
        let mut unneeded = Vec::new();
        while let Some(object) = objects.next().await {
            let object = object?;
            let is_backup = layout::parse_overwritten_key(object.key.as_str())
                .filter(|it| !needed.contains(&it.name) || planted(PlantedBug::NeededBackupDeleted))
                .is_some_and(|it| it.object == layout::REPO);
            let is_older = object.last_modified.is_some_and(|it| it < replaced_at);
            if is_backup && is_older {
                unneeded.push(object);
            }
        }
        Ok(unneeded)
    }
}

impl RepoObject {
    /// Makes the backup that an edit of a branch needs if nothing else is edited before. If this fails, the edit makes a backup
    /// for itself.
    pub(crate) async fn back_up_ahead(&self, name: &BranchName, expected: &Tip) {
        let now = self.held();
        let Some(now) = now.filter(|now| now.branch(name).as_ref() == Some(expected)) else {
            return;
        };
        let ahead = &self.shared().ahead;
        if !ahead.begins(&now.version) {
            return;
        }
        let backup = self.backup_name();
        match self.copy_to(&now, &backup).await {
            Ok(true) => ahead.is_made(&now.version, backup),
            Ok(false) => {}
            Err(error) => tracing::debug!(%error, "no backup was made ahead"),
        }
    }
}
