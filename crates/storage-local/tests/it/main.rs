//! The store on a local disk, as other crates use it.

mod conformance;
