//! Checks that programs of other projects make: spelling, unused dependencies, licences, sources and advisories.
//!
//! The programs come prebuilt from the Python package index, into an environment below the target directory. Where they
//! cannot be had, the checks are skipped by name.

use std::process::Command;

use anyhow::Result;

use crate::process;
use crate::python::CHECKS;
use crate::stage::Outcome;

/// Installs the programs.
///
/// # Errors
/// If cargo does not tell where the target directory is.
pub fn install() -> Result<Outcome> {
    Ok(match CHECKS.prepare() {
        Ok(Some(_)) => Outcome::Passed,
        Ok(None) => {
            let version = CHECKS.version;
            Outcome::Skipped(format!("they need a Python {version}, which is not found"))
        }
        Err(error) => Outcome::Skipped(format!("they cannot be installed: {error:#}")),
    })
}

/// Checks the spelling of everything but data.
///
/// # Errors
/// If a word is misspelled: correct it, or add it to `_typos.toml`.
pub fn spelling() -> Result<()> {
    process::run(program("typos")?.args(["--config", "_typos.toml"]))
}

/// Finds dependencies that nothing uses.
///
/// # Errors
/// If there are any: remove them, or list them below `[package.metadata.cargo-shear]` with the reason.
pub fn dependencies() -> Result<()> {
    process::run(&mut program("cargo-shear")?)
}

/// Checks the licences and sources of dependencies, as `deny.toml` says.
///
/// # Errors
/// If one is not allowed.
pub fn licenses() -> Result<()> {
    let mut deny = program("cargo-deny")?;
    process::run(deny.args(["check", "licenses", "bans", "sources"]))
}

/// Checks dependencies against the database of advisories.
///
/// # Errors
/// If there is an advisory about one.
pub fn advisories() -> Result<Outcome> {
    if let Err(error) = process::output(program("cargo-deny")?.args(["fetch", "db"])) {
        return Ok(Outcome::Skipped(format!(
            "the database cannot be fetched: {error}"
        )));
    }
    let mut deny = program("cargo-deny")?;
    process::run(deny.args(["check", "--disable-fetch", "advisories"]))?;
    Ok(Outcome::Passed)
}

/// Returns a command of one of the programs, in the root of the workspace.
fn program(name: &str) -> Result<Command> {
    Ok(process::builder(CHECKS.directory()?.join("bin").join(name)))
}
