//! Tests that need several processes, or repositories made by others, in one binary.

mod forks;
mod kills;
mod races;
mod races_over_s3;
mod vectors;
mod worker;
mod wrong_rank;
