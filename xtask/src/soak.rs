//! `cargo xtask soak`: a process that lives long, in Rust or in Python, and must not grow. Its figures go to the ledger.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::ledger::{self, Run};
use crate::{package, process, workspace};

/// The command as it is asked for.
#[derive(Debug, clap::Args)]
pub struct Asked {
    /// How long it lasts.
    #[arg(long, default_value_t = 90.0)]
    minutes: f64,
    /// Rounds a second; without it, so many that they take a small part of one core.
    #[arg(long)]
    rate: Option<f64>,
    /// Uses the Python package, in the environment of its tests, instead of the Rust library.
    #[arg(long)]
    python: bool,
    /// Appends the figures to `docs/reliability/ledger.jsonl`.
    #[arg(long)]
    record: bool,
}

/// Runs the command.
///
/// # Errors
/// If something grows, or what was written cannot be read.
pub fn command(asked: &Asked) -> Result<()> {
    let minutes = asked.minutes;
    if !(minutes > 0.0 && minutes < 1e6) {
        bail!("{minutes} minutes are no time: give a positive number");
    }
    if !cfg!(target_os = "linux") {
        bail!("a soak looks at /proc/self, which only Linux has");
    }
    let commit = asked.record.then(ledger::commit).transpose()?;
    let folder = workspace::scratch(match asked.python {
        true => "soak-python",
        false => "soak",
    })?;
    let figures = folder.join("figures.json");
    let mut soak = match asked.python {
        true => package::soak(&folder)?,
        false => program(&folder)?,
    };
    soak.args(["--minutes", &minutes.to_string()]);
    // One arena of glibc, which gives back what is free at its end. With one for each thread, memory follows from which threads
    // happened to allocate, and approaches its bound for an hour.
    soak.env("MALLOC_ARENA_MAX", "1");
    soak.env("MALLOC_TRIM_THRESHOLD_", "131072");
    if let Some(rate) = asked.rate {
        soak.args(["--rate", &rate.to_string()]);
    }
    soak.arg("--figures").arg(&figures);
    let ended = process::run(&mut soak);
    // Before the verdict: a soak that found something is recorded, too.
    let recorded = commit.map_or(Ok(()), |commit| {
        let python = if asked.python { " --python" } else { "" };
        let rate = asked.rate.map(|rate| format!(" --rate {rate}"));
        let rate = rate.unwrap_or_default();
        ledger::append(&Run {
            command: &format!("cargo xtask soak --minutes {minutes}{rate}{python}"),
            seed: 0,
            backend: "local",
            spec: "both",
            commit: &commit,
            figures: &figures,
        })
    });
    ended.and(recorded)?;
    std::fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))
}

/// Builds the program, and returns a command that uses a folder. A copy of it runs: a build of the workspace may put
/// another one in its place meanwhile.
fn program(folder: &Path) -> Result<Command> {
    let mut cargo = process::cargo();
    process::run(cargo.args(["build", "--locked", "-p", "icefield-harness", "--bins"]))?;
    let name = format!("icefield-soak{}", std::env::consts::EXE_SUFFIX);
    let built = workspace::target()?.join("debug").join(&name);
    let copy = folder.join(&name);
    std::fs::copy(&built, &copy).with_context(|| format!("cannot copy {}", built.display()))?;
    let mut soak = Command::new(copy);
    soak.arg("--folder").arg(folder.join("repositories"));
    Ok(soak)
}
