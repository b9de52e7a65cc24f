//! `icefield import --dry-run`

use std::io::{self, Write};

use icefield::ingest::{self, ImportPlan};
use serde::Serialize;

use super::combined::{self, AttributeFacts, MissingArray};
use crate::args::Import;
use crate::failure::Failure;
use crate::output::escape::printable;
use crate::output::{self, Output, count};

#[derive(Serialize)]
struct ImportPlanFacts {
    location: String,
    branch: String,
    /// Always `planned`.
    outcome: &'static str,
    dimension: Option<String>,
    sources: Vec<SourceFacts>,
    arrays: Vec<ArrayPlan>,
    new_groups: u64,
    kept_groups: Vec<String>,
    gaps: Vec<CoordinateGap>,
    lacking: Vec<MissingArray>,
    attributes: Vec<AttributeFacts>,
    /// Skipped sources, whose elements the repository has already.
    skipped: Vec<String>,
    warnings: Vec<String>,
    omitted: Vec<OmittedNode>,
}

#[derive(Serialize)]
struct SourceFacts {
    name: String,
    elements: Option<u64>,
    left_out: u64,
    converted: Vec<String>,
    reencoded: Vec<String>,
}

#[derive(Serialize)]
struct ArrayPlan {
    path: String,
    is_new: bool,
    shape: Vec<u64>,
    chunk_shape: Vec<u64>,
    shard_shape: Option<Vec<u64>>,
    codecs: Vec<String>,
    copied_chunks: u64,
    copied_bytes: u64,
    virtual_chunks: u64,
    virtual_bytes: u64,
    compared_chunks: u64,
    compared_bytes: u64,
    assembled_chunks: u64,
    assembled_bytes: u64,
    decodes: u64,
    reasons: Vec<String>,
    reasons_in_all: u64,
}

/// An unusually long step of the coordinate between sources.
#[derive(Serialize)]
pub(super) struct CoordinateGap {
    path: String,
    before: String,
    after: String,
    from: String,
    to: String,
    units: Option<String>,
}

impl CoordinateGap {
    pub(super) fn new(gap: &ingest::Gap) -> Self {
        Self {
            path: gap.path.to_string(),
            before: gap.before.clone(),
            after: gap.after.clone(),
            from: gap.from.clone(),
            to: gap.to.clone(),
            units: gap.units.clone(),
        }
    }
}

/// A node of a source that is left out because Zarr cannot express it.
#[derive(Serialize)]
pub(super) struct OmittedNode {
    path: String,
    source: String,
    reason: String,
}

impl OmittedNode {
    pub(super) fn new(node: &ingest::Unsupported) -> Self {
        Self {
            path: node.path.to_string(),
            source: node.name.clone(),
            reason: node.reason.clone(),
        }
    }
}

pub(super) fn print(args: &Import, plan: ImportPlan, out: &mut Output) -> Result<(), Failure> {
    let paths = |paths: &[icefield::NodePath]| paths.iter().map(ToString::to_string).collect();
    let sources = plan.sources.iter().map(|source| SourceFacts {
        name: source.name.clone(),
        elements: source.elements,
        left_out: source.left_out,
        converted: paths(&source.converted),
        reencoded: paths(&source.reencoded),
    });
    let arrays = plan.arrays.into_iter().map(|array| ArrayPlan {
        path: array.path.to_string(),
        is_new: array.is_new,
        shape: array.shape,
        chunk_shape: array.chunk_shape,
        shard_shape: array.shard_shape,
        codecs: array.codecs,
        copied_chunks: array.copied.0,
        copied_bytes: array.copied.1,
        virtual_chunks: array.referred.0,
        virtual_bytes: array.referred.1,
        compared_chunks: array.compared.0,
        compared_bytes: array.compared.1,
        assembled_chunks: array.assembled.0,
        assembled_bytes: array.assembled.1,
        decodes: array.decodes,
        reasons: array.reasons,
        reasons_in_all: array.reasons_in_all,
    });
    let planned = ImportPlanFacts {
        location: output::location(&args.location),
        branch: args.branch.to_string(),
        outcome: "planned",
        sources: sources.collect(),
        arrays: arrays.collect(),
        dimension: plan.dimension,
        new_groups: plan.new_groups,
        kept_groups: paths(&plan.kept_groups),
        gaps: plan.gaps.iter().map(CoordinateGap::new).collect(),
        lacking: plan.lacking.iter().map(MissingArray::new).collect(),
        attributes: plan.attributes.iter().map(AttributeFacts::new).collect(),
        skipped: plan.skipped,
        omitted: plan.omitted.iter().map(OmittedNode::new).collect(),
        warnings: plan.warnings,
    };
    out.facts(&planned, text)
}

fn text(plan: &ImportPlanFacts, out: &mut dyn Write) -> io::Result<()> {
    if let Some(dimension) = &plan.dimension {
        writeln!(out, "along {}:", printable(dimension))?;
        let mut at = 0;
        for source in &plan.sources {
            let elements = source.elements.unwrap_or(0) - source.left_out;
            let mut line = format!("  {} to {}  {}", at, at + elements, printable(&source.name));
            at += elements;
            if source.left_out > 0 {
                line = format!("{line}, without {} that overlap", source.left_out);
            }
            if !source.converted.is_empty() {
                let paths: Vec<_> = source.converted.iter().map(|it| printable(it)).collect();
                line = format!("{line}, times converted in {}", paths.join(", "));
            }
            if !source.reencoded.is_empty() {
                let paths: Vec<_> = source.reencoded.iter().map(|it| printable(it)).collect();
                line = format!("{line}, encoding changed in {}", paths.join(", "));
            }
            writeln!(out, "{line}")?;
        }
    }
    gaps(&plan.gaps, out)?;
    combined::print(&plan.lacking, &plan.attributes, out)?;
    skipped(&plan.skipped, out)?;
    omitted(&plan.omitted, out)?;
    for array in &plan.arrays {
        writeln!(out, "{}", described(array))?;
        for reason in &array.reasons {
            writeln!(out, "    {}", printable(reason))?;
        }
        let more = array
            .reasons_in_all
            .saturating_sub(array.reasons.len() as u64);
        if more > 0 {
            writeln!(out, "    and {}", count(more, "source", "sources"))?;
        }
    }
    for path in &plan.kept_groups {
        writeln!(
            out,
            "keeps the attributes of {}; a source has others",
            printable(path)
        )?;
    }
    for warning in &plan.warnings {
        writeln!(out, "warning: {}", printable(warning))?;
    }
    writeln!(out, "nothing was written")
}

/// Describes one array in one line: `/air (360 x 25) in chunks of 31 x 25: 7 chunks copied (12 KiB), 5 put together`.
fn described(array: &ArrayPlan) -> String {
    let lengths = |lengths: &[u64]| {
        let lengths: Vec<String> = lengths.iter().map(ToString::to_string).collect();
        lengths.join(" x ")
    };
    let mut what = Vec::new();
    for (chunks, bytes, verb) in [
        (array.copied_chunks, array.copied_bytes, "copied"),
        (array.virtual_chunks, array.virtual_bytes, "referred to"),
        (array.compared_chunks, array.compared_bytes, "compared"),
    ] {
        if chunks > 0 {
            let chunks = count(chunks, "chunk", "chunks");
            what.push(format!("{chunks} {verb} ({})", output::bytes(bytes)));
        }
    }
    if array.assembled_chunks > 0 {
        let chunks = count(array.assembled_chunks, "chunk", "chunks");
        let bytes = output::bytes(array.assembled_bytes);
        what.push(format!(
            "{chunks} put together and encoded ({bytes} of elements)"
        ));
    }
    if what.is_empty() {
        what.push("no chunks".to_owned());
    }
    let path = printable(&array.path);
    let is_new = if array.is_new { "new " } else { "" };
    match array.shape.is_empty() {
        true => format!("{is_new}{path}: {}", what.join(", ")),
        false => {
            let shards = array.shard_shape.as_ref();
            let shards = shards.map(|it| format!(" in shards of {}", lengths(it)));
            format!(
                "{is_new}{path} ({}) in chunks of {}{}: {}",
                lengths(&array.shape),
                lengths(&array.chunk_shape),
                shards.unwrap_or_default(),
                what.join(", ")
            )
        }
    }
}

/// Prints the number and the first names of skipped sources.
pub(super) fn skipped(sources: &[String], out: &mut dyn Write) -> io::Result<()> {
    const NAMED: usize = 5;
    if sources.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = sources.iter().take(NAMED).map(|it| printable(it)).collect();
    let more = match sources.len() > NAMED {
        true => ", …",
        false => "",
    };
    let skipped = count(sources.len() as u64, "source", "sources");
    let names = names.join(", ");
    writeln!(
        out,
        "skipped {skipped} that the repository has already: {names}{more}"
    )
}

/// Prints the nodes that are left out.
pub(super) fn omitted(nodes: &[OmittedNode], out: &mut dyn Write) -> io::Result<()> {
    if !nodes.is_empty() {
        let nodes = count(nodes.len() as u64, "node", "nodes");
        writeln!(out, "left out {nodes} that cannot be imported:")?;
    }
    for node in nodes {
        writeln!(
            out,
            "  {} of {}: {}",
            printable(&node.path),
            printable(&node.source),
            printable(&node.reason)
        )?;
    }
    Ok(())
}

/// Prints the gaps.
pub(super) fn gaps(gaps: &[CoordinateGap], out: &mut dyn Write) -> io::Result<()> {
    for gap in gaps {
        let units = gap.units.as_ref().map(|it| format!(" {}", printable(it)));
        writeln!(
            out,
            "gap in {} from {} to {}{}, between {} and {}",
            printable(&gap.path),
            gap.from,
            gap.to,
            units.unwrap_or_default(),
            printable(&gap.before),
            printable(&gap.after)
        )?;
    }
    Ok(())
}
