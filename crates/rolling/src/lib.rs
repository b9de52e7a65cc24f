//! Windows that move: append, prepend, trim and roll whole datasets along a dimension, in one commit.
//!
//! A dataset that always shows the last days has many arrays with the dimension `time`: data, coordinates, bounds. A
//! [`Change`] says what happens to that dimension, and [`Rolling`] carries it out for every array that has it: shapes, the
//! places of chunks, labels, and the attribute `origin`, which says the absolute index of element 0. All of it is one
//! commit: a reader sees the window before or the one after, and keeps what it sees.
//!
//! - **No chunk is rewritten.** Chunks move by reference ([`Session::shift`](icefield_core::Session::shift)). Coordinates
//!   and other small arrays, whose chunks are not those of the data, are rewritten whole.
//! - **Labels go on**, by the step of a regular axis or as they are given; a commit whose labels are missing, twice there or
//!   out of order is refused.
//! - **Writers** that fill the incoming slab at the same time address it by its absolute index: [`Window`] says which chunk
//!   that is, and with [`Session::follow_shifts`](icefield_core::Session::follow_shifts) what they write never lands on
//!   another date.
//! - **Descriptions of the window** follow it ([`cover`]): attributes of groups such as `time_coverage_start`. Where their
//!   new values are unknown, the window does not move.
//! - **Missing is explicit**: [`unwritten`] says which chunks of a stretch were never written, and
//!   [`Rolling::complete`] refuses to commit such a window.
//!
//! ```
//! # use std::sync::Arc;
//! use icefield_core::{BranchName, Repository};
//! use icefield_rolling::{Change, Rolled, Rolling};
//!
//! # async fn example(storage: Arc<dyn icefield_storage::Storage>) -> Result<(), Box<dyn std::error::Error>> {
//! let repository = Repository::open(storage).await?;
//! // One step in at the end, one out at the start.
//! let rolling = Rolling::new(&repository, BranchName::main(), "time").key("2026-11-22T06");
//! match rolling.change(&Change::roll(1)).await? {
//!     Rolled::Committed { snapshot, window } => println!("{snapshot} begins at {}", window.first()),
//!     Rolled::AlreadyThere { snapshot } => println!("{snapshot} has done it before"),
//! }
//! # Ok(())
//! # }
//! ```

mod blocks;
mod change;
mod coverage;
mod dimension;
mod error;
mod keys;
mod labels;
mod references;
mod rolling;
mod slots;
mod stage;
mod unwritten;

pub use change::{Change, Duration, Keep};
pub use coverage::cover;
pub use dimension::{MASKED_ATTRIBUTE, ORIGIN_ATTRIBUTE, WINDOW_ATTRIBUTE, Window};
pub use error::RollingError;
pub use keys::ROLLS;
pub use rolling::{Attempt, Begun, Rolled, Rolling};
pub use slots::{ArraySlots, Slots};
pub use stage::{Method, Options, Staged, check, stage};
pub use unwritten::unwritten;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
