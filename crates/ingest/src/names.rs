//! Names that mean something in a Zarr hierarchy, wherever it lies.

/// The document of a node of format 3.
pub(crate) const DOCUMENT: &str = "zarr.json";
/// The key of all documents of a tree of format 2 in one.
pub(crate) const CONSOLIDATED: &str = ".zmetadata";
/// The attribute of an array with the absolute index of element 0 per dimension.
pub(crate) const ORIGIN: &str = "origin";
/// Longest document that is read, in bytes.
pub(crate) const MAX_DOCUMENT: u64 = 64 << 20;

/// Returns whether a name is one that programs leave lying about: hidden files of desktops and network file
/// systems, `*.partial` of a writer that was stopped, and `__…`, which Zarr reserves. A node may have such a name
/// too: a directory is one if there is a document in it.
pub(crate) fn is_foreign(name: &str) -> bool {
    name.starts_with('.')
        || name.starts_with("__")
        || name.ends_with(".partial")
        || name.eq_ignore_ascii_case("thumbs.db")
        || name.eq_ignore_ascii_case("desktop.ini")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_foreign() {
        for name in [
            ".DS_Store",
            ".nfs0001",
            "._c",
            "a.partial",
            "__pycache__",
            "Thumbs.db",
        ] {
            assert!(is_foreign(name), "{name}");
        }
        for name in ["zarr.json", "c", "0", "0.0", "partial", "_x", "README.md"] {
            assert!(!is_foreign(name), "{name}");
        }
    }
}
