//! Branches that point nowhere, pointed somewhere again; and branches made of snapshots that `repo` does not list.

use std::collections::{BTreeMap, HashSet};

use futures::TryStreamExt;
use icefield_core::{BranchName, EditOutcome, RepositoryError, SnapshotId};
use icefield_format::layout::{self, IdKey};
use icefield_refs::{Edit, Ledger, RefsError, Tip};
use icefield_storage::{Key, ListOptions, Prefix, StorageError, StorageExt, with_causes};

use super::{Repair, RepairError, RepairOutcome, RestoredBranch, refused};
use crate::check::error::CheckError;
use crate::check::examined::Examined;
use crate::check::objects::Parents;
use crate::check::root::Root;
use crate::check::{lost, refs, unlisted};

/// The prefix of the names of branches that are made of snapshots which `repo` does not list.
const RECOVERED: &str = "recovered/";

/// Where a branch is to point.
#[derive(Clone, Debug)]
struct BranchTarget {
    snapshot: SnapshotId,
    /// The entries that are to be listed before: snapshots with their parents, the oldest first.
    unlisted: Vec<(SnapshotId, SnapshotId)>,
}

impl BranchTarget {
    fn listed(snapshot: SnapshotId) -> Self {
        Self {
            snapshot,
            unlisted: Vec::new(),
        }
    }
}

impl Repair {
    /// Moves lost branches to where they are proposed to be. A branch whose ref is gone moves only if the caller names it.
    /// So do several lost branches at once, unless `repo` tells the history of each: their files do not tell which branch
    /// stood at which snapshot.
    pub(super) async fn restore(
        &self,
        examined: &Examined,
    ) -> Result<Vec<RestoredBranch>, RepairError> {
        let lost = examined.lost.iter();
        let mut places: BTreeMap<BranchName, Option<BranchTarget>> = lost
            .map(|(name, place)| (name.clone(), place.map(BranchTarget::listed)))
            .collect();
        if let Some(name) = &self.restore
            && !places.contains_key(name)
        {
            if self.has_branch(examined, name).await? {
                let branch = name.clone();
                return Err(RepairError::NotLost { branch });
            }
            let place = match name.as_str().starts_with(RECOVERED) {
                true => self.recovered(examined).await?,
                false => self.candidate(examined).await?.map(BranchTarget::listed),
            };
            places.insert(name.clone(), place);
        }
        let store = match places.is_empty() || self.dry_run {
            true => None,
            false => Some(self.ledger(examined).await?),
        };
        let alone = places.len() == 1 || matches!(examined.parents, Parents::Listed(_));
        let mut restored = Vec::new();
        for (name, place) in places {
            self.check.interrupt.check()?;
            let named = self.restore.as_ref() == Some(&name);
            let is_gone = examined.is_gone(&name);
            let certain = examined.is_certain(&name);
            if named && place.is_none() {
                return Err(RepairError::NothingToRestore { branch: name });
            }
            let target = place.as_ref().map(|place| place.snapshot);
            let outcome = match place {
                Some(place) if named || (alone && certain && !is_gone) => match &store {
                    None => RepairOutcome::Planned,
                    Some(store) => self.point(store, examined, &name, place).await?,
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
                snapshot: target,
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
        place: BranchTarget,
    ) -> Result<RepairOutcome, RepairError> {
        let target = place.snapshot;
        let hold = match self.builder.clone().hold_collections().await {
            Ok(hold) => hold,
            Err(error @ RepositoryError::CollectionRunning) => {
                let reason = with_causes(&error);
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
                true => match register(store, &place).await? {
                    None => point(store, examined, name, target).await,
                    Some(outcome) => Ok(outcome),
                },
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

    /// The ledger to make edits with.
    async fn ledger(&self, examined: &Examined) -> Result<Ledger, RepairError> {
        Ok(match &examined.root {
            Root::Files => refs::ledger(&self.check.storage, &examined.objects),
            Root::Object(_) => self.builder.clone().open().await?.ledger().clone(),
        })
    }

    async fn has_branch(
        &self,
        examined: &Examined,
        name: &BranchName,
    ) -> Result<bool, RepairError> {
        Ok(match &examined.parents {
            Parents::Listed(info) => info.branch(name.as_str()).is_some(),
            _ => {
                let store = refs::ledger(&self.check.storage, &examined.objects);
                store.branch(name).await?.is_some()
            }
        })
    }

    /// The newest whole snapshot that `repo` does not list and whose parent is certain.
    async fn recovered(&self, examined: &Examined) -> Result<Option<BranchTarget>, CheckError> {
        let Parents::Listed(info) = &examined.parents else {
            return Ok(None);
        };
        let stored: Vec<SnapshotId> = self.stored().await?.into_iter().collect();
        let (cx, most) = (self.context(examined), self.check.most_unlisted);
        let looked = unlisted::find_parents(&cx, info, &stored, most).await?;
        let found = looked.found;
        let parents: BTreeMap<SnapshotId, SnapshotId> = (found.iter())
            .filter(|it| it.whole)
            .filter_map(|it| Some((it.snapshot, it.parent?)))
            .collect();
        let newest = found
            .iter()
            .rev()
            .find(|it| parents.contains_key(&it.snapshot));
        // A repair that was stopped may have listed it.
        let listed = self.candidate(examined).await?;
        let written_at = |id: &SnapshotId| {
            let listed = info.snapshots().get(id);
            listed.map(|it| icefield_refs::time_of_micros(it.flushed_at()))
        };
        let Some(newest) = newest.filter(|it| {
            let other = listed.as_ref().and_then(written_at);
            other.is_none_or(|other| other < it.written_at)
        }) else {
            return Ok(listed.map(BranchTarget::listed));
        };
        let mut unlisted = Vec::new();
        let mut next = newest.snapshot;
        while let Some(parent) = parents.get(&next) {
            unlisted.push((next, *parent));
            next = *parent;
        }
        unlisted.reverse();
        Ok(Some(BranchTarget {
            snapshot: newest.snapshot,
            unlisted,
        }))
    }

    /// The newest whole snapshot that no branch reaches.
    async fn candidate(&self, examined: &Examined) -> Result<Option<SnapshotId>, CheckError> {
        let stored = self.stored().await?;
        let reached = lost::of_branches(&examined.targets, &examined.seen);
        let found = lost::candidate(&examined.objects, &examined.parents, stored, &reached).await?;
        Ok(found.map(|it| it.snapshot))
    }

    /// The ids of all snapshots that are stored.
    pub(super) async fn stored(&self) -> Result<HashSet<SnapshotId>, CheckError> {
        let prefix = Prefix::parse(layout::SNAPSHOTS).map_err(StorageError::from)?;
        let options = ListOptions::prefix(prefix);
        let mut listed = self.check.storage.list_objects(options);
        let mut stored = HashSet::new();
        while let Some(object) = listed.try_next().await? {
            if let Some(IdKey::Snapshot(id)) = layout::parse_id_key(object.key.as_str()) {
                stored.insert(id);
            }
        }
        Ok(stored)
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

/// Lets `repo` list what a place needs, where it does not yet; returns why it does not then.
async fn register(
    store: &Ledger,
    place: &BranchTarget,
) -> Result<Option<RepairOutcome>, RepairError> {
    for (id, parent) in &place.unlisted {
        if store.snapshot(*id).await.is_ok() {
            continue;
        }
        let info = store.as_child(*id, *parent).await;
        let snapshot = Box::new(info.map_err(RefsError::from)?);
        match store.apply(Edit::Flush { snapshot }).await? {
            EditOutcome::Done(_) => {}
            EditOutcome::Refused(refusal) => return Ok(Some(refused(&refusal))),
            EditOutcome::Unknown(source) => {
                return Ok(Some(RepairOutcome::Unknown {
                    snapshot: *id,
                    reason: with_causes(&source),
                }));
            }
        }
    }
    Ok(None)
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
            reason: with_causes(&source),
        },
    })
}
