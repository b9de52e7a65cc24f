//! A fixed rate of rounds, so that a busy machine does not change what a soak measures.

use std::time::Duration;

use anyhow::ensure;

/// The moments at which rounds begin: multiples of one period after the start.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    period: Duration,
    /// The period whose beginning is next.
    next: u32,
    missed: u64,
}

impl Pace {
    /// A pace of so many rounds a second.
    ///
    /// # Errors
    /// If the rate is not between one round a day and a thousand a second.
    pub fn new(rate: f64) -> anyhow::Result<Self> {
        const A_DAY: f64 = 1.0 / 86400.0;
        ensure!(
            (A_DAY..=1000.0).contains(&rate),
            "a rate of {rate} rounds a second cannot be kept: give one from {A_DAY:.6} to 1000"
        );
        Ok(Self {
            period: Duration::try_from_secs_f64(rate.recip())?,
            next: 0,
            missed: 0,
        })
    }

    /// Returns how long to wait for the next round, so long after the start. A round may begin late in its own period. Those
    /// whose period has passed are left out, and counted: made up for, they would be a burst that a quiet machine never has.
    pub fn wait(&mut self, elapsed: Duration) -> Duration {
        let passed = elapsed.as_nanos() / self.period.as_nanos().max(1);
        let at = u32::try_from(passed).unwrap_or(u32::MAX).max(self.next);
        self.missed += u64::from(at - self.next);
        self.next = at.saturating_add(1);
        (self.period.saturating_mul(at)).saturating_sub(elapsed)
    }

    /// Returns how many rounds were left out.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn rounds_begin_at_multiples_of_a_period_however_long_they_take() {
        let mut pace = Pace::new(2.0).unwrap();
        assert_eq!(pace.wait(Duration::ZERO), Duration::ZERO);
        assert_eq!(pace.wait(millis(30)), millis(470));
        assert_eq!(pace.wait(millis(999)), millis(1));
        assert_eq!(pace.wait(millis(1001)), millis(499));
        assert_eq!(pace.missed(), 0);
    }

    #[test]
    fn a_round_that_takes_long_makes_others_miss() {
        let mut pace = Pace::new(2.0).unwrap();
        assert_eq!(pace.wait(Duration::ZERO), Duration::ZERO);
        // The round at 500 milliseconds is left out, and that at 1000 is late.
        assert_eq!(pace.wait(millis(1100)), Duration::ZERO);
        assert_eq!(pace.missed(), 1);
        assert_eq!(pace.wait(millis(1300)), millis(200));
        assert_eq!(pace.missed(), 1);
    }

    #[test]
    fn a_rate_is_a_positive_number() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9, 1e9] {
            assert!(Pace::new(rate).is_err(), "{rate}");
        }
    }
}
