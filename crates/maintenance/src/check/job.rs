//! A snapshot to check, what all checks share, and what comes of one.

use std::sync::{Arc, Mutex};

use icefield_format::{ManifestId, NodeId, Snapshot, SnapshotId};

use super::finding::Finding;
use super::foreign::{ForeignNeeds, Locations};
use super::needed::Needed;
use super::objects::Objects;

/// The state that the checks of all snapshots share.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) objects: Arc<Objects>,
    pub(super) locations: Arc<Locations>,
    /// Whether foreign objects are to be looked at.
    pub(super) follow: bool,
    /// Whether the findings count. Later passes over the histories gather chunks, and find again what the first one found.
    pub(super) judges: bool,
    /// Whether every chunk object is read afterwards, so that one that cannot be read is found then.
    pub(super) reads_all: bool,
    pub(super) needed: Mutex<Needed>,
    /// The snapshots and nodes that need a chunk object.
    pub(super) sources: Mutex<Vec<(SnapshotId, NodeId)>>,
    pub(super) foreign: Mutex<ForeignNeeds>,
}

/// A snapshot to check.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) snapshot: Arc<Snapshot>,
    /// The snapshot that it is compared with; without one, all of it is checked.
    pub(super) parent: Option<Arc<Snapshot>>,
    /// Whether it must have a transaction log.
    pub(super) log: bool,
    /// Ancestors between the parent and it that expiration took out, oldest first. Their logs, and then its own, are its
    /// change since the parent.
    pub(super) pruned: Vec<SnapshotId>,
    /// Whether logs are to tell all, also on top of the initial snapshot.
    pub(super) judge_all: bool,
    /// Whether no ref reaches it.
    pub(super) detached: bool,
}

/// The result of the check of a snapshot.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) findings: Vec<Finding>,
    /// Manifests that the parent does not have.
    pub(super) manifests: Vec<ManifestId>,
    pub(super) logs: u64,
    pub(super) virtual_chunks: u64,
    /// The snapshot, if no ref reaches it.
    pub(super) detached: Option<SnapshotId>,
    /// Whether a manifest could not be read.
    pub(super) unread: bool,
}
