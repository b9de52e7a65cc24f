//! A change of a dimension, put into a session: shapes, places of chunks, labels and origins of every array that has it.

mod chunks;
mod documents;
mod ends;
mod options;
mod plan;
mod run;
mod sizes;

use icefield_core::{NodePath, Session};

use crate::dimension::{Dimension, Window};
use crate::{Change, RollingError, labels, references};
use plan::Plan;

pub use options::{Method, Options};

/// The change that was put into a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Staged {
    /// The window before the change.
    pub before: Window,
    /// The window after the change.
    pub window: Window,
    /// The absolute indices of the elements that came in.
    pub new: std::ops::Range<i64>,
    /// The arrays whose chunks stay or move by reference.
    pub arrays: Vec<NodePath>,
    /// The small arrays that were rewritten.
    pub rewritten: Vec<NodePath>,
    /// The number of chunks of large arrays that were rewritten, because a part of them was removed.
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
