//! Opening what the arguments name.

use std::sync::Arc;

use icefield::storage::Storage;
use icefield::storage::wrap::TracingStorage;
use icefield::{
    ConnectLocal, Fsync, Location, Repository, RevisionSpec, Schemes, Session, SnapshotId,
};

use crate::args::{Args, At, FsyncChoice};
use crate::failure::Failure;

/// Whether a command writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Opens a store, watched for `-v`.
pub(crate) async fn storage(
    args: &Args,
    location: &str,
    access: Access,
) -> Result<Arc<dyn Storage>, Failure> {
    let local = ConnectLocal {
        fsync: match args.fsync {
            FsyncChoice::None => Fsync::None,
            FsyncChoice::Commit => Fsync::Commit,
            FsyncChoice::Each => Fsync::Each,
        },
        read_only: access == Access::Read,
    };
    let location = Location::parse(location)?;
    let storage = Schemes::standard()
        .with("file", Arc::new(local))
        .storage(&location)
        .await?;
    Ok(Arc::new(TracingStorage::new(storage)))
}

/// Opens a repository.
pub(crate) async fn repository(
    args: &Args,
    location: &str,
    access: Access,
) -> Result<Repository, Failure> {
    Ok(Repository::open(storage(args, location, access).await?).await?)
}

/// Finds the snapshot that a text means.
pub(crate) async fn snapshot(repository: &Repository, text: &str) -> Result<SnapshotId, Failure> {
    Ok(RevisionSpec::parse(text)?.resolve(repository).await?)
}

/// Opens a repository and reads one version of it.
pub(crate) async fn version(args: &Args, at: &At) -> Result<(Repository, Session), Failure> {
    let repository = repository(args, &at.location, Access::Read).await?;
    let id = snapshot(&repository, &at.reference).await?;
    let session = repository.read_session(id).await?;
    Ok((repository, session))
}
