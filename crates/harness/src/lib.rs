//! Common parts of the programs that tests drive from outside.
//!
//! - `icefield-probe dump LOCATION` prints everything a repository holds as one JSON document;
//!   `icefield-probe write LOCATION SPEC` applies a list of operations.
//!   `icefield-probe tree DIRECTORY` reads and writes a plain Zarr tree, as lines on standard input say.
//! - `icefield-worker` commits to a branch until it is told to stop, or is killed; or reads, or collects.
//! - `icefield-torture` starts such workers and kills them, and judges what they leave behind.
//! - `icefield-soak` commits, reads, forks and collects for long, and demands that nothing grows.

pub mod announce;
pub mod dump;
pub mod history;
pub mod process;
pub mod protocol;
pub mod script;
pub mod soak;
pub mod torture;
pub mod tree;
pub mod work;

use std::path::Path;
use std::sync::Arc;

use icefield::{Location, Schemes};
use icefield_core::Repository;
use icefield_storage::Storage;
use icefield_storage_local::LocalStorage;
use rustix::process::Signal;

/// Opens the store at a location, as every program that uses the facade does: a directory, or a bucket whose
/// keys are in the environment. [`protocol::ANNOUNCE`] and [`protocol::STOP_AT`] are heeded.
///
/// # Errors
/// Errors of the backend.
pub async fn storage(location: &Location) -> anyhow::Result<Arc<dyn Storage>> {
    let storage = match (location.path(), std::env::var(protocol::STOP_AT)) {
        (Some(path), Ok(at)) => stopping(path, at.parse()?)?,
        _ => Schemes::standard().storage(location).await?,
    };
    Ok(match std::env::var_os(protocol::ANNOUNCE) {
        Some(_) => Arc::new(announce::Announce::new(storage)),
        None => storage,
    })
}

/// Opens a directory in which this process ends before its system call of that number.
fn stopping(path: &Path, at: u64) -> anyhow::Result<Arc<dyn Storage>> {
    let builder = LocalStorage::builder(path).before_calls(move |number, name| {
        if number == at {
            protocol::say(&format!("stopped {name}"));
            // If it cannot be killed, it stands still: the call must not happen.
            let _killed = rustix::process::kill_process(rustix::process::getpid(), Signal::KILL);
            loop {
                std::thread::park();
            }
        }
    });
    Ok(Arc::new(builder.open()?))
}

/// Opens the repository at a location.
///
/// # Errors
/// Errors of the engine.
pub async fn open(location: &Location) -> anyhow::Result<Repository> {
    Ok(Repository::open(storage(location).await?).await?)
}
