//! Comparing chunk indices and grids, which are counts of chunks per dimension.

/// Returns whether an index has the rank of a grid and lies within it.
pub(crate) fn within(index: &[u32], grid: &[u32]) -> bool {
    index.len() == grid.len() && index.iter().zip(grid).all(|(i, n)| i < n)
}

/// Returns whether a grid has the rank of another one, and is nowhere longer.
pub(crate) fn within_grid(grid: &[u32], other: &[u32]) -> bool {
    grid.len() == other.len() && grid.iter().zip(other).all(|(one, other)| one <= other)
}
