//! NCZarr and plain Zarr: what `icefield` makes of the datasets of other programs, with netCDF-C and others as judges.

use anyhow::Result;

use crate::interop::script;
use crate::python::ARCHIVES;
use crate::{process, workspace};

/// Runs the suite.
///
/// # Errors
/// If a case fails.
pub fn run() -> Result<()> {
    let mut python = script(&ARCHIVES, "nczarr.py")?;
    python
        .env("ICEFIELD", workspace::programs()?.icefield)
        .env("ICEFIELD_INTEROP_WORK", workspace::scratch("nczarr")?);
    process::run(&mut python)
}
