//! The ledger of long runs: `docs/reliability/ledger.jsonl`, one line of JSON for each.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::{process, workspace};

/// The file, below the root.
const FILE: &str = "docs/reliability/ledger.jsonl";

/// One run.
#[derive(Debug)]
pub struct Run<'a> {
    /// The command that runs it again.
    pub command: &'a str,
    /// The source of its draws, or the first of its seeds.
    pub seed: u64,
    /// The store.
    pub backend: &'a str,
    /// The version of the format, or `both`.
    pub spec: &'a str,
    /// The commit of the programs, from [`commit`].
    pub commit: &'a str,
    /// The file to which the run wrote its counts, as JSON.
    pub figures: &'a Path,
}

/// Returns the commit of the working tree, with `+` where it has changes. A run asks for it before its programs are
/// built: meanwhile others may commit.
///
/// # Errors
/// If git does not tell the commit.
pub fn commit() -> Result<String> {
    let root = workspace::root();
    let git = |args: &[&str]| process::output(Command::new("git").current_dir(&root).args(args));
    let mut commit = git(&["rev-parse", "--short=12", "HEAD"])?.trim().to_owned();
    // The ledger itself may have lines of earlier runs that are not committed.
    let unlike_ledger = format!(":!{FILE}");
    if !git(&["status", "--porcelain", "--", ".", &unlike_ledger])?
        .trim()
        .is_empty()
    {
        commit += "+";
    }
    Ok(commit)
}

/// Appends a run, with the date of its end.
///
/// # Errors
/// If there are no figures, or the file cannot be written.
pub fn append(run: &Run<'_>) -> Result<()> {
    let figures = figures(run.figures)?;
    let date = process::output(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]))?;
    let line = line(run, &figures, date.trim());
    let path = workspace::root().join(FILE);
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .with_context(|| format!("cannot open {}", path.display()))?;
    file.write_all(line.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))?;
    println!("recorded in {FILE}: {line}");
    Ok(())
}

/// Reads the figures of a run.
///
/// # Errors
/// If the file cannot be read, or is no JSON.
pub fn figures(file: &Path) -> Result<Value> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is no JSON", file.display()))
}

fn line(run: &Run<'_>, figures: &Value, date: &str) -> String {
    let Run {
        command,
        seed,
        backend,
        spec,
        commit,
        figures: _,
    } = run;
    let line = json!({
        "date": date,
        "commit": commit,
        "command": command,
        "seed": seed,
        "backend": backend,
        "spec": spec,
        "figures": figures,
    });
    format!("{line}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: [&str; 7] = [
        "backend", "command", "commit", "date", "figures", "seed", "spec",
    ];

    fn fields(line: &str) -> Vec<String> {
        let value: Value = serde_json::from_str(line).unwrap();
        let mut fields: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
        fields.sort();
        fields
    }

    #[test]
    fn a_run_is_one_line() {
        let run = Run {
            command: "cargo xtask torture",
            seed: 7,
            backend: "local",
            spec: "both",
            commit: "abc",
            figures: Path::new("figures.json"),
        };
        let line = line(&run, &json!({"kills": 3}), "2026-11-28T15:00:00Z");
        assert_eq!(line.matches('\n').count(), 1);
        assert_eq!(fields(&line), FIELDS);
    }

    #[test]
    fn every_line_of_the_ledger_is_one_that_record_writes() {
        let path = workspace::root().join(FILE);
        if !path.exists() {
            return;
        }
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'));
        for line in text.lines() {
            assert_eq!(wrong(line), None, "{line}");
        }
    }

    /// Returns the rule that a line breaks.
    fn wrong(line: &str) -> Option<&'static str> {
        if fields(line) != FIELDS {
            return Some("it has all fields, and no others");
        }
        let value: Value = serde_json::from_str(line).unwrap();
        let command = value["command"].as_str().unwrap_or_default();
        if !command.starts_with("cargo xtask ") {
            return Some("its command is one of `cargo xtask`");
        }
        if command.starts_with("cargo xtask torture") {
            let figures = &value["figures"];
            let calls = figures["calls"].as_object();
            let sum = calls.map(|calls| calls.values().filter_map(Value::as_u64).sum::<u64>());
            if sum.is_none() || sum != figures["stopped_at_calls"].as_u64() {
                return Some("its calls by name sum up to `stopped_at_calls`");
            }
        }
        None
    }

    #[test]
    fn lines_that_record_does_not_write_are_found() {
        let line = |command: &str, calls: Value| {
            let run = Run {
                command,
                seed: 7,
                backend: "local",
                spec: "both",
                commit: "abc",
                figures: Path::new("figures.json"),
            };
            let figures = json!({"stopped_at_calls": 3, "calls": calls});
            line(&run, &figures, "2026-11-28T15:00:00Z")
                .trim_end()
                .to_owned()
        };
        let calls = json!({"rename": 1, "write": 2});
        assert_eq!(wrong(&line("cargo xtask torture", calls.clone())), None);
        assert!(wrong(&line("icefield-torture", calls)).is_some());
        assert!(wrong(&line("cargo xtask torture", json!({}))).is_some());
        assert!(wrong(&line("cargo xtask torture", Value::Null)).is_some());
        assert!(wrong(r#"{"date":"2026-11-28T15:00:00Z"}"#).is_some());
    }
}
