//! `fsck`: walks everything that refs reach and says what is wrong with it, without stopping at the first.
//!
//! ```text
//! refs ─ snapshots ─ manifests ─ chunks        each metadata object is read once, compared with its parent's
//!          └ transaction logs                   chunks are compared with the list of those that are there
//! ```
//! A [`Check`] never writes. A [`Repair`] makes a commit on each damaged branch that leaves out what cannot be read.

mod chunk_list;
mod chunks;
mod collected;
mod compare;
mod damage;
mod error;
mod examined;
mod finding;
mod foreign;
mod histories;
mod job;
mod logs;
mod lost;
mod needed;
mod nodes;
mod objects;
mod refs;
mod repair;
mod repo;
mod root;
mod run;
mod settings;
mod snapshots;
mod strays;
mod unlisted;

pub use collected::{CheckReport, Garbage, GarbageOfKind, Proposal};
pub use error::CheckError;
pub use finding::{Finding, FindingKind, Severity};
pub use repair::{
    ArrayLoss, BranchRepair, CorrectedExtents, LogOutcome, LogRepair, REPAIR_METADATA, RenamedRef,
    Repair, RepairError, RepairOutcome, RepairReport, RepoRepair, RestoredBranch,
};
pub use settings::Check;
pub use unlisted::UnlistedSnapshot;
