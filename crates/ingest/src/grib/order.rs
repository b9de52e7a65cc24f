//! The order in which the points of a plane come: the scanning mode, table 3.4.

use super::problem::GribProblem;

/// Points follow each other along columns, not rows.
const COLUMNS_FIRST: u8 = 0x20;
/// Every other line comes the other way.
const ALTERNATES: u8 = 0x10;
/// Rows or columns that lie between the others, or differ in length.
const STAGGERED: u8 = 0x0f;

/// How the points of a field lie in its array. Which way rows and columns go, the coordinates say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    columns: usize,
    rows: usize,
    is_by_columns: bool,
    alternates: bool,
}

impl Order {
    /// The order of points in one row.
    pub(super) const AS_THEY_ARE: Self = Self {
        columns: 0,
        rows: 0,
        is_by_columns: false,
        alternates: false,
    };

    pub(super) fn of(scanning: u8, columns: u32, rows: u32) -> Result<Self, GribProblem> {
        if scanning & STAGGERED != 0 {
            return Err(GribProblem::Unsupported {
                section: 3,
                what: "the scanning mode",
                value: scanning.into(),
            });
        }
        Ok(Self {
            columns: columns as usize,
            rows: rows as usize,
            is_by_columns: scanning & COLUMNS_FIRST != 0,
            alternates: scanning & ALTERNATES != 0,
        })
    }

    /// Returns the place in the array, row by row, of the point that comes at a place in the field.
    pub(super) fn place(self, at: usize) -> usize {
        let length = match self.is_by_columns {
            true => self.rows,
            false => self.columns,
        };
        if length == 0 || !(self.is_by_columns || self.alternates) {
            return at;
        }
        let (line, mut within) = (at / length, at % length);
        if self.alternates && line % 2 == 1 {
            within = length - 1 - within;
        }
        match self.is_by_columns {
            true => within * self.columns + line,
            false => line * length + within,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_come_in_every_order() {
        let places = |scanning| -> Vec<usize> {
            let order = Order::of(scanning, 3, 2).expect("it is read");
            (0..6).map(|at| order.place(at)).collect()
        };
        assert_eq!(places(0x00), [0, 1, 2, 3, 4, 5]);
        assert_eq!(places(0xc0), [0, 1, 2, 3, 4, 5]);
        assert_eq!(places(0x10), [0, 1, 2, 5, 4, 3]);
        assert_eq!(places(0x20), [0, 3, 1, 4, 2, 5]);
        assert_eq!(places(0x30), [0, 3, 4, 1, 2, 5]);
        assert!(Order::of(0x08, 3, 2).is_err());
        assert_eq!(Order::AS_THEY_ARE.place(7), 7);
    }
}
