//! The changes that an edit makes to the content of `repo`, and the rules that forbid one.

use icefield_format::{
    DecodeLimits, FeatureFlag, RepoEdit, RepoEditError, RepoInfo, RepoStatus, UpdateKind,
};
use icefield_storage::{PlantedBug, planted};

use super::carry;
use super::content::{Change, add, config_state, require_ended, require_online, tag_state};
use super::release::release as take_out;
use crate::{BranchName, Edit, RefsError, Refusal, TagState, Tip, micros_of_time};

/// Applies an edit to a content, at a time in microseconds since 1970.
///
/// # Errors
/// The content is as it was. What forbids the edit whatever the refs say: [`RefsError::NotOnline`], [`RefsError::FeatureDisabled`],
/// [`RefsError::MainIsPermanent`], [`RefsError::SnapshotNotFound`], [`RefsError::NoAmendOfFirst`],
/// [`RefsError::OnlySpecV1`].
pub(super) fn make(edit: &Edit, content: &mut RepoEdit, at: u64) -> Result<Change, RefsError> {
    let now = content.so_far();
    match edit {
        Edit::CarryOver(_) | Edit::EndUpgrade => {}
        Edit::SetStatus { .. } => require_ended(now)?,
        _ if planted(PlantedBug::StatusIgnored) => {}
        _ => require_online(now)?,
    }
    match edit {
        Edit::Commit { .. } | Edit::Amend { .. } | Edit::Flush { .. } => add_to(content, edit),
        Edit::CarryOver(remainders) => carry::carry_over(content, remainders),
        _ => {
            let mut next = content.clone();
            let change = make_on_copy(edit, content.so_far(), &mut next, at)?;
            if matches!(&change, Change::Made(kinds) if !kinds.is_empty()) {
                *content = next;
            }
            Ok(change)
        }
    }
}

/// Applies an edit that adds a snapshot, without a copy of the content: a write may have many of them. Nothing fails once the
/// snapshot is added.
fn add_to(next: &mut RepoEdit, edit: &Edit) -> Result<Change, RefsError> {
    let now = next.so_far();
    let kind = match edit {
        Edit::Commit {
            name,
            snapshot,
            moves_nodes,
            expected,
        } => {
            if let Some(refusal) = moved(now, name, expected) {
                return Ok(Change::Refused(refusal));
            }
            require_moves(now, *moves_nodes)?;
            let parent = Some(expected.snapshot);
            add(next, snapshot, parent, &snapshot.pruned_logs)?;
            next.set_branch(name.as_str(), snapshot.id)?;
            UpdateKind::NewCommit {
                branch: name.as_str().to_owned(),
                snapshot: snapshot.id,
            }
        }
        Edit::Amend {
            name,
            snapshot,
            moves_nodes,
            expected,
        } => {
            if let Some(refusal) = moved(now, name, expected) {
                return Ok(Change::Refused(refusal));
            }
            require_moves(now, *moves_nodes)?;
            let replaced = now.snapshots().get(&expected.snapshot);
            let replaced = replaced.ok_or(RefsError::SnapshotNotFound(expected.snapshot))?;
            let Some(parent) = replaced.parent_id() else {
                return Err(RefsError::NoAmendOfFirst(expected.snapshot));
            };
            let parent = match planted(PlantedBug::AmendIsChild) {
                true => expected.snapshot,
                false => parent,
            };
            let pruned: Vec<_> = replaced.pruned_ancestor_tx_logs().collect();
            add(next, snapshot, Some(parent), &pruned)?;
            next.set_branch(name.as_str(), snapshot.id)?;
            UpdateKind::CommitAmended {
                branch: name.as_str().to_owned(),
                previous: expected.snapshot,
                snapshot: snapshot.id,
            }
        }
        Edit::Flush { snapshot } => {
            add(next, snapshot, snapshot.parent_id, &[])?;
            UpdateKind::NewDetachedSnapshot {
                snapshot: snapshot.id,
            }
        }
        _ => unreachable!("BUG: the edit adds no snapshot"),
    };
    Ok(Change::Made(vec![kind]))
}

fn make_on_copy(
    edit: &Edit,
    now: &RepoInfo,
    next: &mut RepoEdit,
    at: u64,
) -> Result<Change, RefsError> {
    let kind = match edit {
        Edit::CreateBranch { name, target } => {
            if now.branch(name.as_str()).is_some() {
                return Ok(Change::Refused(Refusal::AlreadyExists));
            }
            next.set_branch(name.as_str(), *target)?;
            let name = name.as_str().to_owned();
            UpdateKind::BranchCreated { name }
        }
        Edit::Reset {
            name,
            target,
            expected,
        } => {
            if let Some(refusal) = moved(now, name, expected) {
                return Ok(Change::Refused(refusal));
            }
            next.set_branch(name.as_str(), *target)?;
            UpdateKind::BranchReset {
                name: name.as_str().to_owned(),
                previous: expected.snapshot,
            }
        }
        Edit::DeleteBranch { name, .. } if name.is_main() => {
            return Err(RefsError::MainIsPermanent);
        }
        Edit::DeleteBranch { name, expected } => {
            if let Some(refusal) = moved(now, name, expected) {
                return Ok(Change::Refused(refusal));
            }
            next.delete_branch(name.as_str())?;
            UpdateKind::BranchDeleted {
                name: name.as_str().to_owned(),
                previous: expected.snapshot,
            }
        }
        Edit::CreateTag { name, target } => {
            require(now, FeatureFlag::CREATE_TAG)?;
            match tag_state(now, name) {
                TagState::Present(_) => return Ok(Change::Refused(Refusal::AlreadyExists)),
                TagState::Deleted => return Ok(Change::Refused(Refusal::NameTaken)),
                TagState::Absent => {}
            }
            next.create_tag(name.as_str(), *target)?;
            let name = name.as_str().to_owned();
            UpdateKind::TagCreated { name }
        }
        Edit::DeleteTag { name } => {
            require(now, FeatureFlag::DELETE_TAG)?;
            let Some(previous) = now.tag(name.as_str()) else {
                return Ok(Change::Refused(Refusal::NotFound));
            };
            next.delete_tag(name.as_str())?;
            let name = name.as_str().to_owned();
            UpdateKind::TagDeleted { name, previous }
        }
        Edit::SetConfig { config, expected } => {
            if config_state(now) != *expected {
                return Ok(Change::Refused(Refusal::AlreadyExists));
            }
            next.set_config(Some(config))?;
            UpdateKind::ConfigChanged
        }
        Edit::SetMetadata { metadata } => {
            next.set_metadata(metadata)?;
            UpdateKind::MetadataChanged
        }
        Edit::UpdateMetadata { entries } => {
            let metadata = now.metadata(DecodeLimits::default().max_metadata);
            let mut metadata = metadata.map_err(|source| RefsError::InvalidRepo { source })?;
            metadata.extend(entries.clone());
            next.set_metadata(&metadata)?;
            UpdateKind::MetadataChanged
        }
        Edit::SetStatus {
            availability,
            reason,
            set_at,
        } => {
            let status = RepoStatus {
                availability: *availability,
                set_at: set_at.map_or(at, micros_of_time),
                reason: reason.clone(),
            };
            next.set_status(status.clone());
            UpdateKind::StatusChanged { status }
        }
        Edit::SetFlag { flag, value } => {
            next.set_flag(*flag, *value);
            UpdateKind::FeatureFlagChanged {
                id: flag.0,
                new_value: value.unwrap_or_default(),
                is_set: value.is_some(),
            }
        }
        Edit::Expire {
            release,
            branches,
            tags,
        } => {
            for (name, tip) in branches {
                if name.is_main() {
                    return Err(RefsError::MainIsPermanent);
                }
                if now.branch(name.as_str()) == Some(*tip) {
                    next.delete_branch(name.as_str())?;
                }
            }
            if !tags.is_empty() {
                require(now, FeatureFlag::DELETE_TAG)?;
            }
            for name in tags.iter().filter(|name| now.tag(name.as_str()).is_some()) {
                next.delete_tag(name.as_str())?;
            }
            take_out(next, release)?;
            UpdateKind::Expired
        }
        Edit::Collect { drop } => {
            take_out(next, drop)?;
            UpdateKind::GarbageCollected
        }
        Edit::Receive(received) => {
            return Ok(match super::receive::receive(next, received)? {
                Ok(kinds) => Change::Made(kinds),
                Err(refusal) => Change::Refused(refusal),
            });
        }
        Edit::EndUpgrade => match carry::end(now, next, at) {
            Ok(kind) => kind,
            Err(refusal) => return Ok(Change::Refused(refusal)),
        },
        Edit::Commit { .. } | Edit::Amend { .. } | Edit::Flush { .. } | Edit::CarryOver(_) => {
            unreachable!("BUG: the edit is made in place")
        }
        Edit::Reparent { .. } => return Err(RefsError::OnlySpecV1 { edit: "reparent" }),
    };
    Ok(Change::Made(vec![kind]))
}

/// Why a branch is not where an edit expects it; none if it is.
fn moved(info: &RepoInfo, name: &BranchName, expected: &Tip) -> Option<Refusal> {
    match info.branch(name.as_str()) {
        Some(_) if planted(PlantedBug::ExpectationIgnored) => None,
        Some(found) if found == expected.snapshot => None,
        Some(found) => Some(Refusal::BranchMoved { found }),
        None => Some(Refusal::BranchGone),
    }
}

fn require(info: &RepoInfo, flag: FeatureFlag) -> Result<(), RefsError> {
    match info.flags().allows(flag) {
        true => Ok(()),
        false => Err(RefsError::FeatureDisabled { flag }),
    }
}

fn require_moves(info: &RepoInfo, moves_nodes: bool) -> Result<(), RefsError> {
    match moves_nodes {
        true => require(info, FeatureFlag::MOVE_NODE),
        false => Ok(()),
    }
}

impl From<RepoEditError> for RefsError {
    fn from(error: RepoEditError) -> Self {
        match error {
            RepoEditError::NoSnapshot(id) => Self::SnapshotNotFound(id),
            source => Self::RepoEdit { source },
        }
    }
}
