//! Which nodes of a source, and under which names.

use clap::Args as ArgGroup;
use icefield::NodePath;
use icefield::ingest::Selection;

use super::{in_full, node_path};
use crate::failure::chain;

#[derive(Debug, Default, ArgGroup)]
pub(crate) struct Selected {
    /// Import just these arrays, or all below these groups, with what they name: coordinates of their dimensions, bounds, grid
    /// mappings (a list with commas; repeatable).
    #[arg(long, value_name = "PATH", value_delimiter = ',', value_parser = in_full(node_path))]
    pub(crate) variables: Vec<NodePath>,
    /// Leave out these nodes and what is below them (a list with commas; repeatable).
    #[arg(long, value_name = "PATH", value_delimiter = ',', value_parser = in_full(node_path))]
    pub(crate) drop: Vec<NodePath>,
    /// Give a node another name in its group; a dimension is called like its coordinate (repeatable).
    #[arg(long, value_name = "PATH=NAME", value_parser = renamed)]
    pub(crate) rename: Vec<(NodePath, String)>,
    /// Leave out what Zarr has no words for: links that lead nowhere, types and filters that are not known. Each such node is named.
    #[arg(long)]
    pub(crate) skip_unsupported: bool,
}

impl Selected {
    /// Returns it as an import is told.
    pub(crate) fn selection(&self) -> Selection {
        let mut selection = Selection::all().without(self.drop.iter().cloned());
        if !self.variables.is_empty() {
            selection = selection.variables(self.variables.iter().cloned());
        }
        for (path, name) in &self.rename {
            selection = selection.rename(path.clone(), name);
        }
        selection
    }
}

fn renamed(text: &str) -> Result<(NodePath, String), String> {
    let Some((path, name)) = text.split_once('=') else {
        return Err("a path, `=` and the new name are expected, as in air=temperature".to_owned());
    };
    let path = node_path(path).map_err(|error| chain(&error))?;
    match path.is_root() || name.is_empty() {
        true => Err("the path of a node and its new name are expected".to_owned()),
        false => Ok((path, name.to_owned())),
    }
}
