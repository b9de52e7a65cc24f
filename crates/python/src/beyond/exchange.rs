//! Data in from files and hierarchies of other formats, and out to them.

use std::sync::Arc;

use futures::{StreamExt, stream};
use icefield::ingest::{Dialect, Export, Import, NcZarr, TreePrefix, ZarrV2, ZarrV3, ZipLayout};
use icefield::{CommitOutcome, Interrupt, Location, Purpose, Schemes, SourceLocation};
use pyo3::prelude::*;
use serde_json::{Value, json};

use super::progress::Told;
use crate::convert;
use crate::errors::Failure;
use crate::repository::Repository;
use crate::session::Session;
use crate::task::{BEGINS_ANEW, Task, begin_interruptible};

/// Files opened at a time.
const OPENED_AT_ONCE: usize = 8;

fn options(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::new("invalid-argument", error.to_string()))
}

/// Imports sources (paths or URLs) in one commit. `what` is a JSON object: `branch`, `group`, `message`, `virtual`,
/// `copy` (paths of arrays that are copied all the same), `append`, `concat` (dimensions), `unordered`,
/// `legacy_endian`. Returns a JSON object: `snapshot_id`, `new_groups`, `new_arrays`, `chunks`, `bytes`,
/// `virtual_chunks`, `virtual_bytes`, `warnings`, `containers` (prefixes that readers have to be granted).
#[pyfunction]
#[pyo3(signature = (repository, sources, what, progress=None))]
pub(crate) fn import_files(
    py: Python<'_>,
    repository: &Repository,
    sources: Vec<String>,
    what: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Task> {
    let repository = repository.handle()?;
    let what = options(what)?;
    let has_legacy_endian = what["legacy_endian"].as_bool() == Some(true);
    let sources = sources.iter().map(|text| {
        let mut source = SourceLocation::parse(text)?;
        source.options.has_legacy_endian |= has_legacy_endian;
        Ok(source)
    });
    let sources: Vec<SourceLocation> = sources.collect::<Result<_, Failure>>()?;
    let branch = convert::branch(what["branch"].as_str().unwrap_or("main"))?;
    let progress = Arc::new(Told::new(progress, "copying"));
    let interrupt = Interrupt::new();
    begin_interruptible(py, interrupt.clone(), BEGINS_ANEW, async move {
        let is_virtual = what["virtual"].as_bool() == Some(true);
        let purpose = match is_virtual {
            true => Purpose::Refer,
            false => Purpose::Copy,
        };
        let schemes = Schemes::standard();
        let all = schemes.sources();
        let access = repository.virtual_access().clone();
        // Collected first: a closure that borrows makes the whole future not `Send`.
        let opened: Vec<_> = sources
            .iter()
            .map(|source| all.open(source, access.clone(), purpose))
            .collect();
        let mut opened = stream::iter(opened).buffered(OPENED_AT_ONCE);
        let (mut sources, mut granted) = (Vec::new(), access);
        while let Some(one) = interrupt.unless(opened.next()).await? {
            let one = one?;
            granted = granted.and(one.access);
            sources.push(one.source);
        }
        // References are checked where they lead, so that the new places are granted to the importer.
        // Containers are those that are stored: the import adds to them.
        let mut config = repository.config();
        config.virtual_chunk_containers = None;
        let importer = icefield::Repository::builder(Arc::clone(repository.storage()))
            .config(config)
            .virtual_access(granted)
            .open()
            .await?;
        let import = described(&what, sources, &progress)?.interruptible(&interrupt);
        let message = what["message"].as_str().unwrap_or("Import");
        let imported = import.run(&importer, branch, message).await;
        progress.end();
        let imported = imported.map_err(icefield::Error::from)?;
        let id = match imported.commit {
            CommitOutcome::Committed(id) => id,
            outcome => return Err(Failure::of_commit(outcome)),
        };
        let config = repository.reload_config().await?;
        let containers = config.containers().map(|it| it.url_prefix.clone());
        let containers: Vec<String> = containers.collect();
        let report = imported.report;
        let report = json!({
            "snapshot_id": id.to_string(),
            "new_groups": report.new_groups,
            "new_arrays": report.new_arrays,
            "chunks": report.chunks,
            "bytes": report.bytes,
            "virtual_chunks": report.virtual_chunks,
            "virtual_bytes": report.virtual_bytes,
            "warnings": report.warnings,
            "containers": containers,
        });
        Ok(report.to_string())
    })
}

fn described(
    what: &Value,
    sources: Vec<Arc<dyn icefield::ingest::Source>>,
    progress: &Arc<Told>,
) -> Result<Import, Failure> {
    let mut sources = sources.into_iter();
    let first = sources.next().ok_or_else(|| {
        Failure::new(
            "invalid-argument",
            "there is nothing to import: give at least one path or URL",
        )
    })?;
    let (append, concat) = (what["append"].as_str(), what["concat"].as_str());
    if sources.len() > 0 && append.is_none() && concat.is_none() {
        return Err(Failure::new(
            "invalid-argument",
            "several sources, and nothing says how they belong together: `concat` puts them behind one another along a \
             dimension, `append` behind what is there",
        ));
    }
    let group = convert::path(what["group"].as_str().unwrap_or("/"))?;
    let mut import = Import::new(first)
        .into_group(group)
        .progress(Arc::<Told>::clone(progress));
    if let Some(dimension) = concat.or(append) {
        import = import.concat(dimension, sources);
    }
    if let Some(dimension) = append {
        import = import.append(dimension);
    }
    if what["unordered"].as_bool() == Some(true) {
        import = import.unordered();
    }
    if what["virtual"].as_bool() == Some(true) {
        let copied = what["copy"].as_array().into_iter().flatten();
        let copied = copied.filter_map(Value::as_str).map(convert::path);
        import = import.by_reference(copied.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(import)
}

/// Exports what a session sees. `what` is a JSON object: `format` (`zarr3`, `zarr2`, `nczarr`), `zip`, `repository`
/// (the path of a local one: no export goes there). Returns a JSON object: `groups`, `arrays`, `chunks`, `bytes`.
#[pyfunction]
#[pyo3(signature = (session, destination, what, progress=None))]
pub(crate) fn export(
    py: Python<'_>,
    session: &Session,
    destination: &str,
    what: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Task> {
    let session = session.handle()?;
    let what = options(what)?;
    let destination = Location::parse(destination).map_err(Failure::from)?;
    let progress = Arc::new(Told::new(progress, "copying"));
    let (dialect, is_nczarr): (Arc<dyn Dialect>, bool) = match what["format"].as_str() {
        Some("zarr3") | None => (Arc::new(ZarrV3), false),
        Some("zarr2") => (Arc::new(ZarrV2), false),
        Some("nczarr") => (Arc::new(NcZarr), true),
        Some(other) => {
            let problem = format!("{other:?} is none of the formats zarr3, zarr2, nczarr");
            return Err(Failure::new("invalid-argument", problem).into());
        }
    };
    let interrupt = Interrupt::new();
    begin_interruptible(py, interrupt.clone(), BEGINS_ANEW, async move {
        let repository = what["repository"].as_str().map(Location::parse).transpose();
        let repository = repository.map_err(icefield::Error::from)?;
        let mut export = Export::new(session)
            .progress(Arc::<Told>::clone(&progress))
            .dialect(dialect)
            .interruptible(&interrupt);
        if let Some(path) = repository.as_ref().and_then(Location::path) {
            export = export.outside(path);
        }
        let layout = match is_nczarr {
            true => folder_layout(&destination),
            false => ZipLayout::Flat,
        };
        let is_zip = what["zip"].as_bool() == Some(true);
        let nowhere = Location::parse("memory:").map_err(icefield::Error::from)?;
        let from = repository.as_ref().unwrap_or(&nowhere);
        let destination = Schemes::standard()
            .destination(&destination, is_zip, layout, from)
            .await?;
        let report = export.run_to(&destination).await;
        progress.end();
        let report = report.map_err(icefield::Error::from)?;
        let report = json!({
            "groups": report.groups,
            "arrays": report.arrays,
            "chunks": report.chunks,
            "bytes": report.bytes,
        });
        Ok(report.to_string())
    })
}

/// As netCDF-C builds zip files: all below a folder that is called like the file.
fn folder_layout(destination: &Location) -> ZipLayout {
    let stem = destination.path().and_then(|path| path.file_stem());
    let stem = stem.map(|stem| stem.to_string_lossy().into_owned());
    match TreePrefix::all().join(&stem.unwrap_or_default()) {
        Ok(folder) => ZipLayout::TopFolder(folder),
        Err(_) => ZipLayout::Flat,
    }
}
