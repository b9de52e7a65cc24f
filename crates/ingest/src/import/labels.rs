//! The coordinates along the dimension that is appended to: each source must go on where the one before ended.
//!
//! ```text
//! here        1  2  3
//! source               4  5     goes on
//!                   3  4        overlaps
//!             0                 lies before
//! ```

use std::cmp::Ordering;

use futures::TryStreamExt;
use icefield_core::{ArrayMetadata, ByteRange, ChunkIndex, NodePath, Session, SessionError};
use serde_json::Value;

use crate::assemble::ChunksOf;
use crate::cf::{Number, NumberType};
use crate::codec::{Codec, Elements};
use crate::plan::coordinate;
use crate::{ChunkEntry, Hierarchy, ImportError, Source};

/// An array of one dimension that says where its elements are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Label {
    /// The array in the source.
    pub(super) path: NodePath,
    pub(super) units: Option<String>,
    /// Whether it has the name of the dimension.
    pub(super) is_coordinate: bool,
}

impl Label {
    /// Returns whether it says times, as the CF conventions write them: `hours since 2000-01-01`.
    pub(super) fn is_time(&self) -> bool {
        self.units.as_deref().is_some_and(crate::cf::is_time)
    }

    /// Returns whether its numbers have a unit, and are more than names of the elements.
    pub(super) fn is_quantity(&self) -> bool {
        let units = self.units.as_deref().map(str::trim);
        units.is_some_and(|it| !matches!(it, "" | "1"))
    }
}

/// Returns the arrays that label a dimension: its coordinates, and if one has no units, as one that only stands in for
/// others, the times along it.
pub(super) fn labels(hierarchy: &Hierarchy, dimension: &str) -> Vec<Label> {
    let along = hierarchy.nodes.iter().filter_map(|(path, node)| {
        let array = node.array()?;
        let [Some(name)] = array.dimension_names.as_deref()? else {
            return None;
        };
        let document: Value = serde_json::from_slice(node.document()).ok()?;
        (name == dimension).then(|| Label {
            path: path.clone(),
            units: document["attributes"]["units"].as_str().map(str::to_owned),
            is_coordinate: coordinate(path, array).is_some(),
        })
    });
    let (coordinates, others): (Vec<_>, Vec<_>) = along.partition(|it| it.is_coordinate);
    let stands_in = coordinates.iter().any(|it| it.units.is_none());
    let times = others.into_iter().filter(|it| stands_in && it.is_time());
    let times: Vec<Label> = times.collect();
    coordinates.into_iter().chain(times).collect()
}

/// How coordinates go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// There are none yet.
    Empty,
    One(i128),
    /// The last of several, and whether they rise or fall.
    Run(i128, Ordering),
    /// They are in no order, or cannot be decoded here.
    Unknown,
}

/// The summary of the coordinates of one source.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) count: u64,
    pub(super) first: Option<Number>,
    pub(super) last: Option<Number>,
    /// The longest step between two of them.
    pub(super) longest_step: Option<f64>,
    pub(super) tail: Tail,
}

impl Line {
    pub(super) fn new(values: &[Number]) -> Self {
        let ordered: Option<Vec<i128>> = values.iter().map(|it| ordered(*it)).collect();
        let steps = values.windows(2);
        let steps = steps.map(|pair| (float(pair[1]) - float(pair[0])).abs());
        Self {
            count: values.len() as u64,
            first: values.first().copied(),
            last: values.last().copied(),
            longest_step: steps.reduce(f64::max),
            tail: ordered.map_or(Tail::Unknown, |values| tail(&values)),
        }
    }

    /// Returns the first of them as one that compares as it does.
    pub(super) fn begins(&self) -> Option<i128> {
        self.first.and_then(ordered)
    }
}

/// Returns a number as a float.
pub(super) fn float(number: Number) -> f64 {
    match number {
        Number::Whole(number) => number as f64,
        Number::Float(number) => number,
    }
}

/// Returns a number as one that compares as it does; `None` if it is none.
pub(super) fn ordered(number: Number) -> Option<i128> {
    match number {
        Number::Whole(number) => Some(number),
        Number::Float(value) => {
            // Of two floats of one sign, the larger has the larger bits.
            let magnitude = i128::from(value.abs().to_bits());
            let ordered = if value < 0.0 { -magnitude } else { magnitude };
            (!value.is_nan()).then_some(ordered)
        }
    }
}

/// How coordinates end with some more behind them, or what is wrong with these.
pub(super) fn follow(
    before: Tail,
    (first, after): (Option<i128>, Tail),
    label: &Label,
) -> Result<Tail, &'static str> {
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
    let goes_on = first.is_some_and(|first| first.cmp(&last) == way);
    if way == Ordering::Equal || !goes_on {
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

/// How to read the numbers of an array of one dimension; `None` if that is not understood here.
fn reader(document: &[u8]) -> Option<(Codec, NumberType)> {
    let document: Value = serde_json::from_slice(document).ok()?;
    let kind = NumberType::of(&document["data_type"])?;
    Some((Codec::of(&document).ok()?, kind))
}

/// The numbers of a chunk of which so many elements lie in the array.
fn numbers(elements: &Elements, kind: NumberType, count: usize) -> Vec<Number> {
    match elements {
        Elements::Fixed(bytes) => {
            let all = bytes.chunks_exact(kind.bytes()).map(|it| kind.read(it));
            all.take(count).collect()
        }
        #[cfg(feature = "codecs")]
        Elements::Variable(_) => Vec::new(),
    }
}

/// Reads the numbers of an array of one dimension in a source; `None` if they are none, or cannot be decoded.
pub(super) async fn of_source(
    source: &dyn Source,
    hierarchy: &Hierarchy,
    path: &NodePath,
) -> Result<Option<Vec<Number>>, ImportError> {
    let Some(node) = hierarchy.nodes.get(path) else {
        return Ok(None);
    };
    let (Some(array), Some((codec, kind))) = (node.array(), reader(node.document())) else {
        return Ok(None);
    };
    let ([length], [chunk]) = (&array.shape[..], &array.chunk_shape[..]) else {
        return Ok(None);
    };
    let mut listed = std::collections::BTreeMap::new();
    let mut chunks = source.chunks(path, array);
    while let Some(entry) = chunks.try_next().await? {
        if let ChunkEntry::Chunk { index, length } = entry
            && array.contains(&index)
        {
            listed.insert(index[0], length);
        }
    }
    let mut values = Vec::new();
    for index in 0..array.chunk_counts[0] {
        let elements = match listed.get(&index) {
            None => codec.filled_chunk(),
            Some(bytes) => {
                let bytes = source.read_chunk(path, array, &[index], *bytes).await?;
                match codec.decode(&bytes) {
                    Ok(elements) => elements,
                    Err(_) => return Ok(None),
                }
            }
        };
        // An element behind the end of the array is no label, and often no number.
        let count = (length - u64::from(index) * chunk).min(*chunk);
        values.extend(numbers(&elements, kind, count as usize));
    }
    Ok(Some(values))
}

/// The key by which an element of a coordinate is compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LabelKey {
    Number(Option<i128>),
    Bytes(Vec<u8>),
}

/// Reads an array of one dimension, numbers or not; `None` if it cannot be decoded.
pub(super) async fn keys(
    chunks: &dyn ChunksOf,
    document: &[u8],
    array: &ArrayMetadata,
) -> Result<Option<Vec<LabelKey>>, ImportError> {
    let document: Value = serde_json::from_slice(document).unwrap_or_default();
    let kind = NumberType::of(&document["data_type"]);
    let (Ok(codec), [length], [chunk]) = (
        Codec::of(&document),
        &array.shape[..],
        &array.chunk_shape[..],
    ) else {
        return Ok(None);
    };
    let mut keys = Vec::new();
    for index in 0..array.chunk_counts[0] {
        let read = chunks.read(&ChunkIndex::from(vec![index])).await?;
        let elements = match read.map(|bytes| codec.decode(&bytes)) {
            None => codec.filled_chunk(),
            Some(Ok(elements)) => elements,
            Some(Err(_)) => return Ok(None),
        };
        let count = (length - u64::from(index) * chunk).min(*chunk) as usize;
        match (&elements, kind) {
            (Elements::Fixed(_), Some(kind)) => {
                let numbers = numbers(&elements, kind, count).into_iter();
                keys.extend(numbers.map(|it| LabelKey::Number(ordered(it))));
            }
            (Elements::Fixed(bytes), None) => {
                let all = bytes.chunks_exact(codec.width().max(1)).take(count);
                keys.extend(all.map(|it| LabelKey::Bytes(it.to_vec())));
            }
            #[cfg(feature = "codecs")]
            (Elements::Variable(texts), _) => {
                let all = texts.iter().take(count);
                keys.extend(all.map(|it| LabelKey::Bytes(it.to_vec())));
            }
        }
    }
    Ok(Some(keys))
}

/// Returns how the coordinates of an array in the repository end.
pub(super) async fn tail_of(session: &Session, path: &NodePath) -> Result<Tail, ImportError> {
    let array = session.array(path)?;
    let document = session.metadata(path)?.unwrap_or_default();
    let (Some((codec, kind)), [length], [chunk]) =
        (reader(&document), &array.shape[..], &array.chunk_shape[..])
    else {
        return Ok(Tail::Unknown);
    };
    // The last two of them tell.
    let first = length.saturating_sub(2);
    let mut values = Vec::new();
    for index in (0..array.chunk_counts[0]).filter(|index| u64::from(*index) >= first / chunk) {
        let bytes = match session.chunk(path, &[index], ByteRange::All).await {
            Ok(bytes) => bytes,
            // Of a reference that an earlier import made, to a place without a grant.
            Err(SessionError::VirtualChunk { .. }) => return Ok(Tail::Unknown),
            Err(error) => return Err(error.into()),
        };
        let elements = match bytes.map(|bytes| codec.decode(&bytes)) {
            None => codec.filled_chunk(),
            Some(Ok(elements)) => elements,
            Some(Err(_)) => return Ok(Tail::Unknown),
        };
        let count = (length - u64::from(index) * chunk).min(*chunk);
        values.extend(numbers(&elements, kind, count as usize));
    }
    let before = (first % chunk) as usize;
    Ok(Line::new(&values[before.min(values.len())..]).tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(units: Option<&str>) -> Label {
        Label {
            path: NodePath::root(),
            units: units.map(str::to_owned),
            is_coordinate: true,
        }
    }

    #[test]
    fn numbers_compare_as_they_do() {
        let values = [f64::NEG_INFINITY, -3.5, -1e-310, -0.0, 1e-310, 2.0, 1e300];
        let ordered: Option<Vec<i128>> = values
            .iter()
            .map(|it| ordered(Number::Float(*it)))
            .collect();
        assert!(ordered.expect("numbers").is_sorted_by(|a, b| a < b));
        assert_eq!(super::ordered(Number::Float(f64::NAN)), None);
        assert_eq!(super::ordered(Number::Whole(-7)), Some(-7));
        let line = Line::new(&[Number::Whole(1), Number::Whole(2), Number::Whole(5)]);
        assert_eq!((line.begins(), line.longest_step), (Some(1), Some(3.0)));
        assert_eq!(line.tail, Tail::Run(5, Ordering::Greater));
    }

    fn of(values: &[i128]) -> (Option<i128>, Tail) {
        (values.first().copied(), tail(values))
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
            let found = follow(tail(before), of(added), &label(units));
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
            let found = follow(tail(before), of(added), &label(units));
            assert!(found.is_err(), "{before:?} {added:?}");
        }
    }

    #[test]
    fn an_empty_source_changes_nothing() {
        let label = label(None);
        let mut end = tail(&[]);
        for added in [&[][..], &[0, 1, 2], &[], &[3]] {
            end = follow(end, of(added), &label).expect("it goes on");
        }
        assert_eq!(end, Tail::Run(3, Ordering::Greater));
        assert!(follow(end, of(&[0, 1, 2]), &label).is_err());
    }
}
