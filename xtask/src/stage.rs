//! A run made of named stages: some alone, some beside each other, all summed up in a table at the end.
//!
//! Each stage runs in a process of its own, which is this program again, told the name of the stage. So what a stage and
//! its children print is kept apart from what others print, without their help.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::budget::Budgets;
use crate::schedule::{Next, Schedule, StageState};

pub use crate::schedule::{Outcome, Stage};
use crate::summary::{self, Line, Verdict};
use crate::workspace;

/// Returns a command that calls a program for a stage: where no other waits for it, at a lower priority.
fn command(program: &Path, stage: &Stage, stages: &[Stage]) -> Command {
    let mut waits = stages
        .iter()
        .flat_map(|it| it.needs.iter().chain(&it.after));
    if waits.any(|name| *name == stage.name) || cfg!(windows) {
        return Command::new(program);
    }
    let mut command = Command::new("nice");
    command.args(["-n", "10"]).arg(program);
    command
}

/// The selection of stages on the command line.
#[derive(Debug, Default, clap::Args)]
pub struct Asked {
    /// Runs only these stages (repeatable), and those that they need; see `--list`.
    #[arg(long, value_name = "STAGE")]
    only: Vec<String>,
    /// Prints the names of the stages.
    #[arg(long)]
    list: bool,
    /// Runs the body of one stage in this process, and nothing that it needs.
    #[arg(long, value_name = "STAGE", hide = true, requires = "verdict")]
    inside: Option<String>,
    /// Where that says how the stage ended.
    #[arg(long, value_name = "FILE", hide = true)]
    verdict: Option<PathBuf>,
}

/// Runs the stages of the command of that name, each after those that it needs, and prints the table.
///
/// # Errors
/// If a stage fails, `--only` names one that does not exist, or a stage has no budget or a budget no stage.
pub fn run(name: &str, stages: &[Stage], asked: &Asked) -> Result<()> {
    if let (Some(stage), Some(file)) = (&asked.inside, &asked.verdict) {
        return inside(find(stages, stage)?, file);
    }
    for stage in &asked.only {
        find(stages, stage)?;
    }
    let names: Vec<&str> = stages.iter().map(|stage| &*stage.name).collect();
    if asked.list {
        println!("{}", names.join("\n"));
        return Ok(());
    }
    let budgets = Budgets::of(name)?;
    budgets.check(&names)?;
    let logs = workspace::scratch(&format!("stages/{name}"))?;
    // Asked once: a build of the workspace may put another program in its place, of the same source.
    let program = std::env::current_exe().context("cannot find this program")?;
    let schedule = Schedule::new(stages, &asked.only, at_once());
    let lines = run_all(stages, schedule, |stage| {
        let mut child = command(&program, stage, stages);
        child.args([name, "--inside", &stage.name, "--verdict"]);
        let (log, verdict) = (
            logs.join(&stage.name),
            logs.join(format!("{}.verdict", stage.name)),
        );
        child.arg(&verdict);
        let shown = stage.shown;
        move || ended(child, shown, &log, &verdict)
    });
    print!("{}", summary::text(&lines, &budgets));
    let failed = lines.iter().filter(|line| line.failed()).count();
    if failed > 0 {
        bail!("{failed} of {} stages failed", lines.len());
    }
    Ok(())
}

fn find<'a>(stages: &'a [Stage], name: &str) -> Result<&'a Stage> {
    stages
        .iter()
        .find(|stage| stage.name == name)
        .with_context(|| {
            let known: Vec<_> = stages.iter().map(|stage| &*stage.name).collect();
            format!(
                "there is no stage `{name}`; the stages are {}",
                known.join(", ")
            )
        })
}

/// Runs the body of a stage, and leaves its verdict in a file.
fn inside(stage: &Stage, file: &Path) -> Result<()> {
    let verdict = match (stage.body)() {
        Ok(Outcome::Passed) => Verdict::Passed,
        Ok(Outcome::Skipped(why)) => {
            println!("SKIPPED {}: {why}", stage.name);
            Verdict::Skipped(why)
        }
        Err(error) => {
            eprintln!("FAILED {}: {error:#}", stage.name);
            Verdict::Failed(format!("{error:#}"))
        }
    };
    fs::write(file, verdict.encode()).with_context(|| format!("cannot write {}", file.display()))
}

/// Runs a stage in its process, and returns its verdict and, unless it is shown already, what it said.
fn ended(mut child: Command, shown: bool, log: &Path, verdict: &Path) -> (Verdict, String) {
    let mut run = || -> Result<(Verdict, String)> {
        if !shown {
            // One file for both, so that lines stay in their order.
            let file = File::create(log)?;
            child.stdin(Stdio::null());
            child.stdout(file.try_clone()?).stderr(file);
        }
        let status = child.status()?;
        let said = match shown {
            true => String::new(),
            false => String::from_utf8_lossy(&fs::read(log)?).into_owned(),
        };
        let left = fs::read_to_string(verdict).ok();
        let left = left.and_then(|text| Verdict::decode(&text));
        Ok(match left {
            Some(verdict) if status.success() => (verdict, said),
            _ => (
                Verdict::Failed(format!("its process ended with {status}")),
                said,
            ),
        })
    };
    run().unwrap_or_else(|error| (Verdict::Failed(format!("{error:#}")), String::new()))
}

/// Runs the stages as the schedule has them, each with what `prepare` returns, and returns their lines in the order in
/// which they started.
#[expect(
    clippy::disallowed_methods,
    reason = "the time that a stage takes is only shown"
)]
fn run_all<P, R>(stages: &[Stage], mut schedule: Schedule, prepare: P) -> Vec<Line>
where
    P: Fn(&Stage) -> R,
    R: FnOnce() -> (Verdict, String) + Send,
{
    let mut lines: Vec<Line> = Vec::new();
    let began = Instant::now();
    let (end, ends) = mpsc::channel();
    thread::scope(|scope| {
        loop {
            match schedule.next() {
                Next::Start(at) => {
                    let stage = &stages[at];
                    schedule.set(at, StageState::Running);
                    lines.push(Line::new(&stage.name, began.elapsed()));
                    println!(
                        "\n=== {}{} ===",
                        stage.name,
                        if stage.shown { "" } else { " starts" }
                    );
                    let (run, end) = (prepare(stage), end.clone());
                    scope.spawn(move || {
                        let start = Instant::now();
                        let (verdict, said) = run();
                        // The receiver lives as long as the scope.
                        let _ = end.send((at, verdict, said, start.elapsed()));
                    });
                }
                Next::Skip(at, missing) => {
                    let name = &stages[at].name;
                    let why = format!("it needs the stage {missing}");
                    println!("\n=== {name} ===\nSKIPPED {name}: {why}");
                    schedule.set(at, StageState::NotPassed);
                    let mut line = Line::new(name, began.elapsed());
                    line.end(Verdict::Skipped(why), Duration::ZERO);
                    lines.push(line);
                }
                Next::Wait => {
                    let Ok((at, verdict, said, took)) = ends.recv() else {
                        break;
                    };
                    let stage = &stages[at];
                    if !stage.shown {
                        println!("\n=== {} ===\n{}", stage.name, said.trim_end());
                    }
                    schedule.set(
                        at,
                        match verdict {
                            Verdict::Passed => StageState::Passed,
                            _ => StageState::NotPassed,
                        },
                    );
                    if let Some(line) = lines.iter_mut().find(|line| line.name == stage.name) {
                        line.end(verdict, took);
                    }
                }
                Next::End => break,
            }
        }
    });
    lines
}

/// Returns how many stages run beside each other: one more than there are cores, since each waits now and then, for a
/// server, a disk, or the answer of a child process.
fn at_once() -> usize {
    thread::available_parallelism().map_or(1, usize::from) + 1
}

/// Asserts that stages and budgets of a command are the same, and that what stages need is there.
#[cfg(test)]
pub fn assert_budgets(command: &str, stages: &[Stage]) {
    let names: Vec<&str> = stages.iter().map(|stage| &*stage.name).collect();
    Budgets::of(command).unwrap().check(&names).unwrap();
    for stage in stages {
        for other in stage.needs.iter().chain(&stage.after) {
            assert!(names.contains(&&**other), "{} needs {other}", stage.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Condvar, Mutex};

    use super::*;

    fn nothing() -> Result<()> {
        Ok(())
    }

    #[test]
    #[cfg(unix)]
    fn a_stage_for_which_no_other_waits_has_a_lower_priority() {
        let first = Stage::new("first", nothing);
        let stages = [first, Stage::new("last", nothing).needs(&["first"])];
        let called = stages.each_ref().map(|stage| {
            let command = command(Path::new("program"), stage, &stages);
            command.get_program().to_owned()
        });
        assert_eq!(called, ["program", "nice"]);
    }

    /// Runs stages, each with the verdict of its body, and returns names and verdicts in the order of their starts.
    fn run_here(stages: &[Stage], at_once: usize) -> Vec<(String, Verdict)> {
        let schedule = Schedule::new(stages, &[], at_once);
        let lines = run_all(stages, schedule, |stage| {
            let verdict = match (stage.body)() {
                Ok(Outcome::Passed) => Verdict::Passed,
                Ok(Outcome::Skipped(why)) => Verdict::Skipped(why),
                Err(error) => Verdict::Failed(error.to_string()),
            };
            move || (verdict, String::new())
        });
        lines
            .into_iter()
            .map(|line| (line.name.clone(), line.verdict().clone()))
            .collect()
    }

    #[test]
    fn what_needs_a_stage_that_failed_is_skipped_and_says_so() {
        let stages = [
            Stage::new("passing", nothing),
            Stage::new("failing", || bail!("on purpose")),
            Stage::new("standing", nothing).needs(&["passing"]),
            Stage::new("falling", nothing).needs(&["passing", "failing"]),
            Stage::new("further", nothing).needs(&["falling"]),
        ];
        let mut found = run_here(&stages, 2);
        found.sort_by_key(|(name, _)| stages.iter().position(|stage| stage.name == *name));
        let skipped = |stage: &str| Verdict::Skipped(format!("it needs the stage {stage}"));
        let verdicts: Vec<_> = found.into_iter().map(|(_, verdict)| verdict).collect();
        assert_eq!(
            verdicts,
            [
                Verdict::Passed,
                Verdict::Failed("on purpose".to_owned()),
                Verdict::Passed,
                skipped("failing"),
                skipped("falling"),
            ]
        );
    }

    #[test]
    fn stages_run_beside_each_other() {
        // Each waits until both run: one after the other, they would wait for ever.
        let stages = [Stage::new("one", nothing), Stage::new("two", nothing)];
        let both = Arc::new((Mutex::new(0), Condvar::new()));
        let schedule = Schedule::new(&stages, &[], 2);
        let lines = run_all(&stages, schedule, |_| {
            let both = Arc::clone(&both);
            move || {
                let (running, changed) = &*both;
                let mut running = running.lock().unwrap();
                *running += 1;
                changed.notify_all();
                drop(changed.wait_while(running, |running| *running < 2).unwrap());
                (Verdict::Passed, String::new())
            }
        });
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn a_stage_without_a_verdict_has_failed() {
        let log = Path::new("/dev/null");
        let verdict = Path::new("/no/verdict/here");
        let (found, _) = ended(Command::new("true"), true, log, verdict);
        assert!(matches!(found, Verdict::Failed(why) if why.contains("ended with")));
        let (found, _) = ended(Command::new("/no/program"), true, log, verdict);
        assert!(found != Verdict::Passed);
    }

    #[test]
    fn an_unknown_stage_is_refused_with_the_known_ones() {
        let stages = [Stage::new("one", nothing), Stage::new("two", nothing)];
        let asked = Asked {
            only: vec!["three".to_owned()],
            ..Asked::default()
        };
        let refused = run("test", &stages, &asked).unwrap_err().to_string();
        assert!(
            refused.contains("three") && refused.contains("one, two"),
            "{refused}"
        );
    }
}
