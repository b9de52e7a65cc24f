//! Bounds of labels: the cells of an axis.

use icefield_zarr_store::Elements;

use super::numbers::{NumberKind, Numbers};
use crate::blocks::Block;
use crate::dimension::Member;

/// The cells of an axis as they were: for each label two numbers.
pub(crate) struct Cells {
    kind: NumberKind,
    /// How far the two lie from their label, the same for all.
    offsets: (f64, f64),
}

impl Cells {
    /// Of bounds that lie as far from their label everywhere, but for the first `hidden`.
    pub(crate) fn of(bounds: &Member, block: &Block, labels: &[f64], hidden: u64) -> Option<Self> {
        let kind = NumberKind::of(&bounds.json)?;
        let ([_, 2], Elements::Fixed(bytes)) = (&block.shape[..], &block.elements) else {
            return None;
        };
        let all = kind.read(bytes).as_floats();
        let pairs = all.chunks_exact(2).zip(labels);
        let offsets = pairs.map(|(pair, label)| (pair[0] - label, pair[1] - label));
        let mut offsets = offsets.skip(usize::try_from(hidden).ok()?);
        let (low, high) = offsets.next()?;
        let is_close = |a: f64, b: f64| (a - b).abs() <= (high - low).abs() * 1e-6;
        let is_even = offsets.all(|(a, b)| is_close(a, low) && is_close(b, high));
        is_even.then_some(Self {
            kind,
            offsets: (low, high),
        })
    }

    /// Puts the bounds of some labels into a block; `None` if its type cannot hold them.
    pub(crate) fn put(
        &self,
        block: &mut Block,
        labels: &[f64],
        new: std::ops::Range<u64>,
    ) -> Option<()> {
        let Elements::Fixed(bytes) = &mut block.elements else {
            return None;
        };
        for at in new {
            let label = *labels.get(usize::try_from(at).ok()?)?;
            for (place, value) in [
                (2 * at, label + self.offsets.0),
                (2 * at + 1, label + self.offsets.1),
            ] {
                let number = match self.kind {
                    NumberKind::Float(_) => Numbers::Float(vec![value]),
                    _ if value.fract() == 0.0 => Numbers::Whole(vec![value as i128]),
                    _ => return None,
                };
                let number = self.kind.write(&number)?;
                let start = place as usize * self.kind.width();
                bytes
                    .get_mut(start..start + number.len())?
                    .copy_from_slice(&number);
            }
        }
        Some(())
    }
}
