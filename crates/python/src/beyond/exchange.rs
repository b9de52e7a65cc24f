//! Exports to files and hierarchies of other formats.

use std::sync::Arc;

use icefield::ingest::{Dialect, Export, NcZarr, TreePrefix, ZarrV2, ZarrV3, ZipLayout};
use icefield::{Interrupt, Location, Schemes};
use pyo3::prelude::*;
use serde_json::json;

use super::options;
use super::progress::PythonProgress;
use crate::errors::Failure;
use crate::session::Session;
use crate::task::{BEGINS_ANEW, Task, begin_interruptible};

/// Exports the hierarchy of a session. `what` is a JSON object: `format` (`zarr3`, `zarr2`, `nczarr`), `zip`, `repository`
/// (the path of a local one, which no export may overwrite). Returns a JSON object: `groups`, `arrays`, `chunks`, `bytes`.
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
    let progress = Arc::new(PythonProgress::new(progress, "copying"));
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
            .progress(Arc::<PythonProgress>::clone(&progress))
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

/// Returns the layout of netCDF-C's zip files: everything below a folder with the name of the file.
fn folder_layout(destination: &Location) -> ZipLayout {
    let stem = destination.path().and_then(|path| path.file_stem());
    let stem = stem.map(|stem| stem.to_string_lossy().into_owned());
    match TreePrefix::all().join(&stem.unwrap_or_default()) {
        Ok(folder) => ZipLayout::TopFolder(folder),
        Err(_) => ZipLayout::Flat,
    }
}
