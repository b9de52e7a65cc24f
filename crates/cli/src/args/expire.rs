//! `icefield expire`

use std::time::{Duration, SystemTime};

use clap::Args as ArgGroup;
use icefield::maintenance::Policy;
use icefield::{BranchName, Location};
use jiff::Timestamp;

use super::{Facts, in_full};

pub(crate) const EXPIRE: &str = "\
A snapshot stays if any rule keeps it; the first of the repository stays always, and what branches and tags point to.
WHEN is an age (30m, 12h, 30d, 8w) or a time (2026-01-01T00:00:00Z). PERIODS are hourly=24,daily=30,weekly=8,monthly=12,
yearly=5, or some of these: the last snapshot of each of the last so many hours (days, weeks from Monday on, months,
years, all of UTC) that have one, along each branch.

Nothing is freed yet: collection deletes what no history has any more.";

#[derive(Debug, ArgGroup)]
pub(crate) struct Expire {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// Let expire only what is older than this, by the committers' clocks.
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub(crate) older_than: Option<When>,
    /// Keep so many snapshots of each branch.
    #[arg(long, value_name = "N")]
    pub(crate) keep_last: Option<u64>,
    /// Keep snapshots by periods.
    #[arg(long, value_name = "PERIODS", value_parser = periods)]
    pub(crate) keep: Option<Policy>,
    /// Take snapshots from this branch alone (repeatable).
    #[arg(long, value_name = "NAME", value_parser = in_full(BranchName::parse))]
    pub(crate) branch: Vec<BranchName>,
    /// Delete branches whose last snapshot is older than the bound, but for main.
    #[arg(long, requires = "older_than")]
    pub(crate) delete_expired_branches: bool,
    /// Delete tags of snapshots older than the bound; their names stay taken.
    #[arg(long, requires = "older_than")]
    pub(crate) delete_expired_tags: bool,
    /// Show which snapshots would go and stay, and why; change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

/// A time, or an age at the moment of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Age(Duration),
    Time(SystemTime),
}

impl When {
    /// Returns the time that it stands for.
    pub(crate) fn at(self, now: SystemTime) -> SystemTime {
        match self {
            Self::Age(age) => now.checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH),
            Self::Time(time) => time,
        }
    }
}

fn when(text: &str) -> Result<When, String> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(When::Time(time.into()));
    }
    age(text).map(When::Age).map_err(|_| {
        format!(
            "{text:?} is neither an age, such as 12h, 30d or 8w, nor a time, such as 2026-01-01T00:00:00Z"
        )
    })
}

/// Reads an age, such as `12h`.
pub(super) fn age(text: &str) -> Result<Duration, String> {
    let wrong =
        || format!("{text:?} is no age: write a number and one of s, m, h, d, w, as in 12h");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 24 * 3600,
        'w' => 7 * 24 * 3600,
        _ => return Err(wrong()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    let seconds = number.checked_mul(seconds).ok_or_else(wrong)?;
    Ok(Duration::from_secs(seconds))
}

fn periods(text: &str) -> Result<Policy, String> {
    let mut policy = Policy::default();
    for part in text.split(',') {
        let wrong = || {
            format!(
                "{part:?} is no period: write hourly=24,daily=30,weekly=8,monthly=12,yearly=5, or some of these"
            )
        };
        let (name, number) = part.split_once('=').ok_or_else(wrong)?;
        let place = match name.trim() {
            "hourly" => &mut policy.hourly,
            "daily" => &mut policy.daily,
            "weekly" => &mut policy.weekly,
            "monthly" => &mut policy.monthly,
            "yearly" => &mut policy.yearly,
            _ => return Err(wrong()),
        };
        if *place > 0 {
            return Err(format!("{name} is there twice"));
        }
        *place = number.trim().parse().map_err(|_| wrong())?;
        if *place == 0 {
            return Err(wrong());
        }
    }
    Ok(policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_times_are_told_apart() {
        let hours = |hours: u64| When::Age(Duration::from_secs(3600 * hours));
        for (text, expected) in [
            ("12h", hours(12)),
            ("120m", hours(2)),
            ("30d", hours(30 * 24)),
            ("8w", hours(8 * 7 * 24)),
            ("0s", hours(0)),
            (
                "1970-01-01T01:00:00Z",
                When::Time(SystemTime::UNIX_EPOCH + Duration::from_secs(3600)),
            ),
        ] {
            assert_eq!(when(text).expect(text), expected);
        }
        for text in [
            "",
            "d",
            "12",
            "-3d",
            "1.5d",
            "30 d",
            "3y",
            "99999999999999999999d",
            "9999999999999999w",
            "ü",
            "yesterday",
        ] {
            assert!(when(text).is_err(), "{text}");
        }
        assert_eq!(
            hours(u64::MAX / 3600).at(SystemTime::UNIX_EPOCH),
            SystemTime::UNIX_EPOCH
        );
    }

    #[test]
    fn periods_are_named_with_their_numbers() {
        let policy = periods("hourly=24, weekly=8").expect("periods");
        assert_eq!((policy.hourly, policy.weekly, policy.daily), (24, 8, 0));
        for text in [
            "",
            "hourly",
            "hourly=",
            "hourly=x",
            "hourly=0",
            "minutely=3",
            "daily=1,daily=2",
            "daily=1,",
        ] {
            assert!(periods(text).is_err(), "{text}");
        }
    }
}
