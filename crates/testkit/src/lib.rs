//! Test support shared by the icefield crates: looking at stores, the stored fixtures, repositories and files written
//! by hand, tasks whose steps interleave as a seed says, and tests that run for both versions of the format.
//!
//! Everything here panics where it cannot do what it was asked to: that is a broken test.

pub mod classic;
pub mod fixtures;
pub mod forge;
pub mod interleave;
pub mod stores;
pub mod versions;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
