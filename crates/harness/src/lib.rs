//! Common parts of the programs that tests drive from outside.
//!
//! - `icefield-probe dump LOCATION` prints everything a repository holds as one JSON document;
//!   `icefield-probe write LOCATION SPEC` applies a list of operations.
//!   `icefield-probe tree DIRECTORY` reads and writes a plain Zarr tree, as lines on standard input say.
//! - `icefield-worker` commits to a branch until it is told to stop, or is killed.

pub mod announce;
pub mod dump;
pub mod script;
pub mod tree;
pub mod work;

use std::sync::Arc;

use icefield::{Location, Schemes};
use icefield_core::Repository;
use icefield_storage::Storage;

/// Opens the store at a location, as every program that uses the facade does: a directory, or a bucket whose
/// keys are in the environment. With `ICEFIELD_ANNOUNCE` in the environment, it says on standard output what it
/// does.
///
/// # Errors
/// What the backend says.
pub async fn storage(location: &Location) -> anyhow::Result<Arc<dyn Storage>> {
    let storage = Schemes::standard().storage(location).await?;
    Ok(match std::env::var_os("ICEFIELD_ANNOUNCE") {
        Some(_) => Arc::new(announce::Announce::new(storage)),
        None => storage,
    })
}

/// Opens the repository at a location.
///
/// # Errors
/// What the engine says.
pub async fn open(location: &Location) -> anyhow::Result<Repository> {
    Ok(Repository::open(storage(location).await?).await?)
}
