//! Whether a process grew.

use serde::Serialize;

use super::sample::Sample;

/// The part of a soak that is not compared: caches fill, and the allocator settles.
pub const WARM_UP: f64 = 0.25;
/// How much more than early a process may have late, as a part of it.
const TOLERANCE: f64 = 0.05;

/// One thing that a process has, early and late.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// Its name.
    pub name: &'static str,
    /// The median of the first third of the samples.
    pub early: u64,
    /// The median of the last third.
    pub late: u64,
    /// The most of all samples.
    pub most: u64,
    /// Whether late is at most a twentieth more than early, or one more.
    pub is_flat: bool,
}

/// Compares the first third of some samples with the last third.
#[must_use]
pub fn growth(samples: &[Sample]) -> Vec<Growth> {
    let third = samples.len() / 3;
    let names = samples.first().map(Sample::values).into_iter().flatten();
    let of = |at: usize| samples.iter().map(move |sample| sample.values()[at].1);
    let grown = names.enumerate().map(|(at, (name, _))| {
        let early = median(of(at).take(third));
        let late = median(of(at).skip(samples.len() - third));
        Growth {
            name,
            early,
            late,
            most: of(at).max().unwrap_or_default(),
            is_flat: is_flat(early, late),
        }
    });
    grown.collect()
}

/// A count that is one larger may have been taken at another moment of a round.
fn is_flat(early: u64, late: u64) -> bool {
    late <= early + 1 || late as f64 <= early as f64 * (1.0 + TOLERANCE)
}

fn median(values: impl Iterator<Item = u64>) -> u64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(resident: impl Fn(u64) -> u64, descriptors: impl Fn(u64) -> u64) -> Vec<Sample> {
        let sample = |at| Sample {
            resident_kib: resident(at),
            descriptors: descriptors(at),
            threads: 4,
            tasks: 0,
        };
        (0..90).map(sample).collect()
    }

    fn grown(samples: &[Sample]) -> Vec<&'static str> {
        let all = growth(samples).into_iter();
        all.filter(|it| !it.is_flat).map(|it| it.name).collect()
    }

    #[test]
    fn what_goes_up_and_down_is_flat() {
        let samples = samples(|at| 50_000 + at % 7 * 300, |at| 12 + at % 3);
        assert_eq!(grown(&samples), [""; 0]);
        assert_eq!(growth(&samples)[1].most, 14);
    }

    #[test]
    fn a_leak_is_found_by_its_name() {
        let memory = samples(|at| 50_000 + at * 60, |_| 12);
        assert_eq!(grown(&memory), ["resident_kib"]);
        let descriptors = samples(|_| 50_000, |at| 12 + at / 20);
        assert_eq!(grown(&descriptors), ["descriptors"]);
        // What grew in the first third and fell again is none.
        assert_eq!(grown(&samples(|at| 60_000 - at * 60, |_| 12)), [""; 0]);
    }

    #[test]
    fn few_samples_make_no_verdict() {
        assert!(growth(&[]).is_empty());
    }
}
