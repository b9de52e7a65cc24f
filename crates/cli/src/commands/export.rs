//! `icefield export`

use std::sync::Arc;

use icefield::SnapshotId;
use icefield::ingest;
use serde::Serialize;

use super::Context;
use crate::args::Export;
use crate::failure::Failure;
use crate::output::escape::printable;
use crate::output::{self, Output, count};
use crate::progress::Bar;

#[derive(Serialize)]
struct Exported {
    location: String,
    snapshot_id: SnapshotId,
    destination: String,
    groups: u64,
    arrays: u64,
    chunks: u64,
    bytes: u64,
}

pub(super) async fn run(context: &Context, args: Export) -> Result<(), Failure> {
    let (session, snapshot_id) = context.session(&args.location, &args.at.revision).await?;
    let bar = Arc::new(Bar::new("moving into place"));
    let mut export = ingest::Export::new(session).progress(Arc::<Bar>::clone(&bar));
    if let Some(repository) = args.location.path() {
        export = export.outside(repository);
    }
    let zip = args.zip.then(ingest::ZipLayout::default);
    let destination = context
        .schemes
        .destination(&args.destination, zip, &args.location)
        .await?;
    let report = export.run_to(&destination).await;
    bar.clear();
    let report = report?;
    let exported = Exported {
        location: output::location(&args.location),
        snapshot_id,
        destination: output::location(&args.destination),
        groups: report.groups,
        arrays: report.arrays,
        chunks: report.chunks,
        bytes: report.bytes,
    };
    Output::new(args.facts).facts(&exported, |facts, out| {
        writeln!(
            out,
            "exported {} to {}: {}, {}, {} ({})",
            facts.snapshot_id,
            printable(&facts.destination),
            count(facts.groups, "group", "groups"),
            count(facts.arrays, "array", "arrays"),
            count(facts.chunks, "chunk", "chunks"),
            output::bytes(facts.bytes)
        )
    })
}
