//! Kills writers, readers and collectors of one repository after the other, and judges what they leave behind.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use icefield::format::SpecVersion;
use icefield_harness::torture::campaign::Campaign;
use icefield_harness::torture::ground::Backend;

/// The versions of the format.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Spec {
    #[value(name = "1")]
    V1,
    #[value(name = "2")]
    V2,
    /// One after the other.
    Both,
}

#[derive(Debug, Parser)]
#[command(about = "Kills processes at random, and judges the repositories that they leave behind")]
struct Args {
    /// Seconds in which processes are killed; the judgements come on top.
    #[arg(long)]
    seconds: u64,
    /// Seconds for each repository.
    #[arg(long, default_value_t = 60)]
    life: u64,
    /// The store.
    #[arg(long, value_enum)]
    backend: Backend,
    /// The version of the format.
    #[arg(long, value_enum, default_value = "both")]
    spec: Spec,
    /// The source of all draws.
    #[arg(long)]
    seed: u64,
    /// Where repositories are kept.
    #[arg(long)]
    folder: PathBuf,
    /// Where the figures are written, as JSON.
    #[arg(long)]
    figures: Option<PathBuf>,
    /// A program with its arguments that judges the folder of each repository, too, which is removed afterwards.
    #[arg(last = true)]
    second_judge: Vec<OsString>,
}

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let worker = std::env::current_exe()?
        .with_file_name(format!("icefield-worker{}", std::env::consts::EXE_SUFFIX));
    let campaign = Campaign {
        lasts: Duration::from_secs(args.seconds),
        life: Duration::from_secs(args.life),
        backend: args.backend,
        specs: match args.spec {
            Spec::V1 => vec![SpecVersion::V1],
            Spec::V2 => vec![SpecVersion::V2],
            Spec::Both => vec![SpecVersion::V1, SpecVersion::V2],
        },
        seed: args.seed,
        folder: args.folder,
        worker,
        second_judge: args.second_judge,
    };
    let figures = campaign.run()?;
    println!("{figures}");
    println!("stopped at: {:?}", figures.calls);
    if let Some(file) = args.figures {
        std::fs::write(&file, serde_json::to_vec(&figures)?)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    if figures.are_clean() {
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "FAILED with seed {}; see {}",
        campaign.seed,
        campaign.folder.display()
    );
    Ok(ExitCode::FAILURE)
}
