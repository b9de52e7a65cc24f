//! Tests that need several processes, or repositories made by others, in one binary.

mod forks;
mod kills;
mod races;
mod vectors;
mod worker;
mod wrong_rank;
