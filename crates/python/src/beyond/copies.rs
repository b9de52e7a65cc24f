//! Copies of a repository at other locations, and bundles.

use std::fs::{File, OpenOptions};
use std::path::PathBuf;

use icefield::format::SpecVersion;
use icefield::maintenance::{
    BundleRepository, CopyRepository, DowngradeRepository, RefChoice, Unbundle,
};
use pyo3::prelude::*;
use serde_json::{Value, json};

use super::options;
use super::progress::PythonProgress;
use crate::convert;
use crate::errors::Failure;
use crate::repository::Repository;
use crate::storage::Storage;
use crate::task::{Task, begin};

/// The part of a repository to copy.
struct RefSelection {
    refs: Vec<RefChoice>,
    depth: Option<usize>,
}

impl RefSelection {
    /// Parses `refs` (names) and `depth` (a number or null).
    fn of(what: &Value) -> Result<Self, Failure> {
        let names = what["refs"].as_array().into_iter().flatten();
        let names = names.filter_map(Value::as_str);
        let refs = names.map(|name| {
            RefChoice::parse(name).map_err(|error| Failure::of("invalid-ref-name", &error))
        });
        let depth = what["depth"].as_u64();
        Ok(Self {
            refs: refs.collect::<Result<_, _>>()?,
            depth: depth.map(|depth| usize::try_from(depth).unwrap_or(usize::MAX)),
        })
    }
}

fn is_set(what: &Value, name: &str) -> bool {
    what[name].as_bool() == Some(true)
}

/// Copies a repository to another location. `what` is a JSON object: `refs` (names), `depth` (a number or null), `force`, `dry_run`,
/// `spec_version` (1, 2 or null). Returns the report as JSON.
#[pyfunction]
#[pyo3(signature = (repository, destination, what, progress=None))]
pub(crate) fn copy(
    py: Python<'_>,
    repository: &Repository,
    destination: &Storage,
    what: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Task> {
    let what = options(what)?;
    let part = RefSelection::of(&what)?;
    let (source, place) = (repository.handle()?, destination.storage_handle()?);
    let mut copy = CopyRepository::new()
        .refs(part.refs)
        .force(is_set(&what, "force"))
        .dry_run(is_set(&what, "dry_run"));
    if let Some(depth) = part.depth {
        copy = copy.depth(depth);
    }
    copy = match what["spec_version"].as_u64() {
        Some(1) => copy.spec_version(SpecVersion::V1),
        Some(2) => copy.spec_version(SpecVersion::V2),
        _ => copy,
    };
    let progress = PythonProgress::new(progress, "reading refs");
    begin(py, async move {
        let report = copy.run(&source, place.open().await?, &progress).await?;
        progress.end();
        Ok(json!(report).to_string())
    })
}

/// Makes a copy of spec version 1. `what` is the same as for [`copy`], with `leave_out` instead of `spec_version`.
#[pyfunction]
#[pyo3(signature = (repository, destination, what, progress=None))]
pub(crate) fn downgrade(
    py: Python<'_>,
    repository: &Repository,
    destination: &Storage,
    what: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Task> {
    let what = options(what)?;
    let part = RefSelection::of(&what)?;
    let (source, place) = (repository.handle()?, destination.storage_handle()?);
    let mut downgrade = DowngradeRepository::new()
        .refs(part.refs)
        .leave_out(is_set(&what, "leave_out"))
        .force(is_set(&what, "force"))
        .dry_run(is_set(&what, "dry_run"));
    if let Some(depth) = part.depth {
        downgrade = downgrade.depth(depth);
    }
    let progress = PythonProgress::new(progress, "reading refs");
    begin(py, async move {
        let report = downgrade.run(&source, place.open().await?, &progress);
        let report = report.await?;
        progress.end();
        Ok(json!(report).to_string())
    })
}

/// Writes a repository into a new file. `what` is a JSON object: `refs` (names), `depth` (a number or null), `since` (the id of a
/// snapshot or null), `described` (the location of the repository). Returns the report as JSON.
#[pyfunction]
#[pyo3(signature = (repository, file, what, progress=None))]
pub(crate) fn bundle(
    py: Python<'_>,
    repository: &Repository,
    file: PathBuf,
    what: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Task> {
    let what = options(what)?;
    let part = RefSelection::of(&what)?;
    let source = repository.handle()?;
    let mut bundle = BundleRepository::new().refs(part.refs);
    if let Some(described) = what["described"].as_str() {
        bundle = bundle.described(described);
    }
    if let Some(depth) = part.depth {
        bundle = bundle.depth(depth);
    }
    if let Some(since) = what["since"].as_str() {
        bundle = bundle.since(convert::snapshot_id(since)?);
    }
    let progress = PythonProgress::new(progress, "reading refs");
    begin(py, async move {
        let new = OpenOptions::new().write(true).create_new(true).open(&file);
        let new = new.map_err(|error| Failure::of("io", &error))?;
        let (report, written) = bundle.run(&source, new, &progress).await?;
        written
            .sync_all()
            .map_err(|error| Failure::of("io", &error))?;
        progress.end();
        Ok(json!(report).to_string())
    })
}

/// Reads a bundle into a repository, which is created if there is none. Returns the report as JSON.
#[pyfunction]
#[pyo3(signature = (file, destination, force, progress=None))]
pub(crate) fn unbundle(
    py: Python<'_>,
    file: PathBuf,
    destination: &Storage,
    force: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Task> {
    let place = destination.storage_handle()?;
    let progress = PythonProgress::new(progress, "checking the bundle");
    begin(py, async move {
        let report = Unbundle::new().force(force);
        let report = report.run(|| File::open(&file), place.open().await?, &progress);
        let report = report.await?;
        progress.end();
        Ok(json!(report).to_string())
    })
}
