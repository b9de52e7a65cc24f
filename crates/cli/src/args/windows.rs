//! `icefield append`, `prepend`, `trim`, `roll` and `slots`

use clap::Args as ArgGroup;
use icefield::rolling::Keep;
use icefield::{BranchName, Location, NodePath, RevisionSpec, SourceLocation};

use super::{At, Facts, in_full, node_path};

pub(crate) const WINDOWS: &str = "\
Every array at and below --group that has the dimension changes in one commit: data, coordinates, bounds. Chunks move by
reference. The attribute `origin` of the arrays says the absolute index of element 0.

What groups say of the window follows it: time_coverage_start, time_coverage_end, time_coverage_duration, window_start,
window_end. Where it cannot, nothing moves, but for --drop-coverage.

Labels go on with the step of a regular axis, or are given with --labels. WINDOW is a number of elements or, for a coordinate
with units such as \"hours since 1970-01-01\", a time: \"7 days\", 36h. Data chunks move whole: a window keeps a part of a
chunk more, or, with --mask, masks what is too much.

Old windows stay in the history, until `icefield expire` takes them out and `icefield gc` frees what nothing uses.";

/// What is common to all changes of a window.
#[derive(Debug, ArgGroup)]
pub(crate) struct Moving {
    /// The dimension, by its name.
    #[arg(long, short, value_name = "DIM")]
    pub(crate) dimension: String,
    /// The group whose arrays belong together.
    #[arg(long, value_name = "PATH", value_parser = in_full(node_path), default_value = "/")]
    pub(crate) group: NodePath,
    /// The branch to commit to.
    #[arg(long, value_parser = in_full(BranchName::parse), default_value = "main")]
    pub(crate) branch: BranchName,
    /// Do nothing if a commit with this key is in the history already, such as the time of a forecast.
    #[arg(long, value_name = "TEXT")]
    pub(crate) key: Option<String>,
    /// Let the window begin within a chunk, at the cost of one slab of each array.
    #[arg(long)]
    pub(crate) mask: bool,
    /// Let elements keep their index for ever: the arrays grow, and what goes at the start is taken away.
    #[arg(long)]
    pub(crate) absolute: bool,
    /// Take away attributes of groups that say when the window begins or ends where nobody can tell what they will be.
    #[arg(long)]
    pub(crate) drop_coverage: bool,
    /// The commit message.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Grow {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// Elements that come in; their chunks are written later.
    #[arg(value_name = "N")]
    pub(crate) elements: u64,
    /// The labels of the elements that come in.
    #[arg(
        long,
        value_name = "X,Y,…",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub(crate) labels: Vec<f64>,
    /// What stays of the window; the rest goes at the other end.
    #[arg(long, value_name = "WINDOW")]
    pub(crate) keep: Option<Keep>,
    #[command(flatten)]
    pub(crate) moving: Moving,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Trim {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// Elements that go at the start.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) start: u64,
    /// Elements that go at the end.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) end: u64,
    /// What stays of the window; the rest goes at the start.
    #[arg(long, value_name = "WINDOW", conflicts_with_all = ["start", "end"])]
    pub(crate) keep: Option<Keep>,
    #[command(flatten)]
    pub(crate) moving: Moving,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Roll {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// Elements that come in at the end, to be written later, and go at the start; with a negative number, the other way
    /// round.
    #[arg(
        value_name = "N",
        allow_negative_numbers = true,
        required_unless_present = "from",
        conflicts_with = "from"
    )]
    pub(crate) elements: Option<i64>,
    /// What comes in, as `icefield import` takes it (repeatable).
    #[arg(long, value_name = "SOURCE", value_parser = in_full(SourceLocation::parse))]
    pub(crate) from: Vec<SourceLocation>,
    /// The labels of the elements that come in.
    #[arg(
        long,
        value_name = "X,Y,…",
        value_delimiter = ',',
        allow_hyphen_values = true,
        conflicts_with = "from"
    )]
    pub(crate) labels: Vec<f64>,
    /// What stays of the window, instead of as much as before.
    #[arg(long, value_name = "WINDOW")]
    pub(crate) keep: Option<Keep>,
    #[command(flatten)]
    pub(crate) moving: Moving,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Slots {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The dimension, by its name.
    #[arg(long, short, value_name = "DIM")]
    pub(crate) dimension: String,
    /// The group whose arrays belong together.
    #[arg(long, value_name = "PATH", value_parser = in_full(node_path), default_value = "/")]
    pub(crate) group: NodePath,
    /// Look at elements from this absolute index on only.
    #[arg(long, value_name = "INDEX", allow_negative_numbers = true)]
    pub(crate) start: Option<i64>,
    /// Look at elements before this absolute index only.
    #[arg(long, value_name = "INDEX", allow_negative_numbers = true)]
    pub(crate) end: Option<i64>,
    /// End with exit code 1 if any chunk is not written.
    #[arg(long)]
    pub(crate) gate: bool,
    #[command(flatten)]
    pub(crate) at: At,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

impl Slots {
    pub(crate) fn revision(&self) -> &RevisionSpec {
        &self.at.revision
    }
}
