//! Lives long on the local disk, and demands that memory, descriptors, threads and tasks do not grow.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use icefield_harness::soak::Soak;
use tokio::runtime::Builder;

#[derive(Debug, Parser)]
#[command(about = "Commits, reads, forks and collects for long, and demands that nothing grows")]
struct Args {
    /// How long it lasts.
    #[arg(long)]
    minutes: f64,
    /// Rounds a second.
    #[arg(long, default_value_t = 3.0)]
    rate: f64,
    /// An empty folder, for the repositories.
    #[arg(long)]
    folder: PathBuf,
    /// Where the figures are written, as JSON.
    #[arg(long)]
    figures: Option<PathBuf>,
}

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let soak = Soak {
        lasts: Duration::try_from_secs_f64(args.minutes * 60.0)?,
        rate: args.rate,
        folder: args.folder,
    };
    // Fixed numbers of threads, so that two machines have as many. The pool for blocking work grows with a burst and shrinks
    // ten seconds later: any round fills one of this size, whatever the load of the machine.
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(4)
        .enable_all()
        .build()?;
    let figures = runtime.block_on(soak.run())?;
    println!("{}, {} missed", figures.counts, figures.missed);
    for it in &figures.growth {
        let verdict = if it.is_flat { "flat" } else { "GROWS" };
        let (name, early, late, most) = (it.name, it.early, it.late, it.most);
        println!("{name:12} early {early}, late {late}, at most {most}: {verdict}");
    }
    if let Some(file) = args.figures {
        std::fs::write(&file, serde_json::to_vec(&figures)?)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    if !figures.are_flat() {
        let samples = figures.samples;
        println!("FAILED: something grew, or there are too few samples ({samples})");
        return Ok(ExitCode::FAILURE);
    }
    if !figures.kept_pace() {
        let (missed, rate) = (figures.missed, figures.rate);
        println!("FAILED: {missed} rounds were missed: give a rate below {rate}");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
