//! Writers, readers and collectors as processes that are killed at random until the time is over, and the judgement of
//! the repository that they leave behind.
//!
//! - [`campaign`] runs one repository after the other. Each has a [`ground`] to stand on, [`slot`]s in which one process
//!   follows the other, each with a [`death`] of its own, and a [`judge`] at its end.
//! - [`writer`], [`reader`] and [`collector`] are what the processes do; `icefield-worker` runs them.
//! - [`stamp`] lets the judge work out from the history alone what each chunk must hold.

pub mod campaign;
pub mod collector;
pub mod death;
pub mod figures;
pub mod ground;
pub mod judge;
pub mod reader;
pub mod slot;
pub mod stamp;
pub mod writer;
