//! Upgrading as edits: taking over what a version-1 program wrote meanwhile, and ending the upgrade.

use icefield_format::{RepoEdit, RepoInfo, RepoStatus, SnapshotId, UpdateKind};

use super::content::{Change, add, is_upgrading, require_online};
use crate::{RefsError, Refusal, Remainder, Remainders};

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

/// Takes over what files of version 1 say, if `repo` has the state that they were compared with: another upgrade may have
/// carried over something newer by now, or version 2 may have gone on. Nothing of version 2 is given up: what does not fit
/// gets another name.
pub(super) fn carry_over(
    from: &mut RepoEdit,
    remainders: &Remainders,
) -> Result<Change, RefsError> {
    let now = from.so_far();
    if now.log().newest_at() != remainders.newest_at {
        return Ok(Change::Refused(Refusal::AlreadyExists));
    }
    if !is_upgrading(now.status()) {
        require_online(now)?;
    }
    let mut next = from.clone();
    let mut kinds = Vec::new();
    for remainder in &remainders.remains {
        kinds.extend(carry_over_one(&mut next, remainder)?);
    }
    if !kinds.is_empty() {
        *from = next;
    }
    Ok(Change::Made(kinds))
}

/// Returns the entry of the operations log; none if there is nothing to do.
fn carry_over_one(
    next: &mut RepoEdit,
    remainder: &Remainder,
) -> Result<Option<UpdateKind>, RefsError> {
    let is_upgrading = is_upgrading(next.so_far().status());
    let kind = match remainder {
        Remainder::Branch {
            name,
            tip,
            snapshots,
        } => {
            let is_new = add_missing(next, snapshots)?.contains(tip);
            let found = next.so_far().branch(name.as_str());
            let name = match found {
                Some(found) if found == *tip || is_below(next, found, *tip) && !is_upgrading => {
                    return Ok(None);
                }
                Some(found) if !is_upgrading && !is_below(next, *tip, found) => {
                    other_name(name.as_str(), *tip)
                }
                _ => name.to_string(),
            };
            let found = next.so_far().branch(&name);
            if found == Some(*tip) {
                return Ok(None);
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
            add_missing(next, snapshots)?;
            let is_taken = next.so_far().tag(name.as_str()).is_some()
                || next.so_far().is_deleted_tag(name.as_str());
            let is_there = next.so_far().tag(name.as_str()) == Some(*target);
            let name = match is_taken {
                true => other_name(name.as_str(), *target),
                false => name.to_string(),
            };
            if is_there || next.so_far().tag(&name) == Some(*target) {
                return Ok(None);
            }
            next.create_tag(&name, *target)?;
            UpdateKind::TagCreated { name }
        }
        Remainder::DeletedTag { name, target } => {
            if next.so_far().is_deleted_tag(name.as_str()) {
                return Ok(None);
            }
            // Of a tag without a file, only the name is known.
            let previous = next.so_far().tag(name.as_str()).or(*target);
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
    Ok(Some(kind))
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
