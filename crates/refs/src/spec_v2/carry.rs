//! Upgrading as edits: taking over what a version-1 program wrote meanwhile, and ending the upgrade.

use icefield_format::{Availability, RepoEdit, RepoInfo, RepoStatus, SnapshotId, UpdateKind};

use super::change::{Change, add, require_online};
use crate::upgrade::Remainder;
use crate::{RefsError, Refusal};

/// The reason in the status of a repository whose upgrade has begun and not ended. Nothing but the upgrade edits it.
const REASON: &str = "its upgrade from spec version 1 has not ended: run `icefield upgrade` again";

/// Returns the status of a repository while it is upgraded: read-only, so that version 2 does not go on beside a
/// version-1 program whose refs are still there.
pub(crate) fn upgrading(since: u64) -> RepoStatus {
    RepoStatus {
        availability: Availability::ReadOnly,
        set_at: since,
        reason: Some(REASON.to_owned()),
    }
}

/// Returns whether a status is that of a repository whose upgrade has not ended.
pub(crate) fn is_upgrading(status: &RepoStatus) -> bool {
    status.availability == Availability::ReadOnly && status.reason.as_deref() == Some(REASON)
}

/// Refuses what is not part of an upgrade that is under way.
///
/// # Errors
/// [`RefsError::UpgradeNotEnded`].
pub(super) fn require_ended(info: &RepoInfo) -> Result<(), RefsError> {
    match is_upgrading(info.status()) {
        true => Err(RefsError::UpgradeNotEnded),
        false => Ok(()),
    }
}

/// Ends an upgrade, if it has not ended yet.
pub(super) fn end(now: &RepoInfo, next: &mut RepoEdit, at: u64) -> Result<UpdateKind, Refusal> {
    if !is_upgrading(now.status()) {
        return Err(Refusal::AlreadyExists);
    }
    next.set_status(RepoStatus::online(at));
    Ok(UpdateKind::RepoMigrated {
        from_version: 1,
        to_version: 2,
    })
}

/// Takes over what a file of version 1 says. Where version 2 has gone on by itself, nothing of it is given up: what does not
/// fit gets another name.
pub(super) fn carry_over(from: &RepoEdit, remainder: &Remainder) -> Result<Change, RefsError> {
    let now = from.so_far();
    let is_upgrading = is_upgrading(now.status());
    if !is_upgrading {
        require_online(now)?;
    }
    let mut next = from.clone();
    let kind = match remainder {
        Remainder::Branch {
            name,
            tip,
            snapshots,
        } => {
            let is_new = add_missing(&mut next, snapshots)?.contains(tip);
            let found = now.branch(name.as_str());
            let name = match found {
                Some(found) if found == *tip || is_below(&next, found, *tip) && !is_upgrading => {
                    return Ok(Change::Refused(Refusal::AlreadyExists));
                }
                Some(found) if !is_upgrading && !is_below(&next, *tip, found) => {
                    other_name(name.as_str(), *tip)
                }
                _ => name.to_string(),
            };
            let found = now.branch(&name);
            if found == Some(*tip) {
                return Ok(Change::Refused(Refusal::AlreadyExists));
            }
            next.set_branch(&name, *tip)?;
            match found {
                _ if is_new => UpdateKind::NewCommit {
                    branch: name,
                    snapshot: *tip,
                },
                Some(previous) => UpdateKind::BranchReset { name, previous },
                None => UpdateKind::BranchCreated { name },
            }
        }
        Remainder::Tag {
            name,
            target,
            snapshots,
        } => {
            add_missing(&mut next, snapshots)?;
            let is_taken = now.tag(name.as_str()).is_some() || now.is_deleted_tag(name.as_str());
            let is_there = now.tag(name.as_str()) == Some(*target);
            let name = match is_taken {
                true => other_name(name.as_str(), *target),
                false => name.to_string(),
            };
            if is_there || now.tag(&name) == Some(*target) {
                return Ok(Change::Refused(Refusal::AlreadyExists));
            }
            next.create_tag(&name, *target)?;
            UpdateKind::TagCreated { name }
        }
        Remainder::DeletedTag { name, target } => {
            if now.is_deleted_tag(name.as_str()) {
                return Ok(Change::Refused(Refusal::AlreadyExists));
            }
            // Of a tag without a file, only the name is known.
            let previous = now.tag(name.as_str()).or(*target);
            let previous = previous.unwrap_or(SnapshotId::INITIAL);
            next.take_tag_name(name.as_str());
            let name = name.to_string();
            UpdateKind::TagDeleted { name, previous }
        }
        Remainder::Config(config) => {
            next.set_config(Some(config))?;
            UpdateKind::ConfigChanged
        }
    };
    Ok(Change::Made(Box::new(next), vec![kind]))
}

/// Adds those of some snapshots that are not there, and returns them.
fn add_missing(
    next: &mut RepoEdit,
    snapshots: &[crate::SnapshotInfo],
) -> Result<Vec<SnapshotId>, RefsError> {
    let mut added = Vec::new();
    for snapshot in snapshots {
        if !next.so_far().snapshots().contains(&snapshot.id) {
            add(next, snapshot, snapshot.parent_id, &[])?;
            added.push(snapshot.id);
        }
    }
    Ok(added)
}

/// Whether the history of a snapshot has another one.
fn is_below(edit: &RepoEdit, tip: SnapshotId, other: SnapshotId) -> bool {
    let mut history = edit.so_far().snapshots().ancestry(&tip);
    history.any(|it| it.id() == other)
}

/// The name under which a ref of version 1 is kept where version 2 has given its name to something else.
pub(crate) fn other_name(name: &str, snapshot: SnapshotId) -> String {
    format!("{name}-v1-{snapshot}")
}
