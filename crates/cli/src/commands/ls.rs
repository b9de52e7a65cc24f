//! `icefield ls`

use std::io::{self, Write};

use icefield::{NodeKind, NodePath, SessionError};
use serde::Serialize;

use super::Context;
use super::nodes::{NodeFacts, numbers};
use super::version::RevisionReader;
use crate::args::Ls;
use crate::failure::Failure;
use crate::output::escape::printable;
use crate::output::table::Columns;
use crate::output::{self, Output};

#[derive(Serialize)]
struct ListFacts {
    location: String,
    snapshot_id: String,
    path: String,
    nodes: Vec<NodeFacts>,
}

pub(super) async fn run(context: &Context, args: Ls) -> Result<(), Failure> {
    let version = context.version(&args.location, &args.at.revision).await?;
    let mut nodes = Vec::new();
    for path in listed(&version, &args.path)? {
        let mut node = NodeFacts::read(&version, &path)?;
        if let (Some(array), true) = (&mut node.array, args.long) {
            array.chunks = Some(version.count_chunks(&path).await?);
        }
        nodes.push(node);
    }
    let listing = ListFacts {
        location: output::location(&args.location),
        snapshot_id: version.id(),
        path: args.path.to_string(),
        nodes,
    };
    Output::new(args.output).facts(&listing, |listing, out| match args.long {
        true => long(listing, out),
        false => short(listing, out),
    })
}

/// Returns the children of a group, or the array itself.
fn listed(version: &RevisionReader, path: &NodePath) -> Result<Vec<NodePath>, Failure> {
    let kind = version.kind(path)?;
    if kind == Some(NodeKind::Array) {
        return Ok(vec![path.clone()]);
    }
    let names = version.child_names(path)?;
    if kind.is_none() && names.is_empty() && !path.is_root() {
        return Err(SessionError::NodeNotFound { path: path.clone() }.into());
    }
    let mut paths = Vec::with_capacity(names.len());
    for name in names {
        paths.push(path.join(&name).map_err(icefield::Error::from)?);
    }
    Ok(paths)
}

fn short(listing: &ListFacts, out: &mut dyn Write) -> io::Result<()> {
    for node in &listing.nodes {
        let slash = if node.array.is_some() { "" } else { "/" };
        writeln!(out, "{}{slash}", printable(shown(node)))?;
    }
    Ok(())
}

fn long(listing: &ListFacts, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Columns::new(&[
        "KIND", "TYPE", "SHAPE", "CHUNK", ">CHUNKS", ">INLINE", ">VIRTUAL", ">BYTES", "NAME",
    ]);
    for node in &listing.nodes {
        let Some(array) = &node.array else {
            let name = format!("{}/", node.name);
            table.row([node.kind, "", "", "", "", "", "", "", &name]);
            continue;
        };
        let chunks = array.chunks.clone().unwrap_or_default();
        table.row([
            node.kind,
            &array.data_type,
            &numbers(&array.shape),
            &numbers(&array.chunk_shape),
            &chunks.count().to_string(),
            &chunks.inline.count.to_string(),
            &chunks.external.count.to_string(),
            &output::bytes(chunks.bytes()),
            shown(node),
        ]);
    }
    table.write(out)
}

/// Returns the name of a node; for the root, its path.
fn shown(node: &NodeFacts) -> &str {
    match node.name.as_str() {
        "" => &node.path,
        name => name,
    }
}
