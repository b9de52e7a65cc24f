//! The coordinates along the dimension that is appended to: each source must go on where the one before ended.
//!
//! ```text
//! here        1  2  3
//! source               4  5     goes on
//!                   3  4        overlaps
//!             0                 lies before
//! ```

use std::cmp::Ordering;
use std::collections::BTreeMap;

use icefield_core::{ByteRange, NodePath, Session};

use serde_json::Value;

use crate::ImportError;
use crate::decode::Encoding;

/// How coordinates go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tail {
    /// The last of at least two, and how it compares with the one before.
    Run(i128, Ordering),
    One(i128),
    /// They are no ordered numbers, or cannot be decoded here.
    Unknown,
}

/// The ends of the coordinates so far.
#[derive(Debug, Default)]
pub(super) struct Labels {
    tails: BTreeMap<NodePath, Tail>,
}

impl Labels {
    /// Notes how the coordinates in the session end, before something is put behind them.
    pub(super) async fn note(
        &mut self,
        session: &Session,
        paths: impl Iterator<Item = &NodePath>,
    ) -> Result<(), ImportError> {
        for path in paths {
            if !self.tails.contains_key(path) {
                let end = length(session, path)?.saturating_sub(2);
                let tail = match labels(session, path, end).await? {
                    Some(values) => tail(&values),
                    None => Tail::Unknown,
                };
                self.tails.insert(path.clone(), tail);
            }
        }
        Ok(())
    }

    /// Checks what has been put behind, beginning with the element of that number.
    pub(super) async fn check(
        &mut self,
        session: &Session,
        path: &NodePath,
        first: u64,
        name: &str,
    ) -> Result<(), ImportError> {
        let Some(before) = self.tails.get(path).copied() else {
            return Ok(());
        };
        let added = labels(session, path, first).await?;
        let Some(added) = added.filter(|it| !it.is_empty()) else {
            self.tails.insert(path.clone(), Tail::Unknown);
            return Ok(());
        };
        let after = tail(&added);
        let problem = problem(before, &added, after);
        let stands_in = before == after && matches!(after, Tail::One(_));
        if stands_in && !has_units(session, path)? {
            // A place holder in every file, as ocean models write it.
            self.tails.insert(path.clone(), Tail::Unknown);
            return Ok(());
        }
        if let Some(problem) = problem {
            return Err(ImportError::Labels {
                path: path.clone(),
                name: name.to_owned(),
                problem,
            });
        }
        let after = match (before, after) {
            (Tail::Unknown, _) | (_, Tail::Unknown) => Tail::Unknown,
            (Tail::Run(last, _) | Tail::One(last), Tail::One(value)) => {
                Tail::Run(value, value.cmp(&last))
            }
            (_, run) => run,
        };
        self.tails.insert(path.clone(), after);
        Ok(())
    }
}

fn problem(before: Tail, added: &[i128], after: Tail) -> Option<&'static str> {
    let (last, way) = match (before, after) {
        (Tail::Unknown, _) | (_, Tail::Unknown) => return None,
        (Tail::Run(last, way), Tail::One(_)) => (last, way),
        (Tail::Run(_, way), Tail::Run(_, other)) if way != other => {
            return Some("they run the other way");
        }
        (Tail::Run(last, way), Tail::Run(..)) => (last, way),
        (Tail::One(last), Tail::Run(_, way)) => (last, way),
        (Tail::One(last), Tail::One(value)) => {
            return (last == value).then_some("they are there already");
        }
    };
    (added[0].cmp(&last) != way).then_some("they do not begin behind the last one that is there")
}

/// Whether numbers rise or fall, and where they end.
fn tail(values: &[i128]) -> Tail {
    match values {
        [] => Tail::Unknown,
        [one] => Tail::One(*one),
        [first, second, ..] => {
            let way = second.cmp(first);
            let ordered = way != Ordering::Equal && values.is_sorted_by(|a, b| b.cmp(a) == way);
            match ordered {
                true => Tail::Run(values[values.len() - 1], way),
                false => Tail::Unknown,
            }
        }
    }
}

/// Returns whether the numbers mean something by themselves.
fn has_units(session: &Session, path: &NodePath) -> Result<bool, ImportError> {
    let document = session.metadata(path)?.unwrap_or_default();
    let document: Value = serde_json::from_slice(&document).unwrap_or_default();
    Ok(document["attributes"]["units"].is_string())
}

/// The elements along the first dimension.
fn length(session: &Session, path: &NodePath) -> Result<u64, ImportError> {
    Ok(session.array(path)?.shape.first().copied().unwrap_or(0))
}

/// The numbers of an array of one dimension, from an element on.
async fn labels(
    session: &Session,
    path: &NodePath,
    first: u64,
) -> Result<Option<Vec<i128>>, ImportError> {
    let array = session.array(path)?;
    let Some(document) = session.metadata(path)? else {
        return Ok(None);
    };
    let ([length], [chunk], [count]) = (
        &array.shape[..],
        &array.chunk_shape[..],
        &array.chunk_counts[..],
    ) else {
        return Ok(None);
    };
    let Some(encoding) = Encoding::of(&document, *chunk) else {
        return Ok(None);
    };
    let mut values = Vec::new();
    let first_chunk = first / chunk;
    for index in (0..*count).filter(|index| u64::from(*index) >= first_chunk) {
        // A chunk that is not there is the fill value, over and over: no coordinates.
        let bytes = session.chunk(path, &[index], ByteRange::All).await?;
        let Some(mut numbers) = bytes.and_then(|bytes| encoding.ordered(&bytes)) else {
            return Ok(None);
        };
        let rest = length - u64::from(index) * chunk;
        numbers.truncate(usize::try_from(rest).unwrap_or(usize::MAX));
        values.extend(numbers);
    }
    let before = (first % chunk) as usize;
    Ok(Some(values.split_off(before.min(values.len()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_go_on_where_they_ended() {
        let found = |before: &[i128], added: &[i128]| problem(tail(before), added, tail(added));
        for (before, added) in [
            (&[1, 2, 3][..], &[4, 5][..]),
            (&[1, 2], &[3]),
            (&[3, 2], &[1, 0]),
            (&[1], &[2, 3]),
            (&[1], &[0]),
            // In no order: nothing is known of them.
            (&[1, 3, 2], &[2]),
            (&[1, 2], &[2, 5, 3]),
            (&[], &[1]),
        ] {
            assert_eq!(found(before, added), None, "{before:?} {added:?}");
        }
        for (before, added) in [
            (&[1, 2, 3][..], &[3, 4][..]),
            (&[1, 2, 3], &[1, 2, 3]),
            (&[1, 2, 3], &[0]),
            (&[3, 2], &[5]),
            (&[1, 2], &[5, 4]),
            (&[1], &[1]),
            (&[2], &[1, 2]),
        ] {
            assert!(found(before, added).is_some(), "{before:?} {added:?}");
        }
    }
}
