//! The interop suites of `interop/`: the reference implementation, from PyPI, is the judge.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::python::Environment;
use crate::{process, workspace};

/// Runs every suite in one environment.
///
/// # Errors
/// If a case fails, or a program is missing.
pub fn run(environment: &Environment) -> Result<()> {
    let programs = workspace::programs()?;
    run_on(environment, &programs, 1, &[])?;
    match environment.name == KNOWS_SPEC_2 {
        // A case that is the same for both versions is not run again.
        true => run_on(environment, &programs, 2, &ON_EACH_VERSION),
        false => Ok(()),
    }
}

/// The environment with the reference's 2.x line.
const KNOWS_SPEC_2: &str = "312";

/// The suites of which each version of the format is a case of its own.
const ON_EACH_VERSION: [&str; 9] = [
    "collection.",
    "conflicts.",
    "copies.",
    "expiration.",
    "icefield_writes.",
    "object_store.",
    "packs.",
    "reference_writes.",
    "taking_turns.",
];

fn run_on(
    environment: &Environment,
    programs: &workspace::Programs,
    spec: u8,
    suites: &[&str],
) -> Result<()> {
    let work = workspace::scratch(&format!("interop/{}-{spec}", environment.name))?;
    let mut python = script(environment, "run.py")?;
    python
        .args(suites)
        .env("ICEFIELD_INTEROP_SPEC", spec.to_string())
        .env("ICEFIELD", &programs.icefield)
        .env("ICEFIELD_PROBE", &programs.probe)
        .env("ICEFIELD_TEST_S3", &programs.test_s3)
        .env("ICEFIELD_INTEROP_WORK", &work);
    process::run(&mut python)
}

/// Has the reference implementation open copies of repositories, all in one process, and look for the
/// commits that were acknowledged. See `interop/verify_repos.py` for what a copy looks like.
///
/// # Errors
/// If it misses a commit, finds a ref that no writer made, cannot open a copy, or there are fewer of them than
/// `at_least`.
pub fn verify(environment: &Environment, copies: &Path, at_least: usize) -> Result<()> {
    let mut python = script(environment, "verify_repos.py")?;
    python.arg("--below").arg(copies);
    process::run(python.arg(format!("--at-least={at_least}")))
}

/// Returns a script of `interop/`, to be run in an environment.
///
/// # Errors
/// If cargo does not tell where that is.
pub fn script(environment: &Environment, name: &str) -> Result<Command> {
    let interpreter = environment
        .python()
        .with_context(|| format!("no environment {}", environment.name))?;
    let mut python = Command::new(interpreter);
    python
        .current_dir(workspace::root())
        .arg(format!("interop/{name}"))
        .env("PYTHONUTF8", "1")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYTHONUNBUFFERED", "1")
        // Or it warns at each opening that commits on a local disk are unsafe, which is true of its own.
        .env("ICECHUNK_LOG", "error")
        .env_remove("PYTHONPATH")
        .env_remove("PYTHONHOME");
    Ok(python)
}
