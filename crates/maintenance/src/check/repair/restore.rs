//! Branches that point nowhere, pointed somewhere again.

use std::collections::HashSet;

use futures::TryStreamExt;
use icefield_core::{BranchName, EditOutcome, RepositoryError, SnapshotId};
use icefield_format::layout::{self, IdKey};
use icefield_refs::{Edit, Ledger, Tip};
use icefield_storage::{Key, ListOptions, Prefix, StorageError, StorageExt};

use super::{Repair, RepairError, RepairOutcome, RestoredBranch, refused};
use crate::check::finding::said;
use crate::check::{CheckError, Examined, lost, refs};

impl Repair {
    /// Moves lost branches to where they are proposed to be. One whose ref is gone, only if it was named; several at
    /// once, too: nobody knows which of them stood there.
    pub(super) async fn restore(
        &self,
        examined: &Examined,
    ) -> Result<Vec<RestoredBranch>, RepairError> {
        let store = refs::ledger(&self.check.storage, &examined.objects);
        let mut places = examined.lost.clone();
        if let Some(name) = &self.restore
            && !places.contains_key(name)
        {
            if store.branch(name).await?.is_some() {
                let branch = name.clone();
                return Err(RepairError::NotLost { branch });
            }
            places.insert(name.clone(), self.candidate(examined).await?);
        }
        let alone = places.len() == 1;
        let mut restored = Vec::new();
        for (name, place) in places {
            self.check.interrupt.check()?;
            let named = self.restore.as_ref() == Some(&name);
            let is_gone = examined.is_gone(&name);
            let certain = examined.is_certain(&name);
            if named && place.is_none() {
                return Err(RepairError::NothingToRestore { branch: name });
            }
            let outcome = match place {
                Some(place) if named || (alone && certain && !is_gone) => match self.dry_run {
                    true => RepairOutcome::Planned,
                    false => self.point(&store, examined, &name, place).await?,
                },
                Some(_) => RepairOutcome::Failed {
                    reason: format!("--restore-branch {name} makes it point there"),
                },
                None => RepairOutcome::Failed {
                    reason: "there is no whole snapshot that no other branch reaches".to_owned(),
                },
            };
            restored.push(RestoredBranch {
                branch: name.to_string(),
                snapshot: place,
                outcome,
            });
        }
        Ok(restored)
    }

    /// Lets a branch point to a snapshot while collections are held back: nothing may have reached it until now.
    async fn point(
        &self,
        store: &Ledger,
        examined: &Examined,
        name: &BranchName,
        target: SnapshotId,
    ) -> Result<RepairOutcome, RepairError> {
        let hold = match self.builder.clone().hold_collections().await {
            Ok(hold) => hold,
            Err(error @ RepositoryError::CollectionRunning) => {
                let reason = said(&error);
                return Ok(RepairOutcome::Failed { reason });
            }
            Err(error) => return Err(error.into()),
        };
        let done = async {
            // A collection that ended since it was found has deleted snapshots before what they need: what is there now
            // is whole, and stays.
            let key = Key::parse(&layout::snapshot_key(target)).map_err(StorageError::from);
            let exists = match key {
                Ok(key) => self.check.storage.exists(&key).await,
                Err(error) => Err(error),
            };
            match exists.map_err(CheckError::Storage)? {
                true => point(store, examined, name, target).await,
                false => Ok(RepairOutcome::Failed {
                    reason: format!("snapshot {target} was collected since it was found"),
                }),
            }
        }
        .await;
        // One that is still on its way must find its snapshot when it lands.
        if !matches!(done, Ok(RepairOutcome::Unknown { .. })) {
            hold.release().await;
        }
        done
    }

    /// The newest whole snapshot that no branch reaches.
    async fn candidate(&self, examined: &Examined) -> Result<Option<SnapshotId>, CheckError> {
        let prefix = Prefix::parse(layout::SNAPSHOTS).map_err(StorageError::from)?;
        let options = ListOptions::prefix(prefix);
        let mut listed = self.check.storage.list_objects(options);
        let mut stored: HashSet<SnapshotId> = HashSet::new();
        while let Some(object) = listed.try_next().await? {
            if let Some(IdKey::Snapshot(id)) = layout::parse_id_key(object.key.as_str()) {
                stored.insert(id);
            }
        }
        let reached = lost::of_branches(&examined.targets, &examined.seen);
        let found = lost::candidate(
            &examined.objects,
            &refs::ledger(&self.check.storage, &examined.objects),
            stored,
            &reached,
        )
        .await?;
        Ok(found.map(|it| it.snapshot))
    }
}

impl Examined {
    /// Whether there is no ref of this name at all.
    fn is_gone(&self, name: &BranchName) -> bool {
        let proposal = self
            .report
            .proposals
            .iter()
            .find(|it| it.branch == name.as_str());
        proposal.is_none_or(|proposal| proposal.lost)
    }

    /// Whether there is but one snapshot that a branch can have pointed to.
    fn is_certain(&self, name: &BranchName) -> bool {
        let mut proposals = self.report.proposals.iter();
        proposals.any(|it| it.branch == name.as_str() && it.certain)
    }
}

/// Lets a branch point to a snapshot, if it is still as it was found.
async fn point(
    store: &Ledger,
    examined: &Examined,
    name: &BranchName,
    target: SnapshotId,
) -> Result<RepairOutcome, RepairError> {
    let name = name.clone();
    let edit = match examined.is_gone(&name) {
        true => Edit::CreateBranch { name, target },
        false => {
            let expected: Tip = store.branch_to_replace(&name).await?;
            let label = format!("branch:{name}");
            let found = examined.targets.iter().find(|it| it.name == label);
            let found = found.map_or(SnapshotId::from_bytes([0; 12]), |it| it.snapshot);
            if expected.snapshot != found {
                return Ok(RepairOutcome::BranchMoved);
            }
            Edit::Reset {
                name,
                target,
                expected,
            }
        }
    };
    Ok(match store.apply(edit).await? {
        EditOutcome::Done(_) => RepairOutcome::Done { snapshot: target },
        EditOutcome::Refused(refusal) => refused(&refusal),
        EditOutcome::Unknown(source) => RepairOutcome::Unknown {
            snapshot: target,
            reason: said(&source),
        },
    })
}
