//! Where in a zip file the tree begins.

use crate::TreePrefix;

/// The relation between the names of entries in a zip file and keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ZipLayout {
    /// A name is a key, as zarr-python reads and writes.
    #[default]
    Flat,
    /// All names begin with one folder, which has an entry of its own, and so have the folders in it, as netCDF reads
    /// and writes.
    TopFolder(TreePrefix),
}

impl ZipLayout {
    /// Returns the prefix of the names.
    pub(super) fn prefix(&self) -> &str {
        match self {
            Self::Flat => "",
            Self::TopFolder(prefix) => prefix.as_str(),
        }
    }
}

/// The documents that make a folder the root of a tree.
const DOCUMENTS: [&str; 7] = [
    "zarr.json",
    ".zgroup",
    ".zarray",
    ".zattrs",
    ".zmetadata",
    ".nczarr",
    ".nczgroup",
];

/// Finds the layout from the sorted names: one common top folder that holds a document, else flat.
pub(super) fn find<'a>(names: impl Iterator<Item = &'a str>) -> ZipLayout {
    let mut common: Option<&str> = None;
    let mut has_document = false;
    for name in names {
        let Some((top, rest)) = name.split_once('/') else {
            return ZipLayout::Flat;
        };
        if *common.get_or_insert(top) != top {
            return ZipLayout::Flat;
        }
        has_document |= DOCUMENTS.contains(&rest);
    }
    let folder = common.and_then(|top| TreePrefix::all().join(top).ok());
    match folder {
        Some(folder) if has_document => ZipLayout::TopFolder(folder),
        _ => ZipLayout::Flat,
    }
}
