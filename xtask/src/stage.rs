//! A run made of named stages: each reported under a heading, all summed up in a table at the end.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How one stage ended.
#[derive(Debug)]
pub enum Outcome {
    /// It ran and everything held.
    Passed,
    /// It did not run, for the reason given.
    Skipped(String),
}

#[derive(Debug)]
struct Line {
    name: String,
    verdict: &'static str,
    detail: String,
    took: Duration,
}

/// The stages of one run, in order.
#[derive(Debug)]
pub struct Stages {
    only: Vec<String>,
    /// What those need, in turn.
    needed: Vec<String>,
    list: bool,
    known: Vec<String>,
    lines: Vec<Line>,
}

impl Stages {
    /// Starts a run that is restricted to the stages in `only`, unless that is empty. With `list`,
    /// nothing runs and the names are printed.
    pub fn new(only: &[String], list: bool) -> Self {
        Self {
            only: only.to_vec(),
            needed: Vec::new(),
            list,
            known: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// Says which stages a stage stands on: they run, too, when only that one was asked for. To be said before the
    /// first of them.
    pub fn needs(&mut self, name: &str, stages: &[&str]) {
        if self.only.iter().any(|only| only == name) {
            self.needed.extend(stages.iter().map(ToString::to_string));
        }
    }

    /// Runs one stage. An error fails the stage, later stages still run.
    #[expect(
        clippy::disallowed_methods,
        reason = "the time a stage took is only shown"
    )]
    pub fn stage(&mut self, name: &str, body: impl FnOnce() -> Result<Outcome>) {
        self.known.push(name.to_owned());
        if self.list {
            println!("{name}");
            return;
        }
        if !self.selected(name) {
            return;
        }
        println!("\n=== {name} ===");
        let start = Instant::now();
        let (verdict, detail) = match body() {
            Ok(Outcome::Passed) => ("passed", String::new()),
            Ok(Outcome::Skipped(why)) => {
                println!("SKIPPED {name}: {why}");
                ("SKIPPED", why)
            }
            Err(error) => {
                eprintln!("FAILED {name}: {error:#}");
                let text = format!("{error:#}");
                let first = text.lines().next().unwrap_or_default().to_owned();
                ("FAILED", first)
            }
        };
        self.lines.push(Line {
            name: name.to_owned(),
            verdict,
            detail,
            took: start.elapsed(),
        });
    }

    /// Says whether the stage of that name ran and passed.
    pub fn available(&self, name: &str) -> bool {
        (self.lines.iter()).any(|line| line.name == name && line.verdict == "passed")
    }

    fn selected(&self, name: &str) -> bool {
        let mut asked = self.only.iter().chain(&self.needed);
        self.only.is_empty() || asked.any(|asked| asked == name)
    }

    /// Prints the table and the closing line.
    ///
    /// # Errors
    /// If a stage failed, or `--only` named one that does not exist.
    pub fn finish(self) -> Result<()> {
        if let Some(unknown) = self.only.iter().find(|only| !self.known.contains(only)) {
            bail!(
                "there is no stage `{unknown}`; the stages are {}",
                self.known.join(", ")
            );
        }
        if self.list {
            return Ok(());
        }
        println!("\n=== summary ===");
        let width = self.lines.iter().map(|line| line.name.len()).max();
        let width = width.unwrap_or_default();
        for line in &self.lines {
            let seconds = line.took.as_secs_f64();
            let row = format!(
                "{:<width$}  {:<7}  {seconds:>7.1} s  {}",
                line.name, line.verdict, line.detail
            );
            println!("{}", row.trim_end());
        }
        let count = |verdict| self.lines.iter().filter(|l| l.verdict == verdict).count();
        let (passed, failed, skipped) = (count("passed"), count("FAILED"), count("SKIPPED"));
        println!("\n{passed} passed, {failed} failed, {skipped} skipped");
        if failed > 0 {
            bail!("{failed} of {} stages failed", self.lines.len());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs three stages, the last of which stands on the first, and returns those that ran.
    fn ran(only: &[&str]) -> Vec<String> {
        let only: Vec<String> = only.iter().map(ToString::to_string).collect();
        let mut stages = Stages::new(&only, false);
        stages.needs("third", &["first"]);
        for name in ["first", "second", "third"] {
            stages.stage(name, || Ok(Outcome::Passed));
        }
        stages.lines.into_iter().map(|line| line.name).collect()
    }

    #[test]
    fn one_stage_brings_what_it_stands_on() {
        assert_eq!(ran(&["third"]), ["first", "third"]);
        assert_eq!(ran(&["second"]), ["second"]);
        assert_eq!(ran(&[]), ["first", "second", "third"]);
    }

    #[test]
    fn what_did_not_run_or_pass_is_not_available() {
        let only = ["failing".to_owned(), "passing".to_owned()];
        let mut stages = Stages::new(&only, false);
        stages.stage("passing", || Ok(Outcome::Passed));
        stages.stage("failing", || bail!("on purpose"));
        stages.stage("left out", || Ok(Outcome::Passed));
        let available = ["passing", "failing", "left out"].map(|name| stages.available(name));
        assert_eq!(available, [true, false, false]);
    }
}
