//! Repositories of the alpha generation: what is read of them, what an import makes of them, what becomes of damage.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod costs;
mod damage;
mod import;
mod races;
mod vectors;
mod world;
