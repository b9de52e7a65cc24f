//! The snapshots that a repository knows, and which is the parent of which.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::edit_error::RepoEditError;
use super::metadata::Metadata;
use crate::debug::debug_struct;
use crate::error::FormatError;
use crate::id::SnapshotId;
use crate::text::Text;

/// A snapshot to be added.
#[derive(Debug, Clone, Copy)]
pub struct NewSnapshotInfo<'a> {
    /// The id of the snapshot.
    pub id: SnapshotId,
    /// The parent, which must be known; none for the initial snapshot.
    pub parent: Option<SnapshotId>,
    /// The time of the commit in microseconds since the Unix epoch, as in the file of the snapshot.
    pub flushed_at: u64,
    /// The message of the commit, as in the file.
    pub message: &'a str,
    /// The metadata of the commit, as in the file.
    pub metadata: &'a BTreeMap<String, Value>,
    /// Ancestors between the parent and the snapshot that expiration took out, oldest first. Their transaction logs, and then
    /// the snapshot's own, are what changed since the parent (spec 2.1).
    pub pruned_ancestor_tx_logs: &'a [SnapshotId],
}

/// The properties of a snapshot beside its parent.
#[derive(Debug, Clone)]
pub(super) struct SnapshotDetails {
    pub(super) id: SnapshotId,
    pub(super) flushed_at: u64,
    pub(super) message: Text,
    pub(super) metadata: Metadata,
    /// Ids, one behind the other.
    pub(super) pruned: Bytes,
}

#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Position of the parent.
    pub(super) parent: Option<u32>,
    pub(super) details: Arc<SnapshotDetails>,
}

/// The snapshots of a repository, by id. A value that is cheap to clone.
///
/// # Invariants
/// Entries strictly ascend by id; every parent is the position of an entry; no snapshot is its own ancestor.
#[derive(Clone, Default)]
pub struct SnapshotGraph {
    pub(super) entries: Arc<Vec<Entry>>,
}

/// One snapshot of the graph, borrowed from it.
#[derive(Clone, Copy)]
pub struct SnapshotInfo<'a> {
    graph: &'a SnapshotGraph,
    entry: &'a Entry,
}

impl SnapshotGraph {
    pub(super) fn position(&self, id: &SnapshotId) -> Result<usize, usize> {
        self.entries
            .binary_search_by(|entry| entry.details.id.cmp(id))
    }

    /// Returns the number of snapshots.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Tells whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Tells whether a snapshot is known.
    #[must_use]
    pub fn contains(&self, id: &SnapshotId) -> bool {
        self.position(id).is_ok()
    }

    /// Finds a snapshot, by binary search.
    #[must_use]
    pub fn get(&self, id: &SnapshotId) -> Option<SnapshotInfo<'_>> {
        let at = self.position(id).ok()?;
        Some(self.at(at))
    }

    fn at(&self, position: usize) -> SnapshotInfo<'_> {
        SnapshotInfo {
            graph: self,
            entry: &self.entries[position],
        }
    }

    /// Returns all snapshots, by id.
    pub fn snapshots(&self) -> impl ExactSizeIterator<Item = SnapshotInfo<'_>> {
        (0..self.len()).map(|at| self.at(at))
    }

    /// Returns a snapshot and its ancestors, the root last; nothing if the snapshot is not known.
    pub fn ancestry(&self, id: &SnapshotId) -> impl Iterator<Item = SnapshotInfo<'_>> {
        std::iter::successors(self.get(id), SnapshotInfo::parent)
    }

    /// Returns the position of an entry that is its own ancestor, if there is one. Takes time in proportion to the entries.
    pub(super) fn cycle(&self) -> Option<usize> {
        // The walk on which an entry was met first; 0 for none.
        let mut walks = vec![0_u32; self.entries.len()];
        for start in 0..self.entries.len() {
            let walk = start as u32 + 1;
            let mut at = Some(start);
            while let Some(position) = at.filter(|position| walks[*position] == 0) {
                walks[position] = walk;
                at = self.entries[position].parent.map(|parent| parent as usize);
            }
            if at.is_some_and(|position| walks[position] == walk) {
                return at;
            }
        }
        None
    }

    pub(super) fn insert(&mut self, new: NewSnapshotInfo<'_>) -> Result<(), RepoEditError> {
        let id = new.id;
        let Err(at) = self.position(&id) else {
            return Err(RepoEditError::SnapshotExists(id));
        };
        let parent = new.parent.map(|parent| self.known(parent)).transpose()?;
        let details = Arc::new(SnapshotDetails {
            id,
            flushed_at: new.flushed_at,
            message: new.message.into(),
            metadata: Metadata::encode(new.metadata)?,
            pruned: concatenated(new.pruned_ancestor_tx_logs),
        });
        // Entries behind the new one move by one place.
        let moved = |parent: u32| parent + u32::from(parent as usize >= at);
        let parent = parent.map(moved);
        let new = Entry { parent, details };
        match Arc::get_mut(&mut self.entries) {
            Some(entries) => {
                for entry in &mut *entries {
                    entry.parent = entry.parent.map(moved);
                }
                entries.insert(at, new);
            }
            // Others hold the list: copied once, not first whole and then in part.
            None => {
                let (before, behind) = self.entries.split_at(at);
                let copy = |entry: &Entry| Entry {
                    parent: entry.parent.map(moved),
                    details: Arc::clone(&entry.details),
                };
                let mut entries = Vec::with_capacity(self.entries.len() + 1);
                entries.extend(before.iter().map(copy));
                entries.push(new);
                entries.extend(behind.iter().map(copy));
                self.entries = Arc::new(entries);
            }
        }
        Ok(())
    }

    fn known(&self, id: SnapshotId) -> Result<u32, RepoEditError> {
        let at = self.position(&id);
        let at = at.ok().and_then(|at| u32::try_from(at).ok());
        at.ok_or(RepoEditError::NoSnapshot(id))
    }

    pub(super) fn reparent(
        &mut self,
        id: SnapshotId,
        parent: Option<SnapshotId>,
        pruned: &[SnapshotId],
    ) -> Result<(), RepoEditError> {
        let at = self.known(id)? as usize;
        if let Some(parent) = parent
            && self.ancestry(&parent).any(|ancestor| ancestor.id() == id)
        {
            return Err(RepoEditError::OwnAncestor(id));
        }
        let parent = parent.map(|parent| self.known(parent)).transpose()?;
        let entry = &mut Arc::make_mut(&mut self.entries)[at];
        entry.parent = parent;
        let pruned = concatenated(pruned);
        if entry.details.pruned != pruned {
            let mut details = SnapshotDetails::clone(&entry.details);
            details.pruned = pruned;
            entry.details = Arc::new(details);
        }
        Ok(())
    }

    pub(super) fn retain(
        &mut self,
        keep: impl Fn(SnapshotInfo<'_>) -> bool,
    ) -> Result<(), RepoEditError> {
        let mut places = vec![None; self.len()];
        let mut next = 0;
        for (snapshot, place) in self.snapshots().zip(&mut places) {
            if keep(snapshot) {
                *place = Some(next);
                next += 1;
            }
        }
        let mut entries = Vec::with_capacity(next as usize);
        for (entry, place) in self.entries.iter().zip(&places) {
            if place.is_none() {
                continue;
            }
            let parent = match entry.parent.map(|parent| (parent, places[parent as usize])) {
                Some((_, Some(place))) => Some(place),
                Some((parent, None)) => {
                    let parent = self.entries[parent as usize].details.id;
                    let child = entry.details.id;
                    return Err(RepoEditError::ParentOfKept { parent, child });
                }
                None => None,
            };
            let details = Arc::clone(&entry.details);
            entries.push(Entry { parent, details });
        }
        self.entries = Arc::new(entries);
        Ok(())
    }
}

impl<'a> SnapshotInfo<'a> {
    /// Returns the id.
    #[must_use]
    pub fn id(&self) -> SnapshotId {
        self.entry.details.id
    }

    /// Returns the parent; none for a root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        Some(self.graph.at(self.entry.parent? as usize))
    }

    /// Returns the id of the parent; none for a root.
    #[must_use]
    pub fn parent_id(&self) -> Option<SnapshotId> {
        self.parent().map(|parent| parent.id())
    }

    /// Returns the time of the commit in microseconds since the Unix epoch.
    #[must_use]
    pub fn flushed_at(&self) -> u64 {
        self.entry.details.flushed_at
    }

    /// Returns the message of the commit.
    #[must_use]
    pub fn message(&self) -> &'a str {
        self.entry.details.message.as_str()
    }

    /// Decodes the metadata of the commit, which may take `limit` bytes in memory.
    ///
    /// # Errors
    /// [`FormatError::FlexBuffers`] with the key; [`FormatError::MetadataTooLarge`].
    pub fn metadata(&self, limit: u64) -> Result<BTreeMap<String, Value>, FormatError> {
        self.entry.details.metadata.decode(limit)
    }

    /// Returns the ancestors between parent and snapshot that expiration took out, oldest first (spec 2.1). Their transaction
    /// logs are kept: the change since the parent is theirs, one after another, and then the snapshot's own.
    pub fn pruned_ancestor_tx_logs(
        &self,
    ) -> impl ExactSizeIterator<Item = SnapshotId> + DoubleEndedIterator + use<'a> {
        let ids = self.entry.details.pruned.as_chunks().0;
        ids.iter().map(|id| SnapshotId::from_bytes(*id))
    }
}

fn concatenated(ids: &[SnapshotId]) -> Bytes {
    ids.iter().flat_map(|id| *id.as_bytes()).collect()
}

impl PartialEq for SnapshotGraph {
    fn eq(&self, other: &Self) -> bool {
        let same = |(one, two): (&Entry, &Entry)| {
            let details = |it: &SnapshotDetails| {
                (it.id, it.flushed_at, it.message.clone(), it.pruned.clone())
            };
            one.parent == two.parent
                && (Arc::ptr_eq(&one.details, &two.details)
                    || details(&one.details) == details(&two.details)
                        && one.details.metadata == two.details.metadata)
        };
        Arc::ptr_eq(&self.entries, &other.entries)
            || self.len() == other.len() && self.entries.iter().zip(other.entries.iter()).all(same)
    }
}

impl fmt::Debug for SnapshotGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.snapshots()).finish()
    }
}

debug_struct!(SnapshotInfo<'_>, it => {
    id: it.id(),
    parent_id: it.parent_id(),
    flushed_at: it.flushed_at(),
    message: it.message(),
});
