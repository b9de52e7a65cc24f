//! The result of a check, which a repair goes by.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use icefield_format::SnapshotId;
use icefield_refs::{BranchName, Misspelled};

use super::chunks::BadChunks;
use super::collected::CheckReport;
use super::foreign::{BadForeign, Locations};
use super::objects::{Objects, Parents};
use super::refs::Target;
use super::root::Root;

/// The result of a check, which a repair goes by.
#[derive(Debug)]
pub(super) struct Examined {
    pub(super) report: CheckReport,
    pub(super) objects: Arc<Objects>,
    pub(super) targets: Vec<Target>,
    /// Snapshots of histories, with their parents.
    pub(super) seen: HashMap<SnapshotId, Option<SnapshotId>>,
    pub(super) bad: BadChunks,
    pub(super) bad_foreign: BadForeign,
    /// Branches that point nowhere, with what is proposed for them.
    pub(super) lost: BTreeMap<BranchName, Option<SnapshotId>>,
    /// Objects of refs that are not in the store's own spelling.
    pub(super) misspelled: Vec<Misspelled>,
    pub(super) root: Root,
    pub(super) parents: Parents,
    pub(super) locations: Arc<Locations>,
}
