//! Boxes of elements, and copies between them.

/// A box of an array: the first element, and how many follow, per dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) start: Vec<u64>,
    pub(crate) shape: Vec<u64>,
}

impl Region {
    pub(crate) fn new(start: Vec<u64>, shape: Vec<u64>) -> Self {
        Self { start, shape }
    }

    /// Returns the number of elements; `None` if no memory could hold as many.
    #[cfg(feature = "codecs")]
    pub(crate) fn elements(&self) -> Option<usize> {
        let all = self
            .shape
            .iter()
            .try_fold(1_u64, |all, one| all.checked_mul(*one));
        usize::try_from(all?).ok()
    }

    /// What two boxes have in common; `None` if that is nothing.
    pub(crate) fn common(&self, other: &Self) -> Option<Self> {
        let (mut start, mut shape) = (Vec::new(), Vec::new());
        for at in 0..self.start.len() {
            let first = self.start[at].max(other.start[at]);
            let end = |region: &Self| region.start[at].saturating_add(region.shape[at]);
            let end = end(self).min(end(other));
            if first >= end {
                return None;
            }
            start.push(first);
            shape.push(end - first);
        }
        Some(Self { start, shape })
    }

    /// The runs of consecutive elements of a part of the box: the first of each by its number in the box, and how many.
    pub(crate) fn runs(&self, part: &Self) -> (Vec<usize>, usize) {
        let rank = self.shape.len();
        let Some(last) = rank.checked_sub(1) else {
            return (vec![0], 1);
        };
        let mut strides = vec![1_u64; rank];
        for at in (0..last).rev() {
            strides[at] = strides[at + 1].saturating_mul(self.shape[at + 1]);
        }
        let mut firsts = vec![0_u64];
        for (at, step) in strides.into_iter().enumerate() {
            let offset = part.start[at].saturating_sub(self.start[at]);
            let count = if at == last { 1 } else { part.shape[at] };
            firsts = firsts
                .iter()
                .flat_map(|first| (0..count).map(move |n| first + (offset + n) * step))
                .collect();
        }
        let firsts = firsts.into_iter().map(|it| it as usize).collect();
        (firsts, part.shape[last] as usize)
    }
}

/// Copies what two boxes have in common from one to the other; elements are `width` items of the slices each.
#[cfg(any(feature = "codecs", test))]
pub(crate) fn copy<T: Clone>(
    from: &[T],
    of: &Region,
    into: &mut [T],
    to: &Region,
    width: usize,
) -> Result<(), String> {
    match of.common(to) {
        Some(common) => copy_part(&common, (from, of), (into, to), width),
        None => Ok(()),
    }
}

/// Copies a part that two boxes have in common from one to the other.
pub(crate) fn copy_part<T: Clone>(
    part: &Region,
    (from, of): (&[T], &Region),
    (into, to): (&mut [T], &Region),
    width: usize,
) -> Result<(), String> {
    let (sources, length) = of.runs(part);
    let (targets, _) = to.runs(part);
    let short = || "it has fewer elements than its shape says".to_owned();
    let length = length * width;
    for (source, target) in sources.into_iter().zip(targets) {
        let (source, target) = (source * width, target * width);
        let source = from.get(source..source + length).ok_or_else(short)?;
        let target = into.get_mut(target..target + length).ok_or_else(short)?;
        target.clone_from_slice(source);
    }
    Ok(())
}

/// Calls with each place of a grid, the last dimension fastest, until one says no.
pub(crate) fn each<E>(
    counts: &[u64],
    mut visit: impl FnMut(&[u64]) -> Result<bool, E>,
) -> Result<(), E> {
    if counts.contains(&0) {
        return Ok(());
    }
    let mut place = vec![0; counts.len()];
    loop {
        if !visit(&place)? {
            return Ok(());
        }
        let Some(at) = (0..counts.len())
            .rev()
            .find(|at| place[*at] + 1 < counts[*at])
        else {
            return Ok(());
        };
        place[at] += 1;
        place[at + 1..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(start: &[u64], shape: &[u64]) -> Region {
        Region::new(start.to_vec(), shape.to_vec())
    }

    #[test]
    fn what_is_common_is_copied() {
        let from: Vec<u8> = (0..12).collect();
        let mut into = vec![99; 6];
        // Rows 1 and 2, columns 2 and 3, of three rows of four; into three rows of two that begin at row 0.
        let (of, to) = (region(&[0, 0], &[3, 4]), region(&[1, 2], &[3, 2]));
        copy(&from, &of, &mut into, &to, 1).expect("whole");
        assert_eq!(into, [6, 7, 10, 11, 99, 99]);
        assert!(copy(&from[..8], &of, &mut into, &to, 1).is_err());
        assert_eq!(of.common(&region(&[3, 0], &[1, 1])), None);
        let mut one = [0];
        copy(&[7], &region(&[], &[]), &mut one, &region(&[], &[]), 1).expect("a scalar");
        assert_eq!(one, [7]);
    }

    #[test]
    fn grids_are_walked_in_order() {
        let mut seen = Vec::new();
        each(&[2, 2], |place| {
            seen.push(place.to_vec());
            Ok::<_, ()>(seen.len() < 3)
        })
        .expect("no errors");
        assert_eq!(seen, [[0, 0], [0, 1], [1, 0]]);
        each::<()>(&[3, 0], |_| panic!("nothing is there")).expect("no errors");
    }
}
