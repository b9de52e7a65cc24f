//! `icefield du`

use std::io::{self, Write};

use icefield::Error;
use icefield::maintenance::{Amount, Usage, UsageError, UsageRow, UsageSummary, UsageTable};
use serde::Serialize;

use super::Context;
use super::copy::CACHE;
use crate::args::{Du, DuGrouping};
use crate::failure::{Exit, Failure};
use crate::output::escape::{first_line, printable};
use crate::output::table::Columns;
use crate::output::{self, Output, count};
use crate::progress::StepProgress;

#[derive(Serialize)]
struct StorageFacts {
    location: String,
    #[serde(flatten)]
    summary: UsageSummary,
}

#[derive(Serialize)]
struct GroupedFacts {
    location: String,
    by: &'static str,
    /// The version, if the count is of one.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    revision: Option<String>,
    #[serde(flatten)]
    table: UsageTable,
}

pub(super) async fn run(context: &Context, args: Du) -> Result<(), Failure> {
    let repository = context.open_with_cache(&args.location, CACHE).await?;
    let location = output::location(&args.location);
    let bar = StepProgress::new();
    let usage = Usage::new();
    let Some(by) = args.by else {
        let counted = usage.summary(&repository, &bar).await;
        bar.clear();
        let summary = counted.map_err(failure)?;
        let missing = summary.missing_chunks;
        Output::new(args.output).facts(&StorageFacts { location, summary }, summary_text)?;
        return check(missing);
    };
    let at = match by {
        DuGrouping::Array | DuGrouping::Commit => {
            Some(context.find(&repository, &args.at.revision).await?)
        }
        DuGrouping::Ref | DuGrouping::Container => None,
    };
    let counted = match (by, at) {
        (DuGrouping::Array, Some(at)) => usage.by_array(&repository, at, &bar).await,
        (DuGrouping::Commit, Some(at)) => usage.by_commit(&repository, at, &bar).await,
        (DuGrouping::Container, _) => usage.by_container(&repository, &bar).await,
        _ => usage.by_ref(&repository, &bar).await,
    };
    bar.clear();
    let table = counted.map_err(failure)?;
    let missing = table.missing_chunks;
    let rows = GroupedFacts {
        location,
        by: match by {
            DuGrouping::Array => "array",
            DuGrouping::Commit => "commit",
            DuGrouping::Ref => "ref",
            DuGrouping::Container => "container",
        },
        revision: at.map(|_| args.at.revision.to_string()),
        table,
    };
    Output::new(args.output).facts(&rows, |rows, out| table_text(by, rows, out))?;
    check(missing)
}

fn failure(error: UsageError) -> Failure {
    Error::from(error).into()
}

fn check(missing: u64) -> Result<(), Failure> {
    match missing {
        0 => Ok(()),
        _ => Err(Failure::new(
            Exit::Damage,
            format!(
                "{} missing",
                count(missing, "chunk object is", "chunk objects are")
            ),
        )),
    }
}

fn amount_text(amount: Amount, one: &str, several: &str) -> String {
    let bytes = output::bytes(amount.bytes);
    format!("{}, {bytes}", count(amount.count, one, several))
}

fn summary_text(facts: &StorageFacts, out: &mut dyn Write) -> io::Result<()> {
    let summary = &facts.summary;
    let mut table = Columns::pairs();
    let objects = |amount| amount_text(amount, "object", "objects");
    let chunks = |amount| amount_text(amount, "chunk", "chunks");
    table.row(["stored", &objects(summary.stored)]);
    table.row(["snapshots", &objects(summary.snapshots)]);
    table.row(["transaction logs", &objects(summary.transaction_logs)]);
    table.row(["manifests", &objects(summary.manifests)]);
    let live = output::bytes(summary.live_bytes);
    let chunk_objects = objects(summary.chunk_objects);
    table.row([
        "chunk objects",
        &format!("{chunk_objects}, {live} of it in use"),
    ]);
    let packs = &summary.packs;
    if packs.objects.count > 0 {
        let (live, dead) = (packs.live_bytes, packs.dead_bytes);
        let (live, dead) = (output::bytes(live), output::bytes(dead));
        table.row([
            "of these packs",
            &format!("{}, {live} in use, {dead} dead", objects(packs.objects)),
        ]);
    }
    table.row(["garbage", &objects(summary.garbage.total)]);
    table.row(["native", &chunks(summary.native)]);
    table.row([
        "inline",
        &format!("{}, in manifests", chunks(summary.inline)),
    ]);
    table.row([
        "virtual",
        &format!("{}, stored elsewhere", chunks(summary.external)),
    ]);
    if let Some(backups) = &summary.backups {
        let unneeded = output::bytes(backups.unneeded.bytes);
        let total = objects(backups.total);
        table.row([
            "backups",
            &format!("{total}, of which gc deletes {unneeded}"),
        ]);
    }
    table.write(out)
}

fn table_text(by: DuGrouping, facts: &GroupedFacts, out: &mut dyn Write) -> io::Result<()> {
    let table = &facts.table;
    if by == DuGrouping::Container {
        let mut columns = Columns::new(&[">VIRTUAL", ">CHUNKS", "CONTAINER"]);
        for row in table.rows.iter().chain([&table.total]) {
            let name = match row.name.as_str() {
                "" => "in no container",
                name => name,
            };
            columns.row([
                output::bytes(row.external.bytes),
                row.external.count.to_string(),
                name.to_owned(),
            ]);
        }
        return columns.write(out);
    }
    if by == DuGrouping::Commit {
        let mut columns = Columns::new(&[
            ">ADDED", ">OBJECTS", ">NATIVE", ">INLINE", ">VIRTUAL", "COMMIT", "",
        ]);
        for row in table.rows.iter().chain([&table.total]) {
            let message = row.message.as_deref().map(first_line).unwrap_or_default();
            columns.row(
                cells(row, None)
                    .into_iter()
                    .chain([row.name.clone(), message]),
            );
        }
        return columns.write(out);
    }
    let of = match by {
        DuGrouping::Array => "ARRAY",
        _ => "REF",
    };
    let mut columns = Columns::new(&[
        ">SIZE", ">UNIQUE", ">OBJECTS", ">NATIVE", ">INLINE", ">VIRTUAL", of,
    ]);
    for row in &table.rows {
        let unique = row.unique.unwrap_or_default();
        columns.row(
            cells(row, Some(output::bytes(unique.bytes)))
                .into_iter()
                .chain([row.name.clone()]),
        );
    }
    columns.row(
        cells(&table.total, Some(String::new()))
            .into_iter()
            .chain(["total".to_owned()]),
    );
    columns.write(out)?;
    match by {
        DuGrouping::Ref => writeln!(
            out,
            "the bytes under UNIQUE would become free with the deletion of the ref; the rest is in {}",
            printable(&facts.location)
        ),
        _ => Ok(()),
    }
}

/// Returns the cells of a row: bytes, unique bytes if given, objects, and chunks by their storage.
fn cells(row: &UsageRow, unique: Option<String>) -> Vec<String> {
    let mut cells = vec![output::bytes(row.objects.bytes)];
    cells.extend(unique);
    let counts = [row.objects, row.native, row.inline, row.external];
    cells.extend(counts.iter().map(|amount| amount.count.to_string()));
    cells
}
