//! The chunks of a window that were written, and those that never were.

use std::collections::BTreeMap;
use std::ops::Range;

use futures::TryStreamExt;
use hashbrown::HashSet;
use icefield_core::{ChunkIndex, NodePath, Session};

use crate::dimension::{Dimension, Member, for_each_chunk};
use crate::{ArraySlots, RollingError, Slots, labels};

/// Missing chunks that are named, of each array.
const NAMED: usize = 10;

/// Returns which chunks of a part of a dimension are written, for every array at and below a group that has it, except
/// labels. `stretch` is in absolute indices; `None` means the whole window. A chunk that reads as the fill value
/// because it was never written counts as missing: data that is all fill must be written to count.
///
/// # Errors
/// [`RollingError::OutsideWindow`] if the window does not show all of `stretch`; faults of the arrays; the errors of
/// the store.
pub async fn unwritten(
    session: &Session,
    group: &NodePath,
    dimension: &str,
    stretch: Option<Range<i64>>,
) -> Result<Slots, RollingError> {
    let dimension = Dimension::of(session, group, dimension)?;
    let window = &dimension.window;
    let stretch = stretch.unwrap_or(window.first()..window.end());
    let (first, last) = (window.first(), window.end());
    if stretch.start < first || last < stretch.end || stretch.end < stretch.start {
        return Err(RollingError::OutsideWindow {
            dimension: dimension.name,
            start: stretch.start,
            end: stretch.end,
            first,
            last,
        });
    }
    let at = |absolute: i64| absolute.abs_diff(window.origin());
    let elements = at(stretch.start)..at(stretch.end);
    let axes = labels::axes(&dimension);
    let mut slots = Slots::default();
    for member in &dimension.members {
        if axes.iter().any(|axis| axis.member.path == member.path) {
            continue;
        }
        let chunks = match elements.is_empty() {
            true => 0..0,
            false => {
                let chunk = member.chunk();
                coordinate(elements.start / chunk)..coordinate(elements.end.div_ceil(chunk))
            }
        };
        slots.arrays.push(of_array(session, member, chunks).await?);
    }
    Ok(slots)
}

fn coordinate(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

async fn of_array(
    session: &Session,
    member: &Member,
    chunks: Range<u32>,
) -> Result<ArraySlots, RollingError> {
    let axis = member.axis;
    let mut there: HashSet<ChunkIndex> = HashSet::new();
    let mut listed = session.chunks(&member.path)?;
    while let Some(chunk) = listed.try_next().await? {
        if chunks.contains(&chunk.index[axis]) {
            there.insert(chunk.index);
        }
    }
    let grid = &member.array.chunk_counts;
    let others = grid.iter().enumerate().filter(|(other, _)| *other != axis);
    let per_slab = others.fold(1_u64, |all, (_, count)| {
        all.saturating_mul(u64::from(*count))
    });
    let expected = per_slab.saturating_mul(chunks.len() as u64);
    let mut slots = ArraySlots {
        path: member.path.clone(),
        expected,
        written: there.len() as u64,
        missing: Vec::new(),
        missing_in: BTreeMap::new(),
    };
    let mut of_slab: BTreeMap<u32, u64> = BTreeMap::new();
    for index in &there {
        *of_slab.entry(index[axis]).or_default() += 1;
    }
    for slab in chunks {
        let missing = per_slab - of_slab.get(&slab).copied().unwrap_or(0).min(per_slab);
        if missing == 0 {
            continue;
        }
        slots.missing_in.insert(slab, missing);
        if slots.missing.len() < NAMED {
            let here = for_each_chunk(grid, axis, slab..slab + 1);
            let missing = here.filter(|index| !there.contains(index));
            slots
                .missing
                .extend(missing.take(NAMED - slots.missing.len()));
        }
    }
    Ok(slots)
}
