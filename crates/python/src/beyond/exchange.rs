//! Exports to files and hierarchies of other formats.

use std::sync::Arc;

use icefield::ingest::{
    BegunExport, Destination, Dialect, Export, ExportReport, NcZarr, TreePrefix, ZarrV2, ZarrV3,
    ZipLayout,
};
use icefield::{Interrupt, Location, Schemes};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
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
    let progress = Arc::new(PythonProgress::new(progress, "copying"));
    let interrupt = Interrupt::new();
    let (export, place) = described(session, destination, what)?;
    let export = export
        .progress(Arc::<PythonProgress>::clone(&progress))
        .interruptible(&interrupt);
    begin_interruptible(py, interrupt, BEGINS_ANEW, async move {
        let report = export.run_to(&place.open().await?).await;
        progress.end();
        Ok(reported(&report.map_err(icefield::Error::from)?))
    })
}

/// Begins an export that several processes write. `what` is as that of `export`. Returns the bytes that `export_part`,
/// `finish_export` and `abandon_export` take.
#[pyfunction]
pub(crate) fn begin_export(
    py: Python<'_>,
    session: &Session,
    destination: &str,
    what: &str,
) -> PyResult<Task> {
    let interrupt = Interrupt::new();
    let (export, place) = described(session, destination, what)?;
    let export = export.interruptible(&interrupt);
    begin_interruptible(py, interrupt, BEGINS_ANEW, async move {
        let begun = export.begin(&place.open().await?).await;
        let begun = begun.map_err(icefield::Error::from)?;
        let sent = begun.to_bytes().map_err(icefield::Error::from)?;
        Ok(sent.to_vec())
    })
}

/// Writes one of so many parts of the chunks of an export, by its number. Returns a JSON object with `chunks` and `bytes`.
#[pyfunction]
pub(crate) fn export_part(
    py: Python<'_>,
    session: &Session,
    begun: PyBackedBytes,
    destination: &str,
    what: &str,
    part: (u32, u32),
) -> PyResult<Task> {
    let interrupt = Interrupt::new();
    let (export, place) = described(session, destination, what)?;
    let export = export.interruptible(&interrupt);
    begin_interruptible(py, interrupt, BEGINS_ANEW, async move {
        let begun = BegunExport::from_bytes(&begun).map_err(icefield::Error::from)?;
        let report = export.run_part(&begun, &place.open().await?, part).await;
        let report = report.map_err(icefield::Error::from)?;
        Ok(json!({ "chunks": report.chunks, "bytes": report.bytes }).to_string())
    })
}

/// Ends an export whose parts are all written. Returns what `export` returns, without chunks.
#[pyfunction]
pub(crate) fn finish_export(
    py: Python<'_>,
    session: &Session,
    begun: PyBackedBytes,
    destination: &str,
    what: &str,
) -> PyResult<Task> {
    let interrupt = Interrupt::new();
    let (export, place) = described(session, destination, what)?;
    let export = export.interruptible(&interrupt);
    begin_interruptible(py, interrupt, BEGINS_ANEW, async move {
        let begun = BegunExport::from_bytes(&begun).map_err(icefield::Error::from)?;
        let report = export.finish(&begun, &place.open().await?).await;
        Ok(reported(&report.map_err(icefield::Error::from)?))
    })
}

/// Gives up an export that is not finished. Returns how many objects of it are left.
#[pyfunction]
pub(crate) fn abandon_export(
    py: Python<'_>,
    session: &Session,
    begun: PyBackedBytes,
    destination: &str,
    what: &str,
) -> PyResult<Task> {
    let (export, place) = described(session, destination, what)?;
    begin_interruptible(py, Interrupt::new(), BEGINS_ANEW, async move {
        let begun = BegunExport::from_bytes(&begun).map_err(icefield::Error::from)?;
        let left = export.abandon(begun, &place.open().await?).await;
        Ok(left.map_err(icefield::Error::from)?)
    })
}

/// Where an export goes.
struct Place {
    destination: Location,
    is_zip: bool,
    layout: ZipLayout,
    repository: Option<Location>,
}

impl Place {
    async fn open(&self) -> Result<Destination, icefield::Error> {
        let nowhere = Location::parse("memory:")?;
        let from = self.repository.as_ref().unwrap_or(&nowhere);
        let (destination, layout) = (&self.destination, self.layout.clone());
        let schemes = Schemes::standard();
        schemes
            .destination(destination, self.is_zip, layout, from)
            .await
    }
}

/// Parses the options of an export.
fn described(session: &Session, destination: &str, what: &str) -> Result<(Export, Place), Failure> {
    let session = session.handle()?;
    let what = options(what)?;
    let destination = Location::parse(destination)?;
    let (dialect, is_nczarr): (Arc<dyn Dialect>, bool) = match what["format"].as_str() {
        Some("zarr3") | None => (Arc::new(ZarrV3), false),
        Some("zarr2") => (Arc::new(ZarrV2), false),
        Some("nczarr") => (Arc::new(NcZarr), true),
        Some(other) => {
            let problem = format!("{other:?} is none of the formats zarr3, zarr2, nczarr");
            return Err(Failure::new("invalid-argument", problem));
        }
    };
    let repository = what["repository"]
        .as_str()
        .map(Location::parse)
        .transpose()?;
    let mut export = Export::new(session).dialect(dialect);
    if let Some(path) = repository.as_ref().and_then(Location::path) {
        export = export.outside(path);
    }
    let layout = match is_nczarr {
        true => folder_layout(&destination),
        false => ZipLayout::Flat,
    };
    let place = Place {
        destination,
        is_zip: what["zip"].as_bool() == Some(true),
        layout,
        repository,
    };
    Ok((export, place))
}

/// Returns the fields of `ExportReport` in the module `icefield`, as a JSON object.
fn reported(report: &ExportReport) -> String {
    let report = json!({
        "groups": report.groups,
        "arrays": report.arrays,
        "chunks": report.chunks,
        "bytes": report.bytes,
    });
    report.to_string()
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
