//! `icefield bundle`

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use icefield::maintenance::{BundleReport, BundleRepository};
use icefield::storage::{Entropy, SystemEntropy};
use serde::Serialize;

use super::Context;
use super::copy::{CACHE, failure};
use crate::args::Bundle;
use crate::failure::{Exit, Failure};
use crate::output::escape::printable;
use crate::output::{self, Output, count};
use crate::progress::StepProgress;

#[derive(Serialize)]
struct BundleFacts {
    source: String,
    file: String,
    #[serde(flatten)]
    report: BundleReport,
}

pub(super) async fn run(context: &Context, args: Bundle) -> Result<(), Failure> {
    let to_stdout = args.file == Path::new("-");
    if to_stdout && args.output.json {
        return Err(Failure::new(
            Exit::Usage,
            "standard output cannot take both the bundle and the JSON document",
        ));
    }
    if !to_stdout && !args.force && fs::symlink_metadata(&args.file).is_ok() {
        return Err(exists(&args.file));
    }
    let source = context.open_with_cache(&args.source, CACHE).await?;
    let mut bundle = BundleRepository::new()
        .refs(args.part.refs)
        .described(output::location(&args.source));
    if let Some(depth) = args.part.depth {
        bundle = bundle.depth(depth.get());
    }
    if let Some(since) = &args.since {
        bundle = bundle.since(context.find(&source, since).await?);
    }
    let bar = StepProgress::new();
    if to_stdout {
        let written = bundle.run(&source, io::stdout(), &bar).await;
        bar.clear();
        written.map_err(failure)?;
        return Ok(());
    }
    let temporary = TemporaryFile::create(&args.file)?;
    let written = bundle.run(&source, temporary.file.try_clone()?, &bar).await;
    bar.clear();
    let (report, file) = written.map_err(failure)?;
    file.sync_all()?;
    temporary.publish(&args.file, args.force)?;
    let facts = BundleFacts {
        source: output::location(&args.source),
        file: args.file.display().to_string(),
        report,
    };
    Output::new(args.output).facts(&facts, text)
}

fn exists(file: &Path) -> Failure {
    let message = format!("{} exists already", file.display());
    Failure::new(Exit::Conflict, message).hint("choose another name, or replace it with --force")
}

fn text(facts: &BundleFacts, out: &mut dyn Write) -> io::Result<()> {
    let report = &facts.report;
    writeln!(
        out,
        "bundled {} as {}: {}, {}, {} ({}), {}",
        printable(&facts.source),
        printable(&facts.file),
        count(report.snapshots.objects, "snapshot", "snapshots"),
        count(report.manifests.objects, "manifest", "manifests"),
        count(report.chunks.objects, "chunk object", "chunk objects"),
        output::bytes(report.chunks.bytes),
        count(report.refs, "ref", "refs"),
    )?;
    if let Some(since) = report.since {
        writeln!(
            out,
            "the destination of `icefield unbundle` needs snapshot {since}"
        )?;
    }
    for id in &report.shortened {
        writeln!(
            out,
            "the history ends at {id}: it follows the initial snapshot in the bundle"
        )?;
    }
    for id in &report.missing_logs {
        writeln!(out, "the transaction log of {id} is missing")?;
    }
    Ok(())
}

/// A file beside the destination, removed unless it is renamed to it.
struct TemporaryFile {
    file: File,
    path: PathBuf,
}

impl TemporaryFile {
    fn create(beside: &Path) -> Result<Self, Failure> {
        let Some(name) = beside.file_name() else {
            let message = format!("{} is not the name of a file", beside.display());
            return Err(Failure::new(Exit::Usage, message));
        };
        let mut random = [0; 4];
        SystemEntropy.fill(&mut random);
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{:08x}.partial", u32::from_le_bytes(random)));
        let path = beside.with_file_name(hidden);
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = file.map_err(|error| {
            let message = format!("cannot write {}: {error}", beside.display());
            Failure::new(Exit::Failure, message)
        })?;
        Ok(Self { file, path })
    }

    /// Renames the file to its final name. Without `force`, fails if a file has that name.
    fn publish(self, name: &Path, force: bool) -> Result<(), Failure> {
        if force {
            return Ok(fs::rename(&self.path, name)?);
        }
        // A hard link never replaces an existing file, not even a concurrent one.
        match fs::hard_link(&self.path, name) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists(name)),
            // This file system has no hard links: the check at the start of the command must suffice.
            Err(_) if fs::symlink_metadata(name).is_err() => Ok(fs::rename(&self.path, name)?),
            Err(_) => Err(exists(name)),
        }
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // The removal fails harmlessly if the file was renamed.
        let _ = fs::remove_file(&self.path);
    }
}
