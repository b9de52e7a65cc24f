//! The history of `main`, and the commits that writers were told to be in it.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, ensure};
use futures::TryStreamExt;
use icefield_core::{BranchName, Repository, Revision, SnapshotId, SnapshotInfo};

/// Returns the history of `main`, newest first.
///
/// # Errors
/// If it cannot be read, or times do not rise strictly along it.
pub async fn of_main(repository: &Repository) -> anyhow::Result<Vec<SnapshotInfo>> {
    let main = Revision::from(BranchName::main());
    let tip = repository.resolve(&main).await?;
    let history: Vec<_> = repository.ancestry(tip).try_collect().await?;
    ensure!(
        history.is_sorted_by(|newer, older| newer.written_at > older.written_at),
        "times do not rise strictly along main"
    );
    Ok(history)
}

/// Reads a log of acknowledged commits, one id a line; one that is not there is empty. A last line without an end was
/// being written when the writer was killed, and counts as not acknowledged.
///
/// # Errors
/// If it cannot be read, or a line is no id.
pub fn acknowledged(log: &Path) -> anyhow::Result<Vec<SnapshotId>> {
    let text = match std::fs::read_to_string(log) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", log.display()));
        }
    };
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    complete
        .lines()
        .map(|line| {
            line.parse()
                .with_context(|| format!("{}: {line:?} is no id", log.display()))
        })
        .collect()
}

/// Returns the acknowledged commits that a history does not have exactly once.
#[must_use]
pub fn lost(history: &[SnapshotId], acknowledged: &[SnapshotId]) -> Vec<SnapshotId> {
    let mut counts: HashMap<SnapshotId, usize> = HashMap::new();
    for id in history {
        *counts.entry(*id).or_default() += 1;
    }
    let is_lost = |id: &&SnapshotId| counts.get(*id) != Some(&1);
    acknowledged.iter().filter(is_lost).copied().collect()
}
