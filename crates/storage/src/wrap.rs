//! Wrappers: each does one thing, forwards everything else, and stacks.
//!
//! | Wrapper | For |
//! |---|---|
//! | [`PrefixStorage`] | a repository in a folder of a store |
//! | [`ReadOnlyStorage`] | handing out a store that cannot be changed |
//! | [`TracingStorage`] | seeing in a log what was asked of the store |
//! | [`CountingStorage`] | asserting how many requests and bytes something costs |
//! | [`LatencyStorage`], [`Meter`] | asserting how many *dependent* requests something costs |
//! | `FaultyStorage` (feature `conformance`) | crashes, lost answers and other mishaps, repeatably |

mod count;
mod latency;
mod meter;
mod pages;
mod prefix;
mod read_only;
mod trace;

#[cfg(feature = "conformance")]
pub mod fault;

pub use count::{CountingStorage, Counts, Tally};
#[cfg(feature = "conformance")]
pub use fault::FaultyStorage;
pub use latency::{Latency, LatencyStorage};
pub use meter::{Cost, Meter};
pub use pages::PAGE;
pub use prefix::PrefixStorage;
pub use read_only::ReadOnlyStorage;
pub use trace::TracingStorage;
