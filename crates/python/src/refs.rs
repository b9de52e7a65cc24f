//! Branches, tags and histories.

use futures::{StreamExt, TryStreamExt, stream};
use icefield::format::FeatureFlag;
use icefield::{
    BranchName, EditOutcome, FetchError, RefsError, Repository, RepositoryError, Revision,
    SnapshotId,
};

use crate::convert;
use crate::errors::Failure;
use crate::rows::{self, SnapshotRow};
use crate::session::Session;

/// Resolves a revision: `kind` is branch, tag or snapshot.
pub(crate) fn revision(kind: &str, name: &str, as_of: Option<i64>) -> Result<Revision, Failure> {
    let revision = convert::revision(kind, name)?;
    Ok(match as_of {
        None => revision,
        Some(micros) => revision.at(convert::time(micros)),
    })
}

/// Returns the failure of a snapshot that the caller named. A missing one is not found, and no damage.
pub(crate) fn of_snapshot(error: RepositoryError, id: SnapshotId) -> Failure {
    match error {
        RepositoryError::Fetch(FetchError::Missing { .. } | FetchError::NotListed { .. }) => {
            RefsError::SnapshotNotFound(id).into()
        }
        error => error.into(),
    }
}

pub(crate) async fn list_branches(repository: &Repository) -> Result<Vec<String>, Failure> {
    let refs = repository.refs().await?;
    Ok(refs.branches.keys().map(ToString::to_string).collect())
}

pub(crate) async fn list_tags(repository: &Repository) -> Result<Vec<String>, Failure> {
    let refs = repository.refs().await?;
    Ok(refs.tags.keys().map(ToString::to_string).collect())
}

pub(crate) async fn lookup_branch(repository: &Repository, name: &str) -> Result<String, Failure> {
    let name = convert::branch(name)?;
    let tip = repository.ledger().resolve_branch(&name).await?;
    Ok(tip.snapshot.to_string())
}

pub(crate) async fn lookup_tag(repository: &Repository, name: &str) -> Result<String, Failure> {
    let name = convert::tag(name)?;
    let id = repository.ledger().resolve_tag(&name).await?;
    Ok(id.to_string())
}

/// Returns the failure of an edit of a branch or a tag that did not land.
fn landed(outcome: EditOutcome, kind: &str, name: &str) -> Result<(), Failure> {
    match outcome {
        EditOutcome::Done(_) => Ok(()),
        outcome => Err(Failure::of_edit(outcome, &format!("{kind} {name:?}"))),
    }
}

pub(crate) async fn create_branch(
    repository: &Repository,
    name: &str,
    target: &str,
) -> Result<(), Failure> {
    let target = convert::snapshot_id(target)?;
    landed(
        repository.create_branch(name, target).await?,
        "branch",
        name,
    )
}

pub(crate) async fn create_tag(
    repository: &Repository,
    name: &str,
    target: &str,
) -> Result<(), Failure> {
    let target = convert::snapshot_id(target)?;
    landed(repository.create_tag(name, target).await?, "tag", name)
}

pub(crate) async fn reset_branch(
    repository: &Repository,
    name: &str,
    target: &str,
    expected: Option<&str>,
) -> Result<(), Failure> {
    let branch: BranchName = convert::branch(name)?;
    let target = convert::snapshot_id(target)?;
    let expected = expected.map(convert::snapshot_id).transpose()?;
    let outcome = repository.reset_branch(&branch, target, expected).await?;
    let landed = landed(outcome, "branch", name);
    landed.map_err(|failure| match expected {
        Some(id) => failure.with("expected_parent", id.to_string()),
        None => failure,
    })
}

pub(crate) async fn delete_branch(repository: &Repository, name: &str) -> Result<(), Failure> {
    let branch = convert::branch(name)?;
    landed(repository.delete_branch(&branch).await?, "branch", name)
}

pub(crate) async fn delete_tag(repository: &Repository, name: &str) -> Result<(), Failure> {
    let tag = convert::tag(name)?;
    landed(repository.delete_tag(&tag).await?, "tag", name)
}

/// Opens a session that only moves nodes. It fails for every reason for which its commit would fail.
pub(crate) async fn rearrange_session(
    repository: Repository,
    branch: BranchName,
) -> Result<Session, Failure> {
    let session = repository.rearrange_session(branch).await?;
    let flag = FeatureFlag::MOVE_NODE;
    match repository.feature_flags().await?.allows(flag) {
        true => Ok(Session::new(repository, session)),
        false => Err(RefsError::FeatureDisabled { flag }.into()),
    }
}

/// Walks a history, newest first.
pub(crate) fn ancestry(
    repository: Repository,
    revision: Revision,
) -> impl futures::Stream<Item = Result<SnapshotRow, Failure>> + Send + 'static {
    let walk = async move {
        let start = repository.resolve(&revision).await?;
        let history = repository.ancestry(start).map_err(Failure::from);
        Ok::<_, Failure>(history.map_ok(rows::snapshot).boxed())
    };
    stream::once(walk).try_flatten()
}

pub(crate) async fn lookup_snapshot(
    repository: &Repository,
    id: &str,
) -> Result<SnapshotRow, Failure> {
    let id = convert::snapshot_id(id)?;
    let info = repository.snapshot_info(id).await;
    Ok(rows::snapshot(
        info.map_err(|error| of_snapshot(error, id))?,
    ))
}

/// The id, the size in bytes, and the number of chunk refs.
pub(crate) async fn list_manifest_files(
    repository: &Repository,
    id: &str,
) -> Result<Vec<(String, u64, u32)>, Failure> {
    let id = convert::snapshot_id(id)?;
    let snapshot = repository.snapshot(id).await;
    let snapshot = snapshot.map_err(|error| of_snapshot(error, id))?;
    let files = snapshot.manifest_files();
    Ok(files
        .map(|file| (file.id.to_string(), file.size_bytes, file.num_chunk_refs))
        .collect())
}
