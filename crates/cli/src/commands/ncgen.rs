//! `icefield ncgen`

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use icefield::ingest::nczarr::cdl;
use icefield::ingest::{self, ArchiveSource, archive_of_cdl};
use icefield::{Repository, SnapshotId};
use serde::Serialize;

use super::found::no_alpha;
use super::{Context, ncdump};
use crate::args::Ncgen;
use crate::failure::{Exit, Failure};
use crate::output::escape::printable;
use crate::output::{self, Output, count};
use crate::progress::ChunkProgress;

/// The largest accepted text, in bytes.
const LONGEST: u64 = 4 << 30;

#[derive(Serialize)]
struct Generated {
    location: String,
    branch: String,
    snapshot_id: SnapshotId,
    groups: u64,
    arrays: u64,
    chunks: u64,
    bytes: u64,
}

pub(super) async fn run(context: &Context, args: Ncgen) -> Result<(), Failure> {
    let name = args.file.display().to_string();
    let text = read(&args.file)?;
    let wrong = |problem: String| Failure::new(Exit::Failure, format!("{name}: {problem}"));
    let document = cdl::parse(&text).map_err(|error| wrong(error.to_string()))?;
    drop(text);
    let archive = archive_of_cdl(&document).map_err(ncdump::failed)?;
    let storage = context.storage(&args.location).await?;
    no_alpha(&args.location, &*storage).await?;
    let repository = Repository::builder(storage).open_or_create().await?;
    let bar = Arc::new(ChunkProgress::new("committing"));
    let message = match &args.message {
        Some(message) => message.clone(),
        None => format!("Generate {}", document.name),
    };
    let import = ingest::Import::new(Arc::new(ArchiveSource::new(name, archive)))
        .into_group(args.group.clone())
        .progress(Arc::<ChunkProgress>::clone(&bar));
    let imported = import.run(&repository, args.branch.clone(), &message).await;
    bar.clear();
    let imported = imported?;
    let snapshot_id = icefield::committed(imported.commit)?;
    let facts = Generated {
        location: output::location(&args.location),
        branch: args.branch.to_string(),
        snapshot_id,
        groups: imported.report.new_groups,
        arrays: imported.report.new_arrays,
        chunks: imported.report.chunks,
        bytes: imported.report.bytes,
    };
    Output::new(args.output).facts(&facts, |facts, out| {
        writeln!(
            out,
            "committed {} to {}: {}, {}, {} ({})",
            facts.snapshot_id,
            printable(&facts.branch),
            count(facts.groups, "new group", "new groups"),
            count(facts.arrays, "new array", "new arrays"),
            count(facts.chunks, "chunk", "chunks"),
            output::bytes(facts.bytes),
        )
    })
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |error: std::io::Error| {
        let exit = match error.kind() {
            std::io::ErrorKind::NotFound => Exit::NotFound,
            _ => Exit::Failure,
        };
        Failure::new(exit, format!("{}: {error}", file.display()))
    };
    let mut text = Vec::new();
    let read = match file.to_str() {
        Some("-") => std::io::stdin()
            .lock()
            .take(LONGEST + 1)
            .read_to_end(&mut text),
        _ => {
            let opened = std::fs::File::open(file).map_err(failed)?;
            opened.take(LONGEST + 1).read_to_end(&mut text)
        }
    };
    read.map_err(failed)?;
    match text.len() as u64 > LONGEST {
        true => Err(Failure::new(
            Exit::Failure,
            format!("{} is longer than 4 GiB", file.display()),
        )),
        false => Ok(text),
    }
}
