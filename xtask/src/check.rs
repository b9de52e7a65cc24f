//! `cargo xtask check`: everything a machine can say about the code without running it.

use anyhow::{Context, Result};

use crate::stage::{self, Asked, Stage};
use crate::{api, codegen, layers, process, tools, web, workspace};

/// Runs the checks.
///
/// # Errors
/// If one fails.
pub fn run(asked: &Asked) -> Result<()> {
    stage::run("check", &stages(), asked)
}

/// The checks. Those that compile keep all cores busy, and would wait for each other's lock on the target directory.
fn stages() -> Vec<Stage> {
    vec![
        Stage::new("fmt", fmt),
        Stage::new("layers", layers::run),
        Stage::new("codegen", || codegen::run(true)),
        Stage::that_may_skip("tools", tools::install),
        Stage::new("spelling", tools::spelling).needs(&["tools"]),
        Stage::new("dependencies", tools::dependencies).needs(&["tools"]),
        Stage::new("licenses", tools::licenses).needs(&["tools"]),
        Stage::that_may_skip("advisories", tools::advisories).needs(&["tools"]),
        Stage::that_may_skip("web-packages", web::packages),
        Stage::new("web", web::bundle).needs(&["web-packages"]),
        Stage::new("clippy", clippy).alone(),
        Stage::new("doc", doc).alone(),
        Stage::that_may_skip("api", api::check).alone(),
        Stage::new("features", features).alone(),
        Stage::new("package", package),
    ]
}

fn fmt() -> Result<()> {
    process::run(process::cargo().args(["fmt", "--all", "--check"]))
}

fn clippy() -> Result<()> {
    let mut cargo = process::cargo();
    cargo.arg("clippy").args(workspace::SELECTION);
    process::run(cargo.args(["--all-targets", "--", "-D", "warnings"]))
}

fn doc() -> Result<()> {
    let mut cargo = process::cargo();
    cargo.env("RUSTDOCFLAGS", "-D warnings");
    cargo.arg("doc").args(workspace::SELECTION);
    process::run(cargo.arg("--no-deps"))
}

/// Checks what other builds never see, because they have all features: the facade with none and with some alone,
/// the crates around it without theirs, the command line with what the demo needs. `cargo check` alone, in one target directory, which keeps it cheap.
fn features() -> Result<()> {
    let facade = [
        "local", "memory", "ingest", "alpha", "zarrs", "rolling", "s3", "gcs", "azure", "http",
    ];
    let facade = facade.map(|feature| ("icefield", feature));
    let none = [
        "icefield",
        "icefield-zarr-store",
        "icefield-core",
        "icefield-gateway",
    ]
    .map(|package| (package, ""));
    for (package, feature) in none.into_iter().chain(facade) {
        let mut cargo = process::cargo();
        cargo.args(["check", "--package", package, "--no-default-features"]);
        if !feature.is_empty() {
            cargo.args(["--features", feature]);
        }
        process::run(&mut cargo)?;
    }
    // The program of the demo.
    let mut cargo = process::cargo();
    cargo.args(["check", "--package", "icefield-cli"]);
    process::run(cargo.args(["--no-default-features", "--features", "local,netcdf"]))
}

/// Packages every published crate. `--allow-dirty`, because what is looked for is a package that cannot
/// be made (a missing README, a dependency without a version), not work that is not committed yet.
fn package() -> Result<()> {
    let mut cargo = process::cargo();
    cargo.args(["package", "--workspace", "--no-verify", "--allow-dirty"]);
    for package in workspace::packages()? {
        if !workspace::published(package) {
            let name = package["name"].as_str().context("a package has no name")?;
            cargo.args(["--exclude", name]);
        }
    }
    process::run(&mut cargo)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_a_budget() {
        stage::assert_budgets("check", &stages());
    }
}
