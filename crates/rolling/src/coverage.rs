//! Attributes and arrays that say in so many words where a window begins and ends, such as the attribute
//! `time_coverage_start` of a group: they follow the labels, in the commit that moves them.

mod calendar;
mod edges;
mod iso;
mod says;

use icefield_core::{NodeKind, NodePath, Session};

use crate::dimension::Dimension;
use crate::labels::{self, Axis};
use crate::{Options, RollingError};
use edges::{Ruler, Scale};
use says::{Found, Saying};

/// Attributes of groups, and arrays without dimensions, that say where a window begins.
const START: [&str; 2] = ["time_coverage_start", "window_start"];
/// Those that say where it ends.
const END: [&str; 2] = ["time_coverage_end", "window_end"];
/// The one that says how long it is, of groups only.
const DURATION: &str = "time_coverage_duration";

/// The property of a window that an attribute or array describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Start,
    End,
    Duration,
}

/// Whether a name is of a time, whatever the window is of.
fn is_of_time(name: &str) -> bool {
    name.starts_with("time_")
}

/// Has what says where the window of a dimension begins and ends follow its labels: attributes of the group and of those
/// below it that hold arrays of the dimension, and arrays without dimensions in them, named `time_coverage_start`,
/// `time_coverage_end`, `window_start` or `window_end`, and the attribute `time_coverage_duration`. `before` is the session
/// or snapshot that the window moved from.
///
/// A new value stands to the new labels as the old one stood to the old labels: the label itself, an end of its cell, or, on
/// regular axes, less than a step from it.
///
/// # Errors
/// [`RollingError::Coverage`] where the labels do not tell a new value, unless the options have it taken away.
pub async fn cover(
    before: &Session,
    session: &Session,
    group: &NodePath,
    dimension: &str,
    options: Options,
) -> Result<(), RollingError> {
    let mut sayings = sayings(session, group)?;
    if sayings.is_empty() {
        return Ok(());
    }
    let now = Dimension::of(session, group, dimension)?;
    // A dimension that came with this very change has no window to come from.
    let then = Dimension::of(before, group, dimension).ok();
    let members = || now.members.iter().map(|member| &member.path);
    sayings.retain(|saying| members().any(|path| saying.group.is_ancestor_of(path)));
    let (axes, old_axes) = (
        labels::axes(&now),
        then.as_ref().map(labels::axes).unwrap_or_default(),
    );
    for saying in &sayings {
        let Some(axis) = nearest(&axes, saying) else {
            if is_of_time(saying.name) && axes.is_empty() {
                let reason = "the dimension has no labels that say its time".to_owned();
                refuse(session, saying, options, reason).await?;
            }
            continue;
        };
        let old_axis = old_axes
            .iter()
            .find(|old| old.member.path == axis.member.path);
        let old_axis = then.as_ref().zip(old_axis);
        if let Err(reason) = follow(before, session, saying, (&now, axis), old_axis).await? {
            refuse(session, saying, options, reason).await?;
        }
    }
    Ok(())
}

/// Whether anything is said of a window at and below a group.
pub(crate) fn is_anything_said(session: &Session, group: &NodePath) -> Result<bool, RollingError> {
    sayings(session, group).map(|sayings| !sayings.is_empty())
}

fn sayings(session: &Session, group: &NodePath) -> Result<Vec<Saying>, RollingError> {
    let mut sayings = Vec::new();
    for node in session.nodes(group)? {
        match node.kind {
            NodeKind::Group => sayings.extend(Saying::of_group(session, &node.path)?),
            NodeKind::Array => sayings.extend(Saying::of_scalar(session, &node.path)?),
        }
    }
    Ok(sayings)
}

/// The labels that something is said of: those of its group, of a group above, or any.
fn nearest<'a, 'b>(axes: &'a [Axis<'b>], saying: &Saying) -> Option<&'a Axis<'b>> {
    let of_time = |axis: &&Axis<'_>| !is_of_time(saying.name) || axis.is_since();
    let depth = |axis: &&Axis<'_>| {
        let parent = axis.member.path.parent()?;
        let is_above = parent == saying.group || parent.is_ancestor_of(&saying.group);
        is_above.then(|| parent.segments().count() + 1)
    };
    let mut best: Option<&Axis<'_>> = None;
    for axis in axes.iter().filter(of_time) {
        if best.is_none_or(|best| depth(&axis) > depth(&best)) {
            best = Some(axis);
        }
    }
    best
}

/// Writes the values that follow from the labels. The inner error says why a value does not follow from them.
async fn follow(
    before: &Session,
    session: &Session,
    saying: &Saying,
    (now, axis): (&Dimension, &Axis<'_>),
    old: Option<(&Dimension, &Axis<'_>)>,
) -> Result<Result<(), String>, RollingError> {
    let found = saying.read(session).await?;
    let scale = match Scale::of(axis, saying, &found) {
        Ok(scale) => scale,
        Err(reason) => return Ok(Err(reason)),
    };
    let Some(after) = Ruler::read(session, now, axis, scale).await? else {
        return Ok(Err(format!(
            "the labels in {} have no place in it",
            axis.member.path
        )));
    };
    let mut known = vec![(found.clone(), after)];
    if let Some((then, axis)) = old
        && let Some(ruler) = Ruler::read(before, then, axis, scale).await?
        && let Some(old) = saying.read_before(before).await?
    {
        if old == found && ruler.side(saying.part) == after.side(saying.part) {
            return Ok(Ok(()));
        }
        known.insert(0, (old, ruler));
    }
    for (said, ruler) in known {
        let Some(next) = scale.next(&said, saying.part, ruler, after) else {
            continue;
        };
        if next == found {
            return Ok(Ok(()));
        }
        return Ok(match saying.write(session, next).await? {
            true => Ok(()),
            false => Err("its type cannot hold the new value".to_owned()),
        });
    }
    Ok(Err(match (scale, &found) {
        (Scale::Time(_), Found::Text(text)) if iso::parse(text).is_none() => {
            "it is no date of ISO 8601, nor a duration of fixed length".to_owned()
        }
        _ => format!("it does not follow from the labels in {}", axis.member.path),
    }))
}

async fn refuse(
    session: &Session,
    saying: &Saying,
    options: Options,
    reason: String,
) -> Result<(), RollingError> {
    if options.drop_coverage && saying.remove(session).await? {
        return Ok(());
    }
    let value = match saying.read(session).await? {
        Found::Text(text) => format!("{text:?}"),
        Found::Whole(number) => number.to_string(),
        Found::Float(number) => number.to_string(),
        Found::Other(value) => value,
    };
    Err(RollingError::Coverage {
        path: saying.path.clone(),
        name: saying.name,
        value,
        reason,
    })
}
