//! The kill test's second judge. The test itself is Rust, in `crates/harness`: it kills writers at random
//! points and looks at each repository afterwards. Told where, it leaves a copy of each, and the reference
//! implementation opens them all.

use std::path::PathBuf;

use anyhow::Result;

use crate::python::Environment;
use crate::{interop, workspace};

/// The variable that tells the kill test where to leave its copies, in the shape that
/// `interop/verify_repos.py` describes. Without it the test keeps none.
pub const VARIABLE: &str = "ICEFIELD_KILL_COPIES";

/// How many copies there are at the least: one for each kill.
const COPIES: usize = 200;

/// Returns an empty directory for the copies.
///
/// # Errors
/// If it cannot be made.
pub fn fresh_copies() -> Result<PathBuf> {
    workspace::scratch("kill")
}

/// Lets the reference implementation look at the copies.
///
/// # Errors
/// If it finds an acknowledged commit missing, a branch that no writer made, or too few copies.
pub fn verify(environment: &Environment) -> Result<()> {
    interop::verify(environment, &workspace::target()?.join("kill"), COPIES)
}
