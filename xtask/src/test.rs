//! `cargo xtask test`: sets up what the tests need and runs every one of them.

use anyhow::Result;

use crate::python::{ARCHIVES, ENVIRONMENTS, Environment, PACKAGE, WHEEL};
use crate::stage::{self, Asked, Outcome, Stage};
use crate::{
    archives, cookbook, debian, demo, dist, fuzz, gateway, interop, kill, nczarr, netcdf, package,
    planted, process, servers, torture, tour, web, wheel, workspace,
};

/// Seconds that each fuzz target runs.
const FUZZ_SECONDS: u32 = 10;
/// Parts of the names of the tests that need gigabytes.
const LARGE: [&str; 2] = ["d51_", "of_more_than_4_gib"];

/// Runs the stages, or only those that were asked for.
///
/// # Errors
/// If one fails.
pub fn run(asked: &Asked) -> Result<()> {
    stage::run("test", &stages(), asked)
}

/// The stages, in the order in which they start if they can.
///
/// First comes what others stand on, then all that is left, the longest first, so that no core is idle at the end. What
/// compiles into the target directory comes one after the other: two builds would wait for each other's lock. Beside it
/// run stages that need nothing from it. A stage for which no other waits has a lower priority: it takes the time that a
/// build leaves, in which one crate waits for the other. After it, every `cargo test` finds its programs built, and holds that lock for no longer than it
/// takes to see that. `fuzz` and `example-backend` have target directories of their own.
///
/// Stages that run beside each other share what is installed and built, which none of them changes: each writes below
/// directories of its own name, and listens on ports that it was given. So the wheel is installed by a stage of its own,
/// as is the reference implementation, before any stage that imports them.
fn stages() -> Vec<Stage> {
    let (libraries, wheels) = (python_stage(&ARCHIVES), python_stage(&WHEEL));
    let newest = python_stage(&ENVIRONMENTS[1]);
    let mut stages = environments();
    stages.extend([
        Stage::that_may_skip("debian-packages", debian::packages),
        Stage::that_may_skip("web-packages", web::packages),
        Stage::that_may_skip("netcdf-c", netcdf::built).after(&["debian-packages"]),
        Stage::new("programs", programs).shown(),
        Stage::new("wheel", || wheel::packed().map(|_| ())).needs(&[&wheels, "programs"]),
        Stage::new("dist", dist::rehearse).needs(&[&wheels, "programs"]),
        Stage::new("build", build).needs(&["programs"]).shown(),
        Stage::new("cargo-test", cargo_test).needs(&["build"]),
        Stage::new("fuzz", || fuzz::run(FUZZ_SECONDS)),
    ]);
    stages.extend(PACKAGE.iter().map(|environment| {
        let python = python_stage(environment);
        let install = move || package::install(environment);
        Stage::new(&installed_stage(environment), install).needs(&[&python, "wheel"])
    }));
    stages.extend(PACKAGE.iter().rev().map(|environment| {
        let installed = installed_stage(environment);
        Stage::new(environment.name, move || package::run(environment)).needs(&[&installed])
    }));
    let server = |(name, run): servers::Stage| Stage::that_may_skip(name, run).needs(&["build"]);
    stages.extend(servers::STAGES.map(server));
    stages.extend(beside_reference());
    stages.extend(ENVIRONMENTS.iter().map(|environment| {
        let python = python_stage(environment);
        let run = move || interop::run(environment);
        Stage::new(&interop_stage(environment), run).needs(&[&python, "programs"])
    }));
    stages.extend([
        Stage::new("archives", archives::run).needs(&[&libraries, "programs"]),
        Stage::new("nczarr", nczarr::run)
            .needs(&[&libraries, "programs"])
            .after(&["debian-packages"]),
        Stage::new("gateway", gateway::run)
            .needs(&[&libraries, "programs"])
            .after(&["debian-packages", "web-packages", "netcdf-c", &newest]),
        Stage::new("archives-reader", archives::reader).needs(&["archives", "build"]),
        Stage::new("large", large).needs(&["build"]),
        Stage::new("benches", benches).needs(&["build"]),
        Stage::new("example-backend", example_backend),
        Stage::new("explorer", web::explorer)
            .needs(&["web-packages"])
            .after(&["debian-packages"]),
        Stage::new("tour", tour::run).needs(&["programs"]),
        Stage::new("planted", planted::stage).needs(&["build"]),
        Stage::that_may_skip("torture", torture::stage)
            .needs(&["programs"])
            .after(&["python-312"]),
        Stage::new("demo", || demo::run(&workspace::programs()?.icefield)).needs(&["programs"]),
    ]);
    stages.extend(ENVIRONMENTS.iter().map(|environment| {
        let python = python_stage(environment);
        let verify = move || kill::verify(environment);
        Stage::new(&judge_stage(environment), verify).needs(&[&python, "cargo-test"])
    }));
    stages
}

/// The Python environments, which wait for the network when they are made anew.
fn environments() -> Vec<Stage> {
    let environments = ENVIRONMENTS.iter().chain([&ARCHIVES, &WHEEL]);
    let mut stages: Vec<Stage> = environments
        .chain(&PACKAGE)
        .map(|environment| {
            let prepare = move || prepare(environment);
            Stage::that_may_skip(&python_stage(environment), prepare)
        })
        .collect();
    let judge = python_stage(package::judge());
    stages.push(Stage::new("python-reference", package::install_reference).needs(&[&judge]));
    stages
}

/// The tests that run with the wheel of the Python package, most of them beside the reference implementation.
fn beside_reference() -> [Stage; 5] {
    let installed = installed_stage(package::judge());
    [
        Stage::new("behaviour-reference", package::behaviour_of_reference),
        Stage::new("parity", package::parity),
        Stage::new("bench-python", package::bench),
        Stage::new("bench-archives", package::try_bench_of_archives),
        Stage::new("cookbook", cookbook::run),
    ]
    .map(|stage| stage.needs(&["python-reference", &installed]))
}

fn python_stage(environment: &Environment) -> String {
    format!("python-{}", environment.name)
}

fn installed_stage(environment: &Environment) -> String {
    format!("installed-{}", environment.name)
}

fn interop_stage(environment: &Environment) -> String {
    format!("interop-{}", environment.name)
}

fn judge_stage(environment: &Environment) -> String {
    format!("kill-judged-{}", environment.name)
}

fn prepare(environment: &Environment) -> Result<Outcome> {
    Ok(match environment.prepare()? {
        Some(_) => Outcome::Passed,
        None => Outcome::Skipped(format!("no Python {} on this machine", environment.version)),
    })
}

fn programs() -> Result<()> {
    workspace::build_programs()?;
    workspace::programs().map(|_| ())
}

/// Builds all tests and benches, in one build: while some are linked, others are compiled.
fn build() -> Result<()> {
    let mut cargo = process::cargo();
    cargo.arg("test").args(workspace::SELECTION);
    process::run(cargo.args(["--no-run", "--tests", "--benches"]))
}

fn cargo_test() -> Result<()> {
    let mut cargo = process::cargo();
    cargo.arg("test").args(workspace::SELECTION);
    cargo.env(kill::VARIABLE, kill::fresh_copies()?);
    process::run(cargo.arg("--no-fail-fast"))
}

/// Runs the tests that are left out of a plain `cargo test`, for their gigabytes of memory or disk. One at a time.
fn large() -> Result<()> {
    let mut cargo = process::cargo();
    cargo.arg("test").args(workspace::SELECTION);
    cargo.args(["--test", "it", "--", "--ignored"]);
    process::run(cargo.args(["--test-threads", "1"]).args(LARGE))
}

/// Runs each bench once, on little data; in the profile and with the features of all other tests, and of the whole
/// workspace, so that nothing is built again.
fn benches() -> Result<()> {
    let mut cargo = process::cargo();
    cargo.arg("test").args(workspace::SELECTION);
    process::run(cargo.args(["--bench", "*"]))
}

/// Tests the backend that is a workspace of its own, as a third party would have it.
fn example_backend() -> Result<()> {
    let manifest = "examples/backend/Cargo.toml";
    let mut cargo = process::cargo();
    cargo.args(["test", "--locked", "--manifest-path", manifest]);
    let target = workspace::target()?.join("example-backend");
    process::run(cargo.arg("--target-dir").arg(target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_has_a_budget() {
        stage::assert_budgets("test", &stages());
    }
}
