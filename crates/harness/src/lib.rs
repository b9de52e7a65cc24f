//! What the programs that tests drive from outside have in common.
//!
//! - `icefield-probe dump LOCATION` prints everything a repository holds as one JSON document;
//!   `icefield-probe write LOCATION SPEC` applies a list of operations.
//! - `icefield-worker` commits to a branch until it is told to stop, or is killed.

pub mod announce;
pub mod dump;
pub mod script;
pub mod work;

use std::path::Path;
use std::sync::Arc;

use icefield_core::Repository;
use icefield_storage::Storage;
use icefield_storage_local::LocalStorage;

/// Opens the store of a local directory. With `ICEFIELD_ANNOUNCE` in the environment, it says on standard
/// output what it does.
///
/// # Errors
/// What the backend says.
pub fn storage(location: &Path) -> anyhow::Result<Arc<dyn Storage>> {
    let storage = Arc::new(LocalStorage::open(location)?);
    Ok(match std::env::var_os("ICEFIELD_ANNOUNCE") {
        Some(_) => Arc::new(announce::Announce::new(storage)),
        None => storage,
    })
}

/// Opens the repository in a local directory.
///
/// # Errors
/// What the engine says.
pub async fn open(location: &Path) -> anyhow::Result<Repository> {
    Ok(Repository::open(storage(location)?).await?)
}
