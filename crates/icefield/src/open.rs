//! Opening and creating by location.

use icefield_core::Repository;

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
