//! Opening and creating by location.

use icefield_core::Repository;
#[cfg(feature = "cache")]
use icefield_storage_cache::DiskCache;

use crate::{Error, Location, Schemes};

/// Opens the repository at a location, with the schemes and settings that come with this crate.
///
/// # Errors
/// [`NotFound`](crate::ErrorKind::NotFound) if there is none, [`Invalid`](crate::ErrorKind::Invalid) if the text is
/// no location.
pub async fn open(location: &str) -> Result<Repository, Error> {
    let storage = Schemes::standard()
        .storage(&Location::parse(location)?)
        .await?;
    Ok(Repository::open(storage).await?)
}

/// Opens the repository at a location with a cache in front of its store: what was read once, by any process that names the
/// same directory, need not come over the network again. Local repositories need none, and are opened without.
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

/// Creates a repository at a location.
///
/// # Errors
/// [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if anything is there, [`Invalid`](crate::ErrorKind::Invalid) if
/// the text is no location.
pub async fn create(location: &str) -> Result<Repository, Error> {
    let storage = Schemes::standard()
        .storage(&Location::parse(location)?)
        .await?;
    Ok(Repository::create(storage).await?)
}

/// Opens the repository at a location, or creates it if there is none; any number of processes may do so at the same time.
///
/// # Errors
/// As [`open`] and [`create`], but for what the other one does.
pub async fn open_or_create(location: &str) -> Result<Repository, Error> {
    let storage = Schemes::standard()
        .storage(&Location::parse(location)?)
        .await?;
    Ok(Repository::open_or_create(storage).await?)
}
