//! Servers that others wrote, as a second opinion: what our own servers in `crates/testservers` say, they must say,
//! too. Each is installed below the target directory, started on loopback, tested against, and stopped.
//!
//! A case that one of them cannot run is left out by name, in the module of the tests that has its name.

mod azurite;
mod fake_gcs_server;
mod http;
mod install;
mod ports;
mod running;
mod seaweedfs;

use anyhow::{Context, Result, bail};

use crate::stage::Outcome;
use crate::{process, workspace};

/// The name of a stage, and what it runs.
pub type Stage = (&'static str, fn() -> Result<Outcome>);

/// One stage for each server.
pub const STAGES: [Stage; 3] = [
    ("seaweedfs", seaweedfs::run),
    ("fake-gcs-server", fake_gcs_server::run),
    ("azurite", azurite::run),
];

/// Runs the tests below modules of that name, told by variables where the server is.
///
/// # Errors
/// If one fails, or fewer than `at_least` ran: a filter that meets nothing would pass otherwise.
fn tests(module: &str, variables: &[(&str, &str)], at_least: usize) -> Result<()> {
    let mut cargo = process::cargo();
    // The selection of all other tests, so that nothing is built again.
    cargo.arg("test").args(workspace::SELECTION);
    cargo.args(["--test", "it"]);
    cargo.args(["--no-fail-fast", "--", &format!("{module}::")]);
    // They wait for the server most of the time.
    cargo.arg("--test-threads=8");
    cargo.envs(variables.iter().copied());
    let said = process::run_and_read(&mut cargo)?;
    let left_out = left_out(&said);
    let passed = passed(&said).context("cargo said nothing about tests")?;
    // A case that was left out ends like one that passed.
    let ran = passed.saturating_sub(left_out.len());
    if ran < at_least {
        bail!("only {ran} tests ran below `{module}::`, fewer than {at_least}");
    }
    println!("{ran} tests passed below `{module}::`");
    for case in left_out {
        println!("LEFT OUT {case}");
    }
    Ok(())
}

/// Returns what the suite says of cases that it did not run, each as `name: reason`.
fn left_out(output: &str) -> Vec<&str> {
    // The name of a test that runs may stand before it on the line.
    let said = output
        .lines()
        .filter_map(|line| line.split_once("SKIPPED "));
    said.map(|(_, case)| case).collect()
}

/// Adds up what the test programs say at their ends; `None` if none ran.
fn passed(output: &str) -> Option<usize> {
    let ends = output.lines().filter(|l| l.starts_with("test result: ok."));
    let counts: Vec<usize> = ends
        .filter_map(|line| line.split_whitespace().nth(3)?.parse().ok())
        .collect();
    (!counts.is_empty()).then(|| counts.iter().sum())
}

#[cfg(test)]
mod tests {
    #[test]
    fn passed_tests_are_added_up() {
        let output = "running 2 tests\ntest a::b ... ok\n\
            test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.00s\n\
            running 0 tests\n\
            test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.00s\n\
            test result: ok. 40 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.00s\n";
        assert_eq!(super::passed(output), Some(42));
        assert_eq!(super::passed("error: nothing was built\n"), None);
    }

    #[test]
    fn cases_that_did_not_run_are_told() {
        let output =
            "SKIPPED one: no server\ntest a::b ... ok\ntest two ... SKIPPED two: why\nok\n";
        assert_eq!(super::left_out(output), ["one: no server", "two: why"]);
        assert_eq!(super::left_out("test a ... ok\n"), <[&str; 0]>::default());
    }
}
