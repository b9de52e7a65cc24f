//! The box around the refs of an array, which tells a search where to begin.

/// Arrays of fewer refs are searched by bisection: they are in the caches anyway.
const FEW: usize = 64;
/// Dimensions up to which interpolation works; no real array has more.
pub(super) const MAX_DIMENSIONS: usize = 8;

/// The box that the refs of one array span. The verifier finds it on its way over the refs.
#[derive(Debug, Clone, Copy)]
pub(super) struct RefBox {
    /// Position of the first item of the array's list of refs, which identifies the array.
    pub(super) start: usize,
    pub(super) low: [u32; MAX_DIMENSIONS],
    pub(super) high: [u32; MAX_DIMENSIONS],
}

impl RefBox {
    /// Returns an empty box, unless the array is searched without one.
    pub(super) fn new(start: usize, refs: usize) -> Option<Self> {
        let empty = Self {
            start,
            low: [u32::MAX; MAX_DIMENSIONS],
            high: [0; MAX_DIMENSIONS],
        };
        (refs >= FEW).then_some(empty)
    }

    /// Grows the box to hold an index, of which dimensions beyond the limit are ignored.
    #[inline]
    pub(super) fn include(&mut self, index: impl Iterator<Item = u32>) {
        for ((low, high), at) in self.low.iter_mut().zip(&mut self.high).zip(index) {
            *low = at.min(*low);
            *high = at.max(*high);
        }
    }
}
