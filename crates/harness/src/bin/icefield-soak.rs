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
    /// Milliseconds between two rounds.
    #[arg(long, default_value_t = 200)]
    pause: u64,
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
        pause: Duration::from_millis(args.pause),
        folder: args.folder,
    };
    // A number of threads of its own, so that two machines have as many.
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let figures = runtime.block_on(soak.run())?;
    println!("{}", figures.counts);
    for it in &figures.growth {
        let verdict = if it.is_flat { "flat" } else { "GROWS" };
        let (name, early, late, most) = (it.name, it.early, it.late, it.most);
        println!("{name:12} early {early}, late {late}, at most {most}: {verdict}");
    }
    if let Some(file) = args.figures {
        std::fs::write(&file, serde_json::to_vec(&figures)?)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(match figures.are_flat() {
        true => ExitCode::SUCCESS,
        false => {
            println!(
                "FAILED: something grew, or there are too few samples ({})",
                figures.samples
            );
            ExitCode::FAILURE
        }
    })
}
