//! The cells of an image, and their pixels.

use super::axis;
use super::colours::{Rgb, Scale};
use super::drawing::Drawing;

/// A rectangle of pixels: its upper left corner and its lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) left: i32,
    pub(crate) top: i32,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// Colours in rows, from the upper left corner on.
#[derive(Clone, Debug)]
pub(super) struct Raster {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) colours: Vec<Rgb>,
}

impl Raster {
    /// Returns the numbers of an image as they are drawn, from the upper left corner on; none of a line.
    pub(super) fn numbers(drawing: &Drawing) -> Option<(usize, Vec<f64>)> {
        let rows = drawing.rows.as_ref()?;
        let columns = &drawing.columns;
        let (begins_below, falls) = (axis::begins_below(rows), axis::falls(columns));
        let mut numbers = Vec::with_capacity(drawing.numbers.len());
        for row in 0..rows.count {
            let row = match begins_below {
                true => rows.count - 1 - row,
                false => row,
            };
            let row = &drawing.numbers[row * columns.count..(row + 1) * columns.count];
            match falls {
                true => numbers.extend(row.iter().rev()),
                false => numbers.extend(row),
            }
        }
        Some((columns.count, numbers))
    }

    /// Returns a colour for each cell of an image; none of a line.
    pub(super) fn cells(drawing: &Drawing) -> Option<Self> {
        let (width, numbers) = Self::numbers(drawing)?;
        Some(Self {
            width,
            height: numbers.len() / width.max(1),
            colours: numbers
                .into_iter()
                .map(|it| drawing.scale.colour(it))
                .collect(),
        })
    }

    /// Returns a column of the colours of a scale, the greatest number at the top.
    pub(super) fn bar(scale: &Scale, height: usize) -> Self {
        let last = height.saturating_sub(1).max(1) as f64;
        let places = (0..height).map(|row| 1.0 - row as f64 / last);
        Self {
            width: 1,
            height,
            colours: places.map(|place| scale.at(place)).collect(),
        }
    }

    /// Returns the colour at a pixel of a frame that the raster fills.
    pub(super) fn colour(&self, frame: Frame, column: usize, row: usize) -> Rgb {
        let cell = |pixel: usize, pixels: usize, cells: usize| {
            (pixel * cells / pixels.max(1)).min(cells.saturating_sub(1))
        };
        let column = cell(column, frame.width, self.width);
        let row = cell(row, frame.height, self.height);
        self.colours[row * self.width + column]
    }
}

/// Returns the pixels of a cell in both directions, so that all cells fill the room, or have one pixel each. Cells are square,
/// unless that would make one side of the image more than four times the other.
pub(super) fn magnification(cells: [usize; 2], room: [usize; 2]) -> [usize; 2] {
    let fits = |at: usize| (room[at] / cells[at].max(1)).max(1);
    let [across, down] = [fits(0), fits(1)];
    match cells[0] <= 4 * cells[1] && cells[1] <= 4 * cells[0] {
        true => [across.min(down); 2],
        false => [across, down],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_square_unless_the_image_is_a_strip() {
        assert_eq!(magnification([3, 2], [900, 700]), [300, 300]);
        assert_eq!(magnification([362, 332], [900, 700]), [2, 2]);
        assert_eq!(magnification([1000, 700], [900, 700]), [1, 1]);
        assert_eq!(magnification([100, 3], [900, 700]), [9, 233]);
        assert_eq!(magnification([1, 500], [80, 40]), [80, 1]);
    }

    #[test]
    fn pixels_have_the_colours_of_their_cells() {
        let colours: Vec<Rgb> = (0..6).map(|at| [at; 3]).collect();
        let raster = Raster {
            width: 3,
            height: 2,
            colours,
        };
        let frame = Frame {
            left: 0,
            top: 0,
            width: 6,
            height: 4,
        };
        let row = |row| [0, 1, 2, 3, 4, 5].map(|column| raster.colour(frame, column, row)[0]);
        assert_eq!(row(0), [0, 0, 1, 1, 2, 2]);
        assert_eq!(row(3), [3, 3, 4, 4, 5, 5]);
    }
}
