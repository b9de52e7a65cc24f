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

use icefield_core::{ByteRange, NodePath, Session, SessionError};

use crate::ImportError;
use crate::decode::Encoding;
use crate::plan::Label;

/// How coordinates go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tail {
    /// There are none yet.
    Empty,
    One(i128),
    /// The last of several, and whether they rise or fall.
    Run(i128, Ordering),
    /// They are in no order, or cannot be decoded here.
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
        labels: &[Label],
    ) -> Result<(), ImportError> {
        for label in labels {
            if !self.tails.contains_key(&label.path) {
                let end = length(session, &label.path)?.saturating_sub(2);
                let values = values(session, &label.path, end).await?;
                let tail = values.map_or(Tail::Unknown, |values| tail(&values));
                self.tails.insert(label.path.clone(), tail);
            }
        }
        Ok(())
    }

    /// Checks what has been put behind: `added`, or what the session has from there on.
    pub(super) async fn check(
        &mut self,
        session: &Session,
        label: &Label,
        added: Option<Option<Vec<i128>>>,
        name: &str,
    ) -> Result<(), ImportError> {
        let path = &label.path;
        let Some(before) = self.tails.get(path).copied() else {
            return Ok(());
        };
        let added = match added {
            Some(added) => added,
            None => values(session, path, label.first).await?,
        };
        let after = match added {
            None => Tail::Unknown,
            Some(added) => match follow(before, &added, label) {
                Ok(after) => after,
                Err(problem) => {
                    return Err(ImportError::Labels {
                        path: path.clone(),
                        name: name.to_owned(),
                        problem,
                    });
                }
            },
        };
        self.tails.insert(path.clone(), after);
        Ok(())
    }
}

/// How coordinates end with some more behind them, or what is wrong with these.
fn follow(before: Tail, added: &[i128], label: &Label) -> Result<Tail, &'static str> {
    let after = tail(added);
    let (last, way) = match (before, after) {
        (before, Tail::Empty) => return Ok(before),
        (Tail::Empty, after) => return Ok(after),
        (Tail::Unknown, _) | (_, Tail::Unknown) => return Ok(Tail::Unknown),
        // A place holder in every file, as ocean models write it.
        (Tail::One(last), Tail::One(value)) if last == value && label.units.is_none() => {
            return Ok(Tail::Unknown);
        }
        (Tail::One(last), Tail::One(_)) if label.is_time() => (last, Ordering::Greater),
        (Tail::One(last), Tail::One(value)) => (last, value.cmp(&last)),
        (Tail::Run(_, way), Tail::Run(_, other)) if way != other => {
            return Err("run the other way");
        }
        (Tail::Run(last, way), _) | (Tail::One(last), Tail::Run(_, way)) => (last, way),
    };
    if way == Ordering::Equal || added[0].cmp(&last) != way {
        return Err("overlap it or lie before its end");
    }
    Ok(match after {
        Tail::One(value) => Tail::Run(value, way),
        after => after,
    })
}

/// Whether numbers rise or fall, and where they end. Some may be equal to their neighbours, but not all.
fn tail(values: &[i128]) -> Tail {
    let (Some(first), Some(last)) = (values.first(), values.last()) else {
        return Tail::Empty;
    };
    let way = last.cmp(first);
    let step =
        |a: &i128, b: &i128| matches!(b.cmp(a), step if step == way || step == Ordering::Equal);
    match values {
        [one] => Tail::One(*one),
        _ if way != Ordering::Equal && values.is_sorted_by(step) => Tail::Run(*last, way),
        _ => Tail::Unknown,
    }
}

/// The elements along the first dimension.
fn length(session: &Session, path: &NodePath) -> Result<u64, ImportError> {
    Ok(session.array(path)?.shape.first().copied().unwrap_or(0))
}

/// The numbers of an array of one dimension, from an element on. `None` also if they may not be read.
async fn values(
    session: &Session,
    path: &NodePath,
    first: u64,
) -> Result<Option<Vec<i128>>, ImportError> {
    let array = session.array(path)?;
    let document = session.metadata(path)?.unwrap_or_default();
    let ([length], [chunk]) = (&array.shape[..], &array.chunk_shape[..]) else {
        return Ok(None);
    };
    let Some(encoding) = Encoding::of(&document, *chunk) else {
        return Ok(None);
    };
    let mut values = Vec::new();
    let first_chunk = first / chunk;
    for index in (0..array.chunk_counts[0]).filter(|index| u64::from(*index) >= first_chunk) {
        let bytes = match session.chunk(path, &[index], ByteRange::All).await {
            Ok(bytes) => bytes,
            // Of a reference that an earlier import made, to where nobody has granted access.
            Err(SessionError::VirtualChunk { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let plain = match bytes {
            None => Some(encoding.filled()),
            Some(bytes) => encoding.plain(&bytes),
        };
        // What lies behind the end of the array is no label, and often no number.
        let rest = (length - u64::from(index) * chunk).min(*chunk) as usize;
        let numbers = plain.and_then(|mut plain| {
            plain.truncate(rest * encoding.element_bytes());
            encoding.numbers(&plain)
        });
        let Some(numbers) = numbers else {
            return Ok(None);
        };
        values.extend(numbers);
    }
    let before = (first % chunk) as usize;
    Ok(Some(values.split_off(before.min(values.len()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(units: Option<&str>) -> Label {
        Label {
            path: NodePath::root(),
            first: 0,
            units: units.map(str::to_owned),
        }
    }

    #[test]
    fn coordinates_go_on_where_they_ended() {
        let (time, plain, metres) = (Some("days since 2000-01-01"), None, Some("m"));
        for (before, added, units) in [
            (&[1, 2, 3][..], &[4, 5][..], time),
            (&[1, 2], &[3], time),
            (&[3, 2], &[1, 0], metres),
            (&[1], &[2, 3], time),
            (&[1], &[0], metres),
            (&[], &[1], time),
            (&[1, 2], &[], time),
            // In no order: nothing is known of them.
            (&[1, 3, 2], &[2], plain),
            (&[1, 2], &[2, 5, 3], plain),
            (&[4, 4], &[4], plain),
            // A place holder.
            (&[0], &[0], plain),
        ] {
            let found = follow(tail(before), added, &label(units));
            assert!(found.is_ok(), "{before:?} {added:?}");
        }
        for (before, added, units) in [
            (&[1, 2, 3][..], &[3, 4][..], time),
            (&[1, 2, 3], &[1, 2, 3], plain),
            (&[1, 2, 3], &[0], time),
            (&[3, 2], &[5], metres),
            (&[1, 2], &[5, 4], metres),
            (&[1], &[1], metres),
            (&[5], &[0], time),
            (&[2], &[1, 2], time),
            (&[0, 1, 2, 2], &[2, 3, 4], plain),
        ] {
            let found = follow(tail(before), added, &label(units));
            assert!(found.is_err(), "{before:?} {added:?}");
        }
    }

    #[test]
    fn an_empty_source_changes_nothing() {
        let label = label(None);
        let mut end = tail(&[]);
        for added in [&[][..], &[0, 1, 2], &[], &[3]] {
            end = follow(end, added, &label).expect("it goes on");
        }
        assert_eq!(end, Tail::Run(3, Ordering::Greater));
        assert!(follow(end, &[0, 1, 2], &label).is_err());
    }
}
