//! The report of usage.

use icefield_core::SnapshotId;
use serde::Serialize;

/// A number of things and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// The number of things.
    pub count: u64,
    /// The sum of their bytes.
    pub bytes: u64,
}

impl Amount {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.plus(Self { count: 1, bytes });
    }

    pub(crate) fn plus(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// The objects that a repository stores, and the part that refs reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UsageSummary {
    /// The snapshots that refs reach.
    pub snapshots: Amount,
    /// The transaction logs of these snapshots.
    pub transaction_logs: Amount,
    /// The manifests of these snapshots.
    pub manifests: Amount,
    /// The chunk objects to which these manifests refer, with their whole sizes.
    pub chunk_objects: Amount,
    /// The bytes of these chunk objects to which a chunk ref refers.
    pub live_bytes: u64,
    /// The chunk objects that hold several chunks, or held them, so that only a part is in use.
    pub packs: PackUsage,
    /// The native chunks: distinct ranges of chunk objects.
    pub native: Amount,
    /// The inline chunks, counted in each manifest that has them.
    pub inline: Amount,
    /// The virtual chunks: distinct ranges of foreign files, which are not stored here.
    #[serde(rename = "virtual")]
    pub external: Amount,
    /// All objects of these kinds, whether a ref reaches them or not.
    pub stored: Amount,
    /// The objects that no ref reaches, including those of sessions that have not committed yet.
    pub garbage: GarbageUsage,
    /// The backups of the object `repo`; spec version 2 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backups: Option<BackupUsage>,
    /// The number of chunk objects to which a chunk ref refers and that do not exist.
    pub missing_chunks: u64,
}

/// Objects that chunks share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PackUsage {
    /// The objects, with their whole sizes.
    pub objects: Amount,
    /// The bytes of these objects to which a chunk ref refers.
    pub live_bytes: u64,
    /// The bytes of these objects to which no chunk ref refers. They stay until the whole object is garbage, or is
    /// repacked.
    pub dead_bytes: u64,
}

impl PackUsage {
    pub(crate) fn add(&mut self, size: u64, live: u64) {
        let (mut objects, dead_bytes) = (Amount::default(), size.saturating_sub(live));
        objects.add(size);
        self.plus(Self {
            objects,
            live_bytes: live,
            dead_bytes,
        });
    }

    pub(crate) fn plus(&mut self, other: Self) {
        self.objects.plus(other.objects);
        self.live_bytes = self.live_bytes.saturating_add(other.live_bytes);
        self.dead_bytes = self.dead_bytes.saturating_add(other.dead_bytes);
    }
}

/// The backups of `repo` in `overwritten/`. They are not among the objects of the other counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BackupUsage {
    /// All of them.
    pub total: Amount,
    /// The backups that are no pages of the operations log: the next collection deletes them. None while a page of the
    /// log is missing.
    pub unneeded: Amount,
}

/// Objects that no ref reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GarbageUsage {
    /// All of them.
    pub total: Amount,
    /// Snapshots.
    pub snapshots: Amount,
    /// Transaction logs.
    pub transaction_logs: Amount,
    /// Manifests.
    pub manifests: Amount,
    /// Chunk objects.
    pub chunk_objects: Amount,
}

/// The usage of one array, commit, ref or container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UsageRow {
    /// A path, a snapshot id, `branch NAME` or `tag NAME`, or the prefix of a container; empty for chunks in no
    /// container.
    pub name: String,
    /// The snapshot, for a commit or ref.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<SnapshotId>,
    /// The message, for a commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The time of the commit, by the committer's clock.
    #[serde(skip)]
    pub written_at: Option<std::time::SystemTime>,
    /// The objects that it uses; for a commit, those that no earlier one uses.
    pub objects: Amount,
    /// The objects among these that nothing else in the table uses. None for commits and containers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique: Option<Amount>,
    /// Native chunks: distinct ranges of chunk objects.
    pub native: Amount,
    /// Inline chunks, in each manifest that has them.
    pub inline: Amount,
    /// Virtual chunks: distinct ranges of foreign files.
    #[serde(rename = "virtual")]
    pub external: Amount,
}

/// The usage of a repository by array, commit, ref or container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UsageTable {
    /// One for each array, commit, ref or container.
    pub rows: Vec<UsageRow>,
    /// The sum of all rows, with shared objects counted once.
    pub total: UsageRow,
    /// The number of chunk objects to which a chunk ref refers and that do not exist.
    pub missing_chunks: u64,
}
