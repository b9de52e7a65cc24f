//! `cargo xtask bench`: the benchmarks of `benches/`.

use anyhow::Result;

use crate::process;

/// Runs the benchmarks with these arguments for criterion.
///
/// # Errors
/// If a benchmark fails.
pub fn run(args: &[String]) -> Result<()> {
    let mut cargo = process::cargo();
    cargo.args(["bench", "--package", "icefield-benches"]);
    if !args.is_empty() {
        cargo.arg("--").args(args);
    }
    process::run(&mut cargo)
}
