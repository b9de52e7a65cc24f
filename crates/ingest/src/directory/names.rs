//! Names that mean something in a directory with Zarr in it.

/// The document of a node.
pub(super) const DOCUMENT: &str = "zarr.json";

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

/// Returns whether a name is that of a Zarr v2 document.
pub(super) fn is_format_2(name: &str) -> bool {
    matches!(name, ".zarray" | ".zgroup" | ".zmetadata" | ".zattrs")
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
