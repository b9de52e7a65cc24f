//! How often numbers of which size occur, found in one pass.

/// Intervals of a histogram, at most.
const INTERVALS: usize = 64;

/// Counts of numbers in intervals of one width.
///
/// The range is not known before the last number, so it grows by doubling the width: neighbours are added up, and no
/// number is looked at twice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// The lower end of the first interval.
    pub low: f64,
    /// The width of an interval.
    pub width: f64,
    /// The number of numbers in each interval.
    pub counts: Vec<u64>,
}

impl Histogram {
    /// Counts a number; those that are not finite belong to no interval.
    pub(super) fn add(&mut self, number: f64) {
        if !number.is_finite() {
            return;
        }
        if self.counts.is_empty() {
            self.counts = vec![0; INTERVALS];
            self.width = (number.abs() * 1e-9).max(1e-12);
            self.low = number - self.width * (INTERVALS / 2) as f64;
        }
        while number < self.low && self.widen(true) {}
        while number >= self.end() && self.widen(false) {}
        let interval = (number - self.low) / self.width;
        self.counts[(interval.max(0.0) as usize).min(INTERVALS - 1)] += 1;
    }

    fn end(&self) -> f64 {
        self.low + self.width * INTERVALS as f64
    }

    /// Doubles the width, with new intervals below or above. `false` where the range of floats ends.
    fn widen(&mut self, below: bool) -> bool {
        let length = self.width * INTERVALS as f64;
        let low = if below { self.low - length } else { self.low };
        if !(low.is_finite() && (low + 2.0 * length).is_finite()) {
            return false;
        }
        let half = INTERVALS / 2;
        let mut counts = vec![0; INTERVALS];
        for (at, count) in self.counts.iter().enumerate() {
            counts[at / 2 + if below { half } else { 0 }] += count;
        }
        (self.low, self.width, self.counts) = (low, self.width * 2.0, counts);
        true
    }

    /// Leaves out empty intervals at both ends; `None` if there is no number.
    pub(super) fn trimmed(mut self) -> Option<Self> {
        let first = self.counts.iter().position(|count| *count > 0)?;
        let last = self.counts.iter().rposition(|count| *count > 0)?;
        self.low += self.width * first as f64;
        self.counts = self.counts[first..=last].to_vec();
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(numbers: impl IntoIterator<Item = f64>) -> Option<Histogram> {
        let mut histogram = Histogram::default();
        for number in numbers {
            histogram.add(number);
        }
        histogram.trimmed()
    }

    #[test]
    fn every_finite_number_is_in_its_interval() {
        let numbers: Vec<f64> = (0..1000)
            .map(|at| f64::from(at * 7919 % 1000) - 300.0)
            .collect();
        let found = histogram(numbers.iter().copied().chain([f64::NAN, f64::INFINITY]));
        let found = found.expect("there are numbers");
        assert_eq!(found.counts.iter().sum::<u64>(), 1000);
        assert!(found.counts.len() > INTERVALS / 4, "{found:?}");
        for (at, count) in found.counts.iter().enumerate() {
            let low = found.low + found.width * at as f64;
            let inside = |it: &&f64| **it >= low && **it < low + found.width;
            assert_eq!(numbers.iter().filter(inside).count() as u64, *count, "{at}");
        }
    }

    #[test]
    fn extremes_of_the_range_end_nothing() {
        let found = histogram([0.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE]).expect("numbers");
        assert_eq!(found.counts.iter().sum::<u64>(), 4);
        assert_eq!(histogram([f64::NAN]), None);
        assert_eq!(histogram([5.0; 9]).expect("numbers").counts, [9]);
    }
}
