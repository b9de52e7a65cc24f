//! Collections of files that lie along more than one dimension, made into sources that lie along one.
//!
//! ```text
//! stacked   a file gets a new leading dimension of length one, and a value along it
//! joined    sources behind one another along an inner dimension count as one source
//! by coords the dimensions, the order and the nesting come from the values of coordinates
//! ```
//! The resulting sources are put behind one another along the outer dimension, as any sources are.

mod again;
mod equal;
mod error;
mod hypercube;
mod inner;
mod joined;
mod stacked;
mod value;

use icefield_core::{NodePath, Session};
use serde_json::Value;

pub use self::error::CombineError;
use self::stacked::CoordinateOrigin;
pub(crate) use self::value::Stack;
pub use self::value::ValueFrom;
use self::value::{Column, Label};
use super::builder::Import;
use super::choices::Combine;
use super::opened::Opened;
use super::{labels, times};
use crate::plan;
use crate::{ImportError, Order};

/// A source, and its value along the new dimension.
struct Valued {
    label: Option<Label>,
    one: Opened,
}

impl Import {
    /// Makes the sources such that they lie along one dimension, and returns it; `None` if they lie along none. Returns also the
    /// documents whose units of time they have for that.
    pub(super) async fn combined(
        &self,
        session: &Session,
        opened: &mut Vec<Opened>,
    ) -> Result<(Option<String>, times::Documents), ImportError> {
        let given = self.append.clone().or_else(|| self.concat.clone());
        let mut valued: Vec<Valued> = Vec::new();
        if let Some(stack) = &self.stack {
            valued = self.stacked(session, stack, std::mem::take(opened)).await?;
        } else {
            let plain = std::mem::take(opened).into_iter();
            valued.extend(plain.map(|one| Valued { label: None, one }));
        }
        if self.combine == Combine::ByCoordinates {
            let all = valued.into_iter().map(|it| it.one).collect();
            let (dimension, combined, first) = hypercube::combined(self, session, all).await?;
            *opened = combined;
            return Ok((dimension, first));
        }
        let Some(stack) = &self.stack else {
            opened.extend(valued.into_iter().map(|it| it.one));
            return Ok((given, times::Documents::new()));
        };
        let inner = self.concat.as_ref().filter(|it| **it != stack.dimension);
        match (&self.append, inner) {
            (Some(append), _) if *append != stack.dimension => {
                return Err(CombineError::AppendAcross {
                    append: append.clone(),
                    dimension: stack.dimension.clone(),
                }
                .into());
            }
            (None, Some(inner)) => *opened = self.nested(session, stack, inner, valued).await?,
            _ => {
                for pair in valued.windows(2) {
                    if pair[0].label == pair[1].label {
                        return Err(same(stack, &pair[0], &pair[1]).into());
                    }
                }
                opened.extend(valued.into_iter().map(|it| it.one));
            }
        }
        Ok((Some(stack.dimension.clone()), times::Documents::new()))
    }

    /// Gives each source the new dimension. They are in the order of their values, and of equal ones in that in which they
    /// were.
    async fn stacked(
        &self,
        session: &Session,
        stack: &Stack,
        opened: Vec<Opened>,
    ) -> Result<Vec<Valued>, ImportError> {
        let coordinate = stacked::coordinate(&stack.dimension)?;
        let mut labels = Vec::new();
        for one in &opened {
            labels.push(value::label(&stack.from, one)?);
        }
        let there = match &self.append {
            Some(_) => session.metadata(&plan::target_path(&self.group, &coordinate)?)?,
            None => None,
        };
        let there: Option<Value> = there.and_then(|it| serde_json::from_slice(&it).ok());
        let column = Column::of(labels.iter().flatten(), there.as_ref(), opened.len());
        let mut valued = Vec::new();
        for (one, label) in opened.into_iter().zip(labels) {
            let given = match (&stack.from, &label) {
                (ValueFrom::Variable(path), _) => CoordinateOrigin::Variable(path.clone()),
                (_, Some(label)) => {
                    CoordinateOrigin::Value(column.document(&stack.dimension), column.chunk(label))
                }
                _ => continue,
            };
            let one = stacked::stacked(one, &stack.dimension, given)?;
            let label = match label {
                Some(label) => Some(column.as_stored(label)),
                None => self.number_of(&one, &coordinate).await?,
            };
            valued.push(Valued { label, one });
        }
        if self.order != Order::Name {
            valued.sort_by(|one, other| Label::order(&one.label, &other.label));
        }
        Ok(valued)
    }

    /// The value of a source that is its coordinate along the new dimension.
    async fn number_of(
        &self,
        one: &Opened,
        coordinate: &NodePath,
    ) -> Result<Option<Label>, ImportError> {
        let values = labels::of_source(&*one.source, &one.hierarchy, coordinate).await?;
        let value = values.and_then(|values| values.first().copied());
        let Some(value) = value else {
            return Err(CombineError::NoValue {
                name: one.source.to_string(),
                reason: format!("{coordinate} holds no number that can be decoded"),
            }
            .into());
        };
        let units = times::units(&times::documents(&one.hierarchy), coordinate);
        let units = units.and_then(Result::ok);
        Ok(Some(Label::of_number(value, units.as_ref())))
    }

    /// Joins the sources of each value along the inner dimension.
    async fn nested(
        &self,
        session: &Session,
        stack: &Stack,
        inner: &str,
        valued: Vec<Valued>,
    ) -> Result<Vec<Opened>, ImportError> {
        let mut groups: Vec<(Option<Label>, Vec<Opened>)> = Vec::new();
        for it in valued {
            match groups.iter_mut().find(|(label, _)| *label == it.label) {
                Some((_, group)) => group.push(it.one),
                None => groups.push((it.label, vec![it.one])),
            }
        }
        let mut joined = Vec::new();
        for (label, group) in groups {
            let label = label.map_or_else(String::new, |label| label.to_string());
            joined.push((label, joined::joined(self, session, inner, group).await?));
        }
        check_alike(inner, &stack.dimension, &joined).await?;
        Ok(joined.into_iter().map(|(_, one)| one).collect())
    }
}

fn same(stack: &Stack, one: &Valued, other: &Valued) -> CombineError {
    let label = one.label.as_ref();
    CombineError::SameValue {
        dimension: stack.dimension.clone(),
        value: label.map_or_else(String::new, ToString::to_string),
        one: one.one.source.to_string(),
        other: other.one.source.to_string(),
    }
}

/// Fails if one of several sources lacks an element along a dimension that the first has, or has one more: a file is missing.
async fn check_alike(
    inner: &str,
    outer: &str,
    joined: &[(String, Opened)],
) -> Result<(), ImportError> {
    let Some((first_label, first)) = joined.first() else {
        return Ok(());
    };
    let Some(coordinate) = first.coordinate(inner) else {
        return Ok(());
    };
    let Some(expected) = first.values(&coordinate.path).await? else {
        return Ok(());
    };
    let documents = times::documents(&first.hierarchy);
    for (label, one) in &joined[1..] {
        let source = std::sync::Arc::clone(&one.source);
        let hierarchy = one.hierarchy.clone();
        let (source, hierarchy, _) =
            times::converted(source, hierarchy, &documents, &one.taken).await?;
        let found = labels::of_source(&*source, &hierarchy, &coordinate.path).await?;
        let Some(found) = found else { continue };
        let lacks = |some: &[crate::cf::Number], of: &[crate::cf::Number]| {
            let ordered = |all: &[crate::cf::Number]| {
                let all = all.iter().map(|it| labels::ordered(*it));
                all.collect::<std::collections::BTreeSet<_>>()
            };
            let there = ordered(some);
            of.iter()
                .find(|it| !there.contains(&labels::ordered(**it)))
                .copied()
        };
        let missing = lacks(&found, &expected)
            .map(|value| (value, label, first_label))
            .or_else(|| lacks(&expected, &found).map(|value| (value, first_label, label)));
        if let Some((value, without, with)) = missing {
            return Err(CombineError::Missing {
                inner: inner.to_owned(),
                value: value.to_string(),
                outer: outer.to_owned(),
                without: without.clone(),
                with: with.clone(),
            }
            .into());
        }
    }
    Ok(())
}
