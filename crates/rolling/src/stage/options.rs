//! Options of a change.

/// The way in which a window keeps its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Method {
    /// Element 0 is the first one: chunks move, by reference, and every reader sees an ordinary array. Costs metadata in
    /// proportion to all chunks of the array.
    #[default]
    Shift,
    /// Elements keep their index for ever: what goes at the start is taken away, and the arrays only grow. Costs metadata in
    /// proportion to what comes and goes, if manifests are split along the dimension; readers see a long empty start.
    Absolute,
}

/// The options of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The way in which the window keeps its start.
    pub method: Method,
    /// Whether the start may lie within a chunk: elements before it are masked, which rewrites one slab of each array.
    pub mask: bool,
    /// The largest size of an array in decoded bytes that is rewritten whole if its chunks cannot move. Default 16 MiB.
    pub rewrite_bytes: u64,
    /// Whether attributes of groups such as `time_coverage_start` are removed if their new values are unknown;
    /// otherwise such a window does not move. Default false.
    pub drop_coverage: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            method: Method::Shift,
            mask: false,
            rewrite_bytes: 16 << 20,
            drop_coverage: false,
        }
    }
}
