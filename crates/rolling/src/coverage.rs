//! Attributes and arrays that say in so many words where a window begins and ends, such as the attribute
//! `time_coverage_start` of a group: they follow the labels, in the commit that moves them.

mod calendar;
mod edges;
mod iso;
mod names;
mod statement;

use icefield_core::{NodeKind, NodePath, Session};

use crate::dimension::Dimension;
use crate::labels::{self, Axis};
use crate::{Options, RollingError};
use edges::{Ruler, Scale};
use names::is_of_time;
use statement::{FoundValue, Statement};

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
    let mut statements = statements(session, group)?;
    if statements.is_empty() {
        return Ok(());
    }
    let now = Dimension::of(session, group, dimension)?;
    // A dimension that came with this very change has no window to come from.
    let then = Dimension::of(before, group, dimension).ok();
    let members = || now.members.iter().map(|member| &member.path);
    statements.retain(|statement| members().any(|path| statement.group.is_ancestor_of(path)));
    let (axes, old_axes) = (
        labels::axes(&now),
        then.as_ref().map(labels::axes).unwrap_or_default(),
    );
    for statement in &statements {
        let Some(axis) = nearest(&axes, statement) else {
            if is_of_time(statement.name) && axes.is_empty() {
                let reason = "the dimension has no labels that say its time".to_owned();
                refuse(session, statement, options, reason).await?;
            }
            continue;
        };
        let old_axis = old_axes
            .iter()
            .find(|old| old.member.path == axis.member.path);
        let old_axis = then.as_ref().zip(old_axis);
        if let Err(reason) = follow(before, session, statement, (&now, axis), old_axis).await? {
            refuse(session, statement, options, reason).await?;
        }
    }
    Ok(())
}

/// Whether anything is said of a window at and below a group.
pub(crate) fn is_anything_said(session: &Session, group: &NodePath) -> Result<bool, RollingError> {
    statements(session, group).map(|statements| !statements.is_empty())
}

fn statements(session: &Session, group: &NodePath) -> Result<Vec<Statement>, RollingError> {
    let mut statements = Vec::new();
    for node in session.nodes(group)? {
        match node.kind {
            NodeKind::Group => statements.extend(Statement::of_group(session, &node.path)?),
            NodeKind::Array => statements.extend(Statement::of_scalar(session, &node.path)?),
        }
    }
    Ok(statements)
}

/// The labels that something is said of: those of its group, of a group above, or any.
fn nearest<'a, 'b>(axes: &'a [Axis<'b>], statement: &Statement) -> Option<&'a Axis<'b>> {
    let of_time = |axis: &&Axis<'_>| !is_of_time(statement.name) || axis.is_since();
    let depth = |axis: &&Axis<'_>| {
        let parent = axis.member.path.parent()?;
        let is_above = parent == statement.group || parent.is_ancestor_of(&statement.group);
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
    statement: &Statement,
    (now, axis): (&Dimension, &Axis<'_>),
    old: Option<(&Dimension, &Axis<'_>)>,
) -> Result<Result<(), String>, RollingError> {
    let found = statement.read(session).await?;
    let scale = match Scale::of(axis, statement, &found) {
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
        && let Some(old) = statement.read_before(before).await?
    {
        if old == found && ruler.side(statement.part) == after.side(statement.part) {
            return Ok(Ok(()));
        }
        known.insert(0, (old, ruler));
    }
    for (said, ruler) in known {
        let Some(next) = scale.next(&said, statement.part, ruler, after) else {
            continue;
        };
        if next == found {
            return Ok(Ok(()));
        }
        return Ok(match statement.write(session, next).await? {
            true => Ok(()),
            false => Err("its type cannot hold the new value".to_owned()),
        });
    }
    Ok(Err(match (scale, &found) {
        (Scale::Time(_), FoundValue::Text(text)) if iso::parse(text).is_none() => {
            "it is no date of ISO 8601, nor a duration of fixed length".to_owned()
        }
        _ => format!("it does not follow from the labels in {}", axis.member.path),
    }))
}

async fn refuse(
    session: &Session,
    statement: &Statement,
    options: Options,
    reason: String,
) -> Result<(), RollingError> {
    if options.drop_coverage && statement.remove(session).await? {
        return Ok(());
    }
    let value = match statement.read(session).await? {
        FoundValue::Text(text) => format!("{text:?}"),
        FoundValue::Whole(number) => number.to_string(),
        FoundValue::Float(number) => number.to_string(),
        FoundValue::Other(value) => value,
    };
    Err(RollingError::Coverage {
        path: statement.path.clone(),
        name: statement.name,
        value,
        reason,
    })
}
