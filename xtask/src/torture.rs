//! `cargo xtask torture`: real processes that are killed at random, judged by us and by the reference implementation.
//!
//! The work is that of `icefield-torture`, in `crates/harness`. Here it is built, given a place and the reference
//! implementation as its second judge, and its figures go to the ledger.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::ledger::{self, Run};
use crate::python::ENVIRONMENTS;
use crate::stage::Outcome;
use crate::{interop, process, workspace};

/// The seed of the stage of `cargo xtask test`.
const SEED_OF_STAGE: u64 = 20_261_128;
/// Seconds in which the stage kills processes.
const SECONDS_OF_STAGE: u64 = 12;
/// Repositories of the stage: both versions, each with fresh sessions and with rebases.
const REPOSITORIES_OF_STAGE: u64 = 4;

/// The store below the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// A directory on the local disk.
    Local,
    /// The S3 server of `crates/testservers`, behind its fault proxy.
    S3,
    /// The GCS server of `crates/testservers`, behind its fault proxy.
    Gcs,
    /// A store in memory, which is skipped by name: no two processes share one.
    Memory,
}

/// The command as it is asked for.
#[derive(Debug, clap::Args)]
pub struct Asked {
    /// Minutes in which processes are killed; the judgements come on top.
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// The store below the processes.
    #[arg(long, value_enum, default_value = "local")]
    backend: Backend,
    /// Draws the moments of the kills from this seed instead of the time.
    #[arg(long)]
    seed: Option<u64>,
    /// The version of the format: 1, 2, or both in turn.
    #[arg(long, default_value = "both", value_parser = ["1", "2", "both"])]
    spec: String,
    /// Appends the figures to `docs/reliability/ledger.jsonl`.
    #[arg(long)]
    record: bool,
}

/// Runs the command.
///
/// # Errors
/// If a promise is broken: the seed is printed, and the folder stays.
pub fn command(asked: &Asked) -> Result<()> {
    let Some(backend) = name(asked.backend) else {
        println!("SKIPPED memory: a store in memory belongs to one process; see the simulation");
        return Ok(());
    };
    if !(asked.minutes > 0.0 && asked.minutes < 1e6) {
        bail!(
            "{} minutes are no time: give a positive number",
            asked.minutes
        );
    }
    let seed = asked.seed.map_or_else(seed_of_now, Ok)?;
    let commit = asked.record.then(ledger::commit).transpose()?;
    let folder = workspace::scratch(&format!("torture/{backend}-{seed}"))?;
    let mut cargo = process::cargo();
    process::run(cargo.args(["build", "--locked", "-p", "icefield-harness", "--bins"]))?;
    let seconds = ((asked.minutes * 60.0).round() as u64).max(1);
    let campaign = Campaign {
        backend,
        spec: &asked.spec,
        seed,
        seconds,
        life: 60,
        folder: &folder,
    };
    let ended = campaign.run();
    // Before the verdict: a run that found something is recorded, too.
    let recorded = commit.map_or(Ok(()), |commit| {
        let (minutes, spec) = (asked.minutes, &asked.spec);
        ledger::append(&Run {
            command: &format!(
                "cargo xtask torture --minutes {minutes} --backend {backend} --spec {spec} --seed {seed}"
            ),
            seed,
            backend,
            spec,
            commit: &commit,
            figures: &campaign.file(),
        })
    });
    // A campaign that failed itself leaves no figures: its own error comes first.
    ended.and(recorded)?;
    std::fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))
}

/// Runs a short campaign on the local disk, of both versions and both ways to commit, with the programs that are built.
///
/// Of collections it covers the deletion of backups only: its repositories live for seconds, and garbage is spared that
/// is younger than the floor of a campaign, which a session on a busy machine must not outlast. For that, run minutes.
///
/// # Errors
/// If a promise is broken.
pub fn stage() -> Result<Outcome> {
    if !cfg!(unix) {
        return Ok(Outcome::Skipped("no SIGKILL on this system".to_owned()));
    }
    let folder = workspace::scratch("torture/stage")?;
    let campaign = Campaign {
        backend: "local",
        spec: "both",
        seed: SEED_OF_STAGE,
        seconds: SECONDS_OF_STAGE,
        life: SECONDS_OF_STAGE / REPOSITORIES_OF_STAGE,
        folder: &folder,
    };
    campaign.run()?;
    // One that kills no process, or acknowledges nothing, would find nothing.
    let figures = ledger::figures(&campaign.file())?;
    for figure in ["kills", "stopped_at_calls", "acknowledged", "reads"] {
        if figures[figure].as_u64().unwrap_or_default() == 0 {
            bail!("the campaign has no {figure}: {figures}");
        }
    }
    if figures["judged"].as_u64() != Some(REPOSITORIES_OF_STAGE) {
        bail!("the campaign did not judge {REPOSITORIES_OF_STAGE} repositories: {figures}");
    }
    Ok(Outcome::Passed)
}

fn name(backend: Backend) -> Option<&'static str> {
    match backend {
        Backend::Local => Some("local"),
        Backend::S3 => Some("s3"),
        Backend::Gcs => Some("gcs"),
        Backend::Memory => None,
    }
}

/// Returns the seconds since 1970: as good a seed as any, once it is printed.
fn seed_of_now() -> Result<u64> {
    let now = process::output(Command::new("date").arg("+%s"))?;
    now.trim().parse().context("`date +%s` printed no number")
}

/// One run of `icefield-torture`.
struct Campaign<'a> {
    backend: &'a str,
    spec: &'a str,
    seed: u64,
    seconds: u64,
    life: u64,
    folder: &'a Path,
}

impl Campaign<'_> {
    fn run(&self) -> Result<()> {
        let program = format!("debug/icefield-torture{}", std::env::consts::EXE_SUFFIX);
        let mut torture = Command::new(workspace::target()?.join(program));
        let number = |number: u64| number.to_string();
        torture.args(["--backend", self.backend, "--spec", self.spec]);
        torture.args([
            "--seconds",
            &number(self.seconds),
            "--life",
            &number(self.life),
        ]);
        torture.args(["--seed", &number(self.seed)]);
        torture.arg("--folder").arg(self.folder);
        torture.arg("--figures").arg(self.file());
        if let Some(judge) = second_judge()? {
            torture.envs(
                judge
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            );
            torture.current_dir(workspace::root());
            torture
                .arg("--")
                .arg(judge.get_program())
                .args(judge.get_args());
        }
        process::run(&mut torture)
    }

    fn file(&self) -> PathBuf {
        self.folder.join("figures.json")
    }
}

/// Returns the command by which the reference implementation judges a folder; its 2.x line, which knows both versions
/// of the format.
fn second_judge() -> Result<Option<Command>> {
    let [_, environment] = &ENVIRONMENTS;
    match environment.prepare()? {
        Some(_) => interop::script(environment, "verify_repos.py").map(Some),
        None => {
            let version = environment.version;
            println!("SKIPPED the reference implementation: no Python {version} on this machine");
            Ok(None)
        }
    }
}
