//! `icefield export`

use std::sync::Arc;

use icefield::ingest;
use icefield::{Location, SnapshotId};
use serde::Serialize;

use super::Context;
use crate::args::{Export, ExportFormat};
use crate::failure::Failure;
use crate::interrupt::on_ctrl_c;
use crate::output::escape::printable;
use crate::output::{self, Output, count};
use crate::progress::ChunkProgress;

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
    let bar = Arc::new(ChunkProgress::new("moving into place"));
    let mut export = ingest::Export::new(session)
        .progress(Arc::<ChunkProgress>::clone(&bar))
        .interruptible(&on_ctrl_c());
    if let Some(repository) = args.location.path() {
        export = export.outside(repository);
    }
    let dialect: Arc<dyn ingest::Dialect> = match args.format {
        ExportFormat::Zarr3 => Arc::new(ingest::ZarrV3),
        ExportFormat::Zarr2 => Arc::new(ingest::ZarrV2),
        ExportFormat::Zarr2Offset => Arc::new(ingest::OffsetZarrV2),
        ExportFormat::Nczarr => Arc::new(ingest::NcZarr),
    };
    export = export.dialect(dialect);
    let layout = match args.format {
        ExportFormat::Nczarr => folder_layout(&args.destination),
        ExportFormat::Zarr2 | ExportFormat::Zarr2Offset | ExportFormat::Zarr3 => {
            ingest::ZipLayout::Flat
        }
    };
    let destination = context
        .schemes
        .destination(&args.destination, args.zip, layout, &args.location)
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
    Output::new(args.output).facts(&exported, |facts, out| {
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

/// Returns the layout of netCDF-C's zip files: everything below a folder with the name of the file.
fn folder_layout(destination: &Location) -> ingest::ZipLayout {
    let name = destination.path().and_then(|path| path.file_name());
    let name = name.map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    let stem = match name
        .len()
        .checked_sub(4)
        .and_then(|end| name.split_at_checked(end))
    {
        Some((stem, end)) if end.eq_ignore_ascii_case(".zip") => stem,
        _ => name.as_str(),
    };
    match ingest::TreePrefix::all().join(stem) {
        Ok(folder) => ingest::ZipLayout::TopFolder(folder),
        Err(_) => ingest::ZipLayout::Flat,
    }
}
