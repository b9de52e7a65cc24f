//! The tests of this crate, in one program.

mod collect;
mod expire;
mod turns;
mod world;
