//! The ledger of an Icechunk repository: everything of it that changes in place. Branches, tags and tombstones, what came
//! before each snapshot, the configuration, and whether there is a repository at all.
//!
//! A *branch* points to a snapshot and moves; a *tag* points to one for ever. A deleted tag leaves a *tombstone*, so that its
//! name is never given again. Each change is an [`Edit`], a value that says what must hold for it to land; [`Ledger::apply`]
//! answers *done*, *refused* or *unknown*.
//!
//! A [`Graph`] tells what came before a snapshot, and [`Walk`] goes over it: [`ancestors`], the [`way`] back to a base, whether
//! one snapshot [`reaches`] another, the [`meeting_point`] of two histories, the [`Histories`] of many. The ledger has two
//! graphs: [`Ledger::graph`] is that of a handle, which remembers, and a [`LedgerView`] is what is stored at one moment.
//!
//! [`Ledger`] is one interface over the layouts of the spec versions: version 1 keeps an object per ref and
//! `config.yaml`, and the graph inside the snapshot files. Nothing above this crate knows that.

mod apply;
mod create;
mod edit;
mod error;
mod graph;
mod histories;
mod ledger;
mod list;
mod name;
mod received;
mod ref_files;
mod reparent;
mod spec_v2;
mod spelling;
mod upgrade;
mod view;
mod walk;

pub use apply::Landed;
pub use create::{Creation, Existing, LedgerParts, NewRepository};
pub use edit::{Edit, EditOutcome, Refusal, Tip};
pub use error::{FetchError, RefsError};
pub use graph::{
    Graph, LedgerGraph, Node, Parents, SnapshotInfo, SnapshotSource, micros_of_time, time_of_micros,
};
pub use histories::Histories;
pub use ledger::{Ledger, StoredConfig, TagState};
pub use list::{RefList, Stray, StrayProblem, UnderstoodRefs};
pub use name::{BranchName, NameError, TagName};
pub use received::{Received, ReceivedBranch, RepoSettings};
pub use reparent::differ_in_parent;
pub use spec_v2::{
    FollowedLog, NewestBackup, PageProblem, PutBackMark, RepoBackup, RepoBackups, RepoContent,
    StoredRepo,
};
pub use spelling::Misspelled;
pub use upgrade::{
    Keep, Remainder, Remainders, Upgrade, UpgradeOptions, UpgradeReport, UpgradeStep,
};
pub use view::{LedgerView, StoredGraph, Told};
pub use walk::{Pace, Walk, ancestors, meeting_point, reaches, way};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
