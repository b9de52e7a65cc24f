//! Copies of a repository at other places, and in one file.

use std::fs::{File, OpenOptions};
use std::path::PathBuf;

use icefield::format::SpecVersion;
use icefield::maintenance::{
    BundleRepository, CopyRepository, DowngradeRepository, RefChoice, Unbundle,
};
use pyo3::prelude::*;
use serde_json::{Value, json};

use super::options;
use super::progress::Told;
use crate::convert;
use crate::errors::Failure;
use crate::repository::Repository;
use crate::storage::Storage;
use crate::task::{Task, begin};

/// Which part of a repository goes along.
struct Part {
    refs: Vec<RefChoice>,
    depth: Option<usize>,
}

impl Part {
    /// Reads `refs` (names) and `depth` (a number or null).
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

fn says(what: &Value, name: &str) -> bool {
    what[name].as_bool() == Some(true)
}

/// Copies a repository to a place. `what` is a JSON object: `refs` (names), `depth` (a number or null), `force`, `dry_run`,
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
    let part = Part::of(&what)?;
    let (source, place) = (repository.handle()?, destination.place()?);
    let mut copy = CopyRepository::new()
        .refs(part.refs)
        .force(says(&what, "force"))
        .dry_run(says(&what, "dry_run"));
    if let Some(depth) = part.depth {
        copy = copy.depth(depth);
    }
    copy = match what["spec_version"].as_u64() {
        Some(1) => copy.spec_version(SpecVersion::V1),
        Some(2) => copy.spec_version(SpecVersion::V2),
        _ => copy,
    };
    let progress = Told::new(progress, "reading refs");
    begin(py, async move {
        let report = copy.run(&source, place.open().await?, &progress).await?;
        progress.end();
        Ok(json!(report).to_string())
    })
}

/// Makes a copy of version 1 of the format. `what` is as that of [`copy`], with `leave_out` in place of `spec_version`.
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
    let part = Part::of(&what)?;
    let (source, place) = (repository.handle()?, destination.place()?);
    let mut downgrade = DowngradeRepository::new()
        .refs(part.refs)
        .leave_out(says(&what, "leave_out"))
        .force(says(&what, "force"))
        .dry_run(says(&what, "dry_run"));
    if let Some(depth) = part.depth {
        downgrade = downgrade.depth(depth);
    }
    let progress = Told::new(progress, "reading refs");
    begin(py, async move {
        let report = downgrade.run(&source, place.open().await?, &progress);
        let report = report.await?;
        progress.end();
        Ok(json!(report).to_string())
    })
}

/// Writes a repository into a new file. `what` is a JSON object: `refs` (names), `depth` (a number or null), `since` (the id of a
/// snapshot or null), `described` (where the repository is). Returns the report as JSON.
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
    let part = Part::of(&what)?;
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
    let progress = Told::new(progress, "reading refs");
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

/// Reads such a file into a repository, which is made if there is none. Returns the report as JSON.
#[pyfunction]
#[pyo3(signature = (file, destination, force, progress=None))]
pub(crate) fn unbundle(
    py: Python<'_>,
    file: PathBuf,
    destination: &Storage,
    force: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Task> {
    let place = destination.place()?;
    let progress = Told::new(progress, "checking the bundle");
    begin(py, async move {
        let report = Unbundle::new().force(force);
        let report = report.run(|| File::open(&file), place.open().await?, &progress);
        let report = report.await?;
        progress.end();
        Ok(json!(report).to_string())
    })
}
