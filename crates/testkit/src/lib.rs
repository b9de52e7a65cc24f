//! Test support shared by the icefield crates.
