//! Opening and creating by location.

use icefield_core::Repository;
#[cfg(feature = "cache")]
use icefield_storage_cache::DiskCache;

use crate::{Error, Location, Schemes};

/// Opens the repository at a location, with the schemes and settings that come with this crate.
///
/// Opening costs one round of requests. It writes nothing, so it works on stores and directories that are read-only.
///
/// To choose settings, or to open a store of your own, use [`Repository::builder`]; to open another set of schemes, use
/// [`Schemes::storage`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), icefield::Error> {
/// let error = icefield::open("/no/such/directory").await.unwrap_err();
/// assert_eq!(error.kind(), icefield::ErrorKind::NotFound);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// - [`NotFound`](crate::ErrorKind::NotFound): the location holds no repository. [`create`] makes one.
/// - [`Invalid`](crate::ErrorKind::Invalid): the text is no location, or its scheme needs a feature that this build
///   lacks. The message names the feature.
/// - [`Unsupported`](crate::ErrorKind::Unsupported): the repository has a version of the format that this crate does
///   not read.
/// - [`Unavailable`](crate::ErrorKind::Unavailable) and [`Io`](crate::ErrorKind::Io): the store did not answer, or
///   refused the credentials.
pub async fn open(location: &str) -> Result<Repository, Error> {
    let storage = Schemes::standard()
        .storage(&Location::parse(location)?)
        .await?;
    Ok(Repository::open(storage).await?)
}

/// Opens the repository at a location with a cache in front of its store: what was read once, by any process that names the
/// same directory, need not come over the network again. Local repositories need none, and are opened without.
///
/// The second argument of [`DiskCache::open`] is the largest number of bytes that the cache keeps.
///
/// ```no_run
/// use icefield::DiskCache;
///
/// # async fn example() -> Result<(), icefield::Error> {
/// let cache = DiskCache::open("/var/cache/ocean", 20 << 30)?;
/// let repository = icefield::open_cached("s3://bucket/ocean", &cache).await?;
/// # let _ = repository;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`open`].
#[cfg(feature = "cache")]
pub async fn open_cached(location: &str, cache: &DiskCache) -> Result<Repository, Error> {
    let storage = Schemes::standard()
        .storage(&Location::parse(location)?)
        .await?;
    Ok(Repository::open(cache.over(storage)).await?)
}

/// Creates an empty repository at a location, with the branch `main` at the initial snapshot.
///
/// A path need not exist: the first write makes the directory and those above it. Of several processes that create a
/// repository at one location at the same time, one succeeds.
///
/// ```
/// use icefield::{BranchName, NodePath};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), icefield::Error> {
/// let repository = icefield::create("memory:").await?;
/// let session = repository.read_session(BranchName::main()).await?;
/// assert!(session.nodes(&NodePath::root())?.is_empty(), "a new repository has no nodes");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// - [`AlreadyExists`](crate::ErrorKind::AlreadyExists): the location holds a repository or other objects. Choose an
///   empty place, or call [`open_or_create`].
/// - [`Invalid`](crate::ErrorKind::Invalid): the text is no location.
/// - [`ReadOnly`](crate::ErrorKind::ReadOnly) and [`Io`](crate::ErrorKind::Io): the store takes no writes, or refused
///   the credentials.
pub async fn create(location: &str) -> Result<Repository, Error> {
    let storage = Schemes::standard()
        .storage(&Location::parse(location)?)
        .await?;
    Ok(Repository::create(storage).await?)
}

/// Opens the repository at a location, or creates it if there is none. Any number of processes may call this for one
/// location at the same time: one of them creates the repository, and all of them open it.
///
/// # Errors
/// Those of [`open`] and [`create`], except `NotFound` for a location that is empty and `AlreadyExists` for a
/// repository.
pub async fn open_or_create(location: &str) -> Result<Repository, Error> {
    let storage = Schemes::standard()
        .storage(&Location::parse(location)?)
        .await?;
    Ok(Repository::open_or_create(storage).await?)
}
