//! Datasets that other programs wrote, and what must be read from them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cdl_parse;
mod cdl_print;
mod cdl_random;
mod fixtures;
mod odd;
mod vectors;
