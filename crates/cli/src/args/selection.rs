//! The nodes of a source that an import takes, and their names.

use clap::Args as ArgGroup;
use icefield::NodePath;
use icefield::ingest::Selection;

use super::parse::{node_path, with_causes};

#[derive(Debug, Default, ArgGroup)]
pub(crate) struct SelectionArgs {
    /// Import only these arrays, or all arrays below these groups, and the arrays that they name: coordinates, bounds, grid
    /// mappings (separated by commas; repeatable).
    #[arg(long, value_name = "PATH", value_delimiter = ',', value_parser = with_causes(node_path))]
    pub(crate) variables: Vec<NodePath>,
    /// Leave out these nodes and everything below them (separated by commas; repeatable).
    #[arg(long, value_name = "PATH", value_delimiter = ',', value_parser = with_causes(node_path))]
    pub(crate) drop: Vec<NodePath>,
    /// Rename a node within its group; a dimension is renamed with its coordinate (repeatable).
    #[arg(long, value_name = "PATH=NAME", value_parser = renamed)]
    pub(crate) rename: Vec<(NodePath, String)>,
    /// Leave out nodes that Zarr cannot express: dangling links, unknown data types and filters. Each such node is named.
    #[arg(long)]
    pub(crate) skip_unsupported: bool,
}

impl SelectionArgs {
    /// Returns the selection for an import.
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
        return Err("expected a path, `=` and the new name, as in air=temperature".to_owned());
    };
    let path = node_path(path).map_err(|error| icefield::storage::with_causes(&error))?;
    match path.is_root() || name.is_empty() {
        true => Err("expected the path of a node and its new name".to_owned()),
        false => Ok((path, name.to_owned())),
    }
}
