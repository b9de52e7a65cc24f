//! `cargo xtask simulate`: the simulation of a fleet, built for speed, with its figures in the ledger.

use std::process::Command;

use anyhow::Result;

use crate::ledger::{self, Run};
use crate::{process, workspace};

/// The command as it is asked for.
#[derive(Debug, clap::Args)]
pub struct Asked {
    /// How many seeds are played; each other one begins with version 2 of the format.
    #[arg(long, default_value_t = 10_000)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Plays each of them twice, and requires equal traces.
    #[arg(long)]
    twice: bool,
    /// Threads, each with scenarios of its own.
    #[arg(long, default_value_t = 2)]
    threads: u64,
    /// Appends the figures to `docs/reliability/ledger.jsonl`.
    #[arg(long)]
    record: bool,
}

/// Runs the command.
///
/// # Errors
/// If a seed fails: the scenario stays, made smaller.
pub fn command(asked: &Asked) -> Result<()> {
    let commit = asked.record.then(ledger::commit).transpose()?;
    let mut cargo = process::cargo();
    process::run(cargo.args([
        "build",
        "--release",
        "--locked",
        "-p",
        "icefield-simulation",
    ]))?;
    let target = workspace::target()?;
    let work = workspace::scratch("simulation")?;
    let program = format!(
        "release/icefield-simulation{}",
        std::env::consts::EXE_SUFFIX
    );
    let (seeds, from) = (asked.seeds.to_string(), asked.from.to_string());
    let figures = work.join("figures.json");
    let mut simulation = Command::new(target.join(program));
    simulation.args(["run", "--seeds", &seeds, "--from", &from]);
    simulation.args(["--threads", &asked.threads.to_string()]);
    simulation.arg("--output").arg(work.join("scenario.json"));
    simulation.arg("--figures").arg(&figures);
    let twice = if asked.twice { " --twice" } else { "" };
    simulation.args(asked.twice.then_some("--twice"));
    let ended = process::run(&mut simulation);
    let recorded = commit.map_or(Ok(()), |commit| {
        ledger::append(&Run {
            command: &format!("cargo xtask simulate --seeds {seeds} --from {from}{twice}"),
            seed: asked.from,
            backend: "simulation",
            spec: "both",
            commit: &commit,
            figures: &figures,
        })
    });
    // A simulation that failed itself leaves no figures: its own error comes first.
    ended.and(recorded)
}
