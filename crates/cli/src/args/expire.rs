//! `icefield expire`

use std::time::{Duration, SystemTime};

use clap::Args as ArgGroup;
use icefield::maintenance::Policy;
use icefield::{BranchName, Location};
use jiff::Timestamp;

use super::common::OutputFormat;
use super::parse::with_causes;

pub(crate) const EXPIRE: &str = "\
A snapshot stays if any rule keeps it. The initial snapshot and the tips of branches and tags always stay.
WHEN is an age (30m, 12h, 30d, 8w) or a time (2026-01-01T00:00:00Z). PERIODS are hourly=24,daily=30,weekly=8,monthly=12,
yearly=5, or some of these. daily=30 keeps the last snapshot of each of the last 30 days that have one, along each branch;
hours, weeks (from Monday on), months and years count alike. All periods are in UTC.

Expiration frees no bytes: `icefield gc` deletes snapshots that no history has any more.";

#[derive(Debug, ArgGroup)]
pub(crate) struct Expire {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// Expire only snapshots older than this, by the clocks of the committers.
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub(crate) older_than: Option<ExpiryBound>,
    /// Keep the newest N snapshots of each branch.
    #[arg(long, value_name = "N")]
    pub(crate) keep_last: Option<u64>,
    /// Keep the last snapshot of each period.
    #[arg(long, value_name = "PERIODS", value_parser = periods)]
    pub(crate) keep: Option<Policy>,
    /// Expire snapshots of this branch only (repeatable).
    #[arg(long, value_name = "NAME", value_parser = with_causes(BranchName::parse))]
    pub(crate) branch: Vec<BranchName>,
    /// Delete branches other than main whose last snapshot is older than the bound.
    #[arg(long, requires = "older_than")]
    pub(crate) delete_expired_branches: bool,
    /// Delete tags of snapshots older than the bound; their names stay taken.
    #[arg(long, requires = "older_than")]
    pub(crate) delete_expired_tags: bool,
    /// Show which snapshots would expire and which would stay, and why; change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

/// A time, or an age relative to the time of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpiryBound {
    Age(Duration),
    Time(SystemTime),
}

impl ExpiryBound {
    /// Returns the bound as a time.
    pub(crate) fn at(self, now: SystemTime) -> SystemTime {
        match self {
            Self::Age(age) => now.checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH),
            Self::Time(time) => time,
        }
    }
}

fn when(text: &str) -> Result<ExpiryBound, String> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(ExpiryBound::Time(time.into()));
    }
    age(text).map(ExpiryBound::Age).map_err(|_| {
        format!(
            "{text:?} is neither an age, such as 12h, 30d or 8w, nor a time, such as 2026-01-01T00:00:00Z"
        )
    })
}

/// Parses an age, such as `12h`.
pub(super) fn age(text: &str) -> Result<Duration, String> {
    let wrong =
        || format!("{text:?} is not an age: write a number and one of s, m, h, d, w, as in 12h");
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
                "{part:?} is not a period: write hourly=24,daily=30,weekly=8,monthly=12,yearly=5, or some of these"
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
            return Err(format!("{name} is given twice"));
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
        let hours = |hours: u64| ExpiryBound::Age(Duration::from_secs(3600 * hours));
        for (text, expected) in [
            ("12h", hours(12)),
            ("120m", hours(2)),
            ("30d", hours(30 * 24)),
            ("8w", hours(8 * 7 * 24)),
            ("0s", hours(0)),
            (
                "1970-01-01T01:00:00Z",
                ExpiryBound::Time(SystemTime::UNIX_EPOCH + Duration::from_secs(3600)),
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
