//! The counts of a campaign.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

use serde::Serialize;

/// Counts of a campaign, or of a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// Repositories that were judged.
    pub judged: u64,
    /// Processes that died by SIGKILL.
    pub kills: u64,
    /// Those of them that stopped at a chosen system call.
    pub stopped_at_calls: u64,
    /// System calls at which processes stopped, by their names.
    pub calls: BTreeMap<String, u64>,
    /// Commits that were acknowledged to a writer.
    pub acknowledged: u64,
    /// Commits in the histories, without the first two of each.
    pub landed: u64,
    /// Attempts that were refused because another commit was first.
    pub refused: u64,
    /// Commits whose outcome was unknown at first.
    pub unknown: u64,
    /// Those of them whose writer gave up asking.
    pub unresolved: u64,
    /// Errors of a store that may fail.
    pub failed: u64,
    /// Requests that a fault met on their way.
    pub faults: u64,
    /// Snapshots that readers read whole.
    pub reads: u64,
    /// Collections that ended.
    pub collections: u64,
    /// Objects that they deleted.
    pub deleted: u64,
    /// Acknowledged commits that a history does not have.
    pub lost: u64,
    /// Writes that a history has twice, or commits that were acknowledged twice.
    pub doubled: u64,
    /// Everything else that is not as it must be.
    pub broken: u64,
}

impl Figures {
    /// Returns whether every promise was kept.
    #[must_use]
    pub fn are_clean(&self) -> bool {
        self.lost + self.doubled + self.broken == 0
    }

    /// Counts what a process said.
    pub fn count(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "acknowledged" => self.acknowledged += 1,
            "refused" => self.refused += 1,
            "unknown" => self.unknown += 1,
            "unresolved" => self.unresolved += 1,
            "failed" => self.failed += 1,
            "read" => self.reads += 1,
            "broken" => self.broken += 1,
            "deleted" => {
                self.collections += 1;
                self.deleted += rest.parse::<u64>().unwrap_or_default();
            }
            "stopped" => {
                self.stopped_at_calls += 1;
                *self.calls.entry(rest.to_owned()).or_default() += 1;
            }
            _ => {}
        }
    }
}

impl AddAssign<&Self> for Figures {
    fn add_assign(&mut self, other: &Self) {
        self.judged += other.judged;
        self.kills += other.kills;
        self.stopped_at_calls += other.stopped_at_calls;
        for (name, count) in &other.calls {
            *self.calls.entry(name.clone()).or_default() += count;
        }
        self.acknowledged += other.acknowledged;
        self.landed += other.landed;
        self.refused += other.refused;
        self.unknown += other.unknown;
        self.unresolved += other.unresolved;
        self.failed += other.failed;
        self.faults += other.faults;
        self.reads += other.reads;
        self.collections += other.collections;
        self.deleted += other.deleted;
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.broken += other.broken;
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} kills ({} at system calls of {} kinds), {} commits acknowledged, {} lost, {} doubled, {} broken; {} unknown, \
             {} unresolved, {} refused, {} failed, {} faults; {} reads, {} collections deleted {}; {} repositories judged with {} commits",
            self.kills,
            self.stopped_at_calls,
            self.calls.len(),
            self.acknowledged,
            self.lost,
            self.doubled,
            self.broken,
            self.unknown,
            self.unresolved,
            self.refused,
            self.failed,
            self.faults,
            self.reads,
            self.collections,
            self.deleted,
            self.judged,
            self.landed,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_processes_say_is_counted() {
        let mut figures = Figures::default();
        for line in [
            "acknowledged",
            "deleted 7",
            "stopped rename",
            "failed to write",
            "held back",
        ] {
            figures.count(line);
        }
        let mut twice = figures.clone();
        twice += &figures;
        assert_eq!(
            (twice.acknowledged, twice.collections, twice.deleted),
            (2, 2, 14)
        );
        assert_eq!(
            (twice.failed, twice.stopped_at_calls, twice.calls["rename"]),
            (2, 2, 2)
        );
        assert!(twice.are_clean());
        twice.lost = 1;
        assert!(!twice.are_clean());
    }
}
