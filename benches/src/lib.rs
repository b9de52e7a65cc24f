//! Common parts of the benchmarks: the data they work on, plain files to compare with, and facts.
//!
//! - [`Refs`] makes manifests, [`Hierarchy`] snapshots, [`Filled`] whole repositories. All are the same in every run:
//!   ids and sizes come from a seeded generator.
//! - [`files`] does with `std::fs` what a store must do at least.
//! - [`Chunkless`] forgets chunks, where what is written beside them counts.
//! - A *fact* is a line on standard output that a benchmark finds out beside criterion's own tables: a ratio
//!   of two things measured in turns, a count of requests. [`medians`] measures in turns.
//!
//! Run as a test (`cargo test --benches`), a benchmark does everything once, on little data, and prints no facts:
//! [`Mode`].

mod chunkless;
mod fact;
pub mod files;
mod hierarchy;
mod mode;
mod noise;
mod process;
mod refs;
mod repository;

use criterion::Criterion;
use tokio::runtime::Runtime;

pub use chunkless::Chunkless;
pub use fact::{Spread, elapsed, fact, fact_beside, medians, timed};
pub use hierarchy::Hierarchy;
pub use mode::Mode;
pub use noise::noise;
pub use process::status;
pub use refs::{Layout, Lengths, Refs};
pub use repository::{Filled, path};

/// Sizes of objects that are measured, with their names.
pub const OBJECT_SIZES: [(&str, usize); 3] =
    [("4 KiB", 4 << 10), ("64 KiB", 64 << 10), ("4 MiB", 4 << 20)];

/// Runs benchmarks as the command line says.
pub fn run(benches: &[fn(&mut Criterion, Mode)]) {
    let mode = Mode::of_command_line();
    let mut criterion = Criterion::default().configure_from_args();
    for bench in benches {
        bench(&mut criterion, mode);
    }
    criterion.final_summary();
}

/// Returns a runtime as programs have it: a thread per core.
///
/// # Panics
/// If the system gives no threads.
pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("threads are to be had")
}
