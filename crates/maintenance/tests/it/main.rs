//! The tests of this crate, in one program.

mod collect;
mod turns;
mod world;
