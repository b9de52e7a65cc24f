//! Interrupts a scenario at each storage operation in each way, and checks what is left, what a user does
//! next, and what is left then.
//!
//! A [`Scenario`] is a few [`Step`]s, each of which a user sees happen or not. It is run once to learn what
//! the user sees after each step ([`view`](super::view)) and how many operations it takes. Then, for every
//! operation and every [`Fault`]: run, interrupt, look. The repository must be sound ([`walk`](super::walk)),
//! and show exactly the acknowledged steps, or those and the one under way, whole. The user then does the
//! rest, and the repository must be sound and show everything, each acknowledged commit once. A late write is
//! let in before the user goes on in one run, and after that in another.

pub mod scenarios;

mod run;
mod scenario;

pub use run::{Report, every_fault, every_pair_of_stops, some_pairs_of_stops};
pub use scenario::{Act, Fault, Ground, ReportedOutcome, Scenario, Step};
