//! How much the cases do that can do more or less.

use std::time::Duration;

/// The variable with the races of each kind that [`Effort::default`] asks for, in place of 50.
const ROUNDS: &str = "ICEFIELD_CONFORMANCE_ROUNDS";

/// How much the cases do that can do more or less.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Tasks in a race.
    pub racers: usize,
    /// Races of each kind. By default 50, or as many as the variable `ICEFIELD_CONFORMANCE_ROUNDS` says.
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
        let rounds = rounds(std::env::var(ROUNDS).ok().as_deref());
        Self {
            racers: 32,
            rounds,
            many: 2100,
            large: 8 << 20,
            patience: Duration::from_secs(300 * rounds.div_ceil(50) as u64),
        }
    }
}

/// Reads a number of rounds; one that cannot be read must not pass for a long run.
fn rounds(said: Option<&str>) -> usize {
    said.map_or(50, |said| match said.parse() {
        Ok(rounds) if rounds > 0 => rounds,
        _ => panic!("{ROUNDS} is {said:?}: give a number above zero"),
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_as_many_as_asked_for() {
        assert_eq!((rounds(None), rounds(Some("2000"))), (50, 2000));
        for wrong in ["", "0", "-1", "many"] {
            assert!(std::panic::catch_unwind(|| rounds(Some(wrong))).is_err());
        }
    }
}
