//! Taking over refs of another repository, with their snapshots, all at once.

use std::collections::BTreeSet;

use icefield_format::{RepoEdit, RepoInfo, SnapshotId, UpdateKind};

use super::content::{add, tag_state};
use crate::received::ReceivedBranch;
use crate::{Received, RefsError, Refusal, RepoSettings, TagState};

/// Makes the change, and returns its entries in the operations log: one for each ref and each setting that is not yet as it is
/// to be. Where the graph alone changes, since another program has set the refs meanwhile and told less of what is before them,
/// one entry names the newest snapshot that it changes for. Without any, nothing is to be done.
pub(super) fn receive(
    next: &mut RepoEdit,
    received: &Received,
) -> Result<Result<Vec<UpdateKind>, Refusal>, RefsError> {
    let mut changed = None;
    for snapshot in &received.snapshots {
        let (parent, pruned) = (snapshot.parent_id, &snapshot.pruned_logs);
        let Some(listed) = next.so_far().snapshots().get(&snapshot.id) else {
            add(next, snapshot, parent, pruned)?;
            changed = Some(snapshot.id);
            continue;
        };
        if received.shortened.contains(&snapshot.id) {
            continue;
        }
        let told: Vec<_> = listed.pruned_ancestor_tx_logs().collect();
        if listed.parent_id() != parent || told != *pruned {
            next.reparent(snapshot.id, parent, pruned)?;
            changed = Some(snapshot.id);
        }
    }
    let mut done = Vec::new();
    for branch in &received.branches {
        match set_branch(next, branch)? {
            Ok(kind) => done.extend(kind),
            Err(refusal) => return Ok(Err(refusal)),
        }
    }
    for (name, target) in &received.tags {
        match tag_state(next.so_far(), name) {
            TagState::Present(found) if found == *target => continue,
            TagState::Present(_) => return Ok(Err(Refusal::AlreadyExists)),
            TagState::Deleted => return Ok(Err(Refusal::NameTaken)),
            TagState::Absent => {}
        }
        next.create_tag(name.as_str(), *target)?;
        let name = name.as_str().to_owned();
        done.push(UpdateKind::TagCreated { name });
    }
    for (name, target) in &received.deleted_tags {
        match tag_state(next.so_far(), name) {
            TagState::Deleted => continue,
            TagState::Present(_) => return Ok(Err(Refusal::AlreadyExists)),
            TagState::Absent => {}
        }
        next.create_tag(name.as_str(), known(next.so_far(), *target))?;
        next.delete_tag(name.as_str())?;
        done.push(UpdateKind::TagDeleted {
            name: name.as_str().to_owned(),
            // The object of the source does not say what deleted tags pointed to.
            previous: target.unwrap_or(SnapshotId::INITIAL),
        });
    }
    if let Some(settings) = &received.settings {
        let (expected, new) = &**settings;
        let found = RepoSettings::of(next.so_far())?;
        if found != *new {
            if found != *expected {
                return Ok(Err(Refusal::AlreadyExists));
            }
            set(next, &found, new, &mut done)?;
        }
    }
    if let Some(snapshot) = changed.filter(|_| done.is_empty()) {
        // The format has no entry for it, and takes no state without one.
        done.push(UpdateKind::NewDetachedSnapshot { snapshot });
    }
    Ok(Ok(done))
}

fn set_branch(
    next: &mut RepoEdit,
    branch: &ReceivedBranch,
) -> Result<Result<Option<UpdateKind>, Refusal>, RefsError> {
    let name = branch.name.as_str();
    let kind = match (next.so_far().branch(name), branch.expected) {
        (Some(found), _) if found == branch.target => return Ok(Ok(None)),
        (None, None) => UpdateKind::BranchCreated {
            name: name.to_owned(),
        },
        (Some(found), Some(expected)) if found == expected => UpdateKind::BranchReset {
            name: name.to_owned(),
            previous: found,
        },
        (Some(_), None) => return Ok(Err(Refusal::AlreadyExists)),
        (Some(found), Some(_)) => return Ok(Err(Refusal::BranchMoved { found })),
        (None, Some(_)) => return Ok(Err(Refusal::BranchGone)),
    };
    next.set_branch(name, branch.target)?;
    Ok(Ok(Some(kind)))
}

/// A snapshot of the repository that a name can stand for until it is deleted.
fn known(info: &RepoInfo, target: Option<SnapshotId>) -> SnapshotId {
    let listed = target.filter(|id| info.snapshots().contains(id));
    listed
        .or_else(|| info.branches().next().map(|(_, tip)| tip))
        .unwrap_or(SnapshotId::INITIAL)
}

fn set(
    next: &mut RepoEdit,
    found: &RepoSettings,
    new: &RepoSettings,
    done: &mut Vec<UpdateKind>,
) -> Result<(), RefsError> {
    if found.config != new.config {
        next.set_config(new.config.as_ref())?;
        done.push(UpdateKind::ConfigChanged);
    }
    if found.metadata != new.metadata {
        next.set_metadata(&new.metadata)?;
        done.push(UpdateKind::MetadataChanged);
    }
    let flags = found.flags.set().chain(new.flags.set());
    let flags: BTreeSet<_> = flags.map(|(flag, _)| flag).collect();
    for flag in flags {
        let value = new.flags.get(flag);
        if found.flags.get(flag) != value {
            next.set_flag(flag, value);
            done.push(UpdateKind::FeatureFlagChanged {
                id: flag.0,
                new_value: value.unwrap_or_default(),
                is_set: value.is_some(),
            });
        }
    }
    Ok(())
}
