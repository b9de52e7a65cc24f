//! Datasets from the documents of a tree of Zarr format 2, whatever generation of NCZarr wrote it.

mod array;
mod attributes;
mod dimensions;
mod sniff;
mod tree;

pub(crate) use array::filter;
pub(crate) use attributes::{FILL_VALUE, is_reserved};
pub(crate) use dimensions::{ANONYMOUS, declare};
pub use tree::{Documents, Opened, ReadOptions, is_swappable};

use std::collections::BTreeMap;

use tree::Tree;

use crate::{Dataset, Generation, NczarrError};

/// Returns whether a key is that of a document that [`read`] looks at.
pub fn is_document(key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or(key);
    matches!(name, ".zgroup" | ".zarray" | ".zattrs") || name.starts_with(".ncz")
}

/// Reads a dataset from the documents of a tree of Zarr format 2.
///
/// # Errors
/// The first document that breaks a rule, by its key.
pub fn read(documents: &Documents, options: ReadOptions) -> Result<Opened, NczarrError> {
    let generation = match options.is_pure {
        true => Generation::Pure,
        false => sniff::generation(documents),
    };
    let tree = Tree {
        documents,
        generation,
        names: generation.names(),
        options,
        swaps: sniff::may_swap(documents, options),
    };
    let mut opened = Opened {
        dataset: Dataset::default(),
        generation,
        arrays: BTreeMap::new(),
        suspects: Vec::new(),
    };
    let mut root = tree.group("", 0, &mut opened)?;
    root.name = String::new();
    opened.dataset.root = root;
    let lost = documents.keys().find(|key| {
        let path = key
            .strip_suffix(".zarray")
            .map(|path| path.trim_end_matches('/'));
        path.is_some_and(|path| !opened.arrays.contains_key(&format!("/{path}")))
    });
    if let Some(key) = lost {
        let problem = "no group leads to this array: a .zgroup is missing above it, or it lies in another array";
        return Err(NczarrError::new(key, problem));
    }
    let mut dimensions = dimensions::Dimensions::new(&tree, &mut opened);
    dimensions.resolve()?;
    Ok(opened)
}

/// Returns the generation of a tree; [`Generation::Pure`] if it has no record of NCZarr.
pub fn generation(documents: &Documents) -> Generation {
    sniff::generation(documents)
}

/// Returns whether the writer of a tree may have stored little-endian numbers in arrays that it calls big-endian. What
/// `options` ask for is believed where the tree names no version of its writer.
pub fn may_swap(documents: &Documents, options: ReadOptions) -> bool {
    sniff::may_swap(documents, options)
}
