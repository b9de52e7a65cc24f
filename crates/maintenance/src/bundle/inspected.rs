//! The content of a bundle that was checked.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use icefield_core::{SnapshotInfo, TagName};
use icefield_format::{RepoInfo, SnapshotId, SpecVersion};
use icefield_storage::Bytes;

use super::index::{BundleEnd, BundleIndex};
use crate::copy::plan::SourceRefs;

/// The content of a bundle, checked as far as that is possible without the destination.
#[derive(Debug)]
pub(crate) struct Inspected {
    pub(crate) index: BundleIndex,
    /// The version of the format.
    pub(crate) spec: SpecVersion,
    pub(crate) initial: Option<Bytes>,
    pub(crate) config: Option<Bytes>,
    /// The state of a repository of spec version 2.
    pub(crate) repo: Option<RepoInfo>,
    pub(crate) refs: SourceRefs,
    /// The snapshots that deleted tags pointed to.
    pub(crate) deleted: BTreeMap<TagName, Bytes>,
    /// The snapshots in it, of a repository of spec version 2, parents before their children.
    pub(crate) snapshots: Vec<SnapshotInfo>,
    /// The snapshots in it and their parents.
    pub(crate) parents: HashMap<SnapshotId, Option<SnapshotId>>,
    /// Manifests that its snapshots name and that are not in it, ascending.
    pub(crate) foreign_manifests: BTreeSet<[u8; 12]>,
    pub(crate) end: BundleEnd,
}
