//! A change of a dimension, put into a session: shapes, places of chunks, labels and origins of every array that has it.

mod chunks;
mod documents;
mod ends;
mod plan;
mod run;
mod sizes;

use icefield_core::{NodePath, Session};

use crate::dimension::{Dimension, Window};
use crate::{Change, RollingError, labels, references};
use plan::Plan;

/// How a window keeps its start.
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

/// How a change is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// How the window keeps its start.
    pub method: Method,
    /// Whether the start may lie within a chunk: elements before it are masked, which rewrites one slab of each array.
    pub mask: bool,
    /// Arrays of at most so many bytes, decoded, are rewritten whole where their chunks cannot move. Default 16 MiB.
    pub rewrite_bytes: u64,
    /// Whether attributes of groups such as `time_coverage_start` are taken away where their new values are unknown;
    /// otherwise such a window does not move. Default no.
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

/// The change that was put into a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Staged {
    /// The window before the change.
    pub before: Window,
    /// The window after the change.
    pub window: Window,
    /// Absolute indices of the elements that came in.
    pub new: std::ops::Range<i64>,
    /// Arrays whose chunks stay or move by reference.
    pub arrays: Vec<NodePath>,
    /// Small arrays that were rewritten.
    pub rewritten: Vec<NodePath>,
    /// Chunks of large arrays that were rewritten, because a part of them went.
    pub rewritten_chunks: u64,
}

/// Puts a change of a dimension into a writable session: of every array at and below `group` that has it. Nothing is
/// committed; after an error the session holds part of the change: discard it.
///
/// # Errors
/// [`RollingError`]; nothing that does not fit is done in part.
pub async fn stage(
    session: &Session,
    group: &NodePath,
    dimension: &str,
    change: &Change,
    options: Options,
) -> Result<Staged, RollingError> {
    change.check()?;
    if options.method == Method::Absolute && change.prepend > 0 {
        return Err(RollingError::Contradiction {
            problem: "an array whose elements keep their index cannot grow at the start",
        });
    }
    let coming = change.append.saturating_add(change.prepend);
    if let Some(labels) = &change.labels
        && labels.len() as u64 != coming
    {
        return Err(RollingError::LabelCount {
            dimension: dimension.to_owned(),
            expected: coming,
            found: labels.len(),
        });
    }
    let dimension = Dimension::of(session, group, dimension)?;
    references::check(session, &dimension)?;
    let plan = Plan::new(session, &dimension, change, options).await?;
    plan.run(session, change).await
}

/// Checks that the coordinates of a dimension name each element of its window once and in order.
///
/// # Errors
/// [`RollingError::Labels`]; what is wrong with the arrays.
pub async fn check(
    session: &Session,
    group: &NodePath,
    dimension: &str,
) -> Result<(), RollingError> {
    let dimension = Dimension::of(session, group, dimension)?;
    // The others follow it, or say something else than what an element is called.
    if let Some(axis) = labels::axes(&dimension).first() {
        let found = axis.read(session).await?;
        axis.check(&found, dimension.window.hidden())?;
    }
    Ok(())
}
