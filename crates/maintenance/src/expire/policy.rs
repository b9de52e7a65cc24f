//! The rules by which snapshots of a history stay.

use std::collections::BTreeSet;
use std::time::SystemTime;

use icefield_format::SnapshotId;
use icefield_refs::micros_of_time;
use serde::Serialize;

/// Microseconds of an hour.
const HOUR: u64 = 3600 * 1_000_000;
/// Microseconds of a day.
const DAY: u64 = 24 * HOUR;

/// Why a snapshot stays, how many such there may be, and the number of the period of a time.
type Period = (Reason, u64, fn(u64) -> u64);

/// The reason why a snapshot stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// The snapshot is the first of the repository.
    First,
    /// A branch or tag that stays points to it.
    Ref,
    /// The snapshot is not older than the bound.
    Young,
    /// The snapshot is one of the newest of a branch.
    Last,
    /// The snapshot is the newest of an hour.
    Hourly,
    /// The snapshot is the newest of a day.
    Daily,
    /// The snapshot is the newest of a week.
    Weekly,
    /// The snapshot is the newest of a month.
    Monthly,
    /// The snapshot is the newest of a year.
    Yearly,
    /// The snapshot is in the history of a branch to which the expiration does not apply, or in that of no branch to
    /// which it does.
    NotAsked,
    /// A descendant keeps its parent, because its changes since an older snapshot are not known. This is known only
    /// after an attempt.
    Stuck,
}

/// The rules for the snapshots that stay: a snapshot that any rule keeps stays, and the others are released.
///
/// Whatever the rules, the first snapshot stays, and so do those that branches and tags point to. Numbers of snapshots
/// are counted along each branch, newest first. *Hourly* keeps the newest snapshot of each of the last so many hours
/// *that have one*, and so on; hours, days, weeks (from Monday on), months and years are those of UTC, and a snapshot
/// lies in the one that its committer's clock showed. Hours without snapshots do not count, so that a branch at rest
/// loses nothing by the mere passing of time.
///
/// ```
/// use icefield_maintenance::Policy;
///
/// let mut policy = Policy::default();
/// assert!(!policy.has_rules());
/// (policy.last, policy.daily, policy.monthly) = (10, 30, 12);
/// assert!(policy.has_rules());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// The time, by their committers' clocks, before which snapshots may be released; `None` sets no such bound.
    pub older_than: Option<SystemTime>,
    /// The number of newest snapshots of each branch that stay.
    pub last: u64,
    /// The number of hours of which the newest snapshot stays.
    pub hourly: u64,
    /// The number of days of which the newest snapshot stays.
    pub daily: u64,
    /// The number of weeks of which the newest snapshot stays.
    pub weekly: u64,
    /// The number of months of which the newest snapshot stays.
    pub monthly: u64,
    /// The number of years of which the newest snapshot stays.
    pub yearly: u64,
}

impl Policy {
    /// Returns whether there is any rule. Without one, every snapshot would be released, and [`Expire`](crate::Expire)
    /// refuses.
    #[must_use]
    pub fn has_rules(&self) -> bool {
        self.older_than.is_some() || self.last > 0 || self.periods().iter().any(|it| it.1 > 0)
    }

    /// Returns whether a time, in microseconds since 1970, is older than the bound.
    pub(super) fn is_old(&self, micros: u64) -> bool {
        self.older_than
            .is_some_and(|bound| micros < micros_of_time(bound))
    }

    fn periods(&self) -> [Period; 5] {
        [
            (Reason::Hourly, self.hourly, |micros| micros / HOUR),
            (Reason::Daily, self.daily, |micros| micros / DAY),
            (Reason::Weekly, self.weekly, |micros| week(micros / DAY)),
            (Reason::Monthly, self.monthly, |micros| month(micros / DAY)),
            (Reason::Yearly, self.yearly, |micros| {
                month(micros / DAY) / 12
            }),
        ]
    }

    /// Tells `keep` which snapshots of a branch stay, and why. The history comes newest first, with microseconds since
    /// 1970.
    pub(super) fn count(
        &self,
        history: impl Iterator<Item = (SnapshotId, u64)>,
        mut keep: impl FnMut(SnapshotId, Reason),
    ) {
        let mut left = self.last;
        let mut periods = self.periods().map(|rule| (rule, BTreeSet::new()));
        for (id, micros) in history {
            if left > 0 {
                left -= 1;
                keep(id, Reason::Last);
            }
            let mut waiting = left > 0;
            for ((reason, number, period), seen) in &mut periods {
                // Seen, and not just the one before: clocks may have gone back.
                if (seen.len() as u64) < *number && seen.insert(period(micros)) {
                    keep(id, *reason);
                }
                waiting |= (seen.len() as u64) < *number;
            }
            if !waiting {
                break;
            }
        }
    }
}

/// The number of a week that begins on Monday. The first day of 1970 was a Thursday.
fn week(day: u64) -> u64 {
    (day + 3) / 7
}

/// The number of a month, 12 to a year, of a day since 1970.
fn month(day: u64) -> u64 {
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    // 400 years have the same number of days, whenever they begin.
    const DAYS_OF_400_YEARS: u64 = 146_097;
    let mut year = 1970 + 400 * (day / DAYS_OF_400_YEARS);
    let mut day = day % DAYS_OF_400_YEARS;
    loop {
        let days = 365 + u64::from(is_leap(year));
        if day < days {
            break;
        }
        day -= days;
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    for length in lengths {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    12 * year + month
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_lie_in_the_right_weeks_and_months() {
        // Days since 1970, year, month from 0.
        for (day, year, of_year) in [
            (0, 1970, 0),
            (30, 1970, 0),
            (31, 1970, 1),
            (364, 1970, 11),
            (365, 1971, 0),
            (11_015, 2000, 1),  // 28 February
            (11_016, 2000, 1),  // 29 February
            (11_017, 2000, 2),  // 1 March
            (16_436, 2015, 0),  // 1 January
            (19_782, 2024, 1),  // 29 February
            (20_778, 2026, 10), // 21 November
            (47_540, 2100, 1),  // 28 February: not a leap year
            (47_541, 2100, 2),
            (146_097, 2370, 0),
        ] {
            assert_eq!(month(day), 12 * year + of_year, "{day}");
        }
        // A Sunday and the Monday after it.
        assert_eq!(week(3), week(0));
        assert_eq!(week(4), week(3) + 1);
        assert_eq!(week(10), week(4));
        assert_eq!(week(11), week(4) + 1);
    }
}
