//! How long each stage may take: `xtask/budgets.txt`.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::workspace;

const FILE: &str = "xtask/budgets.txt";

/// A stage is named that takes more than this many times its budget. No more than that: machines differ.
const TOLERANCE: f64 = 1.5;

/// The budgets of the stages of one command, in the order of the file.
#[derive(Debug)]
pub struct Budgets(Vec<(String, Duration)>);

impl Budgets {
    /// Reads those of a command.
    ///
    /// # Errors
    /// If the file cannot be read or understood.
    pub fn of(command: &str) -> Result<Self> {
        let path = workspace::root().join(FILE);
        let text = fs::read_to_string(&path);
        Self::parse(
            &text.with_context(|| format!("cannot read {}", path.display()))?,
            command,
        )
    }

    pub(crate) fn parse(text: &str, of: &str) -> Result<Self> {
        let mut budgets = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            let (command, stage, seconds) = match words[..] {
                [] => continue,
                [command, stage, seconds] => (command, stage, seconds.parse::<u32>().ok()),
                _ => ("", "", None),
            };
            let Some(seconds) = seconds else {
                bail!(
                    "{FILE}:{}: a line is a command, a stage and whole seconds",
                    at + 1
                );
            };
            if command == of {
                budgets.push((stage.to_owned(), Duration::from_secs(seconds.into())));
            }
        }
        Ok(Self(budgets))
    }

    /// Checks that the stages and the budgets are the same.
    ///
    /// # Errors
    /// If a stage has no budget or more than one, or a budget has no stage.
    pub fn check(&self, stages: &[&str]) -> Result<()> {
        let budgets = |name: &str| self.0.iter().filter(|(of, _)| of == name).count();
        if let Some(stage) = stages.iter().find(|stage| budgets(stage) != 1) {
            bail!(
                "{FILE} must have one budget for the stage {stage}: add a line with the seconds that it takes on two cores"
            );
        }
        match self.0.iter().find(|(name, _)| !stages.contains(&&**name)) {
            Some((name, _)) => {
                bail!("{FILE} has a budget for {name}, which is no stage: remove the line")
            }
            None => Ok(()),
        }
    }

    /// Returns the budget of a stage.
    pub fn get(&self, stage: &str) -> Option<Duration> {
        self.0
            .iter()
            .find(|(name, _)| name == stage)
            .map(|(_, budget)| *budget)
    }

    /// Says whether a stage that took so long is to be named.
    pub fn is_exceeded(&self, stage: &str, took: Duration) -> bool {
        self.get(stage)
            .is_some_and(|budget| took > budget.mul_f64(TOLERANCE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# seconds\n\ntest one 10\ntest two 4 # why\ncheck one 3\n";

    #[test]
    fn each_command_has_budgets_of_its_own() {
        let budgets = Budgets::parse(TEXT, "test").unwrap();
        assert_eq!(budgets.get("one"), Some(Duration::from_secs(10)));
        assert_eq!(Budgets::parse(TEXT, "check").unwrap().get("two"), None);
    }

    #[test]
    fn stages_and_budgets_are_the_same() {
        let budgets = Budgets::parse(TEXT, "test").unwrap();
        budgets.check(&["two", "one"]).unwrap();
        let refused = |stages: &[&str]| budgets.check(stages).unwrap_err().to_string();
        assert!(refused(&["one", "two", "three"]).contains("budget for the stage three"));
        assert!(refused(&["one"]).contains("budget for two, which is no stage"));
        let twice = Budgets::parse("test one 1\ntest one 2\n", "test").unwrap();
        twice.check(&["one"]).unwrap_err();
    }

    #[test]
    fn a_line_that_is_no_budget_is_refused_by_its_number() {
        for line in ["test one", "test one 1.5", "test one 1 2", "test one -1"] {
            let refused = Budgets::parse(&format!("\n{line}\n"), "test").unwrap_err();
            assert!(refused.to_string().contains(":2:"), "{line}: {refused}");
        }
    }

    #[test]
    fn a_stage_is_named_at_more_than_one_and_a_half_times_its_budget() {
        let budgets = Budgets::parse(TEXT, "test").unwrap();
        assert!(!budgets.is_exceeded("one", Duration::from_secs(15)));
        assert!(budgets.is_exceeded("one", Duration::from_millis(15_001)));
        assert!(!budgets.is_exceeded("unknown", Duration::MAX));
    }
}
