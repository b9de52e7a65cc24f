//! The order of coordinates within one source: those with units rise or fall, and no time is missing or there twice.

use std::cmp::Ordering;

use serde_json::Value;

use super::labels::{Label, ordered};
use super::opened::Opened;
use super::times;
use crate::ImportError;
use crate::cf::{Number, NumberType, TimeError};

/// Checks the values of a label of one source.
///
/// # Errors
/// [`ImportError::Times`] for a missing time, and for a coordinate with the same time twice; [`ImportError::NotMonotonic`].
pub(super) fn check(
    one: &Opened,
    label: &Label,
    dimension: &str,
    values: &[Number],
) -> Result<(), ImportError> {
    if label.is_time() {
        check_times(one, label, dimension, values)?;
    }
    if !label.is_coordinate || !label.is_quantity() {
        return Ok(());
    }
    match turn(values) {
        None => Ok(()),
        Some(at) => Err(ImportError::NotMonotonic {
            path: label.path.clone(),
            name: one.source.to_string(),
            dimension: dimension.to_owned(),
            element: at as u64,
            value: values[at].to_string(),
            before: values[at - 1].to_string(),
        }),
    }
}

fn check_times(
    one: &Opened,
    label: &Label,
    dimension: &str,
    values: &[Number],
) -> Result<(), ImportError> {
    let document = one
        .hierarchy
        .nodes
        .get(&label.path)
        .map(|node| node.document());
    let document: Value = document
        .and_then(|it| serde_json::from_slice(it).ok())
        .unwrap_or_default();
    let missing = times::missing(&document["attributes"]);
    let kind = NumberType::of(&document["data_type"]).unwrap_or(NumberType::Float(8));
    let is_missing = |it: &Number| times::is_missing(*it, &missing, kind);
    let is_twice = |pair: &[Number]| label.is_coordinate && pair[0] == pair[1];
    let dimension = dimension.to_owned();
    let source = if let Some(element) = values.iter().position(is_missing) {
        let element = element as u64;
        TimeError::Missing { element, dimension }
    } else if let Some(first) = values.windows(2).position(is_twice) {
        TimeError::Twice {
            first: first as u64,
            second: first as u64 + 1,
            dimension,
            value: values[first].to_string(),
        }
    } else {
        return Ok(());
    };
    Err(ImportError::Times {
        path: label.path.clone(),
        name: one.source.to_string(),
        source: Box::new(source),
    })
}

/// The position of the first number that goes the other way than those before it, or is none. Some may be equal to their
/// neighbours.
fn turn(values: &[Number]) -> Option<usize> {
    let mut way = Ordering::Equal;
    values.windows(2).enumerate().find_map(|(at, pair)| {
        let step = match (ordered(pair[0]), ordered(pair[1])) {
            (Some(before), Some(value)) => value.cmp(&before),
            _ => return Some(at + 1),
        };
        if way == Ordering::Equal {
            way = step;
        }
        (step != way && step != Ordering::Equal).then_some(at + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_where_the_way_changes() {
        for (values, expected) in [
            (&[][..], None),
            (&[3.0], None),
            (&[1.0, 2.0, 5.0], None),
            (&[5.0, 2.0, 1.0], None),
            (&[1.0, 1.0, 1.0], None),
            (&[1.0, 1.0, 2.0, 2.0, 3.0], None),
            (&[1.0, 3.0, 2.0], Some(2)),
            (&[3.0, 1.0, 2.0], Some(2)),
            (&[1.0, 1.0, 0.0, 2.0], Some(3)),
            (&[1.0, 2.0, 3.0, 0.0], Some(3)),
            (&[f64::NAN, 2.0, 3.0], Some(1)),
            (&[1.0, 2.0, f64::NAN], Some(2)),
        ] {
            let values: Vec<Number> = values.iter().map(|it| Number::Float(*it)).collect();
            assert_eq!(turn(&values), expected, "{values:?}");
        }
    }
}
