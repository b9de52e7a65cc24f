//! Things found out beside criterion's tables.

use std::fmt;
use std::hint::black_box;
use std::time::Duration;

use icefield_storage::{Clock, SystemClock};
use rustix::time::{ClockId, clock_gettime};

/// Times measured for one thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// The least.
    pub best: Duration,
    /// The middle one.
    pub median: Duration,
}

impl Spread {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        match times.first() {
            Some(best) => Self {
                best: *best,
                median: times[times.len() / 2],
            },
            None => Self::default(),
        }
    }

    /// Tells how many times as long as another this took.
    pub fn over(&self, other: &Self) -> f64 {
        self.median.as_secs_f64() / other.median.as_secs_f64()
    }

    /// Tells the same of the least times, which other load disturbs less.
    pub fn best_over(&self, other: &Self) -> f64 {
        self.best.as_secs_f64() / other.best.as_secs_f64()
    }

    /// Returns the times of one of `count` equal parts.
    #[must_use]
    pub fn each_of(self, count: u32) -> Self {
        Self {
            best: self.best / count,
            median: self.median / count,
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1?} (best {:.1?})", self.median, self.best)
    }
}

/// Prints how one thing compares with a plain one that does the least.
pub fn fact_beside(
    subject: impl fmt::Display,
    (name, ours): (&str, Spread),
    (plain_name, plain): (&str, Spread),
    target: &str,
) {
    let (ratio, best) = (ours.over(&plain), ours.best_over(&plain));
    let both = format_args!("{name} {ours} : {plain_name} {plain}");
    fact(
        subject,
        format_args!("{both} = {ratio:.2} (best {best:.2}){target}"),
    );
}

/// Prints a fact.
pub fn fact(subject: impl fmt::Display, what: impl fmt::Display) {
    println!("fact: {subject}: {what}");
}

/// Returns the time that the processor spends on `work`, which must do all of it on this thread. Other
/// processes do not count, so that the time means something on a busy machine, too. What `work` returns is dropped
/// outside of that time.
pub fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = thread_time();
    let result = black_box(work());
    let time = thread_time() - start;
    drop(result);
    time
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}

/// Returns the time that passes during `work`. What it returns is dropped outside of that time.
pub fn elapsed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = SystemClock.monotonic();
    let result = black_box(work());
    let time = SystemClock.monotonic() - start;
    drop(result);
    time
}

/// Measures several things in turns, so that what else the machine does hits all of them alike.
pub fn medians<const N: usize>(
    rounds: usize,
    contestants: [&mut dyn FnMut() -> Duration; N],
) -> [Spread; N] {
    let mut times: [Vec<Duration>; N] = std::array::from_fn(|_| Vec::with_capacity(rounds));
    for round in 0..rounds {
        for turn in 0..N {
            // Another one is first in each round.
            let which = (round + turn) % N;
            times[which].push(contestants[which]());
        }
    }
    times.map(Spread::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_contestants_get_all_rounds() {
        let mut counts = [0; 2];
        let [one, two] = &mut counts;
        let spreads = medians(
            3,
            [
                &mut || {
                    *one += 1;
                    Duration::from_secs(*one)
                },
                &mut || {
                    *two += 1;
                    Duration::from_secs(1)
                },
            ],
        );
        assert_eq!(counts, [3, 3]);
        assert_eq!(spreads[0].median, Duration::from_secs(2));
        assert_eq!(spreads[0].over(&spreads[1]), 2.0);
        assert_eq!(spreads[0].best_over(&spreads[1]), 1.0);
    }
}
