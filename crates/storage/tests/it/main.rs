//! The contract of a storage, and what wraps one: on stores in memory, whole, broken on purpose, or failing as they are told.

mod broken_stores;
mod faults;
mod remote;
mod wrappers;
