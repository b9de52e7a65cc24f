//! The ledger of long runs: `docs/reliability/ledger.jsonl`, one line of JSON for each.

use std::fs::OpenOptions;
use std::io::Write;
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
    /// What its draws came from, or the first of its seeds.
    pub seed: u64,
    /// The store.
    pub backend: &'a str,
    /// The version of the format, or `both`.
    pub spec: &'a str,
    /// What it counted.
    pub figures: Value,
}

/// Appends a run, with the date and the commit of the working tree.
///
/// # Errors
/// If git does not tell the commit, or the file cannot be written.
pub fn append(run: &Run<'_>) -> Result<()> {
    let root = workspace::root();
    let date = process::output(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]))?;
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
    let line = line(run, date.trim(), &commit);
    let path = root.join(FILE);
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

fn line(run: &Run<'_>, date: &str, commit: &str) -> String {
    let Run {
        command,
        seed,
        backend,
        spec,
        figures,
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
            figures: json!({"kills": 3}),
        };
        let line = line(&run, "2026-11-28T15:00:00Z", "abc");
        assert_eq!(line.matches('\n').count(), 1);
        assert_eq!(fields(&line), FIELDS);
    }

    #[test]
    fn every_line_of_the_ledger_has_all_fields() {
        let text = std::fs::read_to_string(workspace::root().join(FILE)).unwrap();
        assert!(!text.is_empty() && text.ends_with('\n'));
        for line in text.lines() {
            assert_eq!(fields(line), FIELDS, "{line}");
        }
    }
}
