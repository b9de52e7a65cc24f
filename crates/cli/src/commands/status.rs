//! `icefield status`

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;

use futures::TryStreamExt;
use icefield::{ApplyOutcome, Detector, ForkError, Repository, SnapshotId};
use serde::Serialize;

use super::diff::ChangeFacts;
use super::{Context, dangling};
use crate::args::Status;
use crate::failure::{Exit, Failure};
use crate::output::{self, Output, count};

#[derive(Serialize)]
struct ComparisonFacts {
    location: String,
    snapshot_id: SnapshotId,
    against: SnapshotId,
    merge_base: SnapshotId,
    /// The number of snapshots that only the history of this version has.
    ahead: usize,
    /// The number of snapshots that only the history of the other has.
    behind: usize,
    /// `nothing to do`, `clean` or `conflicts`.
    merge: &'static str,
    conflicts: Vec<String>,
    changes: Option<ChangeFacts>,
}

#[derive(Serialize)]
struct ForkFacts {
    location: String,
    base: SnapshotId,
    bytes: usize,
    changes: ChangeFacts,
}

pub(super) async fn run(context: &Context, args: Status) -> Result<(), Failure> {
    if let Some(file) = &args.fork {
        return fork(context, &args, file).await;
    }
    let (repository, id) = context.open_at(&args.location, &args.at.revision).await?;
    let against = context.find(&repository, &args.against).await?;
    let damage = |error| dangling(&args.against, error);
    let merge_base = repository.merge_base(against, id).await.map_err(damage)?;
    let (ours, theirs) = (
        history(&repository, id).await?,
        history(&repository, against).await?,
    );
    let session = repository.write_session_at(against).await?;
    let merged = session.merge(id, &Detector::Strict).await;
    let mut facts = ComparisonFacts {
        location: output::location(&args.location),
        snapshot_id: id,
        against,
        merge_base,
        ahead: ours.difference(&theirs).count(),
        behind: theirs.difference(&ours).count(),
        merge: "nothing to do",
        conflicts: Vec::new(),
        changes: None,
    };
    match merged.map_err(icefield::Error::from)? {
        ApplyOutcome::Applied(diff) => {
            facts.merge = "clean";
            facts.changes = Some(ChangeFacts::of(diff));
        }
        ApplyOutcome::Conflicts(conflicts) => {
            facts.merge = "conflicts";
            facts.conflicts = conflicts.iter().map(ToString::to_string).collect();
        }
        _ => {}
    }
    Output::new(args.output).facts(&facts, text)
}

async fn fork(context: &Context, args: &Status, file: &Path) -> Result<(), Failure> {
    let repository = context.open(&args.location).await?;
    let bytes = std::fs::read(file).map_err(|error| {
        let exit = match error.kind() {
            io::ErrorKind::NotFound => Exit::NotFound,
            _ => Exit::Failure,
        };
        Failure::new(exit, error.to_string()).of_file(file)
    })?;
    let fork = repository.open_fork(&bytes).await.map_err(|error| {
        let of_bytes = matches!(error, ForkError::Blob(_));
        let failure = Failure::from(icefield::Error::from(error));
        match of_bytes {
            true => failure.of_file(file),
            false => failure,
        }
    })?;
    let facts = ForkFacts {
        location: output::location(&args.location),
        base: fork.snapshot_id()?,
        bytes: bytes.len(),
        changes: ChangeFacts::of(fork.status().await?),
    };
    Output::new(args.output).facts(&facts, |facts, out| {
        writeln!(
            out,
            "fork of {} bytes on snapshot {}",
            facts.bytes, facts.base
        )?;
        facts.changes.text(out)
    })
}

async fn history(repository: &Repository, tip: SnapshotId) -> Result<HashSet<SnapshotId>, Failure> {
    let infos = repository.ancestry(tip).map_ok(|info| info.id);
    Ok(infos.try_collect().await?)
}

fn text(facts: &ComparisonFacts, out: &mut dyn Write) -> io::Result<()> {
    let snapshots = |number: usize| count(number as u64, "snapshot", "snapshots");
    writeln!(
        out,
        "{} is {} ahead of {} and {} behind, since {}",
        facts.snapshot_id,
        snapshots(facts.ahead),
        facts.against,
        snapshots(facts.behind),
        facts.merge_base
    )?;
    match &facts.changes {
        Some(changes) => {
            writeln!(out, "it can be merged:")?;
            changes.text(out)
        }
        None if facts.conflicts.is_empty() => writeln!(out, "there is nothing to merge"),
        None => {
            writeln!(out, "it collides:")?;
            for conflict in &facts.conflicts {
                writeln!(out, "! {}", output::escape::printable(conflict))?;
            }
            Ok(())
        }
    }
}
