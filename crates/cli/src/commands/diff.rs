//! `icefield diff`

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use icefield::{ChunkIndex, Diff, NodePath, SnapshotId};
use serde::Serialize;

use super::{Context, dangling};
use crate::args;
use crate::failure::{Failure, missing_snapshot};
use crate::output::escape::printable;
use crate::output::{self, Output, count};

/// Chunks named in text output.
const EXAMPLES: usize = 3;

#[derive(Serialize)]
struct Difference {
    location: String,
    from: SnapshotId,
    to: SnapshotId,
    #[serde(flatten)]
    changes: Changes,
}

/// What changed.
#[derive(Serialize)]
pub(super) struct Changes {
    new_groups: Vec<String>,
    new_arrays: Vec<String>,
    deleted_groups: Vec<String>,
    deleted_arrays: Vec<String>,
    updated_groups: Vec<String>,
    updated_arrays: Vec<String>,
    moved_nodes: Vec<Moved>,
    updated_chunks: Vec<Chunks>,
}

#[derive(Serialize)]
struct Moved {
    from: String,
    to: String,
}

#[derive(Serialize)]
pub(super) struct Chunks {
    path: String,
    count: usize,
    indices: Vec<Vec<u32>>,
}

pub(super) async fn run(context: &Context, args: args::Diff) -> Result<(), Failure> {
    let (repository, from) = context.open_at(&args.location, &args.from).await?;
    let to = context.find(&repository, &args.to).await?;
    let diff = repository.diff(from, to).await;
    let diff = diff.map_err(|error| {
        let error = icefield::Error::from(error);
        match missing_snapshot(&error) {
            Some(id) if id == to => dangling(&args.to, error),
            _ => dangling(&args.from, error),
        }
    })?;
    let facts = Difference {
        location: output::location(&args.location),
        from,
        to,
        changes: Changes::of(diff),
    };
    Output::new(args.facts).facts(&facts, |facts, out| facts.changes.text(out))
}

impl Changes {
    pub(super) fn of(diff: Diff) -> Self {
        Self {
            new_groups: paths(&diff.new_groups),
            new_arrays: paths(&diff.new_arrays),
            deleted_groups: paths(&diff.deleted_groups),
            deleted_arrays: paths(&diff.deleted_arrays),
            updated_groups: paths(&diff.updated_groups),
            updated_arrays: paths(&diff.updated_arrays),
            moved_nodes: moved(&diff.moved_nodes),
            updated_chunks: chunks(diff.updated_chunks),
        }
    }
}

fn paths(paths: &BTreeSet<NodePath>) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}

fn moved(moved: &BTreeMap<NodePath, NodePath>) -> Vec<Moved> {
    moved
        .iter()
        .map(|(from, to)| Moved {
            from: from.to_string(),
            to: to.to_string(),
        })
        .collect()
}

fn chunks(chunks: BTreeMap<NodePath, BTreeSet<ChunkIndex>>) -> Vec<Chunks> {
    chunks
        .into_iter()
        .map(|(path, indices)| Chunks {
            path: path.to_string(),
            count: indices.len(),
            indices: indices.iter().map(|index| index.to_vec()).collect(),
        })
        .collect()
}

impl Changes {
    /// One line for each node, and for the chunks of each array.
    pub(super) fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let facts = self;
        for (mark, kind, paths) in [
            ('-', "group", &facts.deleted_groups),
            ('-', "array", &facts.deleted_arrays),
            ('+', "group", &facts.new_groups),
            ('+', "array", &facts.new_arrays),
            ('~', "group", &facts.updated_groups),
            ('~', "array", &facts.updated_arrays),
        ] {
            for path in paths {
                writeln!(out, "{mark} {kind:5}  {}", printable(path))?;
            }
        }
        for moved in &facts.moved_nodes {
            let (from, to) = (printable(&moved.from), printable(&moved.to));
            writeln!(out, "> moved  {from} to {to}")?;
        }
        for chunks in &facts.updated_chunks {
            let shown: Vec<String> = chunks
                .indices
                .iter()
                .take(EXAMPLES)
                .map(|index| format!("{index:?}"))
                .collect();
            let more = if chunks.count > EXAMPLES { " …" } else { "" };
            writeln!(
                out,
                "~ chunks {}  {}: {}{more}",
                printable(&chunks.path),
                count(chunks.count as u64, "chunk", "chunks"),
                shown.join(" ")
            )?;
        }
        Ok(())
    }
}
