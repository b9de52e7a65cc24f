//! Options of reading HDF5 files.

use icefield_core::NodePath;

/// The options of a read of an HDF5 file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hdf5Options {
    /// The variables, groups and links that are left out, each with all nodes below it. Default none.
    pub leave_out: Vec<NodePath>,
    /// The names of attributes that are left out on every node. Default none.
    pub leave_out_attributes: Vec<String>,
    /// Whether nodes that Zarr cannot express are listed in [`Archive::unsupported`](crate::Archive::unsupported);
    /// otherwise the first one is an error. Default false.
    pub lists_unsupported: bool,
    /// Whether a compound becomes a group, with an array of each member. Default false.
    pub split_compound: bool,
    /// The memory, in bytes, for chunks that the reader makes itself: texts and arrays in headers. Default 256 MiB.
    pub made_bytes: u64,
}

impl Default for Hdf5Options {
    fn default() -> Self {
        Self {
            leave_out: Vec::new(),
            leave_out_attributes: Vec::new(),
            lists_unsupported: false,
            split_compound: false,
            made_bytes: 256 << 20,
        }
    }
}

impl Hdf5Options {
    /// Adds a path that is left out.
    #[must_use]
    pub fn with_left_out(mut self, path: NodePath) -> Self {
        self.leave_out.push(path);
        self
    }

    /// Adds the name of an attribute that is left out.
    #[must_use]
    pub fn with_attribute_left_out(mut self, name: impl Into<String>) -> Self {
        self.leave_out_attributes.push(name.into());
        self
    }

    /// Sets whether unsupported nodes are listed. Otherwise the first one is an error.
    #[must_use]
    pub fn with_unsupported_listed(mut self, lists_unsupported: bool) -> Self {
        self.lists_unsupported = lists_unsupported;
        self
    }

    /// Sets whether a compound becomes a group of arrays, or one array.
    #[must_use]
    pub fn with_compounds_split(mut self, split_compound: bool) -> Self {
        self.split_compound = split_compound;
        self
    }

    /// Sets the memory for chunks that the reader makes, in bytes.
    #[must_use]
    pub fn with_made_bytes(mut self, bytes: u64) -> Self {
        self.made_bytes = bytes;
        self
    }
}
