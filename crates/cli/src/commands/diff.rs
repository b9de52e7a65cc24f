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

/// The number of chunks that text output names per array.
const EXAMPLES: usize = 3;

#[derive(Serialize)]
struct DiffFacts {
    location: String,
    from: SnapshotId,
    to: SnapshotId,
    #[serde(flatten)]
    changes: ChangeFacts,
}

/// The changes between two versions.
#[derive(Serialize)]
pub(super) struct ChangeFacts {
    new_groups: Vec<String>,
    new_arrays: Vec<String>,
    deleted_groups: Vec<String>,
    deleted_arrays: Vec<String>,
    updated_groups: Vec<String>,
    updated_arrays: Vec<String>,
    moved_nodes: Vec<MovedNode>,
    updated_chunks: Vec<ChangedChunks>,
}

#[derive(Serialize)]
struct MovedNode {
    from: String,
    to: String,
}

#[derive(Serialize)]
pub(super) struct ChangedChunks {
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
    let facts = DiffFacts {
        location: output::location(&args.location),
        from,
        to,
        changes: ChangeFacts::of(diff),
    };
    Output::new(args.output).facts(&facts, |facts, out| facts.changes.text(out))
}

impl ChangeFacts {
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

fn moved(moved: &BTreeMap<NodePath, NodePath>) -> Vec<MovedNode> {
    moved
        .iter()
        .map(|(from, to)| MovedNode {
            from: from.to_string(),
            to: to.to_string(),
        })
        .collect()
}

fn chunks(chunks: BTreeMap<NodePath, BTreeSet<ChunkIndex>>) -> Vec<ChangedChunks> {
    chunks
        .into_iter()
        .map(|(path, indices)| ChangedChunks {
            path: path.to_string(),
            count: indices.len(),
            indices: indices.iter().map(|index| index.to_vec()).collect(),
        })
        .collect()
}

impl ChangeFacts {
    /// Prints one line per node, and one for the chunks of each array.
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
