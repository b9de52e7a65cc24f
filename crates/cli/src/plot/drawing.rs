//! The contents of a picture: numbers along one or two axes, their colours, and the texts beside them.

use icefield::ingest::{ArraySlice, SliceAxis};

use super::colours::{ColourMap, Scale};

/// A slice with the texts beside it.
#[derive(Debug)]
pub(crate) struct Drawing {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    /// The rows of an image; none of a line.
    pub(super) rows: Option<SliceAxis>,
    pub(super) columns: SliceAxis,
    pub(super) numbers: Vec<f64>,
    pub(super) units: String,
    pub(super) scale: Scale,
}

impl Drawing {
    /// Makes a drawing of a slice. `is_difference` chooses a diverging colour map around zero.
    pub(crate) fn new(
        slice: ArraySlice,
        [title, subtitle]: [String; 2],
        is_difference: bool,
        limits: Option<(f64, f64)>,
    ) -> Option<Self> {
        let map = match is_difference {
            true => ColourMap::Diverging,
            false => ColourMap::Sequential,
        };
        let mut axes = slice.axes;
        let columns = axes.pop()?;
        Some(Self {
            title,
            subtitle,
            rows: axes.pop(),
            columns,
            scale: Scale::new(map, limits, &slice.numbers),
            numbers: slice.numbers,
            units: slice.units.unwrap_or_default(),
        })
    }

    /// The numbers at the ends of the colour bar; `None` if all numbers are missing.
    pub(crate) fn limits(&self) -> Option<(f64, f64)> {
        self.scale.limits()
    }

    /// How many numbers are missing.
    pub(crate) fn missing(&self) -> usize {
        self.numbers.iter().filter(|number| number.is_nan()).count()
    }
}

#[cfg(test)]
pub(super) mod samples {
    use super::*;

    fn axis(name: &str, count: usize) -> SliceAxis {
        SliceAxis {
            name: name.to_owned(),
            length: count as u64,
            step: 1,
            count,
            coordinate: None,
        }
    }

    fn drawing(axes: Vec<SliceAxis>, numbers: &[f64]) -> Drawing {
        let slice = ArraySlice {
            shape: axes.iter().map(|axis| axis.length).collect(),
            units: Some("m".to_owned()),
            long_name: None,
            axes,
            fixed: Vec::new(),
            numbers: numbers.to_vec(),
            chunks: 1,
        };
        let titles = ["t".to_owned(), "s".to_owned()];
        Drawing::new(slice, titles, false, None).expect("axes")
    }

    /// An image with rows of so many cells.
    pub(in crate::plot) fn image_of(columns: usize, numbers: &[f64]) -> Drawing {
        let axes = vec![axis("r", numbers.len() / columns), axis("c", columns)];
        drawing(axes, numbers)
    }

    pub(in crate::plot) fn line_of(numbers: &[f64]) -> Drawing {
        drawing(vec![axis("c", numbers.len())], numbers)
    }
}
