//! Tests of the whole backend, named after the cases of the fault catalogue.

mod conformance;
mod crash;
mod faults;
mod habits;
mod kit;
mod listing;
mod places;
mod processes;
mod unprivileged;
