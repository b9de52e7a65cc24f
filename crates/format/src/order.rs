//! Sorted lists: the check that they are, and the search that relies on it.

use std::cmp::Ordering;
use std::ops::Range;

use crate::error::{FormatError, FormatFile, SortedList};
use crate::id::NodeId;

/// Checks how the item before `position` compares with the one there.
#[inline]
pub(crate) fn check(
    order: Ordering,
    file: FormatFile,
    list: SortedList,
    position: usize,
) -> Result<(), FormatError> {
    match order {
        Ordering::Less => Ok(()),
        Ordering::Equal => Err(FormatError::Duplicate {
            file,
            list,
            position,
        }),
        Ordering::Greater => Err(FormatError::Unsorted {
            file,
            list,
            position,
        }),
    }
}

/// Checks that the keys of a list strictly ascend.
pub(crate) fn ascending<'a>(
    len: usize,
    file: FormatFile,
    list: SortedList,
    key: impl Fn(usize) -> &'a [u8],
) -> Result<(), FormatError> {
    (1..len).try_for_each(|position| {
        let order = key(position - 1).cmp(key(position));
        check(order, file, list, position)
    })
}

/// Finds a position by binary search, or else where it would be; `compare` tells how the item there
/// compares with the one wanted.
#[inline]
pub(crate) fn search(
    positions: Range<usize>,
    compare: impl Fn(usize) -> Ordering,
) -> Result<usize, usize> {
    let Range {
        start: mut low,
        end: mut high,
    } = positions;
    while low < high {
        let middle = low.midpoint(high);
        match compare(middle) {
            Ordering::Less => low = middle + 1,
            Ordering::Greater => high = middle,
            Ordering::Equal => return Ok(middle),
        }
    }
    Err(low)
}

/// Checks that no node id is used twice.
pub(crate) fn unique_ids(mut ids: Vec<NodeId>, file: FormatFile) -> Result<(), FormatError> {
    ids.sort_unstable();
    match ids.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(FormatError::DuplicateNodeId {
            file,
            node: pair[0],
        }),
        None => Ok(()),
    }
}
