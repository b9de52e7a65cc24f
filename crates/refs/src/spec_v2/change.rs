//! What an edit changes of the content of `repo`, and whether it may.

use std::fmt::Write as _;

use icefield_format::{
    Availability, DecodeLimits, FeatureFlag, NewSnapshotInfo, RepoEdit, RepoEditError, RepoInfo,
    RepoStatus, RepositoryConfig, SnapshotId, UpdateKind,
};
use icefield_storage::Version;

use super::carry;
use super::release::release as take_out;
use crate::{BranchName, Edit, RefsError, Refusal, SnapshotInfo, TagState, Tip, micros_of_time};

/// What became of an edit against one content.
pub(super) enum Change {
    /// The content has the edit. Its entries in the operations log, oldest first; without any, nothing was to be done.
    Made(Vec<UpdateKind>),
    /// The content does not allow it, and is as it was.
    Refused(Refusal),
}

/// Returns where a branch stands. Its state is the snapshot that it points to: no request that was on its way can come late,
/// since it would expect another `repo`.
pub(super) fn branch_state(snapshot: SnapshotId) -> Tip {
    Tip {
        snapshot,
        version: Version::new(snapshot.to_string()),
        key: None,
    }
}

/// Returns the state of a stored configuration: its bytes.
pub(crate) fn config_state(info: &RepoInfo) -> Option<Version> {
    info.config_bytes().map(state_of_bytes)
}

/// Returns the state that a configuration has once it is stored.
pub(super) fn state_of_config(config: &RepositoryConfig) -> Result<Version, RefsError> {
    let bytes = config.encode_flexbuffers();
    let bytes = bytes.map_err(RefsError::config_in_repo)?;
    Ok(state_of_bytes(&bytes))
}

fn state_of_bytes(bytes: &[u8]) -> Version {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(digits, "{byte:02x}");
    }
    Version::new(digits)
}

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
        Edit::SetStatus { .. } => carry::require_ended(now)?,
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
            match super::object::tag(now, name) {
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
        Some(found) if found == expected.snapshot => None,
        Some(found) => Some(Refusal::BranchMoved { found }),
        None => Some(Refusal::BranchGone),
    }
}

pub(super) fn add(
    next: &mut RepoEdit,
    snapshot: &SnapshotInfo,
    parent: Option<SnapshotId>,
    pruned: &[SnapshotId],
) -> Result<(), RefsError> {
    next.add_snapshot(NewSnapshotInfo {
        id: snapshot.id,
        parent,
        flushed_at: micros_of_time(snapshot.written_at),
        message: &snapshot.message,
        metadata: &snapshot.metadata,
        pruned_ancestor_tx_logs: pruned,
    })?;
    Ok(())
}

/// Refuses writes to a repository that is not online.
///
/// # Errors
/// [`RefsError::NotOnline`].
pub(crate) fn require_online(info: &RepoInfo) -> Result<(), RefsError> {
    carry::require_ended(info)?;
    let status = info.status();
    match status.availability {
        Availability::Online => Ok(()),
        availability => Err(RefsError::NotOnline {
            availability,
            reason: status.reason.clone(),
        }),
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
