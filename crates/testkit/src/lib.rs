//! Test support shared by the icefield crates: looking at stores, the stored fixtures, and repositories
//! written by hand.
//!
//! Everything here panics where it cannot do what it was asked to: that is a broken test.

pub mod fixtures;
pub mod forge;
pub mod stores;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
