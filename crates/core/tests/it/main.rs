//! Tests of the engine from outside, in one binary.

mod conflicts;
mod crash;
mod suite;
