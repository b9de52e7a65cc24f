//! The corpora of archive files: what our readers find in them is compared with what the original libraries read, and
//! what `icefield import` makes of them with what the reference implementation reads.

use anyhow::{Result, ensure};

use crate::interop::script;
use crate::python::ARCHIVES;
use crate::{process, workspace};

/// The variable that names the corpus to the tests of the HDF5 reader.
const CORPUS: &str = "ICEFIELD_HDF5_CORPUS";
/// The directory of that corpus, below the target directory.
const CORPUS_NAME: &str = "hdf5-corpus";
/// The variable that tells one of them how many changes of each file it tries, and how many that are here: of each of hundreds
/// of files; the fixtures, which are among them, have more when they are tested without a corpus.
const CHANGES: (&str, &str) = ("ICEFIELD_HDF5_FLIPS", "200");
/// The module of those tests.
const READER: &str = "hdf5::";
/// One of them, which passes without looking if it is not told where the corpus is.
const COMPARISON: &str = "hdf5::the_corpus_is_read_as_h5py_reads_it ... ok";

/// Makes the corpora anew and checks each.
///
/// # Errors
/// The first that does not hold, after all have run.
pub fn run() -> Result<()> {
    archives().and(hdf5()).and(sources())
}

/// Lets the tests of the HDF5 reader, which are built, look at the corpus that [`run`] has made.
///
/// # Errors
/// If one fails.
pub fn reader() -> Result<()> {
    let mut cargo = process::cargo();
    // The selection of all other tests, so that nothing is built again.
    cargo.arg("test").args(workspace::SELECTION);
    cargo.env(CORPUS, workspace::target()?.join(CORPUS_NAME));
    cargo.env(CHANGES.0, CHANGES.1);
    let said = process::run_and_read(cargo.args(["--test", "it", "--", READER]))?;
    ensure!(
        said.contains(COMPARISON),
        "no test looked at the corpus: none said `{COMPARISON}`"
    );
    Ok(())
}

/// HDF5 and NetCDF-4, by h5py and netCDF4.
fn hdf5() -> Result<()> {
    let corpus = workspace::scratch(CORPUS_NAME)?;
    process::run(script(&ARCHIVES, "hdf5_corpus.py")?.arg(&corpus))?;
    let mut check = script(&ARCHIVES, "hdf5_check.py")?;
    check.arg(&corpus).arg(workspace::programs()?.hdf5_dump);
    process::run(&mut check)
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
