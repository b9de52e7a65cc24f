//! Tests of the engine from outside, in one binary.

mod lifecycle;
