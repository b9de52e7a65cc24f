//! Keeping a repository healthy for years.
//!
//! One module per operation. Each takes an open [`Repository`](icefield_core::Repository), tells a [`Progress`] how
//! far it is, and returns a report of plain data.
//!
//! A repository that is opened for maintenance should have a small cache
//! ([`Settings::with_cache_bytes`](icefield_core::Settings::with_cache_bytes)): every object is looked at once.
//!
//! Limits: this crate decodes no chunks and knows no Zarr keys, and it never touches a ref without the
//! condition that no other process did.

mod bundle;
mod check;
mod collect;
mod copy;
mod downgrade;
mod expire;
mod gather;
mod listing;
mod progress;
mod repack;
mod usage;

pub use bundle::{BundleReport, BundleRepository, Unbundle, UnbundleReport};
pub use check::{
    ArrayLoss, BranchRepair, Check, CheckError, CheckReport, CorrectedExtents, Finding,
    FindingKind, Garbage, GarbageOfKind, LogOutcome, LogRepair, Proposal, REPAIR_METADATA,
    RenamedRef, Repair, RepairError, RepairOutcome, RepairReport, RepoRepair, RestoredBranch,
    Severity, UnlistedSnapshot,
};
pub use collect::{
    Collect, CollectError, CollectReport, DEFAULT_FLOOR, DatedAhead, LEAST_FLOOR, Marking, Swept,
    TimeSource,
};
pub use copy::{
    ConfigAction, CopiedRef, CopyBounds, CopyError, CopyReport, CopyRepository, Moved, RefAction,
    RefChoice,
};
pub use downgrade::{DowngradeReport, DowngradeRepository, NotCarried, NotCarriedKind};
pub use expire::{Expire, ExpireError, Expired, Fate, NewParent, Plan, Policy, Reason, Stuck};
pub use icefield_core::collection::ClocksApart;
pub use progress::Progress;
pub use repack::{ChunkOrder, Repack, RepackError, RepackReport, RepackedArray};
pub use usage::{
    Amount, BackupUsage, GarbageUsage, PackUsage, Usage, UsageError, UsageRow, UsageSummary,
    UsageTable,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
