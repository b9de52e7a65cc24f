//! Which arrays can be rewritten whole, and by how much the others can move.

use std::collections::BTreeSet;

use icefield_core::NodePath;

use super::options::Options;
use crate::blocks::Blocks;
use crate::dimension::{Dimension, Member};
use crate::labels;

/// Most bytes of an array that is rewritten whole, decoded.
pub(super) const MOST_REWRITTEN: u64 = 256 << 20;

/// The elements by which the start can move.
pub(super) fn unit(dimension: &Dimension, options: Options) -> u64 {
    let (large, _) = by_size(dimension, options);
    large
        .iter()
        .fold(1, |unit, member| lcm(unit, member.chunk()).unwrap_or(unit))
}

/// An array that can be rewritten whole, and whether it holds labels or their bounds.
pub(super) type Small<'a> = (&'a Member, Blocks, bool);

/// The arrays whose chunks have to move, and those that can be rewritten whole: labels, and whatever is small.
pub(super) fn by_size(dimension: &Dimension, options: Options) -> (Vec<&Member>, Vec<Small<'_>>) {
    let axes = labels::axes(dimension);
    let mut labels: BTreeSet<&NodePath> = axes.iter().map(|axis| &axis.member.path).collect();
    let bounds: Vec<&NodePath> = labels
        .iter()
        .filter_map(|path| bounds_path(dimension, path))
        .collect();
    labels.extend(bounds);
    let (mut large, mut small) = (Vec::new(), Vec::new());
    for member in &dimension.members {
        let is_label = labels.contains(&member.path);
        let most = match is_label {
            true => MOST_REWRITTEN,
            false => options.rewrite_bytes,
        };
        // Chunks that this crate cannot decode may move all the same.
        match Blocks::of(member) {
            Ok(blocks) if blocks.bytes(&member.array.shape) <= most => {
                small.push((member, blocks, is_label));
            }
            _ => large.push(member),
        }
    }
    (large, small)
}

/// The bounds of a coordinate, if they have the dimension.
pub(super) fn bounds_path<'a>(
    dimension: &'a Dimension,
    coordinate: &NodePath,
) -> Option<&'a NodePath> {
    let member = dimension
        .members
        .iter()
        .find(|member| member.path == *coordinate)?;
    let path = labels::bounds_of(member)?;
    let bounds = dimension
        .members
        .iter()
        .find(|member| member.path == path)?;
    (bounds.array.rank() == 2 && bounds.axis == 0).then_some(&bounds.path)
}

pub(super) fn lcm(a: u64, b: u64) -> Option<u64> {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1))
        .checked_mul(b)
        .filter(|lcm| i64::try_from(*lcm).is_ok())
}
