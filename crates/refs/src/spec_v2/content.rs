//! Queries of the content of `repo`, and the parts of changes that several edits share.

use std::fmt::Write as _;

use icefield_format::{
    Availability, NewSnapshotInfo, RepoEdit, RepoInfo, RepoStatus, RepositoryConfig, SnapshotId,
    UpdateKind,
};
use icefield_storage::Version;

use crate::{RefsError, Refusal, SnapshotInfo, TagName, TagState, Tip, micros_of_time};

/// The result of applying an edit to one content.
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
    require_ended(info)?;
    let status = info.status();
    match status.availability {
        Availability::Online => Ok(()),
        availability => Err(RefsError::NotOnline {
            availability,
            reason: status.reason.clone(),
        }),
    }
}

/// Returns what is known of a tag name.
pub(crate) fn tag_state(info: &RepoInfo, name: &TagName) -> TagState {
    match info.tag(name.as_str()) {
        Some(id) => TagState::Present(id),
        None if info.is_deleted_tag(name.as_str()) => TagState::Deleted,
        None => TagState::Absent,
    }
}

/// With this begins the reason in the status of a repository whose upgrade has begun and not ended. Programs know the state by
/// it: what follows is for people.
const MARKER: &str = "icefield-upgrade-v1-v2:";

/// Returns the status of a repository while it is upgraded: read-only, so that version 2 does not go on beside a
/// version-1 program whose refs are still there.
pub(crate) fn upgrading(since: u64) -> RepoStatus {
    RepoStatus {
        availability: Availability::ReadOnly,
        set_at: since,
        reason: Some(format!(
            "{MARKER} its upgrade from spec version 1 has not ended: run `icefield upgrade` again"
        )),
    }
}

/// Returns whether a status is that of a repository whose upgrade has not ended.
pub(crate) fn is_upgrading(status: &RepoStatus) -> bool {
    let reason = status.reason.as_deref().unwrap_or_default();
    status.availability == Availability::ReadOnly && reason.starts_with(MARKER)
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
