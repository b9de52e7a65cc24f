//! The mode of a benchmark: measure, or a short test.

use std::env;

/// The mode of a benchmark, told by the command line in the same way as criterion does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// To measure: `cargo bench`.
    Measure,
    /// To do something else with the same data: list the benchmarks, or run one under a profiler.
    Inspect,
    /// To find out whether it works: `cargo test --benches`, or `cargo bench -- --test`.
    Test,
}

impl Mode {
    /// Returns what the command line asks for.
    pub fn of_command_line() -> Self {
        let given = |wanted: &str| env::args().any(|argument| argument == wanted);
        if !given("--bench") || given("--test") {
            Self::Test
        } else if given("--list") || given("--profile-time") {
            Self::Inspect
        } else {
            Self::Measure
        }
    }

    /// Returns how much to do: all of it, or what a test needs.
    pub fn pick<T>(self, all: T, test: T) -> T {
        match self {
            Self::Measure | Self::Inspect => all,
            Self::Test => test,
        }
    }
}
