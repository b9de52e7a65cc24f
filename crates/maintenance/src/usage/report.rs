//! The report of usage.

use icefield_core::SnapshotId;
use serde::Serialize;

/// A number of things and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// How many.
    pub count: u64,
    /// Their bytes.
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
    /// Snapshots that refs reach.
    pub snapshots: Amount,
    /// Transaction logs of these.
    pub transaction_logs: Amount,
    /// Manifests that these name.
    pub manifests: Amount,
    /// Chunk objects that these refer to, with their whole sizes.
    pub chunk_objects: Amount,
    /// Bytes of these that something refers to.
    pub live_bytes: u64,
    /// Those of the chunk objects that hold several chunks, or held them: of which only a part is in use.
    pub packs: PackUsage,
    /// Native chunks: distinct ranges of chunk objects.
    pub native: Amount,
    /// Inline chunks, in each manifest that has them.
    pub inline: Amount,
    /// Virtual chunks: distinct ranges of foreign files. They are not stored here.
    #[serde(rename = "virtual")]
    pub external: Amount,
    /// All objects of these kinds, whatever refers to them.
    pub stored: Amount,
    /// Those that no ref reaches. Among them are those of sessions that are yet to commit.
    pub garbage: GarbageUsage,
    /// Backups of the object `repo`; spec version 2 has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backups: Option<BackupUsage>,
    /// Chunk objects that something refers to and that are not there.
    pub missing_chunks: u64,
}

/// Objects that chunks share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PackUsage {
    /// The objects, with their whole sizes.
    pub objects: Amount,
    /// Bytes of them that something refers to.
    pub live_bytes: u64,
    /// Bytes of them that nothing refers to any more. They stay until nothing refers to their object, or it is repacked.
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
    /// Those that are no pages of the operations log: the next collection deletes them. None while a page of the log is
    /// missing.
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
    /// A path, a snapshot id, `branch NAME` or `tag NAME`, or the prefix of a container; empty for what lies in none.
    pub name: String,
    /// The snapshot, of a commit or ref.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<SnapshotId>,
    /// The message, of a commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When the commit was made.
    #[serde(skip)]
    pub written_at: Option<std::time::SystemTime>,
    /// Objects that it uses. Of a commit, those that no earlier one does.
    pub objects: Amount,
    /// Those among them that nothing else in the table uses. None for commits and containers.
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

/// A table of what shares a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UsageTable {
    /// One for each array, commit, ref or container.
    pub rows: Vec<UsageRow>,
    /// All of them together, what they share counted once.
    pub total: UsageRow,
    /// Chunk objects that something refers to and that are not there.
    pub missing_chunks: u64,
}
