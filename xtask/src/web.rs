//! The explorer: rebuilds its bundle from `web/`, and drives it in a browser.
//!
//! The bundle is committed, so that `cargo build` needs no Node. Where Node is missing, or npm cannot install what `web/package-lock.json`
//! lists, these stages are skipped by name.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::root::root;
use crate::stage::Outcome;
use crate::{process, workspace};

/// The oldest release of Node that the scripts run on.
const OLDEST_NODE: u32 = 20;

/// Installs the packages of `web/package-lock.json`, unless they are there.
///
/// # Errors
/// If a file below `web/` cannot be read or written.
pub fn packages() -> Result<Outcome> {
    match node_version() {
        Some(found) if found >= OLDEST_NODE => {}
        Some(found) => {
            return Ok(Outcome::Skipped(format!(
                "they need Node {OLDEST_NODE} or later, and this is Node {found}"
            )));
        }
        None => {
            return Ok(Outcome::Skipped(
                "they need Node, which is not found".into(),
            ));
        }
    }
    let lock = fs::read(folder().join("package-lock.json")).context("web/ has no lock file")?;
    let installed = folder().join("node_modules/.installed-lock.json");
    if fs::read(&installed).is_ok_and(|found| found == lock) {
        return Ok(Outcome::Passed);
    }
    // No scripts of packages run: esbuild, the only one that has any, works without.
    let mut npm = within("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    if let Err(error) = process::output(&mut npm) {
        return Ok(Outcome::Skipped(format!(
            "they cannot be installed: {error:#}"
        )));
    }
    fs::write(&installed, lock).with_context(|| format!("cannot write {}", installed.display()))?;
    Ok(Outcome::Passed)
}

/// Builds the bundle anew and compares it with the one that is committed.
///
/// # Errors
/// If they differ: run `npm run build` in `web/` and commit the result.
pub fn bundle() -> Result<()> {
    process::run(within("node").args(["build.mjs", "--check"]))
}

/// Runs the tests of the explorer. Those that need a browser are skipped by name where there is none.
///
/// # Errors
/// If one fails, or a file of them takes longer than eight minutes.
pub fn explorer() -> Result<()> {
    let mut node = within("node");
    node.env("EXPLORER_SHOTS", workspace::scratch("explorer")?);
    node.args(["--test", "--test-concurrency=1", "--test-reporter=spec"]);
    // Milliseconds, of a whole file as well; the longest takes over two minutes.
    node.arg("--test-timeout=480000");
    let mut files = 0;
    for entry in fs::read_dir(folder().join("test"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".test.mjs") {
            node.arg(format!("test/{name}"));
            files += 1;
        }
    }
    ensure!(files > 0, "web/test has no tests");
    process::run(&mut node)
}

fn folder() -> PathBuf {
    root().join("web")
}

/// Returns a command that runs in `web/`.
fn within(program: &str) -> Command {
    let mut command = process::builder(program);
    command.current_dir(folder());
    command
}

/// Returns the major version of Node, if it is installed.
fn node_version() -> Option<u32> {
    let text = process::output(Command::new("node").arg("--version")).ok()?;
    text.trim()
        .strip_prefix('v')?
        .split('.')
        .next()?
        .parse()
        .ok()
}
