//! The Python package, as its users get it: the wheel is installed into an environment of its own, and everything is
//! run against it. The reference implementation stands beside it, to be measured by the same tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::python::{Environment, PACKAGE, pip_install};
use crate::{process, wheel, workspace};

/// The suites below `crates/python/tests`, each with settings of its own.
const SUITES: [&str; 5] = ["unit", "behaviour", "ecosystem", "docs", "beyond"];

/// The tests that run on an older Python than that of [`judge`]: the files of a suite, or all of it if none is named. They
/// depend on the interpreter (what is imported, pickled, forked, awaited and ended), or on the zarr and dask that are for it.
const ON_OLDER: [(&str, &[&str]); 3] = [
    (
        "unit",
        &[
            "test_compat.py",
            "test_distributed.py",
            "test_ending.py",
            "test_exceptions.py",
            "test_fork.py",
            "test_package.py",
            "test_pickling.py",
            "test_store.py",
            "test_values.py",
        ],
    ),
    (
        "behaviour",
        &["test_async.py", "test_pickling.py", "test_zarr.py"],
    ),
    ("ecosystem", &[]),
];

/// The directories that are checked beside the package and its suites.
const TYPED: [&str; 4] = [
    "crates/python/packaging",
    "crates/python/parity",
    "benches/python",
    "benches/archives",
];

/// The reference implementation, which is installed alone, beside what [`judge`] has.
const REFERENCE: &str = "crates/python/requirements-reference.txt";

/// The variable that tells the tests which package they are about.
const UNDER_TEST: &str = "ICEFIELD_PYTHON_UNDER_TEST";

/// The variable that tells the behaviour suite which version of the format its repositories have, and the versions.
const SPEC_VERSION: &str = "ICEFIELD_PYTHON_SPEC_VERSION";
const SPEC_VERSIONS: [&str; 2] = ["1", "2"];

/// The suite that runs on each of [`SPEC_VERSIONS`], where all of it runs.
const ON_BOTH_VERSIONS: &str = "behaviour";

/// The variable that tells the tests where the S3 server is.
const TEST_S3: &str = "ICEFIELD_TEST_S3";

/// Returns the environment that can hold the reference implementation, too.
pub fn judge() -> &'static Environment {
    &PACKAGE[1]
}

/// Runs the suites and checks types: all of them, or on an older Python [`ON_OLDER`] and the types of what users see. The
/// wheel is installed.
///
/// # Errors
/// The failures, after all has run.
pub fn run(environment: &Environment) -> Result<()> {
    let mut failed = Vec::new();
    let whole = is_whole(environment)?;
    for (suite, files) in suites(whole) {
        let directory = tests(suite);
        if !directory.is_dir() {
            continue;
        }
        let versions = match whole && suite == ON_BOTH_VERSIONS {
            true => &SPEC_VERSIONS[..],
            false => &SPEC_VERSIONS[..1],
        };
        for version in versions {
            let purpose = format!("{suite}-{version}");
            let mut pytest = pytest(environment, &purpose)?;
            pytest.env(UNDER_TEST, "icefield");
            pytest.env(SPEC_VERSION, version);
            pytest.env(TEST_S3, workspace::programs()?.test_s3);
            match files {
                [] => pytest.arg(&directory),
                files => pytest.args(files.iter().map(|file| directory.join(file))),
            };
            note(&mut failed, &purpose, process::run(&mut pytest));
        }
    }
    note(&mut failed, "types", types(environment, whole));
    if failed.is_empty() {
        return Ok(());
    }
    anyhow::bail!("{} failed", failed.join(", "))
}

/// Says whether everything runs in this environment: in that of [`judge`], or in any other where that one is missing.
fn is_whole(environment: &Environment) -> Result<bool> {
    Ok(environment.name == judge().name || !judge().python()?.exists())
}

fn suites(whole: bool) -> Vec<(&'static str, &'static [&'static str])> {
    match whole {
        true => SUITES.map(|suite| (suite, &[][..])).to_vec(),
        false => ON_OLDER.to_vec(),
    }
}

/// Runs the behaviour suite on the reference implementation, on both versions of the format: what it says of both
/// implementations must be true of it.
///
/// # Errors
/// If a case fails, after all have run.
pub fn behaviour_of_reference() -> Result<()> {
    let mut failed = Vec::new();
    for version in SPEC_VERSIONS {
        let purpose = format!("behaviour-reference-{version}");
        let mut pytest = pytest(judge(), &purpose)?;
        pytest
            .env(UNDER_TEST, "icechunk")
            .env(SPEC_VERSION, version)
            .env("PYTHONPATH", reference()?);
        let run = process::run(pytest.arg(tests(ON_BOTH_VERSIONS)));
        note(&mut failed, &purpose, run);
    }
    if failed.is_empty() {
        return Ok(());
    }
    anyhow::bail!("{} failed", failed.join(", "))
}

/// Compares every public name and signature with those of the reference implementation.
///
/// # Errors
/// If one is missing, or differs without a reason in the table of the script.
pub fn parity() -> Result<()> {
    let directory = workspace::scratch("python-parity")?;
    let script = workspace::root().join("crates/python/parity/parity.py");
    let described = |package: &str, path: Option<PathBuf>| -> Result<PathBuf> {
        let mut describe = python(judge(), "parity")?;
        describe.arg(&script).args(["describe", package]);
        if let Some(path) = path {
            describe.env("PYTHONPATH", path);
        }
        let file = directory.join(format!("{package}.json"));
        fs::write(&file, process::output(&mut describe)?)
            .with_context(|| format!("cannot write {}", file.display()))?;
        Ok(file)
    };
    let theirs = described("icechunk", Some(reference()?))?;
    let ours = described("icefield", None)?;
    let mut compare = python(judge(), "parity")?;
    compare.arg(&script).arg("compare");
    compare.arg("--reference").arg(theirs);
    process::run(compare.arg("--ours").arg(ours))
}

/// Runs the benches of the package once, on little data, beside the reference implementation.
///
/// # Errors
/// If one fails.
pub fn bench() -> Result<()> {
    let mut pytest = pytest(judge(), "bench")?;
    pytest.env("PYTHONPATH", reference()?);
    let tests = ["test_bench.py", "test_scale.py", "test_soak.py"];
    let tests = tests.map(|name| workspace::root().join("benches/python").join(name));
    process::run(pytest.args(tests))
}

/// Returns the program that lives long with the package, with repositories in a folder. The wheel must be installed.
///
/// # Errors
/// If the environment is not there.
pub fn soak(folder: &Path) -> Result<Command> {
    if !judge().python()?.exists() {
        anyhow::bail!(
            "there is no environment of the package: run `cargo xtask test --only bench-python` first"
        );
    }
    let mut python = python(judge(), "soak")?;
    python.arg(workspace::root().join("benches/python/soak.py"));
    python.arg("--directory").arg(folder);
    Ok(python)
}

/// Runs the benches of imports of archives once, on little data, beside the reference implementation, VirtualiZarr and dask.
///
/// # Errors
/// If one fails.
pub fn try_bench_of_archives() -> Result<()> {
    let mut pytest = pytest(judge(), "bench-archives")?;
    pytest.env("PYTHONPATH", reference()?);
    pytest.env("ICEFIELD", workspace::programs()?.icefield);
    process::run(pytest.arg(workspace::root().join("benches/archives/test_bench.py")))
}

/// Returns the program that measures them. Paths that it is given are those of the caller.
///
/// # Errors
/// If cargo does not tell where the environment is.
pub fn bench_of_archives() -> Result<Command> {
    let mut python = python(judge(), "bench-archives")?;
    python.current_dir(std::env::current_dir()?);
    python.env("PYTHONPATH", reference()?);
    python.arg(workspace::root().join("benches/archives/run.py"));
    Ok(python)
}

/// Installs the wheel unless this very one is there.
///
/// # Errors
/// If pip fails, or there is no wheel.
pub fn install(environment: &Environment) -> Result<()> {
    let wheel = wheel::tested()?;
    let stamp = environment.directory()?.join("icefield-wheel");
    let made = fs::metadata(&wheel)?.modified()?;
    let wanted = format!("{} {made:?}", wheel.display());
    if fs::read_to_string(&stamp).is_ok_and(|had| had == wanted) {
        return Ok(());
    }
    let mut pip = pip_install(&environment.python()?);
    // Its dependencies are there already, pinned; a wheel of the same version replaces the last one.
    pip.args(["--no-index", "--no-deps", "--force-reinstall"]);
    process::run(pip.arg(&wheel))?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}

/// Returns the directory with the reference implementation.
fn reference() -> Result<PathBuf> {
    Ok(workspace::target()?.join("python/reference"))
}

/// Installs the reference implementation into that directory unless it is there.
///
/// # Errors
/// If pip fails.
pub fn install_reference() -> Result<()> {
    let directory = reference()?;
    let requirements = workspace::root().join(REFERENCE);
    let wanted = fs::read_to_string(&requirements)
        .with_context(|| format!("cannot read {}", requirements.display()))?;
    let stamp = directory.join("icefield-stamp");
    if fs::read_to_string(&stamp).is_ok_and(|had| had == wanted) {
        return Ok(());
    }
    let directory = workspace::scratch("python/reference")?;
    let mut pip = pip_install(&judge().python()?);
    pip.arg("--no-deps").arg("--target").arg(&directory);
    process::run(pip.arg("--requirement").arg(&requirements))?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}

/// Checks the types of the package, of the programs in its documentation and, for the `whole`, of all that uses it, and
/// the stub of the native module against the module.
fn types(environment: &Environment, whole: bool) -> Result<()> {
    let root = workspace::root();
    let mut failed = Vec::new();
    let mut package = mypy(environment)?;
    package.args(["--package", "icefield"]);
    note(&mut failed, "the package", process::run(&mut package));
    // Each directory alone: their modules may have the same names.
    let others = TYPED.iter().map(|directory| root.join(directory));
    for directory in SUITES.map(tests).into_iter().chain(others) {
        if whole && directory.is_dir() {
            let name = directory.display().to_string();
            let mut mypy = mypy(environment)?;
            note(&mut failed, &name, process::run(mypy.arg(&directory)));
        }
    }
    note(
        &mut failed,
        "the documentation",
        documented_types(environment),
    );
    let mut stubtest = python(environment, "types")?;
    stubtest.args(["-m", "mypy.stubtest", "icefield._native"]);
    stubtest.arg("--mypy-config-file").arg(settings());
    let allowed = root.join("crates/python/packaging/stubtest-allowlist.txt");
    let stubtest = stubtest.arg("--allowlist").arg(allowed);
    note(&mut failed, "the stub", process::run(stubtest));
    if failed.is_empty() {
        return Ok(());
    }
    anyhow::bail!("the types of {} do not hold", failed.join(", "))
}

/// Checks the types of the programs that the documentation shows.
fn documented_types(environment: &Environment) -> Result<()> {
    let programs = workspace::scratch("python-pages")?;
    let mut pages = python(environment, "types")?;
    process::run(pages.arg(tests("docs").join("pages.py")).arg(&programs))?;
    let mut mypy = mypy(environment)?;
    // Two ways to import one package are shown on one page.
    mypy.args(["--disable-error-code", "no-redef"]);
    process::run(mypy.arg(programs))
}

fn note(failed: &mut Vec<String>, name: &str, result: Result<()>) {
    if let Err(error) = result {
        eprintln!("{error:#}");
        failed.push(name.to_owned());
    }
}

fn mypy(environment: &Environment) -> Result<Command> {
    let mut mypy = python(environment, "types")?;
    mypy.args(["-m", "mypy", "--strict", "--config-file"]);
    mypy.arg(settings());
    mypy.arg("--cache-dir")
        .arg(environment.directory()?.join("mypy-cache"));
    if environment.name != judge().name {
        // An error that must be ignored of today's packages is not there in older ones.
        mypy.arg("--no-warn-unused-ignores");
    }
    Ok(mypy)
}

fn settings() -> PathBuf {
    workspace::root().join("crates/python/pyproject.toml")
}

fn tests(suite: &str) -> PathBuf {
    workspace::root().join("crates/python/tests").join(suite)
}

fn pytest(environment: &Environment, suite: &str) -> Result<Command> {
    let mut pytest = python(environment, suite)?;
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    // A test that waits for ever ends, and says where.
    pytest.args(["-o", "faulthandler_timeout=600"]);
    pytest.args(["-o", "faulthandler_exit_on_timeout=true"]);
    Ok(pytest)
}

/// Returns the interpreter of an environment, to be run in an empty directory, where nothing lies that it could take
/// for the package.
fn python(environment: &Environment, purpose: &str) -> Result<Command> {
    let interpreter = environment.python()?;
    let directory = Path::new("python-tests").join(environment.name);
    let directory = workspace::scratch(&directory.join(purpose).to_string_lossy())?;
    let mut python = Command::new(interpreter);
    python
        .current_dir(directory)
        .env("PYTHONUTF8", "1")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYTHONUNBUFFERED", "1")
        // Or the reference implementation warns at each opening of a local disk.
        .env("ICECHUNK_LOG", "error")
        .env_remove("PYTHONPATH")
        .env_remove("PYTHONHOME");
    Ok(python)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_on_an_older_python_is_there() {
        for (suite, files) in ON_OLDER {
            assert!(SUITES.contains(&suite), "{suite}");
            for file in files {
                assert!(tests(suite).join(file).is_file(), "{suite}/{file}");
            }
        }
    }

    #[test]
    fn the_whole_is_every_suite() {
        let whole = suites(true);
        assert_eq!(whole.len(), SUITES.len());
        assert!(whole.iter().all(|(_, files)| files.is_empty()));
    }
}
