//! `icefield import` of repositories of the alpha generation.

use std::io::{self, Write};
use std::sync::Arc;

use icefield::alpha::{self, AlphaRepository, ImportReport};
use icefield::ingest::Overviews;
use icefield::maintenance::Progress as _;
use icefield::{Error, ErrorKind, Location, SnapshotId, SourceLocation};
use serde::Serialize;

use super::Context;
use super::found::no_alpha;
use crate::args::Import;
use crate::failure::{Exit, Failure};
use crate::output::escape::printable;
use crate::output::{self, Output, count};
use crate::progress::StepProgress;

#[derive(Serialize)]
struct AlphaImportFacts {
    location: String,
    /// Always `alpha`.
    generation: &'static str,
    commits: u64,
    branches: u64,
    tags: u64,
    chunks: u64,
    bytes: u64,
    virtual_chunks: u64,
    /// Chunks outside the grids of their arrays, which are left out.
    hidden_chunks: u64,
    /// Keys below `refs/` that are no refs, which are left out.
    strays: Vec<String>,
    snapshot_id: Option<SnapshotId>,
}

/// Opens the source of an import if it is a repository of the alpha generation in a local directory. Such a repository has files
/// at known paths, so the check costs other sources little.
pub(super) async fn local_source(
    context: &Context,
    sources: &[SourceLocation],
) -> Result<Option<AlphaRepository>, Failure> {
    match sources {
        [SourceLocation { location, .. }]
            if location.path().is_some_and(|it| it.join("r").is_dir()) =>
        {
            open(context, location).await
        }
        _ => Ok(None),
    }
}

/// Opens the source as a repository of the alpha generation after all other formats have failed.
pub(super) async fn open_after_failure(
    context: &Context,
    sources: &[SourceLocation],
    error: Error,
) -> Result<AlphaRepository, Failure> {
    let is_another = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Invalid);
    match sources {
        [SourceLocation { location, .. }] if is_another => match open(context, location).await {
            Ok(Some(source)) => Ok(source),
            // The first error stays: it is of the formats that were tried first.
            _ => Err(error.into()),
        },
        _ => Err(error.into()),
    }
}

async fn open(context: &Context, location: &Location) -> Result<Option<AlphaRepository>, Failure> {
    let storage = context.storage(location).await?;
    match AlphaRepository::detect(&*storage).await? {
        Some(_) => Ok(Some(AlphaRepository::open(storage).await?)),
        None => Ok(None),
    }
}

/// Imports a repository of the alpha generation.
pub(super) async fn import(
    context: &Context,
    args: &Import,
    source: AlphaRepository,
    mut out: Output,
) -> Result<(), Failure> {
    check(args)?;
    let storage = context.storage(&args.location).await?;
    no_alpha(&args.location, &*storage).await?;
    let bar = Arc::new(ImportSteps(StepProgress::new()));
    bar.0.stage("checking", None);
    let import = alpha::Import::new(source).progress(Arc::<ImportSteps>::clone(&bar));
    let imported = import.run(context.builder(storage)).await;
    bar.0.clear();
    let (_, report) = imported.map_err(|error| {
        let begun = matches!(error, alpha::ImportError::Refs { .. }) || error.is_unknown();
        let refused = matches!(error, alpha::ImportError::NotEmpty { .. });
        let failure = Failure::from(error);
        match (begun, refused) {
            (_, true) => failure,
            (true, _) => failure.hint("the destination is incomplete: import into another location"),
            (false, _) => failure.hint(
                "no ref of the destination has changed: correct the cause, and import into it again",
            ),
        }
    })?;
    out.facts(&facts(args, report), text)
}

/// Refuses options that do not apply to a whole history.
fn check(args: &Import) -> Result<(), Failure> {
    let given = [
        ("--branch", !args.branch.is_main()),
        ("--group", !args.group.is_root()),
        ("--variables", !args.selected.variables.is_empty()),
        ("--drop", !args.selected.drop.is_empty()),
        ("--rename", !args.selected.rename.is_empty()),
        ("--skip-unsupported", args.selected.skip_unsupported),
        ("--chunks", args.laid.chunks.is_some()),
        ("--shards", args.laid.shards.is_some()),
        ("--codec", args.laid.codec.is_some()),
        ("--append", args.append.is_some()),
        ("--concat", args.concat.is_some()),
        ("--unpack", args.combined.unpack),
        ("--overlap", args.overlap.is_some()),
        ("--virtual", args.r#virtual),
        ("--legacy-endian", args.legacy_endian),
        ("--split-compound", args.archives.split_compound),
        (
            "--overviews",
            !matches!(args.archives.overviews, Overviews::All),
        ),
        ("--dry-run", args.dry_run),
        ("--message", args.message.is_some()),
    ];
    let given = given
        .iter()
        .find(|(_, given)| *given)
        .map(|(name, _)| *name);
    match given.or(args.collected.given()) {
        None => Ok(()),
        Some(name) => {
            let problem = format!(
                "{name} does not apply to a repository of the alpha generation: the import takes its whole history"
            );
            Err(Failure::new(Exit::Usage, problem))
        }
    }
}

fn facts(args: &Import, report: ImportReport) -> AlphaImportFacts {
    AlphaImportFacts {
        location: output::location(&args.location),
        generation: "alpha",
        commits: report.commits,
        branches: report.branches,
        tags: report.tags,
        chunks: report.chunks,
        bytes: report.bytes,
        virtual_chunks: report.virtual_chunks,
        hidden_chunks: report.hidden_chunks,
        strays: report.strays,
        snapshot_id: report.main,
    }
}

fn text(facts: &AlphaImportFacts, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "imported a repository of the alpha generation into {}: {}, {}, {}; {} ({}), {} referred to",
        printable(&facts.location),
        count(facts.commits, "commit", "commits"),
        count(facts.branches, "branch", "branches"),
        count(facts.tags, "tag", "tags"),
        count(facts.chunks, "chunk", "chunks"),
        output::bytes(facts.bytes),
        count(facts.virtual_chunks, "chunk", "chunks"),
    )?;
    if facts.hidden_chunks > 0 {
        writeln!(
            out,
            "left out {} outside the grids of their arrays",
            count(facts.hidden_chunks, "chunk", "chunks")
        )?;
    }
    for key in &facts.strays {
        writeln!(
            out,
            "warning: left out {}, which lies among the refs and is no ref",
            printable(key)
        )?;
    }
    Ok(())
}

/// A progress bar that counts snapshots.
struct ImportSteps(StepProgress);

impl alpha::Progress for ImportSteps {
    fn checked(&self) {
        self.0.more(1);
        self.0.advance(1, 0);
    }

    fn commits(&self, expected: u64) {
        self.0.stage("committing", Some(expected));
    }

    fn chunk(&self, bytes: u64) {
        self.0.advance(0, bytes);
    }

    fn committed(&self) {
        self.0.advance(1, 0);
    }
}
