//! One run of a test, with a fault or without.

use std::fmt;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// A test that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(120);
/// Lines of what a test said that are kept.
const KEPT: usize = 40;

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All that ran passed, and something ran.
    Passed,
    /// Some failed.
    Failed,
    /// No test has the name.
    NothingRan,
    /// It was stopped: a fault that makes a test hang is not one that it reports.
    Hung,
    /// It ended without a result.
    Died,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Passed => "passes",
            Self::Failed => "fails",
            Self::NothingRan => "does not exist",
            Self::Hung => "hangs",
            Self::Died => "ends without a result",
        })
    }
}

/// A run and its end.
#[derive(Clone, Debug)]
pub struct Trial {
    pub ended: Ended,
    pub seconds: f64,
    /// The end of what it printed.
    pub said: String,
}

/// Runs a test, which prints into a file.
///
/// # Errors
/// If it cannot be started.
pub fn run(test: &mut Command, log: &Path) -> Result<Trial> {
    let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    test.stdin(Stdio::null());
    test.stdout(file.try_clone()?).stderr(file);
    #[expect(clippy::disallowed_methods, reason = "how long a child process takes")]
    let begun = Instant::now();
    let mut child = test.spawn().context("cannot start a test")?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if begun.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            break None;
        }
        thread::sleep(Duration::from_millis(20));
    };
    let text = String::from_utf8_lossy(&fs::read(log)?).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    Ok(Trial {
        ended: match status {
            None => Ended::Hung,
            Some(status) => ended(status.success(), &lines),
        },
        seconds: begun.elapsed().as_secs_f64(),
        said: lines[lines.len().saturating_sub(KEPT)..].join("\n"),
    })
}

/// Reads the result that the test harness prints last.
fn ended(success: bool, lines: &[&str]) -> Ended {
    let result = lines.iter().rev().find_map(|line| {
        let rest = line.strip_prefix("test result: ")?;
        let count = |word: &str| -> Option<u64> {
            let before = rest.split(word).next()?;
            before.split_whitespace().last()?.parse().ok()
        };
        Some((count(" passed")?, count(" failed")?))
    });
    match (success, result) {
        (true, Some((0, 0))) => Ended::NothingRan,
        (true, Some((_, 0))) => Ended::Passed,
        (false, Some((_, failed))) if failed > 0 => Ended::Failed,
        _ => Ended::Died,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_read_from_the_last_line_that_has_one() {
        let passed = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 866 filtered out; finished";
        let failed =
            "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 9 filtered out";
        let nothing =
            "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 868 filtered out";
        assert_eq!(ended(true, &[passed]), Ended::Passed);
        assert_eq!(ended(false, &["x", failed, ""]), Ended::Failed);
        assert_eq!(ended(true, &[nothing]), Ended::NothingRan);
        assert_eq!(ended(false, &["thread panicked"]), Ended::Died);
        assert_eq!(ended(false, &[passed]), Ended::Died);
    }
}
