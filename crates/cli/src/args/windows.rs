//! `icefield append`, `prepend`, `trim`, `roll` and `slots`

use clap::Args as ArgGroup;
use icefield::rolling::Keep;
use icefield::{BranchName, Location, NodePath, RevisionSpec, SourceLocation};

use super::common::{AtRevision, OutputFormat};
use super::parse::{node_path, with_causes};

pub(crate) const WINDOWS: &str = "\
One commit changes every array at and below --group that has the dimension: data, coordinates, bounds. Chunks move by
reference. The attribute `origin` of the arrays is the absolute index of element 0.

The commit updates the attributes of groups that describe the window: time_coverage_start, time_coverage_end,
time_coverage_duration, window_start, window_end. If it cannot, it changes nothing, unless --drop-coverage is given.

Labels continue with the step of a regular axis, or come from --labels. WINDOW is a number of elements or, for a coordinate
with units such as \"hours since 1970-01-01\", a time: \"7 days\", 36h. Data chunks move whole: a window may keep part of a
chunk more than asked, which --mask masks.

Old windows stay in the history until `icefield expire` removes them and `icefield gc` frees their unused chunks.";

/// The arguments of all changes of a window.
#[derive(Debug, ArgGroup)]
pub(crate) struct WindowArgs {
    /// The dimension, by its name.
    #[arg(long, short, value_name = "DIM")]
    pub(crate) dimension: String,
    /// The group whose arrays change together.
    #[arg(long, value_name = "PATH", value_parser = with_causes(node_path), default_value = "/")]
    pub(crate) group: NodePath,
    /// The branch to commit to.
    #[arg(long, value_parser = with_causes(BranchName::parse), default_value = "main")]
    pub(crate) branch: BranchName,
    /// Do nothing if the history already has a commit with this key, such as the time of a forecast.
    #[arg(long, value_name = "TEXT")]
    pub(crate) key: Option<String>,
    /// Let the window begin within a chunk; costs one rewritten slab of each array.
    #[arg(long)]
    pub(crate) mask: bool,
    /// Keep the indices of elements: the arrays grow, and elements that leave at the start are deleted.
    #[arg(long)]
    pub(crate) absolute: bool,
    /// Remove attributes of groups that describe the window where their new values cannot be computed.
    #[arg(long)]
    pub(crate) drop_coverage: bool,
    /// The commit message.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Grow {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The number of elements to add; their chunks are written later.
    #[arg(value_name = "N")]
    pub(crate) elements: u64,
    /// The labels of the new elements.
    #[arg(
        long,
        value_name = "X,Y,…",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub(crate) labels: Vec<f64>,
    /// The length of the window afterwards; other elements leave at the other end.
    #[arg(long, value_name = "WINDOW")]
    pub(crate) keep: Option<Keep>,
    #[command(flatten)]
    pub(crate) moving: WindowArgs,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Trim {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The number of elements to remove at the start.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) start: u64,
    /// The number of elements to remove at the end.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) end: u64,
    /// The length of the window afterwards; other elements leave at the start.
    #[arg(long, value_name = "WINDOW", conflicts_with_all = ["start", "end"])]
    pub(crate) keep: Option<Keep>,
    #[command(flatten)]
    pub(crate) moving: WindowArgs,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Roll {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The number of elements to add at the end, to be written later, and to remove at the start; a negative number moves the
    /// window towards the start.
    #[arg(
        value_name = "N",
        allow_negative_numbers = true,
        required_unless_present = "from",
        conflicts_with = "from"
    )]
    pub(crate) elements: Option<i64>,
    /// A source to append, as for `icefield import` (repeatable).
    #[arg(long, value_name = "SOURCE", value_parser = with_causes(SourceLocation::parse))]
    pub(crate) from: Vec<SourceLocation>,
    /// The labels of the new elements.
    #[arg(
        long,
        value_name = "X,Y,…",
        value_delimiter = ',',
        allow_hyphen_values = true,
        conflicts_with = "from"
    )]
    pub(crate) labels: Vec<f64>,
    /// The length of the window afterwards [default: its length before].
    #[arg(long, value_name = "WINDOW")]
    pub(crate) keep: Option<Keep>,
    #[command(flatten)]
    pub(crate) moving: WindowArgs,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Slots {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The dimension, by its name.
    #[arg(long, short, value_name = "DIM")]
    pub(crate) dimension: String,
    /// The group whose arrays change together.
    #[arg(long, value_name = "PATH", value_parser = with_causes(node_path), default_value = "/")]
    pub(crate) group: NodePath,
    /// Show only elements from this absolute index on.
    #[arg(long, value_name = "INDEX", allow_negative_numbers = true)]
    pub(crate) start: Option<i64>,
    /// Show only elements before this absolute index.
    #[arg(long, value_name = "INDEX", allow_negative_numbers = true)]
    pub(crate) end: Option<i64>,
    /// End with exit code 1 if any chunk is not written.
    #[arg(long)]
    pub(crate) gate: bool,
    #[command(flatten)]
    pub(crate) at: AtRevision,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

impl Slots {
    pub(crate) fn revision(&self) -> &RevisionSpec {
        &self.at.revision
    }
}
