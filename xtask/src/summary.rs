//! The table at the end of a run.

use std::fmt::Write;
use std::time::Duration;

use crate::budget::Budgets;

/// How a stage ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Everything held.
    Passed,
    /// It did not run, for the reason given.
    Skipped(String),
    /// Something did not hold.
    Failed(String),
}

impl Verdict {
    fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Skipped(_) => "SKIPPED",
            Self::Failed(_) => "FAILED",
        }
    }

    fn detail(&self) -> &str {
        match self {
            Self::Passed => "",
            Self::Skipped(text) | Self::Failed(text) => text,
        }
    }

    /// Returns the text that [`Self::decode`] understands.
    pub fn encode(&self) -> String {
        format!("{}\n{}", self.word(), self.detail())
    }

    /// Returns the verdict that a text stands for, if it does.
    pub fn decode(text: &str) -> Option<Self> {
        let (word, detail) = text.split_once('\n')?;
        let verdicts = [
            Self::Passed,
            Self::Skipped(detail.to_owned()),
            Self::Failed(detail.to_owned()),
        ];
        verdicts.into_iter().find(|verdict| verdict.word() == word)
    }
}

/// One stage in the table.
#[derive(Debug)]
pub struct Line {
    /// The name of the stage.
    pub name: String,
    /// When it started, from the start of the run.
    start: Duration,
    took: Duration,
    verdict: Verdict,
}

impl Line {
    /// Returns the line of a stage that starts.
    pub fn new(name: &str, start: Duration) -> Self {
        Self {
            name: name.to_owned(),
            start,
            took: Duration::ZERO,
            verdict: Verdict::Failed("it has not ended".to_owned()),
        }
    }

    /// Notes how the stage ended.
    pub fn end(&mut self, verdict: Verdict, took: Duration) {
        (self.verdict, self.took) = (verdict, took);
    }

    /// Says whether the stage failed.
    pub fn failed(&self) -> bool {
        matches!(self.verdict, Verdict::Failed(_))
    }

    /// How the stage ended.
    #[cfg(test)]
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }
}

/// Returns the table, in the order of the starts, and the closing lines.
pub fn text(lines: &[Line], budgets: &Budgets) -> String {
    let mut text = "\n=== summary ===\n".to_owned();
    let width = lines
        .iter()
        .map(|line| line.name.len())
        .max()
        .unwrap_or(0)
        .max(5);
    let mut row = |row: std::fmt::Arguments<'_>| {
        let row = row.to_string();
        text.push_str(row.trim_end());
        text.push('\n');
    };
    row(format_args!(
        "{:<width$}  {:<7}  {:>8}  {:>8}  {:>8}",
        "stage", "", "start, s", "took, s", "budget"
    ));
    for line in lines {
        let budget = budgets.get(&line.name);
        let budget = budget.map_or_else(|| "-".to_owned(), |budget| budget.as_secs().to_string());
        row(format_args!(
            "{:<width$}  {:<7}  {:>8.1}  {:>8.1}  {budget:>8}  {}",
            line.name,
            line.verdict.word(),
            line.start.as_secs_f64(),
            line.took.as_secs_f64(),
            line.verdict.detail().lines().next().unwrap_or_default(),
        ));
    }
    let end = lines
        .iter()
        .map(|line| line.start + line.took)
        .max()
        .unwrap_or_default();
    let sum: Duration = lines.iter().map(|line| line.took).sum();
    let count = |word| {
        lines
            .iter()
            .filter(|line| line.verdict.word() == word)
            .count()
    };
    let _ = writeln!(
        text,
        "\n{} passed, {} failed, {} skipped in {:.0} s (one after the other: {:.0} s)",
        count("passed"),
        count("FAILED"),
        count("SKIPPED"),
        end.as_secs_f64(),
        sum.as_secs_f64(),
    );
    for line in lines {
        if budgets.is_exceeded(&line.name, line.took) {
            let budget = budgets.get(&line.name).unwrap_or_default();
            let _ = writeln!(
                text,
                "SLOW {}: {:.0} s, over one and a half times its budget of {} s",
                line.name,
                line.took.as_secs_f64(),
                budget.as_secs(),
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_survive_a_file() {
        let verdicts = [
            Verdict::Passed,
            Verdict::Skipped("no Python".to_owned()),
            Verdict::Failed("one\ntwo".to_owned()),
        ];
        for verdict in verdicts {
            assert_eq!(Verdict::decode(&verdict.encode()), Some(verdict));
        }
        assert_eq!(Verdict::decode(""), None);
        assert_eq!(Verdict::decode("pass"), None);
    }

    #[test]
    fn the_table_has_times_beside_budgets_and_names_what_is_slow() {
        let budgets = Budgets::parse("test quick 10\ntest slow 2\n", "test").unwrap();
        let mut quick = Line::new("quick", Duration::ZERO);
        quick.end(Verdict::Passed, Duration::from_millis(9500));
        let mut slow = Line::new("slow", Duration::from_secs(1));
        slow.end(
            Verdict::Failed("first\nsecond".to_owned()),
            Duration::from_secs(4),
        );
        assert_eq!(
            text(&[quick, slow], &budgets),
            "
=== summary ===
stage           start, s   took, s    budget
quick  passed        0.0       9.5        10
slow   FAILED        1.0       4.0         2  first

1 passed, 1 failed, 0 skipped in 10 s (one after the other: 14 s)
SLOW slow: 4 s, over one and a half times its budget of 2 s
"
        );
    }

    #[test]
    fn a_stage_that_has_not_ended_has_failed() {
        assert!(Line::new("cut off", Duration::ZERO).failed());
    }
}
