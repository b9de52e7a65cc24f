//! `icefield import`

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use futures::{StreamExt, stream};
use icefield::ingest::{self, ArchiveOptions, ImportError, ImportReport, Order, Overlap};
use icefield::{Error, Purpose, SnapshotId, SourceLocation, VirtualAccess};
use serde::Serialize;

mod abandon;
mod combined;
mod named;
mod plan;

use super::{Context, alpha};
use crate::args::{Import, OnOverlap, SourceOrder};
use crate::failure::{Exit, Failure};
use crate::interrupt::on_ctrl_c;
use crate::output::escape::printable;
use crate::output::{self, Output, count};
use crate::progress::ChunkProgress;

#[derive(Serialize)]
struct ImportFacts {
    location: String,
    branch: String,
    /// `committed`, `unknown` with the snapshot to look for, or `unchanged` without one.
    outcome: &'static str,
    snapshot_id: Option<SnapshotId>,
    new_groups: u64,
    new_arrays: u64,
    extended_arrays: Vec<String>,
    kept_groups: Vec<String>,
    chunks: u64,
    bytes: u64,
    virtual_chunks: u64,
    virtual_bytes: u64,
    compared_chunks: u64,
    assembled_chunks: u64,
    converted_arrays: Vec<String>,
    reencoded_arrays: Vec<String>,
    rounded_arrays: Vec<combined::RoundedArray>,
    gaps: Vec<plan::CoordinateGap>,
    lacking: Vec<combined::MissingArray>,
    attributes: Vec<combined::AttributeFacts>,
    /// Chunks that an earlier attempt stored.
    resumed_chunks: u64,
    /// Skipped sources, whose elements the repository has already.
    skipped: Vec<String>,
    ignored: IgnoredPart,
    warnings: Vec<String>,
    omitted: Vec<plan::OmittedNode>,
}

#[derive(Serialize)]
struct IgnoredPart {
    count: u64,
    examples: Vec<String>,
}

pub(super) async fn run(context: &Context, args: Import) -> Result<(), Failure> {
    let out = Output::new(args.output);
    import(context, args, out).await
}

async fn import(context: &Context, args: Import, mut out: Output) -> Result<(), Failure> {
    if args.collected.abandon {
        return abandon::run(context, &args, out).await;
    }
    if args.collected.skip_existing && args.append.is_none() {
        let problem = "--skip-existing needs the dimension along which it compares sources with the repository";
        return Err(Failure::new(Exit::Usage, problem).hint("give it with --append DIM"));
    }
    let named = named::sources(context, &args).await?;
    let says_how = args.collected.says_how();
    if named.len() > 1 && !says_how && args.append.is_none() && args.concat.is_none() {
        let problem = "there are several sources, and no option arranges them";
        return Err(Failure::new(Exit::Usage, problem)
            .hint("--concat DIM concatenates them, --append DIM appends them to the repository, --concat-new DIM stacks them along a new dimension"));
    }
    if let Some(source) = alpha::local_source(context, &named).await? {
        return alpha::import(context, &args, source, out).await;
    }
    let overlap = match args.overlap {
        None | Some(OnOverlap::Refuse) => Overlap::Refuse,
        Some(OnOverlap::First) => Overlap::First,
        Some(OnOverlap::Last) => Overlap::Last,
    };
    let reading = ReadOptions {
        is_virtual: args.r#virtual,
        has_legacy_endian: args.legacy_endian,
        archives: ArchiveOptions {
            duplicates: overlap,
            ..args.archives.options()
        },
    };
    let (sources, access) = match open_sources(context, &named, reading).await {
        Ok(opened) => opened,
        Err(error) => {
            let source = alpha::open_after_failure(context, &named, error).await?;
            return alpha::import(context, &args, source, out).await;
        }
    };
    let goes_behind = says_how || args.append.is_some() || args.concat.is_some();
    if args.overlap.is_some() && !goes_behind && !sources.iter().any(|it| it.may_repeat()) {
        let problem = "--overlap has no effect: nothing can overlap the source";
        return Err(Failure::new(Exit::Usage, problem)
            .hint("use it with --concat DIM, --append DIM, or a GRIB file"));
    }
    let repository = context.open_with(&args.location, access).await?;
    let message = args
        .message
        .clone()
        .unwrap_or_else(|| default_message(&args, &named));
    let bar = Arc::new(ChunkProgress::new("committing"));
    let mut sources = sources.into_iter();
    let first = sources.next().expect("BUG: clap asks for at least one");
    let mut import = ingest::Import::new(first)
        .into_group(args.group.clone())
        .select(args.selected.selection())
        .layout(args.laid.layout())
        .progress(Arc::<ChunkProgress>::clone(&bar))
        .interruptible(&on_ctrl_c());
    import = import.and(sources);
    if let Some(dimension) = args.concat.as_ref().or(args.append.as_ref()) {
        import = import.concat(dimension, []);
    }
    if let Some(dimension) = &args.append {
        import = import.append(dimension);
    }
    import = args
        .collected
        .apply(import, args.append.as_deref(), &abandon::name(&args));
    if args.selected.skip_unsupported {
        import = import.skip_unsupported();
    }
    if args.unordered {
        import = import.unordered();
    }
    import = import
        .order(match args.order {
            None => Order::Given,
            Some(SourceOrder::Name) => Order::Name,
            Some(SourceOrder::Coordinate) => Order::Coordinate,
        })
        .overlap(overlap);
    if let Some(units) = &args.time_units {
        import = import.time_units(units);
    }
    import = args.combined.tell(import);
    if args.r#virtual {
        import = import.by_reference(args.copy.iter().cloned());
    }
    if args.dry_run {
        let planned = import.plan(&repository, args.branch.clone()).await;
        bar.clear();
        return match planned {
            Err(error) if is_nothing(&error) => unchanged(&args, error, &mut out),
            planned => plan::print(&args, planned?, &mut out),
        };
    }
    let imported = import.run(&repository, args.branch.clone(), &message).await;
    bar.clear();
    let imported = match imported {
        Err(nothing @ ImportError::NothingNew { .. }) => {
            let facts = facts(&args, "unchanged", None, ImportReport::default());
            return out.facts(&facts, |_, out| {
                writeln!(out, "{}", printable(&nothing.to_string()))
            });
        }
        Err(error) if is_nothing(&error) => return unchanged(&args, error, &mut out),
        imported => imported?,
    };
    let unknown = match &imported.commit {
        icefield::CommitOutcome::Unknown { snapshot, .. } => Some(*snapshot),
        _ => None,
    };
    match icefield::committed(imported.commit) {
        Ok(snapshot_id) => out.facts(
            &facts(&args, "committed", Some(snapshot_id), imported.report),
            text,
        ),
        Err(error) => {
            if let (Some(snapshot_id), true) = (unknown, out.is_json()) {
                out.facts(
                    &facts(&args, "unknown", Some(snapshot_id), imported.report),
                    text,
                )?;
            }
            let failure = Failure::from(error);
            Err(match failure.exit {
                Exit::Conflict => {
                    failure.hint("import again: this import has not touched the branch")
                }
                _ => failure,
            })
        }
    }
}

/// Returns whether the import has nothing to do and no error.
fn is_nothing(error: &ImportError) -> bool {
    matches!(
        error,
        ImportError::NothingToDo { .. } | ImportError::AlreadyLanded { .. }
    )
}

/// Prints that there is nothing to do, and why.
fn unchanged(args: &Import, error: ImportError, out: &mut Output) -> Result<(), Failure> {
    let said = error.to_string();
    let (skipped, snapshot_id) = match error {
        ImportError::NothingToDo { skipped, .. } => (skipped, None),
        ImportError::AlreadyLanded { snapshot } => (Vec::new(), Some(snapshot)),
        _ => (Vec::new(), None),
    };
    let mut facts = facts(args, "unchanged", snapshot_id, ImportReport::default());
    facts.skipped = skipped;
    out.facts(&facts, |_, out| writeln!(out, "{}", printable(&said)))
}

/// The number of files that are opened concurrently.
const OPENED_AT_ONCE: usize = 8;

/// Options for reading sources.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadOptions {
    pub(super) is_virtual: bool,
    pub(super) has_legacy_endian: bool,
    pub(super) archives: ArchiveOptions,
}

/// Opens all sources. Also returns the access to foreign files that the import needs.
pub(super) async fn open_sources(
    context: &Context,
    sources: &[SourceLocation],
    reading: ReadOptions,
) -> Result<(Vec<Arc<dyn ingest::Source>>, VirtualAccess), Error> {
    let purpose = match reading.is_virtual {
        true => Purpose::Refer,
        false => Purpose::Copy,
    };
    let all = context.schemes.sources().archive_options(reading.archives);
    let sources: Vec<SourceLocation> = sources
        .iter()
        .cloned()
        .map(|mut source| {
            source.options.has_legacy_endian |= reading.has_legacy_endian;
            source
        })
        .collect();
    let opened = sources
        .iter()
        .map(|source| all.open(source, context.access.clone(), purpose));
    // Collected first, because a borrowing closure would make the whole future not `Send`.
    let opened: Vec<_> = opened.collect();
    let mut opened = stream::iter(opened).buffered(OPENED_AT_ONCE);
    let (mut sources, mut access) = (Vec::new(), context.access.clone());
    while let Some(one) = opened.next().await {
        let one = one?;
        access = access.and(one.access);
        sources.push(one.source);
    }
    Ok((sources, access))
}

/// Returns a message with the name of the source. It leaves out the path, which may be private.
fn default_message(args: &Import, sources: &[SourceLocation]) -> String {
    let Some(first) = sources.first().map(|source| &source.location) else {
        return "Import".to_owned();
    };
    let name = match first.path().map(Path::canonicalize) {
        Some(Ok(path)) => path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned()),
        Some(Err(_)) => None,
        None => {
            let text = first.as_str().split('?').next().unwrap_or_default();
            let name = text.trim_end_matches('/').rsplit('/').next();
            name.map(str::to_owned)
        }
    };
    let mut name = name.unwrap_or_else(|| "a source".to_owned());
    if sources.len() > 1 {
        name = format!("{name} and {} more", sources.len() - 1);
    }
    match &args.append {
        None => format!("Import {name}"),
        Some(dimension) => format!("Append {name} along {dimension}"),
    }
}

fn facts(
    args: &Import,
    outcome: &'static str,
    snapshot_id: Option<SnapshotId>,
    report: ImportReport,
) -> ImportFacts {
    let paths = |paths: Vec<icefield::NodePath>| paths.iter().map(ToString::to_string).collect();
    ImportFacts {
        location: output::location(&args.location),
        branch: args.branch.to_string(),
        outcome,
        snapshot_id,
        new_groups: report.new_groups,
        new_arrays: report.new_arrays,
        extended_arrays: paths(report.extended_arrays),
        kept_groups: paths(report.kept_groups),
        chunks: report.chunks,
        bytes: report.bytes,
        virtual_chunks: report.virtual_chunks,
        virtual_bytes: report.virtual_bytes,
        compared_chunks: report.compared_chunks,
        assembled_chunks: report.assembled_chunks,
        converted_arrays: paths(report.converted_arrays),
        reencoded_arrays: paths(report.reencoded_arrays),
        rounded_arrays: report
            .rounded_arrays
            .iter()
            .map(combined::RoundedArray::new)
            .collect(),
        gaps: report.gaps.iter().map(plan::CoordinateGap::new).collect(),
        lacking: report
            .lacking
            .iter()
            .map(combined::MissingArray::new)
            .collect(),
        attributes: report
            .attributes
            .iter()
            .map(combined::AttributeFacts::new)
            .collect(),
        resumed_chunks: report.resumed_chunks,
        skipped: report.skipped,
        ignored: IgnoredPart {
            count: report.ignored.count(),
            examples: report.ignored.examples().to_vec(),
        },
        warnings: report.warnings,
        omitted: report.omitted.iter().map(plan::OmittedNode::new).collect(),
    }
}

fn text(facts: &ImportFacts, out: &mut dyn Write) -> io::Result<()> {
    let mut parts = Vec::new();
    for (number, one, several) in [
        (facts.new_groups, "new group", "new groups"),
        (facts.new_arrays, "new array", "new arrays"),
        (
            facts.extended_arrays.len() as u64,
            "array extended",
            "arrays extended",
        ),
    ] {
        if number > 0 {
            parts.push(count(number, one, several));
        }
    }
    let chunks = count(facts.chunks, "chunk", "chunks");
    parts.push(format!("{chunks} ({})", output::bytes(facts.bytes)));
    if facts.virtual_chunks > 0 {
        let chunks = count(facts.virtual_chunks, "chunk", "chunks");
        let bytes = output::bytes(facts.virtual_bytes);
        parts.push(format!("{chunks} referred to ({bytes})"));
    }
    if facts.resumed_chunks > 0 {
        let chunks = count(facts.resumed_chunks, "chunk", "chunks");
        parts.push(format!("{chunks} of them stored before"));
    }
    if facts.assembled_chunks > 0 {
        let chunks = count(facts.assembled_chunks, "chunk", "chunks");
        parts.push(format!("{chunks} of them re-encoded"));
    }
    if facts.compared_chunks > 0 {
        parts.push(count(
            facts.compared_chunks,
            "chunk found equal",
            "chunks found equal",
        ));
    }
    let snapshot = facts.snapshot_id.map(|id| id.to_string());
    writeln!(
        out,
        "committed {} to {}: {}",
        snapshot.unwrap_or_default(),
        printable(&facts.branch),
        parts.join(", ")
    )?;
    for (what, arrays) in [
        ("converted the times of", &facts.converted_arrays),
        ("changed the encoding of", &facts.reencoded_arrays),
    ] {
        if !arrays.is_empty() {
            let arrays: Vec<_> = arrays.iter().map(|it| printable(it)).collect();
            writeln!(out, "{what} {}", arrays.join(", "))?;
        }
    }
    combined::rounded(&facts.rounded_arrays, out)?;
    plan::gaps(&facts.gaps, out)?;
    combined::print(&facts.lacking, &facts.attributes, out)?;
    plan::skipped(&facts.skipped, out)?;
    plan::omitted(&facts.omitted, out)?;
    for path in &facts.kept_groups {
        writeln!(
            out,
            "kept the attributes of {}; the source has others",
            printable(path)
        )?;
    }
    for warning in &facts.warnings {
        writeln!(out, "warning: {}", printable(warning))?;
    }
    if facts.ignored.count > 0 {
        let names: Vec<_> = facts
            .ignored
            .examples
            .iter()
            .map(|name| printable(name))
            .collect();
        let more = match facts.ignored.count > names.len() as u64 {
            true => ", …",
            false => "",
        };
        writeln!(
            out,
            "left out {} that belong to no node: {}{more}",
            count(
                facts.ignored.count,
                "file or directory",
                "files and directories"
            ),
            names.join(", ")
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use clap::Parser;
    use icefield::storage::Storage;
    use icefield::storage::wrap::FaultyStorage;
    use icefield::storage::wrap::fault::{Decision, Matcher, Plan, Verb};
    use icefield::{Connect, MemoryStorage, Repository, Schemes};

    use icefield::Location;

    use super::*;
    use crate::args::{Args, Command};

    /// The printed bytes.
    #[derive(Clone, Default)]
    struct Printed(Arc<Mutex<Vec<u8>>>);

    impl Write for Printed {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("not poisoned").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// One store with faults, for every location of its scheme.
    #[derive(Debug)]
    struct Faulty(FaultyStorage);

    #[async_trait::async_trait]
    impl Connect for Faulty {
        async fn connect(&self, _: &Location) -> Result<Arc<dyn Storage>, icefield::Error> {
            Ok(Arc::new(self.0.clone()))
        }
    }

    #[tokio::test]
    async fn an_unknown_outcome_is_printed_with_its_snapshot_and_ends_with_6() {
        let tree = tempfile::tempdir().expect("a directory");
        std::fs::write(
            tree.path().join("zarr.json"),
            r#"{"zarr_format": 3, "node_type": "group"}"#,
        )
        .expect("written");
        let store = FaultyStorage::new(Arc::new(MemoryStorage::new()), Plan::none());
        Repository::create(Arc::new(store.clone()))
            .await
            .expect("created");
        // The response to the publishing write is lost, and no read can find out whether the write arrived: opening, the
        // session and the commit read the ref once each, and every later read fails.
        let publish = Matcher::verb(Verb::Put).below("refs/");
        let looks = Matcher::verb(Verb::Get).below("refs/");
        let plan = Plan::none().on(publish, 0, Decision::FailAfter);
        store.set_plan((3..20).fold(plan, |plan, n| {
            plan.on(looks.clone(), n, Decision::FailBefore)
        }));

        let context = Context {
            schemes: Schemes::none().with("faulty", Arc::new(Faulty(store.clone()))),
            access: icefield::VirtualAccess::none(),
            #[cfg(feature = "cache")]
            cache: None,
        };
        let source = tree.path().to_str().expect("UTF-8");
        let args = Args::try_parse_from(["icefield", "import", source, "faulty:x", "--json"]);
        let Command::Import(args) = args.expect("a command").command else {
            panic!("another command");
        };
        let printed = Printed::default();
        let out = Output::to(printed.clone(), args.output);
        let failure = import(&context, *args, out).await.expect_err("unknown");
        assert_eq!(failure.exit, Exit::Unknown, "{failure:?}");

        let printed = printed.0.lock().expect("not poisoned").clone();
        let facts: serde_json::Value = serde_json::from_slice(&printed).expect("JSON");
        assert_eq!(facts["outcome"], "unknown");
        let id = facts["snapshot_id"].as_str().expect("an id");
        assert!(failure.message().contains(id), "{}", failure.message());

        // The advice of the message finds the snapshot.
        store.set_plan(Plan::none());
        let repository = Repository::open(Arc::new(store)).await.expect("opened");
        let tip = icefield::RevisionSpec::parse("main").expect("a branch");
        assert_eq!(
            tip.resolve(&repository).await.expect("there").to_string(),
            id
        );
    }
}
