//! The check that no file of spec version 1 has refs that the ledger does not tell of.

use std::sync::Arc;

use icefield_storage::StorageError;

use super::remains::{Logged, remains};
use super::scan::Scan;
use crate::ledger::Layout;
use crate::ref_files::RefFiles;
use crate::spec_v2::{RepoObject, RepoState, is_upgrading};
use crate::{BranchName, Ledger, RefsError, Remainder, Tip};

/// How often the file of a branch is read that changes between a reading of it and one of `repo`.
const FILE_READS: usize = 10;

pub(super) async fn remaining(
    repo: &RepoObject,
    state: &Arc<RepoState>,
    scan: &Scan,
) -> Result<Vec<Remainder>, RefsError> {
    let found = remains(&state.info, scan, &Logged::default());
    if found.is_empty() || is_upgrading(state.info.status()) {
        return Ok(found);
    }
    let logged = Logged::of(repo, Arc::clone(state)).await;
    Ok(remains(&state.info, scan, &logged))
}

impl Ledger {
    /// Refuses to go by refs that are not all there are: those of version 1 where the repository was upgraded since it was
    /// opened, and those of version 2 beside which a version-1 program has written others.
    ///
    /// # Errors
    /// [`RefsError::Upgraded`], [`RefsError::NotCarriedOver`], and the errors of the store.
    pub(crate) async fn require_all_here(&self) -> Result<(), RefsError> {
        let object = match &self.layout {
            Layout::V1(_) => {
                return match self.was_upgraded().await? {
                    true => Err(RefsError::Upgraded),
                    false => Ok(()),
                };
            }
            Layout::V2(object) => object,
        };
        let state = object.read().await?;
        match carried_over(object, &state).await {
            // A reader without the right to list is not refused. Operations that delete check strictly.
            Err(RefsError::Storage(error @ StorageError::PermissionDenied { .. })) => {
                tracing::debug!(%error, "files of spec version 1 beside `repo` are not read");
                Ok(())
            }
            result => result,
        }
    }

    /// Returns where a branch stands in a state of `repo` that was just read. While an upgrade is under way, a version-1 program may
    /// still move the branch's file, and was told that its commit landed: then the file must say nothing that `repo` does not
    /// have.
    ///
    /// # Errors
    /// [`RefsError::NotCarriedOver`], [`RefsError::UpgradeNotEnded`] if the file changes all the time, and the errors of the store.
    pub(crate) async fn branch_in(
        &self,
        state: &RepoState,
        name: &BranchName,
    ) -> Result<Option<Tip>, RefsError> {
        let object = match &self.layout {
            Layout::V2(object) if is_upgrading(state.info.status()) && !object.is_pinned() => {
                object
            }
            _ => return Ok(state.branch(name)),
        };
        let files = RefFiles::new(Arc::clone(object.storage()));
        for _ in 0..FILE_READS {
            let Some(file) = file_of(&files, name).await? else {
                // It goes only once `repo` has what it said.
                return Ok(object.read().await?.branch(name));
            };
            let tip = object.read().await?.branch(name);
            if tip
                .as_ref()
                .is_some_and(|tip| tip.snapshot == file.snapshot)
            {
                return Ok(tip);
            }
            // The upgrade may have carried a commit over in between; then the file has another state, or is gone.
            if file_of(&files, name).await? == Some(file.clone()) {
                let remains = vec![Remainder::Branch {
                    name: name.clone(),
                    tip: file.snapshot,
                    snapshots: Vec::new(),
                }];
                return Err(RefsError::NotCarriedOver { remains });
            }
        }
        Err(RefsError::UpgradeNotEnded)
    }

    /// As any look for refs that are not all there are, before something is deleted that refs might need: by a fresh list of
    /// `refs/`, and what cannot be read is an error. Of a repository of version 1, only that it was not upgraded since it was
    /// opened.
    ///
    /// # Errors
    /// [`RefsError::Upgraded`], [`RefsError::NotCarriedOver`], [`RefsError::UpgradeNotEnded`], [`RefsError::NotUnderstood`], and
    /// the errors of the store.
    pub async fn require_carried_over(&self) -> Result<(), RefsError> {
        let Layout::V2(object) = &self.layout else {
            return self.require_all_here().await;
        };
        let state = object.read().await?;
        if is_upgrading(state.info.status()) {
            return Err(RefsError::UpgradeNotEnded);
        }
        carried_over(object, &state).await
    }
}

/// Reads the file of a branch while an upgrade is under way; none if it is sealed, or may not be read.
async fn file_of(files: &RefFiles, name: &BranchName) -> Result<Option<Tip>, RefsError> {
    match files.branch(name).await {
        Err(RefsError::Upgraded | RefsError::Storage(StorageError::PermissionDenied { .. })) => {
            Ok(None)
        }
        found => found,
    }
}

/// Refuses files of version 1 that say what a state of `repo` does not.
async fn carried_over(object: &RepoObject, state: &Arc<RepoState>) -> Result<(), RefsError> {
    let files = RefFiles::new(Arc::clone(object.storage()));
    let scan = files.scan().await?;
    let mut remains = remaining(object, state, &scan).await?;
    if !remains.is_empty() {
        // An upgrade may have carried them over since the state was read.
        remains = remaining(object, &object.read().await?, &scan).await?;
    }
    match remains.is_empty() {
        true => Ok(()),
        false => Err(RefsError::NotCarriedOver { remains }),
    }
}
