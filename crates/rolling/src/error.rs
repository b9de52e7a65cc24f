//! Errors of windows.

use icefield_core::{
    CommitError, NodePath, RebaseError, RepositoryError, SessionError, SnapshotId,
};

use crate::Slots;

/// The error of the caller's code that fills a window.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The reason why a window did not move. Nothing was committed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RollingError {
    /// No array has the dimension.
    #[error("no array at or below {group} has a dimension named {dimension:?}")]
    NoSuchDimension {
        /// Its name.
        dimension: String,
        /// Where it was looked for.
        group: NodePath,
    },
    /// An array has the dimension along two axes.
    #[error("{path} has two dimensions named {dimension:?}: it cannot move along either")]
    DimensionTwice {
        /// The array.
        path: NodePath,
        /// The name.
        dimension: String,
    },
    /// The chunks of an array differ in length.
    #[error(
        "{path} has a rectilinear chunk grid: only arrays whose chunks have one length can move"
    )]
    UnequalChunks {
        /// The array.
        path: NodePath,
    },
    /// The arrays do not show the same window.
    #[error(
        "{path} shows elements {found} along {dimension:?}, and {other} shows {expected}: give the group whose arrays belong together"
    )]
    WindowsDiffer {
        /// The name.
        dimension: String,
        /// An array.
        path: NodePath,
        /// The elements that it shows.
        found: String,
        /// Another one.
        other: NodePath,
        /// The elements that that one shows.
        expected: String,
    },
    /// An attribute that locates the window has an invalid value.
    #[error(
        "the attribute {attribute:?} of {path} is {found}: it must be a list of whole numbers, one for each dimension"
    )]
    Attribute {
        /// The array.
        path: NodePath,
        /// Its name.
        attribute: &'static str,
        /// Its value.
        found: String,
    },
    /// An attribute locates the window outside of the array.
    #[error(
        "the attribute {attribute:?} of {path} does not fit to its {length} elements: {rule}; correct it"
    )]
    Beyond {
        /// The array.
        path: NodePath,
        /// Its name.
        attribute: &'static str,
        /// Elements of the array along the dimension.
        length: u64,
        /// The rule for its value.
        rule: &'static str,
    },
    /// A chunk would have to be cut. The message names the nearest numbers that work.
    #[error(
        "the start of {dimension:?} cannot move by {elements} elements, since {} move whole chunks: move it by {}, or have single elements masked",
        named(.arrays), nearest(*.elements, *.below, *.above)
    )]
    NotAligned {
        /// The name.
        dimension: String,
        /// Elements asked for.
        elements: i64,
        /// The nearest lower number that works.
        below: i64,
        /// The nearest higher number that works.
        above: i64,
        /// The arrays, and their elements per chunk.
        arrays: Vec<(NodePath, u64)>,
    },
    /// More elements are to be removed than there are.
    #[error("{elements} elements cannot be trimmed from {dimension:?}: it has {length}")]
    TooShort {
        /// The name.
        dimension: String,
        /// Elements to trim.
        elements: u64,
        /// Elements that there are.
        length: u64,
    },
    /// The window would have no elements.
    #[error("nothing of {dimension:?} would be left: keep or append at least one element")]
    NothingLeft {
        /// The name.
        dimension: String,
    },
    /// The parts of the change contradict each other.
    #[error("{problem}")]
    Contradiction {
        /// The contradiction.
        problem: &'static str,
    },
    /// The array would exceed a limit of shapes or of chunk coordinates.
    #[error("{path} would be too long along {dimension:?}: {rule}")]
    TooLong {
        /// The array.
        path: NodePath,
        /// The name.
        dimension: String,
        /// The limit.
        rule: &'static str,
    },
    /// Elements must be rewritten, and their codecs do not allow it.
    #[error("{path} has chunks that have to be rewritten, and {problem}")]
    Codec {
        /// The array.
        path: NodePath,
        /// The reason.
        problem: String,
    },
    /// The document of a node is not that of an array.
    #[error("the metadata of {path} cannot be edited: it is not a JSON object")]
    Document {
        /// The array.
        path: NodePath,
    },
    /// The labels of the new elements are unknown.
    #[error("the {count} new labels of {path} are not known, since {reason}: give them")]
    LabelsNeeded {
        /// The coordinate.
        path: NodePath,
        /// New elements.
        count: u64,
        /// The reason for which they cannot be continued.
        reason: &'static str,
    },
    /// Labels are given, and there is nothing to put them in.
    #[error(
        "labels are given for {dimension:?}, and no coordinate along it takes them: leave them out, or write them with the data"
    )]
    LabelsNotTaken {
        /// The name.
        dimension: String,
    },
    /// Masked elements would have labels that mean something.
    #[error(
        "elements cannot be masked, since the labels in {path} are whole numbers, and none of them means that there is no label: give it an attribute _FillValue, or move whole chunks"
    )]
    NoMask {
        /// The coordinate.
        path: NodePath,
    },
    /// Another number of labels than of elements.
    #[error("{found} labels are given for {expected} new elements of {dimension:?}")]
    LabelCount {
        /// The name.
        dimension: String,
        /// New elements.
        expected: u64,
        /// Labels.
        found: usize,
    },
    /// Labels that name nothing, or two things.
    #[error("the labels in {path} are not in order: {problem}")]
    Labels {
        /// The coordinate.
        path: NodePath,
        /// The problem.
        problem: String,
    },
    /// Something says where the window begins or ends, and what it says would no longer be so.
    #[error(
        "{name:?} of {path} is {value} and cannot follow the window, since {reason}: correct it before, or have it taken away"
    )]
    Coverage {
        /// The group with the attribute, or the array.
        path: NodePath,
        /// Its name.
        name: &'static str,
        /// Its value.
        value: String,
        /// The reason for which its next value is unknown.
        reason: String,
    },
    /// Something that belongs to the arrays of the window would stay where it is.
    #[error(
        "{path}, which {named_by} names in its attribute {attribute:?}, would not move along {dimension:?}: {reason}"
    )]
    LeftBehind {
        /// The node that would stay.
        path: NodePath,
        /// The node that names it.
        named_by: NodePath,
        /// Where.
        attribute: &'static str,
        /// The dimension.
        dimension: String,
        /// The reason for which it would not move, and what to do.
        reason: &'static str,
    },
    /// A window by time without a time.
    #[error(
        "a window of {dimension:?} by time needs a coordinate along it with `units` such as \"hours since 1970-01-01\""
    )]
    NoTime {
        /// The name.
        dimension: String,
    },
    /// Chunks that were to be written are not.
    #[error("{} chunks of the window are not written, the first of them {}", .0.missing(), first(.0))]
    Unwritten(Slots),
    /// The key of the change is that of another one.
    #[error(
        "the key {key:?} is that of another change, which snapshot {snapshot} made ({change}, along {dimension:?} at and below {group}): give this one a key of its own"
    )]
    KeyTaken {
        /// The key.
        key: String,
        /// The snapshot of the other change.
        snapshot: SnapshotId,
        /// The other change, in words.
        change: String,
        /// Along which dimension.
        dimension: String,
        /// Of which arrays.
        group: NodePath,
    },
    /// The caller asks for elements that the window does not show.
    #[error(
        "elements {start} to {end} of {dimension:?} are not all in its window, which shows {first} to {last}: ask for those"
    )]
    OutsideWindow {
        /// The name.
        dimension: String,
        /// First element asked for.
        start: i64,
        /// Behind the last one.
        end: i64,
        /// First element of the window.
        first: i64,
        /// Behind the last one.
        last: i64,
    },
    /// Others were faster every time.
    #[error("other commits moved {dimension:?} first {tries} times: roll again")]
    LostRaces {
        /// The name.
        dimension: String,
        /// The number of tries.
        tries: usize,
    },
    /// The store did not say whether the branch moved.
    #[error(
        "it is not known whether the commit landed: look for snapshot {snapshot} in the history before rolling again"
    )]
    Unknown {
        /// The snapshot to look for.
        snapshot: SnapshotId,
        /// The error of the store.
        source: BoxError,
    },
    /// The caller's code that fills the window failed.
    #[error("the new part of the window could not be written")]
    Fill(#[source] BoxError),
    /// From the session.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// From the repository.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// From the commit.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// From the rebase.
    #[error(transparent)]
    Rebase(#[from] RebaseError),
}

/// The numbers of elements that work in place of `elements`, in the direction that was meant.
fn nearest(elements: i64, below: i64, above: i64) -> String {
    match elements {
        1.. if below <= 0 => above.to_string(),
        ..=-1 if above >= 0 => below.to_string(),
        _ => format!("{below} or by {above}"),
    }
}

fn named(arrays: &[(NodePath, u64)]) -> String {
    const SHOWN: usize = 3;
    let mut text: Vec<String> = arrays
        .iter()
        .take(SHOWN)
        .map(|(path, chunk)| format!("{path} (of {chunk})"))
        .collect();
    if arrays.len() > SHOWN {
        text.push(format!("{} more", arrays.len() - SHOWN));
    }
    text.join(", ")
}

fn first(slots: &Slots) -> String {
    let array = slots.arrays.iter().find(|array| !array.missing.is_empty());
    match array {
        Some(array) => format!("{} of {}", array.missing[0], array.path),
        None => "none".to_owned(),
    }
}
