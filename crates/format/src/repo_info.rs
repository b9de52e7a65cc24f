//! `repo`: the one mutable object of a repository of spec 2 (spec 2, §3).
//!
//! It holds the refs, the snapshots with their parents, the status, feature flags, metadata and configuration, and the newest
//! part of the operations log. A [`RepoInfo`] is all of that as a value. A change is made by way of [`RepoInfo::edit`], which
//! gives a new value and never lacks its entry in the log; the publisher writes it under the condition that `repo` is
//! still what it was made of, after a copy of that to `overwritten/` ([`layout::overwritten_name`]).
//!
//! Rules checked when the object is decoded, beyond a valid flatbuffer: it says to be of spec 2; branches, tags, deleted
//! tags, snapshots, metadata and flags strictly ascend; refs and parents are snapshots of the object; no snapshot is its own
//! ancestor; there is a branch `main`; the log has an entry. Not checked are the times in the log: a wrong one harms nothing
//! that is read.
//!
//! Additions of later versions are kept when the object is written again: the field `extra`, flags and a status that are not
//! known. An entry of the log of an unknown kind cannot be; [`OpsLog::appended`] tells what becomes of it.
//!
//! [`layout::overwritten_name`]: crate::layout::overwritten_name

mod decode;
pub(crate) mod edit;
mod edit_error;
mod encode;
mod graph;
mod metadata;
mod ops_log;
mod status;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use serde_json::Value;

use crate::config::RepositoryConfig;
use crate::error::FormatError;
use crate::generated as fb;
use crate::id::SnapshotId;
use crate::text::Text;
use crate::verified::Root;
use metadata::Metadata;

pub use edit_error::{MAIN_BRANCH, RepoEditError};
pub use graph::{NewSnapshotInfo, SnapshotGraph, SnapshotInfo};
pub use ops_log::{OpsLog, OpsLogError, Update, UpdateKind};
pub use status::{Availability, FeatureFlag, FeatureFlags, RepoStatus};

/// Marks the root table of the body of `repo`.
pub(crate) enum RepoRoot {}

impl Root for RepoRoot {
    type Table<'a> = fb::Repo<'a>;

    const MAX_DEPTH: usize = 10;
    const MAX_TABLES: usize = 5_000_000;
}

/// The decoded object `repo`: the mutable state of a repository of spec 2. A value: an edit gives a new one. Cheap to
/// clone, because large parts are shared.
///
/// ```
/// use std::collections::{BTreeMap, BTreeSet};
/// use icefield_format::{
///     DecodeLimits, NewRepoInfo, NewSnapshotInfo, OpsLog, RepoInfo, RepoStatus, SnapshotId, UpdateKind, Writer,
/// };
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let info = RepoInfo::new(NewRepoInfo {
///     snapshots: vec![NewSnapshotInfo {
///         id: SnapshotId::INITIAL,
///         parent: None,
///         flushed_at: 1,
///         message: "Repository initialized",
///         metadata: &BTreeMap::new(),
///         pruned_ancestor_tx_logs: &[],
///     }],
///     branches: BTreeMap::from([("main".to_owned(), SnapshotId::INITIAL)]),
///     tags: BTreeMap::new(),
///     deleted_tags: BTreeSet::new(),
///     status: RepoStatus::online(1),
///     metadata: BTreeMap::new(),
///     config: None,
///     log: OpsLog::new([(UpdateKind::RepoInitialized, 1)])?,
/// })?;
///
/// // Each change is an edit with its entry in the operations log.
/// let mut edit = info.edit();
/// edit.create_tag("v1", SnapshotId::INITIAL)?;
/// let next = edit.finish([(UpdateKind::TagCreated { name: "v1".to_owned() }, 2)], "backup", 1000)?;
/// let read = RepoInfo::decode(&next.encode(&Writer::default())?, &DecodeLimits::default())?;
/// assert_eq!(read.tag("v1"), Some(SnapshotId::INITIAL));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RepoInfo {
    branches: BTreeMap<Text, SnapshotId>,
    tags: BTreeMap<Text, SnapshotId>,
    deleted_tags: BTreeSet<Text>,
    snapshots: SnapshotGraph,
    status: RepoStatus,
    flags: FeatureFlags,
    metadata: Metadata,
    config: Option<Bytes>,
    log: OpsLog,
    extra: Option<Bytes>,
}

impl RepoInfo {
    /// Returns the branches with their tips, by name.
    pub fn branches(&self) -> impl ExactSizeIterator<Item = (&str, SnapshotId)> {
        named(&self.branches)
    }

    /// Returns the tip of a branch.
    #[must_use]
    pub fn branch(&self, name: &str) -> Option<SnapshotId> {
        self.branches.get(name.as_bytes()).copied()
    }

    /// Returns the tags with their snapshots, by name.
    pub fn tags(&self) -> impl ExactSizeIterator<Item = (&str, SnapshotId)> {
        named(&self.tags)
    }

    /// Returns the snapshot of a tag.
    #[must_use]
    pub fn tag(&self, name: &str) -> Option<SnapshotId> {
        self.tags.get(name.as_bytes()).copied()
    }

    /// Returns the names of deleted tags, which can never be taken again.
    pub fn deleted_tags(&self) -> impl ExactSizeIterator<Item = &str> {
        self.deleted_tags.iter().map(Text::as_str)
    }

    /// Tells whether a tag of this name was deleted, so that the name is taken for good.
    #[must_use]
    pub fn is_deleted_tag(&self, name: &str) -> bool {
        self.deleted_tags.contains(name.as_bytes())
    }

    /// Returns the snapshots, those that no ref reaches included.
    #[must_use]
    pub fn snapshots(&self) -> &SnapshotGraph {
        &self.snapshots
    }

    /// Returns the status.
    #[must_use]
    pub fn status(&self) -> &RepoStatus {
        &self.status
    }

    /// Returns the feature flags.
    #[must_use]
    pub fn flags(&self) -> &FeatureFlags {
        &self.flags
    }

    /// Decodes the metadata of the repository, which may take `limit` bytes in memory.
    ///
    /// # Errors
    /// [`FormatError::FlexBuffers`] with the key; [`FormatError::MetadataTooLarge`].
    pub fn metadata(&self, limit: u64) -> Result<BTreeMap<String, Value>, FormatError> {
        self.metadata.decode(limit)
    }

    /// Decodes the configuration; none means that of the defaults.
    ///
    /// # Errors
    /// As [`RepositoryConfig::decode_flexbuffers`].
    pub fn config(&self) -> Result<Option<RepositoryConfig>, FormatError> {
        let config = self.config.as_deref();
        config.map(RepositoryConfig::decode_flexbuffers).transpose()
    }

    /// Returns the configuration as it stands in the object.
    #[must_use]
    pub fn config_bytes(&self) -> Option<&[u8]> {
        self.config.as_deref()
    }

    /// Returns the part of the operations log that is in the object.
    #[must_use]
    pub fn log(&self) -> &OpsLog {
        &self.log
    }

    /// Returns the reserved field `extra`, in which a later version of the format may have put something.
    #[must_use]
    pub fn extra(&self) -> Option<&[u8]> {
        self.extra.as_deref()
    }
}

fn named(refs: &BTreeMap<Text, SnapshotId>) -> impl ExactSizeIterator<Item = (&str, SnapshotId)> {
    refs.iter().map(|(name, id)| (name.as_str(), *id))
}

#[cfg(test)]
mod tests;
