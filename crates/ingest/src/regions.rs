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

    /// Returns the box of a chunk, whole, by its place in the grid.
    pub(crate) fn of_chunk(place: &[u64], chunk_shape: &[u64]) -> Self {
        let start = place.iter().zip(chunk_shape);
        let start = start.map(|(at, chunk)| at * chunk).collect();
        Self::new(start, chunk_shape.to_vec())
    }

    /// Returns all places in the box, the last dimension fastest.
    pub(crate) fn places(&self) -> impl Iterator<Item = Vec<u64>> {
        places(&self.shape).map(|mut place| {
            let starts = place.iter_mut().zip(&self.start);
            starts.for_each(|(at, start)| *at += start);
            place
        })
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

    /// Returns the intersection of two boxes; `None` if it is empty.
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

    /// Returns the box with its first element at another place along an axis.
    pub(crate) fn moved(&self, axis: usize, forth: u64, back: u64) -> Self {
        let mut moved = self.clone();
        moved.start[axis] = (moved.start[axis] + forth).saturating_sub(back);
        moved
    }

    /// Returns the box of chunks in which elements of the box lie.
    pub(crate) fn chunks(&self, chunk_shape: &[u64]) -> Self {
        let (mut start, mut shape) = (Vec::new(), Vec::new());
        for (at, chunk) in chunk_shape.iter().enumerate() {
            let first = self.start[at] / chunk;
            let end = (self.start[at] + self.shape[at]).div_ceil(*chunk);
            start.push(first);
            shape.push(end - first);
        }
        Self { start, shape }
    }

    /// The runs of consecutive elements of a part of the box: the first of each by its number in the box, and how many.
    pub(crate) fn runs(&self, part: &Self) -> (Vec<usize>, usize) {
        let mut firsts = Vec::new();
        let length = each_run(part, [self, self], |first, _, _| firsts.push(first));
        (firsts, length)
    }

    /// The number of an element of the box.
    fn number(&self, element: &[u64]) -> u64 {
        let mut number = 0;
        for (at, length) in self.shape.iter().enumerate() {
            number = number * length + element[at].saturating_sub(self.start[at]);
        }
        number
    }
}

/// Calls with the number of the first element, in each of two boxes, of each run of consecutive elements of a part of both,
/// and with the length of the runs, which it returns.
fn each_run(part: &Region, boxes: [&Region; 2], mut run: impl FnMut(usize, usize, usize)) -> usize {
    let mut outer = part.shape.len();
    let mut length = 1;
    // Dimensions that the part fills in both boxes belong to one run.
    while outer > 0 {
        outer -= 1;
        length *= part.shape[outer];
        if boxes.iter().any(|of| of.shape[outer] != part.shape[outer]) {
            break;
        }
    }
    let counts = &part.shape[..outer];
    if counts.contains(&0) || length == 0 {
        return length as usize;
    }
    let mut element = part.start.clone();
    loop {
        let [one, other] = boxes.map(|of| of.number(&element) as usize);
        run(one, other, length as usize);
        let next = (0..outer)
            .rev()
            .find(|at| element[*at] + 1 < part.start[*at] + counts[*at]);
        let Some(at) = next else {
            return length as usize;
        };
        element[at] += 1;
        element[at + 1..outer].copy_from_slice(&part.start[at + 1..outer]);
    }
}

/// Returns the place with a number in a grid, the last dimension fastest.
pub(crate) fn place(number: u64, counts: &[u64]) -> Vec<u64> {
    let mut place = vec![0; counts.len()];
    let mut left = number;
    for (at, count) in counts.iter().enumerate().rev() {
        let count = (*count).max(1);
        place[at] = left % count;
        left /= count;
    }
    place
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
    let mut is_whole = true;
    each_run(part, [of, to], |source, target, length| {
        let (source, target, length) = (source * width, target * width, length * width);
        let source = from.get(source..source + length);
        let target = into.get_mut(target..target + length);
        match (source, target) {
            (Some(source), Some(target)) => target.clone_from_slice(source),
            _ => is_whole = false,
        }
    });
    match is_whole {
        true => Ok(()),
        false => Err("it has fewer elements than its shape says".to_owned()),
    }
}

/// Returns the product of lengths: the elements of a box, or the chunks of a grid; the largest number if it is larger.
pub(crate) fn product(lengths: &[u64]) -> u64 {
    lengths.iter().fold(1, |all, one| all.saturating_mul(*one))
}

/// Returns all places of a grid, the last dimension fastest.
pub(crate) fn places(counts: &[u64]) -> impl Iterator<Item = Vec<u64>> {
    let first = (!counts.contains(&0)).then(|| vec![0; counts.len()]);
    std::iter::successors(first, |place| {
        let mut axes = (0..counts.len()).rev();
        let at = axes.find(|at| place[*at] + 1 < counts[*at])?;
        let mut next = place.clone();
        next[at] += 1;
        next[at + 1..].fill(0);
        Some(next)
    })
}

/// Returns the coordinates of a chunk. A grid has at most `u32::MAX` chunks along a dimension.
pub(crate) fn chunk_index(place: &[u64]) -> Vec<u32> {
    place.iter().map(|at| *at as u32).collect()
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
        // Rows that both boxes have whole are one run.
        let (of, part) = (region(&[0, 0], &[3, 4]), region(&[1, 0], &[2, 4]));
        assert_eq!(of.runs(&part), (vec![4], 8));
        assert_eq!(of.runs(&region(&[1, 1], &[2, 3])), (vec![5, 9], 3));
        let (of, part) = (
            region(&[0, 0, 0], &[2, 3, 2]),
            region(&[0, 1, 0], &[2, 2, 2]),
        );
        assert_eq!(of.runs(&part), (vec![2, 8], 4));
    }

    #[test]
    fn boxes_lie_in_boxes_of_chunks() {
        let chunks = region(&[3, 8], &[4, 4]).chunks(&[2, 4]);
        assert_eq!(chunks, region(&[1, 2], &[3, 1]));
        assert_eq!(
            region(&[3, 8], &[4, 4]).moved(1, 2, 5),
            region(&[3, 5], &[4, 4])
        );
        assert_eq!(
            (place(0, &[2, 3]), place(5, &[2, 3])),
            (vec![0, 0], vec![1, 2])
        );
        assert_eq!(place(0, &[]), Vec::<u64>::new());
    }

    #[test]
    fn grids_are_walked_in_order() {
        let all: Vec<_> = places(&[2, 2]).collect();
        assert_eq!(all, [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(places(&[3, 0]).count(), 0);
        assert_eq!(places(&[]).collect::<Vec<_>>(), [Vec::<u64>::new()]);
        let inside: Vec<_> = region(&[5, 1], &[2, 1]).places().collect();
        assert_eq!(inside, [[5, 1], [6, 1]]);
    }
}
