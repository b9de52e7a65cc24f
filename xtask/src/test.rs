//! `cargo xtask test`: sets up what the tests need and runs every one of them.

use anyhow::Result;

use crate::python::{ARCHIVES, ENVIRONMENTS, Environment, PACKAGE, WHEEL};
use crate::stage::{Outcome, Stages};
use crate::{
    archives, cookbook, demo, fuzz, interop, kill, nczarr, package, process, servers, tour, wheel,
    workspace,
};

/// Seconds that each fuzz target runs.
const FUZZ_SECONDS: u32 = 10;
/// Parts of the names of the tests that need gigabytes.
const LARGE: [&str; 2] = ["d51_", "of_more_than_4_gib"];

/// A stage by its name.
type Named = (&'static str, fn() -> Result<()>);

/// What is run with the wheel of the Python package, most of it beside the reference implementation.
const BESIDE_REFERENCE: [Named; 4] = [
    ("behaviour-reference", package::behaviour_of_reference),
    ("parity", package::parity),
    ("bench-python", package::bench),
    ("cookbook", cookbook::run),
];

/// Runs the stages, or only those named.
///
/// # Errors
/// If one fails.
pub fn run(only: &[String], list: bool) -> Result<()> {
    let mut stages = Stages::new(only, list);
    for stage in ["tour", "demo"] {
        stages.needs(stage, &["programs"]);
    }
    for environment in &ENVIRONMENTS {
        let python = python_stage(environment);
        stages.needs(&interop_stage(environment), &[&python, "programs"]);
        stages.needs(&judge_stage(environment), &[&python, "cargo-test"]);
    }
    let libraries = python_stage(&ARCHIVES);
    stages.needs("archives", &[&libraries, "programs"]);
    stages.needs("nczarr", &[&libraries, "programs", "nczarr-peers"]);
    let wheels = python_stage(&WHEEL);
    stages.needs("wheel", &[&wheels, "programs"]);
    for environment in &PACKAGE {
        let python = python_stage(environment);
        stages.needs(environment.name, &[&python, &wheels, "programs", "wheel"]);
    }
    let judge = python_stage(package::judge());
    for (name, _) in BESIDE_REFERENCE {
        stages.needs(name, &[&judge, &wheels, "programs", "wheel"]);
    }
    let environments = ENVIRONMENTS.iter().chain([&ARCHIVES, &WHEEL]);
    for environment in environments.chain(&PACKAGE) {
        stages.stage(&python_stage(environment), || prepare(environment));
    }
    stages.stage("cargo-test", || {
        let mut cargo = process::cargo();
        cargo.arg("test").args(workspace::SELECTION);
        cargo.env(kill::VARIABLE, kill::fresh_copies()?);
        process::run(cargo.arg("--no-fail-fast")).map(|()| Outcome::Passed)
    });
    stages.stage("large", || {
        // Those that are left out of a plain `cargo test`, for their gigabytes of memory or disk. One at a time.
        let mut cargo = process::cargo();
        cargo.arg("test").args(workspace::SELECTION);
        cargo.args(["--test", "robustness", "--test", "it", "--", "--ignored"]);
        cargo.args(["--test-threads", "1"]).args(LARGE);
        process::run(&mut cargo).map(|()| Outcome::Passed)
    });
    for (name, run) in servers::STAGES {
        stages.stage(name, run);
    }
    stages.stage("benches", || {
        // Each once, on little data; in the profile and with the features of all other tests.
        let mut cargo = process::cargo();
        // Of the whole workspace, so that nothing is built again with other features.
        cargo.args(["test", "--workspace", "--all-features"]);
        process::run(cargo.args(["--bench", "*"])).map(|()| Outcome::Passed)
    });
    stages.stage("programs", || {
        workspace::build_programs()?;
        workspace::programs().map(|_| Outcome::Passed)
    });
    stages.stage("example-backend", || {
        // A workspace of its own, as a third party would have it.
        let mut cargo = process::cargo();
        cargo.args([
            "test",
            "--locked",
            "--manifest-path",
            "examples/backend/Cargo.toml",
        ]);
        cargo
            .arg("--target-dir")
            .arg(workspace::target()?.join("example-backend"));
        process::run(&mut cargo).map(|()| Outcome::Passed)
    });
    let programs = stages.available("programs");
    stages.stage("tour", || needs(&[(programs, "programs")], tour::run));
    stages.stage("demo", || {
        needs(&[(programs, "programs")], || {
            demo::run(&workspace::programs()?.icefield)
        })
    });
    let tested = stages.available("cargo-test");
    for environment in &ENVIRONMENTS {
        let python = python_stage(environment);
        let ready = stages.available(&python);
        stages.stage(&interop_stage(environment), || {
            needs(&[(ready, &python), (programs, "programs")], || {
                interop::run(environment)
            })
        });
        stages.stage(&judge_stage(environment), || {
            needs(&[(ready, &python), (tested, "cargo-test")], || {
                kill::verify(environment)
            })
        });
    }
    let ready = stages.available(&libraries);
    stages.stage("archives", || {
        needs(&[(ready, &libraries), (programs, "programs")], || {
            archives::run(tested)
        })
    });
    stages.stage("nczarr-peers", nczarr::peers);
    stages.stage("nczarr", || {
        needs(&[(ready, &libraries), (programs, "programs")], nczarr::run)
    });
    let ready = stages.available(&wheels);
    stages.stage("wheel", || {
        needs(&[(ready, &wheels), (programs, "programs")], || {
            wheel::packed().map(|_| ())
        })
    });
    let packed = stages.available("wheel");
    for environment in &PACKAGE {
        let python = python_stage(environment);
        let ready = stages.available(&python);
        stages.stage(environment.name, || {
            needs(&[(ready, &python), (packed, "wheel")], || {
                package::run(environment)
            })
        });
    }
    let ready = stages.available(&judge);
    for (name, run) in BESIDE_REFERENCE {
        stages.stage(name, || needs(&[(ready, &judge), (packed, "wheel")], run));
    }
    stages.stage("fuzz", || fuzz::run(FUZZ_SECONDS).map(|()| Outcome::Passed));
    stages.finish()
}

fn python_stage(environment: &Environment) -> String {
    format!("python-{}", environment.name)
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

/// Runs the body if the stages that it stands on are available, else skips it and says why.
fn needs(stages: &[(bool, &str)], body: impl FnOnce() -> Result<()>) -> Result<Outcome> {
    match stages.iter().find(|(available, _)| !available) {
        None => body().map(|()| Outcome::Passed),
        Some((_, stage)) => Ok(Outcome::Skipped(format!("it needs the stage {stage}"))),
    }
}
