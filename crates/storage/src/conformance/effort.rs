//! How much the cases do that can do more or less.

use std::time::Duration;

/// How much the cases do that can do more or less.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Tasks in a race.
    pub racers: usize,
    /// Races of each kind.
    pub rounds: usize,
    /// Objects in a long list; more than 1000, or the second page stays untried.
    pub many: usize,
    /// Bytes of a large object.
    pub large: usize,
    /// When a case is given up as hanging.
    pub patience: Duration,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            racers: 32,
            rounds: 50,
            many: 2100,
            large: 8 << 20,
            patience: Duration::from_secs(300),
        }
    }
}

impl Effort {
    /// Returns the effort for a store on which each request takes milliseconds.
    pub fn slow() -> Self {
        Self {
            racers: 8,
            rounds: 5,
            many: 1010,
            large: 6 << 20,
            ..Self::default()
        }
    }
}
