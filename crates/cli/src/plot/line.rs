//! A line through the numbers of one dimension.

use super::axis;
use super::drawing::Drawing;
use super::numbers::round_numbers;
use super::raster::Frame;

/// Points of a line, from left to right.
#[derive(Debug)]
pub(super) struct Line {
    /// A height from 0 to 1; `None` where a number is missing or not finite.
    heights: Vec<Option<f64>>,
    low: f64,
    high: f64,
}

impl Line {
    pub(super) fn new(drawing: &Drawing) -> Self {
        let (low, high) = drawing.limits().unwrap_or((0.0, 1.0));
        let (low, high) = match low == high {
            // A flat line lies in the middle.
            true => (
                low - low.abs().max(1.0) / 2.0,
                high + high.abs().max(1.0) / 2.0,
            ),
            false => (low, high),
        };
        let height = |number: &f64| {
            let number = number.clamp(low, high);
            let height = (number / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
            height.is_finite().then_some(height)
        };
        let mut heights: Vec<Option<f64>> = drawing.numbers.iter().map(height).collect();
        if axis::falls(&drawing.columns) {
            heights.reverse();
        }
        Self { heights, low, high }
    }

    /// Returns marks of the upright axis, by pixels from the top.
    pub(super) fn ticks(&self, height: usize) -> Vec<(i32, String)> {
        let numbers = round_numbers(self.low, self.high, height / 50 + 1).into_iter();
        let last = height.saturating_sub(1) as f64;
        let place =
            |number: f64| (number / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0);
        numbers
            .map(|(number, label)| ((((1.0 - place(number)) * last).round()) as i32, label))
            .collect()
    }

    /// Returns the points in a frame, in runs without missing numbers.
    pub(super) fn runs(&self, frame: Frame) -> Vec<Vec<(i32, i32)>> {
        let count = self.heights.len().max(1) as f64;
        let last = frame.height.saturating_sub(1) as f64;
        let point = |(at, height): (usize, &Option<f64>)| {
            let across = ((at as f64 + 0.5) / count * frame.width as f64).floor();
            let down = (1.0 - (*height)?) * last;
            Some((frame.left + across as i32, frame.top + down.round() as i32))
        };
        let points: Vec<Option<(i32, i32)>> = self.heights.iter().enumerate().map(point).collect();
        let runs = points.split(Option::is_none).filter(|run| !run.is_empty());
        runs.map(|run| run.iter().flatten().copied().collect())
            .collect()
    }
}
