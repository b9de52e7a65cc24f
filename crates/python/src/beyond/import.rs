//! Imports from files and hierarchies of other formats.

use std::sync::Arc;

use futures::{StreamExt, stream};
use icefield::ingest::{
    ArchiveOptions, Attributes, Combine, DifferingAttribute, Encoding, Gap, Import, ImportError,
    ImportPlan, ImportReport, Lacking, Missing, Order, Overlap, Overviews, Rounded, Selection,
    Source, Unsupported, ValueFrom, abandon_imports,
};
use icefield::{
    CommitOutcome, Interrupt, NodePath, Purpose, Schemes, SourceLocation, SourceName,
    VirtualAccess, import_name,
};
use pyo3::prelude::*;
use serde_json::{Value, json};

use super::layout::layout;
use super::options;
use super::progress::PythonProgress;
use crate::convert;
use crate::errors::Failure;
use crate::repository::Repository;
use crate::task::{BEGINS_ANEW, Task, begin_interruptible};

/// The number of files that are opened concurrently.
const OPENED_AT_ONCE: usize = 8;

/// Imports sources (paths, URLs, or patterns for them) in one commit. `what` is a JSON object: `branch`, `group`, `message`, `variables`, `drop`
/// (paths), `rename` (names by paths), `skip_unsupported`, `virtual`, `copy` (paths of arrays that are copied nevertheless), `append`,
/// `concat`, `concat_new` (dimensions), `value_from`, `combine`, `skip_existing`, `resume`, `unordered`, `order`, `overlap`, `time_units`, `repack`, `unpack`, `missing`, `attributes`, `chunks`, `shards`, `codec`, `legacy_endian`, `split_compound`, `overviews` (`all`, `none` or a number), and `plan`, with which nothing is written. Returns a JSON object: the fields
/// of `ImportPlan` or `ImportReport` in the module `icefield`.
#[pyfunction]
#[pyo3(signature = (repository, sources, what, progress=None))]
pub(crate) fn import_files(
    py: Python<'_>,
    repository: &Repository,
    sources: Vec<String>,
    what: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Task> {
    let repository = repository.handle()?;
    let what = options(what)?;
    let has_legacy_endian = what["legacy_endian"].as_bool() == Some(true);
    let names = sources.iter().map(|text| SourceName::parse(text));
    let names: Vec<SourceName> = names.collect::<Result<_, _>>().map_err(Failure::from)?;
    let branch = convert::branch(what["branch"].as_str().unwrap_or("main"))?;
    let progress = Arc::new(PythonProgress::new(progress, "copying"));
    let interrupt = Interrupt::new();
    begin_interruptible(py, interrupt.clone(), BEGINS_ANEW, async move {
        let schemes = Schemes::standard();
        let mut sources = interrupt.unless(schemes.expand(&names)).await??;
        for source in &mut sources {
            source.options.has_legacy_endian |= has_legacy_endian;
        }
        let access = repository.virtual_access().clone();
        let (sources, granted) = opened(&sources, access, &what, &interrupt).await?;
        let importer = importer(&repository, granted).await?;
        let mut import = described(&what, sources, &progress)?.interruptible(&interrupt);
        if what["resume"].as_bool() != Some(false) {
            import = import.resumable(name(&what, &names));
        }
        if what["plan"].as_bool() == Some(true) {
            let planned = planned(import.plan(&importer, branch).await);
            progress.end();
            return planned;
        }
        let message = what["message"].as_str().unwrap_or("Import");
        let imported = import.run(&importer, branch, message).await;
        progress.end();
        let (id, report) = match imported {
            Err(ImportError::NothingNew { .. }) => (None, ImportReport::default()),
            Err(ImportError::NothingToDo { skipped, .. }) => {
                let mut report = ImportReport::default();
                report.skipped = skipped;
                (None, report)
            }
            Err(ImportError::AlreadyLanded { snapshot }) => {
                (Some(snapshot.to_string()), ImportReport::default())
            }
            imported => {
                let imported = imported.map_err(icefield::Error::from)?;
                match imported.commit {
                    CommitOutcome::Committed(id) => (Some(id.to_string()), imported.report),
                    outcome => return Err(Failure::of_commit(outcome)),
                }
            }
        };
        Ok(reported(&report, id, &containers(&repository).await?).to_string())
    })
}

/// Parses the locations of sources.
pub(super) fn locations(sources: &[String], what: &Value) -> Result<Vec<SourceLocation>, Failure> {
    let has_legacy_endian = what["legacy_endian"].as_bool() == Some(true);
    let sources = sources.iter().map(|text| {
        let mut source = SourceLocation::parse(text)?;
        source.options.has_legacy_endian |= has_legacy_endian;
        Ok(source)
    });
    sources.collect()
}

/// Opens sources. Returns them with the granted access, extended to the folders of the sources.
pub(super) async fn opened(
    sources: &[SourceLocation],
    access: VirtualAccess,
    what: &Value,
    interrupt: &Interrupt,
) -> Result<(Vec<Arc<dyn Source>>, VirtualAccess), Failure> {
    let purpose = match what["virtual"].as_bool() {
        Some(true) => Purpose::Refer,
        _ => Purpose::Copy,
    };
    let archives = ArchiveOptions {
        split_compound: what["split_compound"].as_bool() == Some(true),
        overviews: overviews(&what["overviews"])?,
        duplicates: overlap(what)?,
        ..ArchiveOptions::default()
    };
    let schemes = Schemes::standard();
    let all = schemes.sources().archive_options(archives);
    // Collected first, because a borrowing closure would make the whole future not `Send`.
    let opened: Vec<_> = sources
        .iter()
        .map(|source| all.open(source, access.clone(), purpose))
        .collect();
    let mut opened = stream::iter(opened).buffered(OPENED_AT_ONCE);
    let (mut sources, mut granted) = (Vec::new(), access);
    while let Some(one) = interrupt.unless(opened.next()).await? {
        let one = one?;
        granted = granted.and(one.access);
        sources.push(one.source);
    }
    Ok((sources, granted))
}

/// Opens a repository for an import, with access to the folders of the sources, because the import checks its references. The
/// containers are the stored ones, to which the import adds.
pub(super) async fn importer(
    repository: &icefield::Repository,
    granted: VirtualAccess,
) -> Result<icefield::Repository, Failure> {
    let mut config = repository.config();
    config.virtual_chunk_containers = None;
    let importer = icefield::Repository::builder(Arc::clone(repository.storage()))
        .config(config)
        .virtual_access(granted)
        .open()
        .await?;
    Ok(importer)
}

/// Returns the prefixes of the stored containers.
pub(super) async fn containers(repository: &icefield::Repository) -> Result<Vec<String>, Failure> {
    let config = repository.reload_config().await?;
    let containers = config.containers().map(|it| it.url_prefix.clone());
    Ok(containers.collect())
}

/// Returns the fields of `ImportReport` in the module `icefield`.
pub(super) fn reported(report: &ImportReport, id: Option<String>, containers: &[String]) -> Value {
    json!({
        "snapshot_id": id,
        "new_groups": report.new_groups,
        "new_arrays": report.new_arrays,
        "extended_arrays": paths(&report.extended_arrays),
        "kept_groups": paths(&report.kept_groups),
        "chunks": report.chunks,
        "bytes": report.bytes,
        "virtual_chunks": report.virtual_chunks,
        "virtual_bytes": report.virtual_bytes,
        "compared_chunks": report.compared_chunks,
        "assembled_chunks": report.assembled_chunks,
        "converted_arrays": paths(&report.converted_arrays),
        "reencoded_arrays": paths(&report.reencoded_arrays),
        "rounded_arrays": rounded(&report.rounded_arrays),
        "gaps": gaps(&report.gaps),
        "lacking": lacking(&report.lacking),
        "attributes": attributes(&report.attributes),
        "resumed_chunks": report.resumed_chunks,
        "skipped": report.skipped,
        "ignored": report.ignored.count(),
        "warnings": report.warnings,
        "omitted": omitted(&report.omitted),
        "containers": containers,
    })
}

pub(super) fn described(
    what: &Value,
    sources: Vec<Arc<dyn Source>>,
    progress: &Arc<PythonProgress>,
) -> Result<Import, Failure> {
    let mut sources = sources.into_iter();
    let first = sources.next().ok_or_else(|| {
        Failure::new(
            "invalid-argument",
            "there is nothing to import: give at least one path or URL",
        )
    })?;
    let (append, concat) = (what["append"].as_str(), what["concat"].as_str());
    let concat_new = what["concat_new"].as_str();
    let combine = one_of(what, "combine", ["nested", "by-coords"])?;
    let is_by_coords = combine == "by-coords";
    let says_how = append.is_some() || concat.is_some() || concat_new.is_some() || is_by_coords;
    if sources.len() > 0 && !says_how {
        return Err(Failure::new(
            "invalid-argument",
            "there are several sources, and no argument arranges them: `concat` concatenates them along a \
             dimension, `append` behind what is there, `concat_new` along a new dimension",
        ));
    }
    // Messages of one GRIB file may overlap, too.
    let repeats = first.may_repeat() || sources.as_slice().iter().any(|it| it.may_repeat());
    let goes_behind = append.is_some() || concat.is_some();
    let is_said = |name: &str, usual: &str| what[name].as_str().is_some_and(|it| it != usual);
    let along = [
        ("unordered", what["unordered"].as_bool() == Some(true)),
        ("order", is_said("order", "given")),
        ("overlap", is_said("overlap", "refuse") && !repeats),
        ("time_units", what["time_units"].is_string()),
        ("repack", what["repack"].is_number()),
        ("missing", is_said("missing", "refuse")),
        ("attributes", what["attributes"].is_string()),
    ];
    if let Some((name, _)) = along.iter().find(|(_, is_said)| *is_said && !goes_behind) {
        let problem = format!(
            "`{name}` applies to sources that are joined along a dimension: it needs `concat` or `append`"
        );
        return Err(Failure::new("invalid-argument", problem));
    }
    let copies = what["copy"].as_array().is_some_and(|it| !it.is_empty());
    if copies && what["virtual"].as_bool() != Some(true) {
        let problem = "`copy` names arrays that `virtual` would refer to: it needs `virtual=True`";
        return Err(Failure::new("invalid-argument", problem));
    }
    let group = convert::path(what["group"].as_str().unwrap_or("/"))?;
    let mut import = Import::new(first)
        .into_group(group)
        .progress(Arc::<PythonProgress>::clone(progress));
    import = import.select(selection(what)?).layout(layout(what)?);
    if what["skip_unsupported"].as_bool() == Some(true) {
        import = import.skip_unsupported();
    }
    import = import.and(sources);
    if let Some(dimension) = concat.or(append) {
        import = import.concat(dimension, []);
    }
    import = collected(what, import, concat_new.or(append))?;
    if is_by_coords {
        import = import.combine(Combine::ByCoordinates);
    }
    if let Some(dimension) = append {
        import = import.append(dimension);
    }
    if what["unordered"].as_bool() == Some(true) {
        import = import.unordered();
    }
    import = import
        .order(
            match one_of(what, "order", ["given", "name", "coordinate"])? {
                "name" => Order::Name,
                "coordinate" => Order::Coordinate,
                _ => Order::Given,
            },
        )
        .overlap(overlap(what)?);
    if let Some(units) = what["time_units"].as_str() {
        import = import.time_units(units);
    }
    import = combined(what, import)?;
    if what["virtual"].as_bool() == Some(true) {
        let copied = what["copy"].as_array().into_iter().flatten();
        let copied = copied.filter_map(Value::as_str).map(convert::path);
        import = import.by_reference(copied.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(import)
}

/// Parses `repack`, `unpack`, `missing` and `attributes`.
fn combined(what: &Value, mut import: Import) -> Result<Import, Failure> {
    match (what["repack"].as_f64(), what["unpack"].as_bool()) {
        (Some(_), Some(true)) => {
            let problem =
                "`repack` stores packed numbers and `unpack` decoded ones: pass one of the two";
            return Err(Failure::new("invalid-argument", problem));
        }
        (Some(tolerance), _) => import = import.encoding(Encoding::Within(tolerance)),
        (None, Some(true)) => import = import.encoding(Encoding::Unpacked),
        (None, _) => {}
    }
    if one_of(what, "missing", ["refuse", "fill"])? == "fill" {
        import = import.missing(Missing::Fill);
    }
    if what["attributes"].is_null() {
        return Ok(import);
    }
    let words = ["first", "equal", "drop-conflicts"];
    Ok(import.attributes(match one_of(what, "attributes", words)? {
        "equal" => Attributes::Equal,
        "drop-conflicts" => Attributes::DropConflicts,
        _ => Attributes::First,
    }))
}

/// Parses `value_from` and `skip_existing`; the values lie along the dimension of `concat_new` or of an append.
fn collected(what: &Value, mut import: Import, dimension: Option<&str>) -> Result<Import, Failure> {
    let wrong = |problem: &str| Failure::new("invalid-argument", problem);
    match (dimension, what["value_from"].as_str()) {
        (Some(dimension), Some(from)) => {
            let from = ValueFrom::parse(from).map_err(|error| wrong(&error.to_string()))?;
            import = import.stack(dimension, from);
        }
        (None, Some(_)) => {
            let problem = "`value_from` gives values along a new dimension: it needs `concat_new` or `append`";
            return Err(wrong(problem));
        }
        (_, None) if what["concat_new"].is_string() => {
            return Err(wrong(
                "`concat_new` needs `value_from`, the values along it",
            ));
        }
        (_, None) => {}
    }
    if what["skip_existing"].as_bool() == Some(true) {
        if !what["append"].is_string() {
            return Err(wrong(
                "`skip_existing` compares what is appended: it needs `append`",
            ));
        }
        import = import.skip_existing();
    }
    Ok(import)
}

/// Returns the name under which an interrupted import is continued.
fn name(what: &Value, names: &[SourceName]) -> String {
    let said = |name: &str| what[name].as_str().unwrap_or_default().to_owned();
    let mut name = format!(
        "{} into {} of {}",
        import_name(names),
        what["group"].as_str().unwrap_or("/"),
        what["branch"].as_str().unwrap_or("main"),
    );
    for option in ["append", "concat", "concat_new", "combine"] {
        if what[option].is_string() {
            name.push_str(&format!(", {option} {}", said(option)));
        }
    }
    name
}

/// Discards interrupted imports. Returns them as a JSON list: `about`, `branch`, `objects`.
#[pyfunction]
pub(crate) fn end_imports(py: Python<'_>, repository: &Repository) -> PyResult<Task> {
    let repository = repository.handle()?;
    let interrupt = Interrupt::new();
    begin_interruptible(py, interrupt.clone(), BEGINS_ANEW, async move {
        let abandoned = interrupt.unless(abandon_imports(&repository, None)).await?;
        let abandoned = abandoned.map_err(icefield::Error::from)?.into_iter();
        let abandoned = abandoned
            .map(|it| json!({ "about": it.about, "branch": it.branch, "objects": it.objects }));
        Ok(Value::from(abandoned.collect::<Vec<_>>()).to_string())
    })
}

/// Parses `variables` and `drop` (lists of paths) and `rename` (an object of new names by path).
fn selection(what: &Value) -> Result<Selection, Failure> {
    let paths = |name: &str| {
        let texts = what[name].as_array().into_iter().flatten();
        let paths = texts.filter_map(Value::as_str).map(convert::path);
        paths.collect::<Result<Vec<_>, _>>()
    };
    let mut selection = Selection::all().without(paths("drop")?);
    if what["variables"].is_array() {
        selection = selection.variables(paths("variables")?);
    }
    for (path, name) in what["rename"].as_object().into_iter().flatten() {
        let path = convert::path(path)?;
        if path.is_root() {
            let problem = "`rename` names the root, which has no name";
            return Err(Failure::new("invalid-argument", problem));
        }
        selection = selection.rename(path, name.as_str().unwrap_or_default());
    }
    Ok(selection)
}

/// Parses the choice of overviews: `all`, `none` or the number of one.
fn overviews(what: &Value) -> Result<Overviews, Failure> {
    match (what.as_str(), what.as_u64().map(u32::try_from)) {
        (Some("all"), _) => Ok(Overviews::All),
        (None, None) if what.is_null() => Ok(Overviews::All),
        (Some("none"), _) => Ok(Overviews::None),
        (_, Some(Ok(level))) => Ok(Overviews::Level(level)),
        _ => {
            let problem =
                format!("`overviews` is {what}: it can be \"all\", \"none\" or a number from 0");
            Err(Failure::new("invalid-argument", problem))
        }
    }
}

fn overlap(what: &Value) -> Result<Overlap, Failure> {
    Ok(
        match one_of(what, "overlap", ["refuse", "first", "last"])? {
            "first" => Overlap::First,
            "last" => Overlap::Last,
            _ => Overlap::Refuse,
        },
    )
}

/// Parses a choice among some words; without a value, returns the first.
fn one_of<'a, const N: usize>(
    what: &'a Value,
    name: &str,
    words: [&'static str; N],
) -> Result<&'a str, Failure> {
    match what[name].as_str() {
        None => Ok(words[0]),
        Some(word) if words.contains(&word) => Ok(word),
        Some(other) => {
            let problem = format!("`{name}` is {other:?}: it can be {}", words.join(", "));
            Err(Failure::new("invalid-argument", problem))
        }
    }
}

fn paths(paths: &[NodePath]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}

fn omitted(nodes: &[Unsupported]) -> Vec<Value> {
    let described = nodes.iter().map(
        |node| json!({ "path": node.path.to_string(), "source": node.name, "reason": node.reason }),
    );
    described.collect()
}

fn rounded(arrays: &[Rounded]) -> Value {
    let errors = arrays
        .iter()
        .map(|one| (one.path.to_string(), one.largest_error.into()));
    Value::Object(errors.collect())
}

fn lacking(lacking: &[Lacking]) -> Vec<Value> {
    let described = lacking.iter().map(
        |one| json!({ "path": one.path.to_string(), "source": one.source, "filled": one.is_filled }),
    );
    described.collect()
}

fn attributes(attributes: &[DifferingAttribute]) -> Vec<Value> {
    let described = attributes.iter().map(|one| {
        json!({
            "path": one.path.to_string(),
            "name": one.name,
            "source": one.source,
            "kept": one.is_kept,
        })
    });
    described.collect()
}

fn gaps(gaps: &[Gap]) -> Vec<Value> {
    let described = gaps.iter().map(|gap| {
        json!({
            "path": gap.path.to_string(),
            "before": gap.before,
            "after": gap.after,
            "start": gap.from,
            "end": gap.to,
            "units": gap.units,
        })
    });
    described.collect()
}

/// Returns the fields of `ImportPlan` in the module `icefield`, as a JSON object.
pub(super) fn planned(planned: Result<ImportPlan, ImportError>) -> Result<String, Failure> {
    let planned = match planned {
        Err(ImportError::NothingToDo { skipped, .. }) => {
            let mut nothing = ImportPlan::default();
            nothing.skipped = skipped;
            Ok(nothing)
        }
        planned => planned,
    };
    Ok(plan(&planned.map_err(icefield::Error::from)?).to_string())
}

fn plan(plan: &ImportPlan) -> Value {
    let sources = plan.sources.iter().map(|source| {
        json!({
            "name": source.name,
            "elements": source.elements,
            "left_out": source.left_out,
            "converted": paths(&source.converted),
            "reencoded": paths(&source.reencoded),
        })
    });
    let arrays = plan.arrays.iter().map(|array| {
        json!({
            "path": array.path.to_string(),
            "is_new": array.is_new,
            "shape": array.shape,
            "chunk_shape": array.chunk_shape,
            "shard_shape": array.shard_shape,
            "codecs": array.codecs,
            "copied_chunks": array.copied.0,
            "copied_bytes": array.copied.1,
            "virtual_chunks": array.referred.0,
            "virtual_bytes": array.referred.1,
            "compared_chunks": array.compared.0,
            "compared_bytes": array.compared.1,
            "assembled_chunks": array.assembled.0,
            "assembled_bytes": array.assembled.1,
            "decodes": array.decodes,
            "reasons": array.reasons,
            "reasons_in_all": array.reasons_in_all,
        })
    });
    json!({
        "dimension": plan.dimension,
        "sources": sources.collect::<Vec<_>>(),
        "arrays": arrays.collect::<Vec<_>>(),
        "new_groups": plan.new_groups,
        "kept_groups": paths(&plan.kept_groups),
        "gaps": gaps(&plan.gaps),
        "lacking": lacking(&plan.lacking),
        "attributes": attributes(&plan.attributes),
        "skipped": plan.skipped,
        "warnings": plan.warnings,
        "omitted": omitted(&plan.omitted),
    })
}
