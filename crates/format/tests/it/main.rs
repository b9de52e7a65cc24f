//! Tests of the format from outside.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod properties;
mod robustness;
mod spec2;
mod vectors;
mod vectors_rust;
