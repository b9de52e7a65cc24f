//! The kill test: writers are killed at random points, over and over, and nothing acknowledged is lost.

use std::process::Command;

use anyhow::Result;

use crate::python::Environment;
use crate::{interop, process, workspace};

/// How many times a writer is killed.
const KILLS: &str = "200";

/// Kills writers, lets our own side look at each repository afterwards, and leaves a copy per kill below
/// `target/kill`.
///
/// # Errors
/// If our own side finds an acknowledged commit missing.
pub fn run() -> Result<()> {
    let copies = workspace::scratch("kill")?;
    let mut probe = Command::new(workspace::programs()?.probe);
    process::run(probe.arg("kill").arg(&copies).args(["--times", KILLS]))
}

/// Lets the reference implementation look at the copies that [`run`] left.
///
/// # Errors
/// If it finds an acknowledged commit missing, or a branch that nobody made.
pub fn verify(environment: &Environment) -> Result<()> {
    interop::verify(environment, &workspace::target()?.join("kill"))
}
