//! The corpora of archive files: what our readers find in them is compared with what the original libraries read, and
//! what `icefield import` makes of them with what the reference implementation reads.

use anyhow::Result;

use crate::interop::script;
use crate::python::ARCHIVES;
use crate::{process, workspace};

/// The variable that names the corpus to the tests of the HDF5 reader.
const CORPUS: &str = "ICEFIELD_HDF5_CORPUS";

/// Makes the corpora anew and checks each. The tests of the HDF5 reader look at the one of HDF5, too, if they are
/// `built`.
///
/// # Errors
/// The first that does not hold, after all have run.
pub fn run(built: bool) -> Result<()> {
    let fixtures = archives();
    let hdf5 = hdf5(built);
    let sources = sources();
    fixtures.and(hdf5).and(sources)
}

/// HDF5 and NetCDF-4, by h5py and netCDF4.
fn hdf5(built: bool) -> Result<()> {
    let corpus = workspace::scratch("hdf5-corpus")?;
    process::run(script(&ARCHIVES, "hdf5_corpus.py")?.arg(&corpus))?;
    let mut check = script(&ARCHIVES, "hdf5_check.py")?;
    check.arg(&corpus).arg(workspace::programs()?.hdf5_dump);
    let checked = process::run(&mut check);
    if !built {
        println!("the tests of the HDF5 reader are not built, and do not look at the corpus");
        return checked;
    }
    let mut cargo = process::cargo();
    // The selection of all other tests, so that nothing is built again.
    cargo.arg("test").args(workspace::SELECTION);
    cargo.args(["--test", "hdf5"]).env(CORPUS, &corpus);
    checked.and(process::run(&mut cargo))
}

/// The fixtures of the other readers.
fn archives() -> Result<()> {
    let mut check = script(&ARCHIVES, "archive_check.py")?;
    process::run(check.arg(workspace::programs()?.dump_archive))
}

/// Every source through the command line, and what must be refused.
fn sources() -> Result<()> {
    let mut python = script(&ARCHIVES, "archive_sources.py")?;
    python
        .env("ICEFIELD", workspace::programs()?.icefield)
        .env("ICEFIELD_INTEROP_WORK", workspace::scratch("archives")?);
    process::run(&mut python)
}
