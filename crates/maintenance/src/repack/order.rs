//! Orders of chunks. Pure.

use std::cmp::Ordering;

/// The order in which chunks are copied, which is their order in the packs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChunkOrder {
    /// The present order.
    #[default]
    AsWritten,
    /// By coordinates along these dimensions, the first one slowest: names, or numbers from 0 on. Other dimensions
    /// follow, in the order of the array.
    Dimensions(Vec<String>),
    /// Along a curve that fills space (Z order, of Morton): chunks that are near each other in all dimensions lie near each other.
    ZOrder,
}

/// The order of one array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ArrayOrder {
    /// The axes, the slowest first.
    Axes(Vec<usize>),
    ZOrder,
}

impl ArrayOrder {
    /// Returns the order of an array with these dimensions; none if chunks stay as they lie.
    pub(super) fn of(order: &ChunkOrder, dimensions: &[Option<&str>]) -> Option<Self> {
        let names = match order {
            ChunkOrder::AsWritten => return None,
            ChunkOrder::ZOrder => return Some(Self::ZOrder),
            ChunkOrder::Dimensions(names) => names,
        };
        let mut axes: Vec<usize> = Vec::with_capacity(dimensions.len());
        let named = names.iter().filter_map(|name| axis(name, dimensions));
        for axis in named.chain(0..dimensions.len()) {
            if !axes.contains(&axis) {
                axes.push(axis);
            }
        }
        Some(Self::Axes(axes))
    }

    pub(super) fn compare(&self, a: &[u32], b: &[u32]) -> Ordering {
        match self {
            Self::Axes(axes) => {
                let along = axes.iter().map(|axis| a.get(*axis).cmp(&b.get(*axis)));
                along
                    .into_iter()
                    .find(|it| it.is_ne())
                    .unwrap_or_else(|| a.cmp(b))
            }
            Self::ZOrder => z_order(a, b),
        }
    }
}

/// Returns the axis that a name, or a number, means.
pub(super) fn axis(name: &str, dimensions: &[Option<&str>]) -> Option<usize> {
    let named = dimensions.iter().position(|it| *it == Some(name));
    let number = || name.parse().ok().filter(|axis| *axis < dimensions.len());
    named.or_else(number)
}

/// The axis whose coordinates differ in the highest bit decides; of several such, the first.
fn z_order(a: &[u32], b: &[u32]) -> Ordering {
    let mut highest = 0;
    let mut order = Ordering::Equal;
    for (a, b) in a.iter().zip(b) {
        let differ = a ^ b;
        if highest < differ && highest < (highest ^ differ) {
            (highest, order) = (differ, a.cmp(b));
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(order: &ArrayOrder, mut indices: Vec<[u32; 2]>) -> Vec<[u32; 2]> {
        indices.sort_by(|a, b| order.compare(a, b));
        indices
    }

    fn square() -> Vec<[u32; 2]> {
        (0..2).flat_map(|a| (0..2).map(move |b| [a, b])).collect()
    }

    #[test]
    fn dimensions_are_named_or_numbered() {
        let dimensions = [Some("time"), None, Some("x")];
        let of = |names: &[&str]| {
            let names = names.iter().map(|it| (*it).to_owned()).collect();
            ArrayOrder::of(&ChunkOrder::Dimensions(names), &dimensions)
        };
        assert_eq!(of(&["x", "time"]), Some(ArrayOrder::Axes(vec![2, 0, 1])));
        assert_eq!(of(&["1"]), Some(ArrayOrder::Axes(vec![1, 0, 2])));
        assert_eq!(
            of(&["x", "2", "else"]),
            Some(ArrayOrder::Axes(vec![2, 0, 1]))
        );
        assert_eq!(ArrayOrder::of(&ChunkOrder::AsWritten, &dimensions), None);
        assert_eq!(axis("3", &dimensions), None);
    }

    #[test]
    fn the_first_axis_is_the_slowest() {
        let columns = sorted(&ArrayOrder::Axes(vec![1, 0]), square());
        assert_eq!(columns, [[0, 0], [1, 0], [0, 1], [1, 1]]);
        let rows = sorted(&ArrayOrder::Axes(vec![0, 1]), square());
        assert_eq!(rows, square());
    }

    /// The bits of both coordinates, one from each in turn.
    fn interleaved(index: &[u32]) -> u64 {
        let bit = |value: u32, at: u32| u64::from(value >> at & 1);
        (0..16).fold(0, |sum, at| {
            sum | bit(index[0], at) << (2 * at + 1) | bit(index[1], at) << (2 * at)
        })
    }

    #[test]
    fn the_curve_is_that_of_interleaved_bits() {
        let all: Vec<[u32; 2]> = (0..40).flat_map(|a| (0..40).map(move |b| [a, b])).collect();
        let mut expected = all.clone();
        expected.sort_by_key(|index| interleaved(index));
        assert_eq!(sorted(&ArrayOrder::ZOrder, all), expected);
    }
}
