//! `icefield unbundle`

use std::fs::File;
use std::io::{self, Write};

use icefield::maintenance::{Unbundle as Unbundling, UnbundleReport};
use serde::Serialize;

use super::Context;
use super::copy::{failure, refs, settings};
use super::found::no_alpha;
use crate::args::Unbundle;
use crate::failure::{Exit, Failure};
use crate::output::escape::printable;
use crate::output::{self, Output, count};
use crate::progress::StepProgress;

#[derive(Serialize)]
struct UnbundleFacts {
    file: String,
    destination: String,
    #[serde(flatten)]
    report: UnbundleReport,
}

pub(super) async fn run(context: &Context, args: Unbundle) -> Result<(), Failure> {
    let file = args.file.display().to_string();
    let metadata = std::fs::metadata(&args.file).map_err(|error| {
        let exit = match error.kind() {
            io::ErrorKind::NotFound => Exit::NotFound,
            _ => Exit::Failure,
        };
        Failure::new(exit, format!("cannot read {file}: {error}"))
    })?;
    if !metadata.is_file() {
        // The command reads the file twice.
        let message =
            format!("{file} is not a regular file: a bundle is checked before it is unpacked");
        return Err(Failure::new(Exit::Usage, message));
    }
    let destination = context.storage(&args.destination).await?;
    no_alpha(&args.destination, &*destination).await?;
    let bar = StepProgress::new();
    let unbundled = Unbundling::new()
        .force(args.force)
        .run(|| File::open(&args.file), destination, &bar)
        .await;
    bar.clear();
    let facts = UnbundleFacts {
        file,
        destination: output::location(&args.destination),
        report: unbundled.map_err(failure)?,
    };
    Output::new(args.output).facts(&facts, text)
}

fn text(facts: &UnbundleFacts, out: &mut dyn Write) -> io::Result<()> {
    let report = &facts.report;
    writeln!(
        out,
        "unbundled {} (of {}) to {}: {}, {}, {} ({}) were new",
        printable(&facts.file),
        printable(&report.bundled_from),
        printable(&facts.destination),
        count(report.snapshots.objects, "snapshot", "snapshots"),
        count(report.manifests.objects, "manifest", "manifests"),
        count(report.chunks.objects, "chunk object", "chunk objects"),
        output::bytes(report.chunks.bytes),
    )?;
    refs(&report.refs, out)?;
    let (config, metadata, flags) = (report.config, report.metadata, report.flags);
    settings(config, metadata, flags, &facts.destination, out)?;
    for id in &report.shortened {
        writeln!(
            out,
            "the history ends at {id}: it follows the initial snapshot in the bundle"
        )?;
    }
    Ok(())
}
