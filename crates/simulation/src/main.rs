//! Plays scenarios of the simulation, and prints what came of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use icefield_simulation::{Broken, Figures, Scenario, play};
use icefield_storage::{Clock as _, SystemClock};

/// Runs that making a failing scenario smaller may take.
const SHRINKING: usize = 400;
/// Seeds between two lines about the progress.
const TELL_EVERY: u64 = 500;

#[derive(Parser)]
#[command(about = "Simulates a fleet of processes on one repository", version)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Plays scenarios that are drawn from seeds; ends at the first that fails, and prints it, made smaller.
    Run {
        /// How many.
        #[arg(long, default_value_t = 1000)]
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
        /// Where a failing scenario is written.
        #[arg(long, default_value = "scenario.json")]
        output: PathBuf,
        /// Where the figures are written, as JSON.
        #[arg(long)]
        figures: Option<PathBuf>,
    },
    /// Plays the scenario of a file, and prints its last events.
    Replay {
        /// The file.
        file: PathBuf,
    },
    /// Plants each bug, and tells which seed shows it.
    Planted {
        /// Seeds for each bug, at most.
        #[arg(long, default_value_t = 500)]
        seeds: u64,
    },
}

fn main() -> anyhow::Result<ExitCode> {
    // Panics are verdicts here, and told as such.
    std::panic::set_hook(Box::new(|_| {}));
    match Args::parse().command {
        Command::Run {
            seeds,
            from,
            twice,
            threads,
            output,
            figures,
        } => run(
            from..from + seeds,
            twice,
            threads.max(1),
            &output,
            figures.as_deref(),
        ),
        Command::Replay { file } => replay(&file),
        Command::Planted { seeds } => Ok(planted(seeds)),
    }
}

/// The sums of all seeds.
#[derive(Default)]
struct Total {
    figures: Figures,
    events: u64,
    played: u64,
}

fn run(
    seeds: std::ops::Range<u64>,
    twice: bool,
    threads: u64,
    output: &PathBuf,
    figures_file: Option<&Path>,
) -> anyhow::Result<ExitCode> {
    let begun = SystemClock.monotonic();
    let next = AtomicU64::new(seeds.start);
    let failed = Mutex::new(None::<(u64, String)>);
    let total = Mutex::new(Total::default());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let is_over = failed.lock().map_or(true, |it| it.is_some());
                    if seed >= seeds.end || is_over {
                        return;
                    }
                    let scenario = Scenario::draw(seed);
                    let outcome = play(&scenario);
                    let mut rule = outcome.broken;
                    if twice && rule.is_none() {
                        let again = play(&scenario);
                        if again.digest != outcome.digest {
                            rule = Some("two runs have different traces".to_owned());
                        }
                    }
                    if let Ok(mut total) = total.lock() {
                        total.figures += outcome.figures;
                        total.events += outcome.events;
                        total.played += 1;
                        if total.played.is_multiple_of(TELL_EVERY) {
                            let seconds = (SystemClock.monotonic() - begun).as_secs_f64();
                            let rate = total.played as f64 / seconds;
                            println!("… {} seeds, {rate:.1} a second", total.played);
                        }
                    }
                    if let Some(rule) = rule
                        && let Ok(mut failed) = failed.lock()
                    {
                        failed.get_or_insert((seed, rule));
                    }
                }
            });
        }
    });
    let Total {
        figures,
        events,
        played,
    } = total
        .into_inner()
        .map_err(|_| anyhow::anyhow!("a thread panicked"))?;
    let seconds = (SystemClock.monotonic() - begun).as_secs_f64();
    println!("{played} seeds, {events} events, {seconds:.1} s: {figures:?}");
    let failed = failed
        .into_inner()
        .map_err(|_| anyhow::anyhow!("a thread panicked"))?;
    if let Some(file) = figures_file {
        let document = serde_json::json!({
            "seeds": played,
            "events": events,
            "seconds": seconds.round(),
            "failed": failed.as_ref().map(|(seed, _)| seed),
            "counts": figures,
        });
        fs::write(file, document.to_string())
            .with_context(|| format!("{} cannot be written", file.display()))?;
    }
    let Some((seed, rule)) = failed else {
        return Ok(ExitCode::SUCCESS);
    };
    println!("seed {seed} fails: {rule}");
    let smallest = Scenario::draw(seed).shrunk(|it| play(it).broken.is_some(), SHRINKING);
    fs::write(output, serde_json::to_string_pretty(&smallest)?)?;
    println!(
        "made smaller, {} fails: {}",
        output.display(),
        play(&smallest).broken.unwrap_or_default()
    );
    Ok(ExitCode::FAILURE)
}

fn replay(file: &PathBuf) -> anyhow::Result<ExitCode> {
    let text =
        fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let scenario: Scenario = serde_json::from_str(&text)
        .with_context(|| format!("{} is no scenario", file.display()))?;
    let outcome = play(&scenario);
    for event in &outcome.last {
        println!("{event}");
    }
    println!(
        "trace {:016x}, {} events: {:?}",
        outcome.digest, outcome.events, outcome.figures
    );
    match outcome.broken {
        Some(rule) => {
            println!("fails: {rule}");
            Ok(ExitCode::FAILURE)
        }
        None => Ok(ExitCode::SUCCESS),
    }
}

fn planted(seeds: u64) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for broken in Broken::ALL {
        let found = (0..seeds).find_map(|seed| {
            let outcome = play(&Scenario::draw(seed).with_broken(broken));
            Some((seed, outcome.broken?))
        });
        match found {
            Some((seed, rule)) => println!("{broken:?}: seed {seed}: {rule}"),
            None => {
                println!("{broken:?}: not found by {seeds} seeds");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}
