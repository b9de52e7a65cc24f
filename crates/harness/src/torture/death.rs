//! When a process is killed.

use std::time::Duration;

use icefield_storage::SeededEntropy;

/// The moment at which a process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// So long after it began.
    After(Duration),
    /// Behind the announcement of its operation of that number: in it, or close behind.
    Operation(u64),
    /// Before its system call of that number.
    SystemCall(u64),
    /// Not before the repository is given up.
    AtTheEnd,
}

/// Longest life, in milliseconds.
const LONGEST: u64 = 2_500;
/// Operations on the store, at most: some commits, or one collection.
const OPERATIONS: u64 = 160;
/// System calls, at most: some commits.
const CALLS: u64 = 900;

impl Death {
    /// Draws a death.
    #[must_use]
    pub fn draw(dice: &SeededEntropy, stops_at_calls: bool) -> Self {
        // Half of them at a system call, where that can be chosen: it is the finest grain.
        match dice.below(if stops_at_calls { 4 } else { 2 }) {
            0 => Self::After(Duration::from_millis(dice.below(LONGEST))),
            1 => Self::Operation(dice.below(OPERATIONS)),
            _ => Self::SystemCall(dice.below(CALLS)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_deaths_and_all_kinds() {
        let draw = |stops| {
            let dice = SeededEntropy::new(7);
            (0..64)
                .map(|_| Death::draw(&dice, stops))
                .collect::<Vec<_>>()
        };
        assert_eq!(draw(true), draw(true));
        let is_call = |death: &Death| matches!(death, Death::SystemCall(_));
        assert!(draw(true).iter().any(is_call) && !draw(false).iter().any(is_call));
        for stops in [true, false] {
            assert!(draw(stops).iter().any(|it| matches!(it, Death::After(_))));
            assert!(
                draw(stops)
                    .iter()
                    .any(|it| matches!(it, Death::Operation(_)))
            );
        }
    }
}
