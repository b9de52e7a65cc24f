//! `cargo xtask planted`: plants one fault after another, and requires that the test that claims it fails.
//!
//! The faults are in `crates/storage/src/planted.rs`, compiled into the tests and asleep there until the environment names one. The
//! claims are in `xtask/planted.txt`.

mod binaries;
mod claim;
mod trial;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::workspace;
use binaries::Binaries;
use claim::Claim;
use trial::{Ended, Trial};

/// The command as it is asked for.
#[derive(Debug, clap::Args)]
pub struct Asked {
    /// Plants only this fault (repeatable).
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Prints the outcomes as JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// The outcome for one fault.
struct Line {
    claim: Claim,
    without: Trial,
    with: Trial,
}

/// Builds the tests that claim faults, and tries them.
///
/// # Errors
/// If a test does not fail with the fault that it claims, or fails without it.
pub fn command(asked: &Asked) -> Result<()> {
    let mut claims = claim::all()?;
    for name in &asked.only {
        if !claims.iter().any(|claim| claim.bug == *name) {
            bail!("no fault is called {name}; see {}", claim::FILE);
        }
    }
    claims.retain(|claim| asked.only.is_empty() || asked.only.contains(&claim.bug));
    // The faults are compiled into the lowest crate.
    let mut selection = vec!["--all-features", "-p", "icefield-storage"];
    let packages: BTreeSet<&str> = claims.iter().map(|claim| &*claim.package).collect();
    for package in &packages {
        selection.extend(["-p", *package]);
    }
    let lines = try_all(&claims, &Binaries::build(&selection)?)?;
    match asked.json {
        true => println!(
            "{:#}",
            json!(lines.iter().map(Line::json).collect::<Vec<_>>())
        ),
        false => print(&lines),
    }
    verdict(&lines)
}

/// Tries all faults with the tests of the workspace, which are built.
///
/// # Errors
/// As [`command`].
pub fn stage() -> Result<()> {
    let lines = try_all(&claim::all()?, &Binaries::build(workspace::SELECTION)?)?;
    print(&lines);
    verdict(&lines)
}

/// Tries each claim without its fault and with it, as many at a time as there are cores.
fn try_all(claims: &[Claim], binaries: &Binaries) -> Result<Vec<Line>> {
    // Several faults are claimed by one test, which is tried without a fault once.
    let tests: Vec<&Claim> = {
        let mut seen = BTreeSet::new();
        claims.iter().filter(|it| seen.insert(it.test())).collect()
    };
    let without = in_parallel(&tests, |claim| binaries.run(claim, None))?;
    let with = in_parallel(&claims.iter().collect::<Vec<_>>(), |claim| {
        binaries.run(claim, Some(&claim.bug))
    })?;
    let sound = |claim: &Claim| {
        let found = tests.iter().position(|it| it.test() == claim.test());
        found.and_then(|at| without.get(at)).cloned()
    };
    let lines = claims.iter().zip(with).map(|(claim, with)| {
        Ok(Line {
            claim: claim.clone(),
            without: sound(claim).context("BUG: each test was tried without a fault")?,
            with,
        })
    });
    lines.collect()
}

fn in_parallel(
    claims: &[&Claim],
    run: impl Fn(&Claim) -> Result<Trial> + Sync,
) -> Result<Vec<Trial>> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&claim) = claims.get(at) else { return };
                    let trial = run(claim);
                    if let Ok(mut done) = done.lock() {
                        done.push((at, trial));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, trial)| trial).collect()
}

impl Line {
    /// Why the claim does not hold.
    fn wrong(&self) -> Option<String> {
        match (&self.without.ended, &self.with.ended) {
            (Ended::Passed, Ended::Failed) => None,
            (Ended::Passed, Ended::Passed) => Some("it was not caught".to_owned()),
            (Ended::Passed, with) => Some(format!("with it, the test {with}")),
            (without, _) => Some(format!("without it, the test {without}")),
        }
    }

    fn json(&self) -> Value {
        json!({
            "bug": self.claim.bug,
            "package": self.claim.package,
            "target": self.claim.target,
            "test": self.claim.filter,
            "caught": self.wrong().is_none(),
            "problem": self.wrong(),
            "seconds_without": self.without.seconds,
            "seconds_with": self.with.seconds,
        })
    }
}

fn print(lines: &[Line]) {
    for line in lines {
        let Claim {
            bug,
            package,
            filter,
            ..
        } = &line.claim;
        let verdict = line.wrong().unwrap_or_else(|| "caught".to_owned());
        let (without, with) = (line.without.seconds, line.with.seconds);
        println!("{bug:32} {without:5.1} s {with:5.1} s  {verdict}: {package} {filter}");
        if line.wrong().is_some() {
            let said = match line.without.ended {
                Ended::Passed => &line.with.said,
                _ => &line.without.said,
            };
            println!("{said}");
        }
    }
}

fn verdict(lines: &[Line]) -> Result<()> {
    let wrong: Vec<&str> = (lines.iter())
        .filter(|line| line.wrong().is_some())
        .map(|line| &*line.claim.bug)
        .collect();
    match wrong.is_empty() {
        true => {
            eprintln!("{} planted faults were caught", lines.len());
            Ok(())
        }
        false => bail!(
            "{} of {} planted faults were not caught as {} says: {}",
            wrong.len(),
            lines.len(),
            claim::FILE,
            wrong.join(", ")
        ),
    }
}
