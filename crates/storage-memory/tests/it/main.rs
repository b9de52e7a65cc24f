//! The store in memory.

mod conformance;
mod memory;
