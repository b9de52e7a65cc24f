//! A fleet of processes on one repository, simulated in one thread from a seed.
//!
//! Writers, readers, collectors, expirers and administrators act on one store behind a network with latency and faults. They crash,
//! stand still for longer than leases last, lose the store, and have clocks that are wrong. Time stands still while anything can run.
//! Rules hold at every snapshot of every ref: the bank's money is constant, the window is whole, the ledger has each number
//! once; and over a run: no acknowledged commit is lost, the ledger keeps the order of each writer, and a counter is linearizable.
//!
//! The same scenario gives the same trace. One that fails is made smaller, and printed as JSON that can be played again:
//!
//! ```sh
//! cargo run -p icefield-simulation --release -- run --seeds 100000
//! cargo run -p icefield-simulation --release -- replay scenario.json
//! ```

mod actors;
mod broken;
mod facts;
mod fleet;
mod judge;
mod member;
mod process;
mod rules;
mod run;
mod scenario;
mod time;
mod trace;

pub use broken::Broken;
pub use facts::Figures;
pub use run::{Outcome, play};
pub use scenario::{Actor, Disruption, DisruptionKind, Role, Scenario};
