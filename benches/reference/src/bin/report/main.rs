//! Every workload of ours beside the reference implementation and beside the least that the machine needs for it, in one run.
//!
//! Each side of each workload runs in a process of its own, in turns, so that caches and allocators of one do not serve the
//! other, and what else the machine does disturbs all alike. The medians of the rounds count, and a ratio is the median of the
//! rounds' ratios. Both sides work on spec version 1 unless a row says otherwise, without fsync unless it says so.
//!
//! ```text
//! report [--only WORKLOAD]… [--rounds N] [--quick] [--alone] [--json FILE] [--markdown FILE] [--svg FILE]
//! ```
//! `--quick` does everything on little data, `--alone` leaves the peers out: together they show that all of ours runs.

mod chunks;
mod commits;
mod imports;
mod machine;
mod maintenance;
mod outcome;
mod plot;
mod references;
mod sides;
mod targets;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use futures::future::LocalBoxFuture;

use outcome::{Report, Rounds};
use sides::{Amount, Side};

/// Rounds, if the caller names none.
const ROUNDS: usize = 5;
/// Tells a further process that it is one side of a workload.
const CHILD: &str = "--child";

/// Names of figures, with their values: seconds for one operation, or another unit that the name says.
type Figures = Vec<(String, f64)>;

/// One thing that both sides do.
struct Workload {
    name: &'static str,
    sides: &'static [Side],
    /// Makes what all runs have in common, in a directory, once.
    prepare: fn(&Path, Amount) -> LocalBoxFuture<'_, Result<()>>,
    /// Runs one side, with the common directory and an empty one of its own.
    run: for<'a> fn(Side, &'a Path, &'a Path, Amount) -> LocalBoxFuture<'a, Result<Figures>>,
}

/// All of them, in the order of the report.
fn workloads() -> Vec<Workload> {
    [
        chunks::workloads(),
        references::workloads(),
        commits::workloads(),
        maintenance::workloads(),
        imports::workloads(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The options of the command line.
struct Options {
    only: Vec<String>,
    rounds: usize,
    amount: Amount,
    alone: bool,
    json: Option<PathBuf>,
    markdown: Option<PathBuf>,
    svg: Option<PathBuf>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self {
            only: Vec::new(),
            rounds: 0,
            amount: Amount::Full,
            alone: false,
            json: None,
            markdown: None,
            svg: None,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                let value = arguments.next().cloned();
                value.with_context(|| format!("{argument} needs a value"))
            };
            match argument.as_str() {
                "--only" => options.only.push(value()?),
                "--rounds" => options.rounds = value()?.parse()?,
                "--quick" => options.amount = Amount::Quick,
                "--alone" => options.alone = true,
                "--json" => options.json = Some(value()?.into()),
                "--markdown" => options.markdown = Some(value()?.into()),
                "--svg" => options.svg = Some(value()?.into()),
                other => bail!("{other:?} is no option of the report"),
            }
        }
        if options.rounds == 0 {
            options.rounds = match options.amount {
                Amount::Full => ROUNDS,
                Amount::Quick => 1,
            };
        }
        Ok(options)
    }

    fn chosen(&self) -> Result<Vec<Workload>> {
        let all = workloads();
        for name in &self.only {
            let names: Vec<_> = all.iter().map(|it| it.name).collect();
            let known = names.contains(&name.as_str());
            ensure!(
                known,
                "{name:?} is no workload: there are {}",
                names.join(", ")
            );
        }
        let is_chosen =
            |it: &Workload| self.only.is_empty() || self.only.iter().any(|name| name == it.name);
        Ok(all.into_iter().filter(is_chosen).collect())
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    if let [first, name, side, common, own, amount] = arguments.as_slice()
        && first == CHILD
    {
        let workload = workloads().into_iter().find(|it| it.name == name);
        let workload = workload.context("no such workload")?;
        let (side, amount) = (Side::parse(side)?, Amount::parse(amount)?);
        let run = (workload.run)(side, Path::new(common), Path::new(own), amount);
        for (name, figure) in runtime.block_on(run)? {
            println!("{figure}\t{name}");
        }
        return Ok(());
    }
    let options = Options::parse(&arguments)?;
    let scratch = tempfile::tempdir_in(scratch_parent()?)?;
    let mut report = Report::default();
    for workload in options.chosen()? {
        let common = scratch.path().join(workload.name);
        fs::create_dir_all(&common)?;
        runtime.block_on((workload.prepare)(&common, options.amount))?;
        let sides: Vec<Side> = workload
            .sides
            .iter()
            .copied()
            .filter(|it| !options.alone || *it == Side::Icefield)
            .collect();
        let mut rounds = Rounds::default();
        for round in 0..options.rounds {
            for turn in 0..sides.len() {
                // Another side is first in each round.
                let side = sides[(round + turn) % sides.len()];
                eprintln!(
                    "{}, round {} of {}: {}",
                    workload.name,
                    round + 1,
                    options.rounds,
                    side.name()
                );
                rounds.note(
                    side,
                    child(&workload, side, &common, scratch.path(), options.amount)?,
                );
            }
        }
        report.add(workload.name, rounds);
        // Kept no longer than needed; deleting many files at the end would slow down those that are created meanwhile.
        fs::remove_dir_all(&common)?;
    }
    print!("{}", report.table());
    if let Some(file) = &options.json {
        fs::write(file, report.json(&machine::describe())?)?;
    }
    if let Some(file) = &options.svg {
        fs::write(file, plot::ratios(&report))?;
    }
    if let Some(file) = &options.markdown {
        fs::write(file, report.markdown(&machine::describe()))?;
    }
    Ok(())
}

/// Where the data go: the disk of the build, because the usual place for temporary files may be memory.
fn scratch_parent() -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os("TMPDIR") {
        return Ok(folder.into());
    }
    let program = std::env::current_exe()?;
    Ok(program
        .parent()
        .context("a program is in a directory")?
        .to_owned())
}

fn child(
    workload: &Workload,
    side: Side,
    common: &Path,
    scratch: &Path,
    amount: Amount,
) -> Result<Figures> {
    let own = tempfile::tempdir_in(scratch)?;
    let run = Command::new(std::env::current_exe()?)
        .args([CHILD, workload.name, side.name()])
        .args([common, own.path()])
        .arg(amount.name())
        .output()?;
    let said = String::from_utf8_lossy(&run.stderr);
    ensure!(
        run.status.success(),
        "{} of {}: {said}",
        side.name(),
        workload.name
    );
    let figure = |line: &str| -> Result<(String, f64)> {
        let (figure, name) = line.split_once('\t').context("a line without a name")?;
        Ok((name.to_owned(), figure.parse()?))
    };
    String::from_utf8(run.stdout)?.lines().map(figure).collect()
}
