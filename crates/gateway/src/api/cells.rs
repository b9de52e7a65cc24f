//! Cells: the chunks of a grid, or blocks of them where there are too many to show.

use icefield::ArrayMetadata;
use serde_json::{Value, json};

use super::values::ints;

/// Cells of one map.
const CELLS: u64 = 100_000;

/// A grid of chunks, divided into cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cells {
    grid: Vec<u32>,
    /// Chunks of a cell per dimension.
    cell: Vec<u32>,
}

impl Cells {
    pub(crate) fn of(grid: &[u32]) -> Self {
        let mut cells = Self {
            grid: grid.to_vec(),
            cell: vec![1; grid.len()],
        };
        while cells.count() > CELLS {
            let lengths = cells
                .grid
                .iter()
                .zip(&cells.cell)
                .map(|(all, one)| all.div_ceil(*one));
            let longest = lengths
                .enumerate()
                .max_by_key(|(at, length)| (*length, usize::MAX - at));
            let Some((longest, _)) = longest else { break };
            cells.cell[longest] = cells.cell[longest].saturating_mul(2);
        }
        cells
    }

    fn count(&self) -> u64 {
        let lengths = self.grid.iter().zip(&self.cell);
        lengths.fold(1, |all: u64, (length, one)| {
            all.saturating_mul(u64::from(length.div_ceil(*one)))
        })
    }

    /// Returns the cell of a chunk.
    pub(crate) fn of_chunk(&self, index: &[u32]) -> Vec<u32> {
        index
            .iter()
            .zip(&self.cell)
            .map(|(at, one)| at / one)
            .collect()
    }

    /// Returns the number of chunks of the grid.
    pub(crate) fn chunks(&self) -> u64 {
        self.grid
            .iter()
            .fold(1, |all: u64, one| all.saturating_mul(u64::from(*one)))
    }

    /// Describes the grid, beside what else a document says.
    pub(crate) fn describe(&self, document: &mut serde_json::Map<String, Value>) {
        document.insert("grid".to_owned(), json!(self.grid));
        document.insert("cell".to_owned(), json!(self.cell));
        let is_exact = self.cell.iter().all(|one| *one == 1);
        document.insert("exact".to_owned(), is_exact.into());
    }
}

/// Describes the shapes of an array.
pub(crate) fn describe_shapes(
    array: &ArrayMetadata,
    document: &mut serde_json::Map<String, Value>,
) {
    document.insert("shape".to_owned(), ints(&array.shape));
    document.insert("chunk_shape".to_owned(), ints(&array.chunk_shape));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_that_is_too_large_is_divided_along_its_longest_dimension() {
        assert_eq!(Cells::of(&[10, 100]).cell, [1, 1]);
        assert_eq!(Cells::of(&[]).cell, [0_u32; 0]);
        let large = Cells::of(&[1000, 1000]);
        assert_eq!(large.cell, [4, 4]);
        assert!(large.count() <= CELLS);
        assert_eq!(large.of_chunk(&[7, 999]), [1, 249]);
        assert!(Cells::of(&[u32::MAX, u32::MAX, u32::MAX]).count() <= CELLS);
    }
}
