//! Count, extremes, mean and standard deviation, of any number of numbers.

use crate::numbers::Number;

/// The count, the extremes, the mean and the spread of some numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The number of elements that are not missing.
    pub count: u64,
    /// The number of elements that stand for "missing", or are NaN.
    pub missing: u64,
    /// The least number; `None` if all are missing, as for the other fields.
    pub minimum: Option<Number>,
    /// The mean.
    pub mean: Option<f64>,
    /// The largest number.
    pub maximum: Option<Number>,
    /// The standard deviation of the population: the sum of squares is divided by the count.
    pub standard_deviation: Option<f64>,
}

/// A sum whose rounding errors are added up, too.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    fn add(&mut self, number: f64) {
        let sum = self.sum + number;
        if sum.is_finite() {
            self.lost += match self.sum.abs() >= number.abs() {
                true => (self.sum - sum) + number,
                false => (number - sum) + self.sum,
            };
        }
        self.sum = sum;
    }

    fn total(self) -> f64 {
        self.sum + self.lost
    }
}

/// A summary that is being made.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Accumulator {
    count: u64,
    missing: u64,
    extremes: Option<(Number, Number)>,
    /// The first number: sums are of distances to it, so that large numbers that differ little keep their digits.
    origin: f64,
    distances: Sum,
    squares: Sum,
}

impl Accumulator {
    pub(super) fn add(&mut self, number: Option<Number>) {
        let Some(number) = number else {
            self.missing += 1;
            return;
        };
        let value = number.to_f64();
        if self.count == 0 {
            self.origin = if value.is_finite() { value } else { 0.0 };
        }
        self.count += 1;
        self.extremes = Some(match self.extremes {
            None => (number, number),
            Some((least, largest)) => (least.min(number), largest.max(number)),
        });
        let distance = value - self.origin;
        self.distances.add(distance);
        self.squares.add(distance * distance);
    }

    /// Adds up what two say.
    pub(super) fn merged(self, other: Self) -> Self {
        let (mut into, from) = match self.count >= other.count {
            true => (self, other),
            false => (other, self),
        };
        into.missing = self.missing + other.missing;
        if from.count == 0 {
            return into;
        }
        into.count += from.count;
        into.extremes = match (into.extremes, from.extremes) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        // Sum of (x - o)^2 with x - o = (x - p) + (p - o).
        let shift = from.origin - into.origin;
        let (count, distances) = (from.count as f64, from.distances.total());
        into.distances.add(distances);
        into.distances.add(shift * count);
        into.squares.add(from.squares.total());
        into.squares.add(2.0 * shift * distances);
        into.squares.add(shift * shift * count);
        into
    }

    pub(super) fn summary(&self) -> Summary {
        let count = self.count as f64;
        let mean = self.distances.total() / count;
        let variance = self.squares.total() / count - mean * mean;
        // Rounding may leave a little less than nothing; NaN stays.
        let variance = if variance < 0.0 { 0.0 } else { variance };
        Summary {
            count: self.count,
            missing: self.missing,
            minimum: self.extremes.map(|(least, _)| least),
            mean: (self.count > 0).then_some(self.origin + mean),
            maximum: self.extremes.map(|(_, largest)| largest),
            standard_deviation: (self.count > 0).then(|| variance.sqrt()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: &[f64]) -> Accumulator {
        let mut all = Accumulator::default();
        for number in numbers {
            all.add((!number.is_nan()).then_some(Number::Real(*number)));
        }
        all
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let numbers: Vec<f64> = (0..1000).map(|at| 1e9 + f64::from(at * at % 97)).collect();
        let whole = of(&numbers).summary();
        let parts = numbers
            .chunks(77)
            .map(of)
            .fold(of(&[]), Accumulator::merged)
            .summary();
        let mean = numbers.iter().map(|it| it - 1e9).sum::<f64>() / 1000.0;
        let squares = numbers
            .iter()
            .map(|it| (it - 1e9 - mean).powi(2))
            .sum::<f64>();
        for found in [whole, parts] {
            assert_eq!((found.count, found.missing), (1000, 0));
            assert!(
                (found.mean.expect("numbers") - 1e9 - mean).abs() < 1e-6,
                "{found:?}"
            );
            let deviation = found.standard_deviation.expect("numbers");
            assert!(
                (deviation - (squares / 1000.0).sqrt()).abs() < 1e-9,
                "{found:?}"
            );
        }
    }

    #[test]
    fn missing_numbers_count_apart() {
        let summary = of(&[f64::NAN, 2.0, f64::NAN]).summary();
        assert_eq!((summary.count, summary.missing), (1, 2));
        assert_eq!(summary.standard_deviation, Some(0.0));
        let nothing = of(&[f64::NAN]).merged(of(&[f64::NAN])).summary();
        assert_eq!(
            (nothing.missing, nothing.mean, nothing.minimum),
            (2, None, None)
        );
    }

    #[test]
    fn infinities_are_numbers() {
        let summary = of(&[1.0, f64::INFINITY]).summary();
        assert_eq!(summary.maximum, Some(Number::Real(f64::INFINITY)));
        assert_eq!(summary.mean, Some(f64::INFINITY));
        assert!(summary.standard_deviation.expect("numbers").is_nan());
    }
}
