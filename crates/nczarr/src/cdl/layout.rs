//! How the shape of a variable becomes rows and braces.

/// The shape of a variable, and which of its dimensions are unlimited.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The number of elements; of a scalar 1.
    pub elements: u64,
    /// The elements of a row, which is along the last dimension; of a scalar 1.
    pub row: u64,
    /// Whether there is more than one dimension, so that rows get lines of their own.
    pub has_rows: bool,
    /// For each unlimited dimension but the first: the elements of what braces hold, the outermost first.
    pub braces: Vec<u64>,
}

impl Layout {
    /// Returns the layout of a shape; `None` if its elements cannot be counted.
    pub(super) fn new(shape: &[u64], unlimited: &[bool]) -> Option<Self> {
        let count = |lengths: &[u64]| {
            if lengths.contains(&0) {
                return Some(0);
            }
            lengths
                .iter()
                .try_fold(1u64, |n, &length| n.checked_mul(length))
        };
        let elements = count(shape)?;
        let inner = (1..shape.len()).filter(|&at| unlimited[at]);
        let braces = inner.map(|at| count(&shape[at..])).collect::<Option<_>>()?;
        Some(Self {
            elements,
            row: shape.last().copied().unwrap_or(1),
            has_rows: shape.len() > 1,
            braces,
        })
    }

    /// Returns how many braces open before an element.
    pub(super) fn opening(&self, at: u64) -> usize {
        self.braces
            .iter()
            .filter(|&&n| at.is_multiple_of(n))
            .count()
    }

    /// Returns how many braces close behind an element.
    pub(super) fn closing(&self, at: u64) -> usize {
        self.braces.iter().filter(|&&n| at % n == n - 1).count()
    }
}
