//! `icefield serve`, with the Python packages that read Zarr over HTTP as judges.

use anyhow::Result;

use crate::interop::script;
use crate::python::{ARCHIVES, ENVIRONMENTS};
use crate::{netcdf, process, workspace};

/// Runs the suite.
///
/// # Errors
/// If a case fails.
pub fn run() -> Result<()> {
    let mut python = script(&ARCHIVES, "gateway.py")?;
    // The newest GDAL, where there is a Python that it is for.
    let newest = ENVIRONMENTS[1].python()?;
    if newest.exists() {
        python.env("ICEFIELD_PYTHON_312", newest);
    }
    if let Some(library) = netcdf::with_s3()? {
        python.env(netcdf::VARIABLE, library);
    }
    python
        .env("ICEFIELD", workspace::programs()?.icefield)
        .env("ICEFIELD_INTEROP_WORK", workspace::scratch("gateway")?);
    process::run(&mut python)
}
