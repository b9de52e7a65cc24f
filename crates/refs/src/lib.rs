//! The ledger of an Icechunk repository: everything of it that changes in place. Branches, tags and tombstones, what came
//! before each snapshot, the configuration, and whether there is a repository at all.
//!
//! A *branch* points to a snapshot and moves; a *tag* always points to the same one. A deleted tag leaves a *tombstone*, so that its
//! name is never given again. Each change is an [`Edit`], a value that says what must hold for it to land; [`Ledger::apply`]
//! answers *done*, *refused* or *unknown*.
//!
//! A [`Graph`] tells what came before a snapshot, and [`HistoryWalk`] goes over it: [`ancestors`], the [`way`] back to a base, whether
//! one snapshot [`reaches`] another, the [`meeting_point`] of two histories, the [`Histories`] of many. The ledger has two
//! graphs: [`Ledger::graph`] is that of a handle, which remembers, and a [`LedgerView`] is what is stored at one moment.
//!
//! [`Ledger`] is one interface over the layouts of the spec versions: version 1 keeps an object per ref and
//! `config.yaml`, and the graph inside the snapshot files. Nothing above this crate knows that.

mod apply;
mod create;
mod edit;
mod error;
mod fetch_error;
mod graph;
mod histories;
mod ledger;
mod list;
mod name;
mod received;
mod ref_files;
mod remainder;
mod reparent;
mod snapshot_info;
mod spec_v2;
mod spelling;
mod stored_state;
mod stray;
mod upgrade;
mod view;
mod walk;

pub use apply::Landed;
pub use create::{Creation, Existing, LedgerParts, NewRepository};
pub use edit::{Edit, EditOutcome, Refusal};
pub use error::RefsError;
pub use fetch_error::FetchError;
pub use graph::{Graph, LedgerGraph, Node, Parents, SnapshotSource};
pub use histories::Histories;
pub use ledger::Ledger;
pub use list::{RefList, UnderstoodRefs};
pub use name::{BranchName, NameError, TagName};
pub use received::{Received, ReceivedBranch, RepoSettings};
pub use remainder::{Remainder, Remainders};
pub use reparent::differ_in_parent;
pub use snapshot_info::{SnapshotInfo, micros_of_time, time_of_micros};
pub use spec_v2::{
    FollowedLog, NewestBackup, PageProblem, PutBackMark, RepoBackup, RepoBackups, RepoContent,
    StoredRepo,
};
pub use spelling::Misspelled;
pub use stored_state::{StoredConfig, TagState, Tip};
pub use stray::{Stray, StrayProblem};
pub use upgrade::{Keep, Upgrade, UpgradeOptions, UpgradeReport, UpgradeStep};
pub use view::{LedgerView, SnapshotSummary, StoredGraph};
pub use walk::{HistoryWalk, Pace, ancestors, meeting_point, reaches, way};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
