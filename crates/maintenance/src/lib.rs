//! Keeping a repository healthy for years.
//!
//! One module per operation. Each takes an open [`Repository`](icefield_core::Repository), tells a [`Progress`] how
//! far it is, and returns a report of plain data.
//!
//! A repository that is opened for maintenance should have a small cache
//! ([`Settings::with_cache_bytes`](icefield_core::Settings::with_cache_bytes)): every object is looked at once.
//!
//! What this crate refuses to do: it decodes no chunks and knows no Zarr keys, and it never touches a ref without the
//! condition that nobody else did.

mod check;
mod progress;

pub use check::{
    ArrayLoss, BranchRepair, Check, CheckError, CheckReport, Finding, FindingKind, Garbage,
    GarbageOfKind, Proposal, REPAIR_METADATA, Repair, RepairError, RepairOutcome, RepairReport,
    RestoredBranch, Severity,
};
pub use progress::Progress;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
