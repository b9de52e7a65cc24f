//! Checks and repairs of a repository.

use std::sync::Arc;

use icefield::maintenance::{Check, CheckError, Repair, RepairError};
use icefield::{Interrupt, Repository, RepositoryError, Settings};
use pyo3::prelude::*;
use serde_json::{Value, json};

use super::progress::PythonProgress;
use crate::convert;
use crate::errors::Failure;
use crate::storage::Storage;
use crate::task::{GOES_ON, Task, begin, begin_interruptible};

/// Bytes of cached metadata. A check reads each object once, so a small cache is enough.
const CACHE_BYTES: u64 = 16 << 20;

/// Checks or repairs a repository, and returns the report as JSON. Virtual chunks are checked with the configuration and the
/// grants of `repository`. `what` is a JSON object:
/// `read_chunks`, `virtual_chunks`, `tips_only`, `repair`, `dry_run`, `drop_virtual_chunks` (booleans),
/// `restore_branch` (a name or null).
#[pyfunction]
#[pyo3(signature = (storage, repository, what, progress=None))]
pub(crate) fn fsck(
    py: Python<'_>,
    storage: &Storage,
    repository: &crate::repository::Repository,
    what: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Task> {
    let what: Value = serde_json::from_str(what)
        .map_err(|error| Failure::new("invalid-argument", error.to_string()))?;
    let place = storage.storage_handle()?;
    let opened = repository.handle()?;
    let progress = PythonProgress::new(progress, "checking");
    let restored = what["restore_branch"].as_str();
    let restored = restored.map(convert::branch).transpose()?;
    let says = move |name: &str| what[name].as_bool() == Some(true);
    let repairs = says("repair");
    let interrupt = Interrupt::new();
    let asked = interrupt.clone();
    let work = async move {
        let storage = place.open().await?;
        let settings = Settings::default().with_cache_bytes(CACHE_BYTES);
        let builder = Repository::builder(Arc::clone(&storage))
            .settings(settings)
            .config(opened.config())
            .virtual_access(opened.virtual_access().clone());
        let mut check = Check::new(storage).interruptible(&asked);
        if says("tips_only") {
            check = check.tips_only();
        }
        if says("read_chunks") {
            check = check.read_chunks();
        }
        if says("virtual_chunks") || says("drop_virtual_chunks") {
            check = check.virtual_chunks(builder.clone().open().await?);
        }
        if !repairs {
            let report = check.run(&progress).await.map_err(of_check)?;
            progress.end();
            let mut document = json!(report);
            document["sound"] = report.is_sound().into();
            return Ok(document.to_string());
        }
        let mut repair = Repair::new(check, builder);
        if says("dry_run") {
            repair = repair.dry_run();
        }
        if says("drop_virtual_chunks") {
            repair = repair.drop_virtual_chunks();
        }
        if let Some(branch) = restored {
            repair = repair.restore_branch(branch);
        }
        let report = repair.run(&progress).await.map_err(of_repair)?;
        progress.end();
        Ok(json!(report).to_string())
    };
    match repairs {
        true => begin_interruptible(py, interrupt, GOES_ON, work),
        false => begin(py, work),
    }
}

fn of_check(error: CheckError) -> Failure {
    match error {
        CheckError::NoRepository { location } => RepositoryError::NotFound { location }.into(),
        CheckError::NewerSpecVersion { location } => {
            RepositoryError::NewerSpecVersion { location }.into()
        }
        CheckError::Interrupted(error) => error.into(),
        CheckError::Refs(error) => error.into(),
        CheckError::Fetch(error) => error.into(),
        CheckError::Storage(error) => error.into(),
        error => Failure::of("unknown", &error),
    }
}

fn of_repair(error: RepairError) -> Failure {
    match error {
        RepairError::Check(error) => of_check(error),
        RepairError::Interrupted(_) => Failure::of("interrupted", &error),
        RepairError::Repository(error) => error.into(),
        RepairError::Refs(error) => error.into(),
        error => Failure::of("invalid-argument", &error),
    }
}
