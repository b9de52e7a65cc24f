//! The object `repo`, the one mutable object of spec version 2, as JSON.

use icefield::format::{
    Availability, DecodeLimits, FormatFile, RepoInfo, SnapshotInfo, SpecVersion, Update,
    UpdateKind, layout,
};
use icefield::storage::{Key, StorageError, StorageExt};
use icefield::{RefsError, Repository};
use serde_json::{Map, Value, json};

use super::header::{header, time};
use crate::errors::Failure;

pub(crate) async fn inspect_repo_info(repository: &Repository) -> Result<String, Failure> {
    if repository.spec_version() == SpecVersion::V1 {
        let edit = "the repository info object";
        return Err(RefsError::OnlySpecV2 { edit }.into());
    }
    let header = header(repository, layout::REPO, FormatFile::RepoInfo).await?;
    let key = Key::parse(layout::REPO).map_err(StorageError::from)?;
    let limits = DecodeLimits::up_to(SpecVersion::V2);
    let read = repository.storage().read_at_most(&key, limits.max_file());
    let (bytes, _) = read.await?;
    let info = RepoInfo::decode(&bytes, &limits)?;
    let refs =
        |name: &str, id: icefield::SnapshotId| (name.to_owned(), Value::from(id.to_string()));
    let branches: Map<_, _> = info.branches().map(|(name, id)| refs(name, id)).collect();
    let tags: Map<_, _> = info.tags().map(|(name, id)| refs(name, id)).collect();
    let metadata: Map<_, _> = info.metadata(limits.max_metadata)?.into_iter().collect();
    let snapshots = info.snapshots().snapshots();
    let snapshots = snapshots.map(|it| snapshot(it, limits.max_metadata));
    let updates = info.log().updates().map(update);
    let mut shown = json!({
        "spec_version": header["spec_version"],
        "header": header,
        "branches": branches,
        "tags": tags,
        "deleted_tags": info.deleted_tags().collect::<Vec<_>>(),
        "snapshots": snapshots.collect::<Result<Vec<_>, _>>()?,
        "metadata": metadata,
        "latest_updates": updates.collect::<Result<Vec<_>, _>>()?,
    });
    if let Some(name) = info.log().continues_in() {
        shown["repo_before_updates"] = name.into();
    }
    Ok(shown.to_string())
}

fn snapshot(info: SnapshotInfo<'_>, limit: u64) -> Result<Value, Failure> {
    let metadata: Map<_, _> = info.metadata(limit)?.into_iter().collect();
    let mut shown = json!({
        "id": info.id().to_string(),
        "flushed_at": time(info.flushed_at())?,
        "message": info.message(),
        "metadata": metadata,
    });
    if let Some(parent) = info.parent_id() {
        shown["parent_id"] = parent.to_string().into();
    }
    Ok(shown)
}

fn update(update: &Update) -> Result<Value, Failure> {
    let mut shown = json!({
        "update_type": kind(&update.kind)?,
        "updated_at": time(update.updated_at)?,
    });
    if let Some(name) = &update.backup {
        shown["backup_path"] = name.as_str().into();
    }
    Ok(shown)
}

fn kind(kind: &UpdateKind) -> Result<Value, Failure> {
    Ok(match kind {
        UpdateKind::RepoInitialized => json!({ "type": "RepoInitializedUpdate" }),
        UpdateKind::RepoMigrated {
            from_version,
            to_version,
        } => json!({
            "type": "RepoMigratedUpdate",
            "from_version": format!("{from_version}.0"),
            "to_version": format!("{to_version}.0"),
        }),
        UpdateKind::ConfigChanged => json!({ "type": "ConfigChangedUpdate" }),
        UpdateKind::MetadataChanged => json!({ "type": "MetadataChangedUpdate" }),
        UpdateKind::TagCreated { name } => json!({ "type": "TagCreatedUpdate", "name": name }),
        UpdateKind::TagDeleted { name, previous } => json!({
            "type": "TagDeletedUpdate",
            "name": name,
            "previous_snap_id": previous.to_string(),
        }),
        UpdateKind::BranchCreated { name } => {
            json!({ "type": "BranchCreatedUpdate", "name": name })
        }
        UpdateKind::BranchDeleted { name, previous } => json!({
            "type": "BranchDeletedUpdate",
            "name": name,
            "previous_snap_id": previous.to_string(),
        }),
        UpdateKind::BranchReset { name, previous } => json!({
            "type": "BranchResetUpdate",
            "name": name,
            "previous_snap_id": previous.to_string(),
        }),
        UpdateKind::NewCommit { branch, snapshot } => json!({
            "type": "NewCommitUpdate",
            "branch": branch,
            "new_snap_id": snapshot.to_string(),
        }),
        UpdateKind::CommitAmended {
            branch,
            previous,
            snapshot,
        } => json!({
            "type": "CommitAmendedUpdate",
            "branch": branch,
            "previous_snap_id": previous.to_string(),
            "new_snap_id": snapshot.to_string(),
        }),
        UpdateKind::NewDetachedSnapshot { snapshot } => json!({
            "type": "NewDetachedSnapshotUpdate",
            "new_snap_id": snapshot.to_string(),
        }),
        UpdateKind::GarbageCollected => json!({ "type": "GCRanUpdate" }),
        UpdateKind::Expired => json!({ "type": "ExpirationRanUpdate" }),
        UpdateKind::FeatureFlagChanged {
            id,
            new_value,
            is_set,
        } => json!({
            "type": "FeatureFlagChanged",
            "id": id,
            "new_value": is_set.then_some(new_value),
        }),
        UpdateKind::StatusChanged { status } => json!({
            "type": "RepoStatusChangedUpdate",
            "status": {
                "availability": match status.availability {
                    Availability::Online => "Online".to_owned(),
                    Availability::ReadOnly => "ReadOnly".to_owned(),
                    other => format!("{other:?}"),
                },
                "limited_availability_reason": status.reason,
                "set_at": time(status.set_at)?,
            },
        }),
        UpdateKind::Unknown { tag } => json!({ "type": "Unknown", "tag": tag }),
        other => json!({ "type": format!("{other:?}") }),
    })
}
