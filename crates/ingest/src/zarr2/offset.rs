//! Arrays whose start moves in the store: an attribute `_offset`, in chunks per dimension, and chunks under numbers that
//! stay what they are, however often the window moves.
//!
//! ```text
//! _offset        [-1]        chunk 0 of the array is stored under -1
//! stored         -2 -1 0 1   numbers may be negative
//! chunks of it       0 1 2   -2 lies before its window
//! origin         [-4]        in elements, if a chunk has four
//! ```
//!
//! The attribute is no part of Zarr: a reader that does not know it sees the wrong chunks. In a repository it becomes the attribute
//! `origin`, the absolute index of element 0 per dimension, and chunks are numbered from zero.

use icefield_core::ChunkIndex;
use icefield_zarr_store::ChunkKeys;
use serde_json::{Map, Value, json};

use crate::archive::ArchiveArray;
use crate::names::ORIGIN;

/// The attribute with the number that chunk 0 is stored under, per dimension.
pub(crate) const OFFSET: &str = "_offset";

/// A list of whole numbers; anything else is some other attribute of that name.
pub(super) fn read(value: &Value) -> Option<Vec<i64>> {
    value.as_array()?.iter().map(Value::as_i64).collect()
}

/// Takes the offset of an array, and says by its attribute `origin` where it begins. `None` if its chunks are stored
/// under their own numbers.
pub(super) fn take(array: &mut ArchiveArray, keys: ChunkKeys) -> Result<Option<Vec<i64>>, String> {
    let Some(offset) = array.attributes.get(OFFSET).and_then(read) else {
        return Ok(None);
    };
    let (rank, shown) = (array.rank(), json!(offset));
    if offset.len() != rank {
        return Err(format!(
            "its attribute {OFFSET} is {shown}, and it has {rank} dimensions: correct it, or rename it if it is no offset in chunks"
        ));
    }
    let moves = offset.iter().any(|it| *it != 0);
    let key = keys.key(&vec![0; rank]);
    if moves && key.contains('/') {
        return Err(format!(
            "its attribute {OFFSET} is {shown}, and its chunks have keys such as {key}, of which every part is a name of its own that no offset applies to: set it to zeros if they are stored under their own numbers"
        ));
    }
    let lengths = offset.iter().zip(&array.chunk_shape);
    let origin = lengths.map(|(at, length)| at.checked_mul(i64::try_from(*length).ok()?));
    let origin: Option<Vec<i64>> = origin.collect();
    let origin = origin.ok_or_else(|| {
        format!("its attribute {OFFSET} is {shown}, and no element can have an index that large")
    })?;
    let origin = json!(origin);
    match array.attributes.get(ORIGIN) {
        Some(other) if *other != origin => {
            return Err(format!(
                "its attribute {OFFSET} {shown} says that its {ORIGIN} is {origin}, and its attribute {ORIGIN} is {other}: remove the one that is wrong"
            ));
        }
        _ => {}
    }
    array.attributes.remove(OFFSET);
    array.attributes.insert(ORIGIN.to_owned(), origin);
    Ok(Some(offset).filter(|_| moves))
}

/// Returns the chunk of an array that is stored under a key; `None` if it lies outside of the `grid`.
///
/// # Errors
/// It is no key of a chunk.
pub(crate) fn decode(
    key: &str,
    offset: &[i64],
    grid: &[u64],
) -> Result<Option<ChunkIndex>, String> {
    let number = |text: &str| {
        let number: i64 = text.parse().ok()?;
        (number.to_string() == text).then_some(number)
    };
    let stored: Option<Vec<i64>> = key.split('.').map(number).collect();
    let stored = stored
        .filter(|stored| stored.len() == offset.len())
        .ok_or_else(|| {
            let count = offset.len();
            format!("{key:?} is not {count} whole numbers with dots between")
        })?;
    let index = stored.iter().zip(offset).zip(grid);
    let index = index.map(|((stored, offset), chunks)| {
        let index = u32::try_from(stored.checked_sub(*offset)?).ok()?;
        (u64::from(index) < *chunks).then_some(index)
    });
    let index: Option<Vec<u32>> = index.collect();
    Ok(index.map(ChunkIndex::from))
}

/// Returns the key that a chunk is stored under.
///
/// # Errors
/// The number is too large.
pub(crate) fn encode(index: &str, offset: &[i64]) -> Result<String, String> {
    let numbers = index.split('.').zip(offset).map(|(index, offset)| {
        let index: i64 = index.parse().ok()?;
        Some(index.checked_add(*offset)?.to_string())
    });
    let numbers: Option<Vec<String>> = numbers.collect();
    let numbers = numbers.ok_or_else(|| format!("{OFFSET} {offset:?} is too large for it"))?;
    Ok(numbers.join("."))
}

/// Returns the offset of an array with an attribute `origin`, in chunks of `chunk_shape`, and takes that attribute away.
/// `None` where it does not begin with a whole chunk, as a coordinate of one chunk does not, or does not say.
pub(crate) fn of_origin(
    attributes: &mut Map<String, Value>,
    chunk_shape: &[u64],
) -> Option<Vec<i64>> {
    let origin = attributes.get(ORIGIN).and_then(read)?;
    let lengths = chunk_shape.iter().map(|length| i64::try_from(*length));
    let lengths: Vec<i64> = lengths.collect::<Result<_, _>>().ok()?;
    if origin.len() != lengths.len() {
        return None;
    }
    let mut pairs = origin.iter().zip(&lengths);
    if pairs.any(|(at, length)| at.checked_rem(*length) != Some(0)) {
        return None;
    }
    attributes.remove(ORIGIN);
    let pairs = origin.iter().zip(&lengths);
    Some(pairs.map(|(at, length)| at / length).collect())
}
