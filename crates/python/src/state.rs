//! The state of a repository of spec version 2 as a whole: status, feature flags, metadata, and the operations log.

use std::collections::BTreeMap;

use futures::{Stream, StreamExt, TryStreamExt, stream};
use icefield::format::{Availability, FeatureFlag, RepoStatus, SpecVersion, Update, UpdateKind};
use icefield::{EditOutcome, RefsError, Repository, SnapshotId};
use serde_json::{Map, Value, json};

use crate::convert;
use crate::errors::Failure;

/// The availability, the time in microseconds since 1970, and the reason.
pub(crate) type StatusRow = (u8, u64, Option<String>);

/// The number, the name, the default, and the set value of a feature flag.
pub(crate) type FlagRow = (u16, &'static str, bool, Option<bool>);

/// The kind, its fields (JSON object), the time in microseconds since 1970, and the name of the backup.
pub(crate) type UpdateRow = (&'static str, String, u64, Option<String>);

fn landed(outcome: EditOutcome, what: &str) -> Result<(), Failure> {
    match outcome {
        EditOutcome::Done(_) => Ok(()),
        outcome => Err(Failure::of_edit(outcome, what)),
    }
}

/// Returns the number of an availability. One without a name in Python forbids writes.
fn availability(status: &RepoStatus) -> u8 {
    match status.availability {
        Availability::Online => 0,
        _ => 1,
    }
}

pub(crate) async fn status(repository: &Repository) -> Result<StatusRow, Failure> {
    let status = repository.status().await?;
    Ok((availability(&status), status.set_at, status.reason))
}

pub(crate) async fn set_status(
    repository: &Repository,
    online: bool,
    set_at: i64,
    reason: Option<String>,
) -> Result<(), Failure> {
    let availability = match online {
        true => Availability::Online,
        false => Availability::ReadOnly,
    };
    let set_at = Some(convert::time(set_at));
    let outcome = repository.set_status(availability, reason, set_at).await?;
    landed(outcome, "the status of the repository")
}

/// Returns the feature flags that have names.
pub(crate) async fn flags(repository: &Repository) -> Result<Vec<FlagRow>, Failure> {
    let flags = repository.feature_flags().await?;
    let named = FeatureFlag::NAMED.iter();
    // All named features are on by default.
    let rows = named.map(|(flag, name)| (flag.0, *name, true, flags.get(*flag)));
    Ok(rows.collect())
}

pub(crate) async fn set_flag(
    repository: &Repository,
    name: &str,
    value: Option<bool>,
) -> Result<(), Failure> {
    if repository.spec_version() == SpecVersion::V1 {
        // Version 1 has no feature flags: this call fails for every name.
        repository.feature_flags().await?;
    }
    let flag = FeatureFlag::named(name).ok_or_else(|| {
        let names: Vec<_> = FeatureFlag::NAMED.iter().map(|(_, name)| *name).collect();
        let names = names.join(", ");
        let message = format!("there is no feature flag {name:?}: use one of {names}");
        Failure::new("invalid-feature-flag", message)
    })?;
    let outcome = repository.set_feature_flag(flag, value).await?;
    landed(outcome, &format!("feature flag {name:?}"))
}

pub(crate) async fn metadata(repository: &Repository) -> Result<String, Failure> {
    let metadata: Map<_, _> = repository.metadata().await?.into_iter().collect();
    Ok(Value::Object(metadata).to_string())
}

fn entries(document: &str) -> Result<BTreeMap<String, Value>, Failure> {
    serde_json::from_str(document).map_err(|error| Failure::of("invalid-argument", &error))
}

pub(crate) async fn set_metadata(repository: &Repository, document: &str) -> Result<(), Failure> {
    let outcome = repository.set_metadata(entries(document)?).await?;
    landed(outcome, "the metadata of the repository")
}

/// Updates the metadata of the repository, and returns all of it.
pub(crate) async fn update_metadata(
    repository: &Repository,
    document: &str,
) -> Result<String, Failure> {
    let outcome = repository.update_metadata(entries(document)?).await?;
    landed(outcome, "the metadata of the repository")?;
    metadata(repository).await
}

/// Returns the operations log, newest entry first. It ends at a page that is lost, as in the reference implementation.
pub(crate) fn operations(
    repository: Repository,
) -> impl Stream<Item = Result<UpdateRow, Failure>> + Send + 'static {
    let log = async move {
        let log = repository.operations().await?;
        Ok::<_, Failure>(log.filter_map(|update| async move { row(update) }).boxed())
    };
    stream::once(log).try_flatten()
}

fn row(update: Result<Update, RefsError>) -> Option<Result<UpdateRow, Failure>> {
    match update {
        Ok(update) => Some(kind(&update.kind).map(|(kind, fields)| {
            let fields = fields.to_string();
            (kind, fields, update.updated_at, update.backup)
        })),
        Err(error) if error.is_end_of_log() => {
            tracing::warn!("{error}");
            None
        }
        Err(error) => Some(Err(error.into())),
    }
}

/// Returns the name that Python has for a kind of update, and its fields.
fn kind(kind: &UpdateKind) -> Result<(&'static str, Value), Failure> {
    let text = SnapshotId::to_string;
    Ok(match kind {
        UpdateKind::RepoInitialized => ("RepoInitialized", json!({})),
        UpdateKind::RepoMigrated {
            from_version,
            to_version,
        } => (
            "RepoMigrated",
            json!({ "from_version": from_version, "to_version": to_version }),
        ),
        UpdateKind::ConfigChanged => ("ConfigChanged", json!({})),
        UpdateKind::MetadataChanged => ("MetadataChanged", json!({})),
        UpdateKind::TagCreated { name } => ("TagCreated", json!({ "name": name })),
        UpdateKind::TagDeleted { name, previous } => (
            "TagDeleted",
            json!({ "name": name, "previous_snap_id": text(previous) }),
        ),
        UpdateKind::BranchCreated { name } => ("BranchCreated", json!({ "name": name })),
        UpdateKind::BranchDeleted { name, previous } => (
            "BranchDeleted",
            json!({ "name": name, "previous_snap_id": text(previous) }),
        ),
        UpdateKind::BranchReset { name, previous } => (
            "BranchReset",
            json!({ "name": name, "previous_snap_id": text(previous) }),
        ),
        UpdateKind::NewCommit { branch, snapshot } => (
            "NewCommit",
            json!({ "branch": branch, "new_snap_id": text(snapshot) }),
        ),
        UpdateKind::CommitAmended {
            branch,
            previous,
            snapshot,
        } => (
            "CommitAmended",
            json!({
                "branch": branch,
                "previous_snap_id": text(previous),
                "new_snap_id": text(snapshot),
            }),
        ),
        UpdateKind::NewDetachedSnapshot { snapshot } => (
            "NewDetachedSnapshot",
            json!({ "new_snap_id": text(snapshot) }),
        ),
        UpdateKind::GarbageCollected => ("GCRan", json!({})),
        UpdateKind::Expired => ("ExpirationRan", json!({})),
        UpdateKind::FeatureFlagChanged {
            id,
            new_value,
            is_set,
        } => (
            "FeatureFlagChanged",
            json!({ "id": id, "new_value": is_set.then_some(new_value) }),
        ),
        UpdateKind::StatusChanged { status } => (
            "RepoStatusChanged",
            json!({
                "availability": availability(status),
                "set_at": status.set_at,
                "reason": status.reason,
            }),
        ),
        unknown => {
            let message = format!(
                "the operations log has an entry that only later versions know: {unknown:?}"
            );
            return Err(Failure::new("unsupported-operation-for-version", message));
        }
    })
}
