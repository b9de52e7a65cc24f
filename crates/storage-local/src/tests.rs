//! Tests of the whole backend, named after the cases in `docs/faults.md`.

mod cached;
mod conformance;
mod crash;
mod faults;
mod habits;
mod hidden;
mod kills;
mod kit;
mod leftovers;
mod listing;
mod locks;
mod mounts;
mod names;
mod objects;
mod places;
mod processes;
mod races;
mod replay;
mod unprivileged;
