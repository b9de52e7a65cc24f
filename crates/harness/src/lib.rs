//! What the programs that tests drive from outside have in common.
//!
//! - `icefield-probe dump LOCATION` prints everything a repository holds as one JSON document;
//!   `icefield-probe write LOCATION SPEC` applies a list of operations.
//! - `icefield-worker` commits to a branch until it is told to stop, or is killed.

pub mod dump;
pub mod script;
pub mod work;

use std::path::Path;
use std::sync::Arc;

use icefield_core::Repository;
use icefield_storage::Storage;
use icefield_storage_local::LocalStorage;

/// Opens the store of a local directory.
///
/// # Errors
/// What the backend says.
pub fn storage(location: &Path) -> anyhow::Result<Arc<dyn Storage>> {
    Ok(Arc::new(LocalStorage::open(location)?))
}

/// Opens the repository in a local directory.
///
/// # Errors
/// What the engine says.
pub async fn open(location: &Path) -> anyhow::Result<Repository> {
    Ok(Repository::open(storage(location)?).await?)
}
