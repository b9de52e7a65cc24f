//! Where the bytes are: what a repository stores, what of it is in use, and what each array, commit, ref and container
//! accounts for.
//!
//! What several share is counted once in every total, and in no one's *unique* share: that of a ref is what deleting it
//! would free. Objects count with the sizes that the store lists. A chunk object that several chunks share parts of is one
//! object; bytes of it that nothing refers to are stored and not *live*. Inline chunks are part of their manifests;
//! virtual ones are stored elsewhere, and counted once for each range of a file.
//!
//! Each manifest is read once, unless the ids of chunks do not fit into memory ([`Usage::memory`]).

mod error;
mod histories;
mod marks;
mod tally;

use std::collections::BTreeMap;

use futures::TryStreamExt;
use icefield_core::{Repository, SnapshotId, time_of_micros};
use icefield_format::DecodeLimits;
use serde::Serialize;

use crate::Progress;
use crate::copy::plan::SourceRefs;
use crate::listing::{Kind, listed, sizes};

pub use error::UsageError;

use histories::{Histories, read_snapshot};
use marks::{First, Marks, Sets};
use tally::{Containers, Owners, Tally, Tallying};

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

/// Accounts for the bytes of a repository.
#[derive(Clone, Debug)]
pub struct Usage {
    memory: usize,
    limits: DecodeLimits,
}

impl Default for Usage {
    fn default() -> Self {
        Self {
            memory: 64 << 20,
            limits: DecodeLimits::default(),
        }
    }
}

/// What a repository stores, and what of it refs reach.
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
    /// Native chunks: distinct ranges of chunk objects.
    pub native: Amount,
    /// Inline chunks, in each manifest that has them.
    pub inline: Amount,
    /// Virtual chunks: distinct ranges of foreign files. They are not stored here.
    #[serde(rename = "virtual")]
    pub external: Amount,
    /// All objects of these kinds, whoever refers to them.
    pub stored: Amount,
    /// Those that no ref reaches. Among them are those of sessions that are yet to commit.
    pub garbage: GarbageUsage,
    /// Chunk objects that something refers to and that are not there.
    pub missing_chunks: u64,
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

/// What one array, commit, ref or container accounts for.
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

impl Usage {
    /// Returns the default way to count.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how many bytes the ids of chunks may take. Default 64 MiB. With less, manifests are read more than once.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Sets the limits for decoding manifests.
    #[must_use]
    pub fn decode_limits(mut self, limits: DecodeLimits) -> Self {
        self.limits = limits;
        self
    }

    fn tallying<'a>(
        &'a self,
        repository: &'a Repository,
        progress: &'a dyn Progress,
    ) -> Tallying<'a> {
        Tallying {
            storage: &**repository.storage(),
            memory: self.memory,
            limits: &self.limits,
            progress,
        }
    }

    /// Counts what is stored, what of it refs reach, and what is garbage.
    ///
    /// # Errors
    /// A ref or object that cannot be read: nothing is guessed.
    pub async fn summary(
        &self,
        repository: &Repository,
        progress: &dyn Progress,
    ) -> Result<UsageSummary, UsageError> {
        let refs = SourceRefs::read(repository, &[]).await?;
        progress.stage("reading histories", None);
        let histories = Histories::of(repository, refs.tips()).await?;
        let mut manifests = BTreeMap::new();
        for id in histories.ids() {
            let snapshot = read_snapshot(repository, *id).await?;
            for file in snapshot.manifest_files() {
                manifests.insert(*file.id.as_bytes(), 0);
            }
        }
        let mut summary = UsageSummary::default();
        let snapshots: Vec<_> = histories.sorted();
        let ids: Vec<_> = manifests.keys().copied().collect();
        for (kind, ids) in [
            (Kind::Snapshot, &snapshots),
            (Kind::TransactionLog, &snapshots),
            (Kind::Manifest, &ids),
        ] {
            self.metadata(repository, kind, ids, &mut summary).await?;
        }
        let mut owners = Owners::all(manifests);
        let tallying = self.tallying(repository, progress);
        let tallied = tallying.run(&mut owners, &mut First).await?;
        let all = tallied.of(|_| true);
        summary.chunk_objects = all.objects;
        summary.live_bytes = all.live_bytes;
        (summary.native, summary.inline, summary.external) = (all.native, all.inline, all.external);
        summary.garbage.chunk_objects = tallied.unused;
        summary.stored.plus(all.objects);
        summary.stored.plus(tallied.unused);
        summary.garbage.total.plus(tallied.unused);
        summary.missing_chunks = tallied.missing;
        Ok(summary)
    }

    /// Counts the objects of one kind of metadata; `used` ascends.
    async fn metadata(
        &self,
        repository: &Repository,
        kind: Kind,
        used: &[[u8; 12]],
        summary: &mut UsageSummary,
    ) -> Result<(), UsageError> {
        let mut objects = listed(&**repository.storage(), kind, [0; 12])?;
        let (mut reached, mut garbage) = (Amount::default(), Amount::default());
        while let Some((id, size)) = objects.try_next().await? {
            summary.stored.add(size);
            match used.binary_search(&id) {
                Ok(_) => reached.add(size),
                Err(_) => garbage.add(size),
            }
        }
        summary.garbage.total.plus(garbage);
        let (to, garbage_to) = match kind {
            Kind::Snapshot => (&mut summary.snapshots, &mut summary.garbage.snapshots),
            Kind::TransactionLog => (
                &mut summary.transaction_logs,
                &mut summary.garbage.transaction_logs,
            ),
            Kind::Manifest => (&mut summary.manifests, &mut summary.garbage.manifests),
            Kind::Chunk => (
                &mut summary.chunk_objects,
                &mut summary.garbage.chunk_objects,
            ),
        };
        (*to, *garbage_to) = (reached, garbage);
        Ok(())
    }

    /// Counts by array what one snapshot uses: manifests and chunk objects.
    ///
    /// # Errors
    /// An object that cannot be read.
    pub async fn by_array(
        &self,
        repository: &Repository,
        at: SnapshotId,
        progress: &dyn Progress,
    ) -> Result<UsageTable, UsageError> {
        let snapshot = read_snapshot(repository, at).await?;
        let mut sets = Sets::default();
        let mut owners = Owners::by_node();
        let mut rows = Vec::new();
        for node in snapshot.nodes() {
            let Some(array) = node.array() else {
                continue;
            };
            let mark = sets.one(rows.len() as u32);
            rows.push(UsageRow {
                name: node.path().to_owned(),
                ..UsageRow::default()
            });
            for manifest in array.manifests() {
                owners.add(*manifest.id().as_bytes(), node.id(), mark, &mut sets);
            }
        }
        let tallying = self.tallying(repository, progress);
        let mut tallied = tallying.run(&mut owners, &mut sets).await?;
        let manifests = owners.manifests();
        self.add_sizes(repository, Kind::Manifest, &manifests, &mut tallied)
            .await?;
        Ok(shared(rows, &sets, &tallied))
    }

    /// Counts by commit, newest first, what each one of a history added that no earlier one has.
    ///
    /// # Errors
    /// An object that cannot be read.
    pub async fn by_commit(
        &self,
        repository: &Repository,
        tip: SnapshotId,
        progress: &dyn Progress,
    ) -> Result<UsageTable, UsageError> {
        progress.stage("reading histories", None);
        let histories = Histories::of(repository, [tip]).await?;
        let (mut rows, mut manifests, mut own) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        for (at, id) in histories.ids().iter().enumerate() {
            let snapshot = read_snapshot(repository, *id).await?;
            rows.push(UsageRow {
                name: id.to_string(),
                snapshot_id: Some(*id),
                message: Some(snapshot.message().to_owned()),
                written_at: Some(time_of_micros(snapshot.flushed_at())),
                ..UsageRow::default()
            });
            own.insert(*id.as_bytes(), at as u32);
            for file in snapshot.manifest_files() {
                // Parents come first: whoever is met first has added it.
                manifests.entry(*file.id.as_bytes()).or_insert(at as u32);
            }
        }
        let mut owners = Owners::all(manifests);
        let tallying = self.tallying(repository, progress);
        let mut tallied = tallying.run(&mut owners, &mut First).await?;
        self.add_sizes(
            repository,
            Kind::Manifest,
            &owners.manifests(),
            &mut tallied,
        )
        .await?;
        for kind in [Kind::Snapshot, Kind::TransactionLog] {
            self.add_sizes(repository, kind, &own, &mut tallied).await?;
        }
        for (at, row) in rows.iter_mut().enumerate() {
            fill(row, &tallied.of(|mark| mark == at as u32));
        }
        rows.reverse();
        Ok(table(rows, &tallied))
    }

    /// Counts by branch and tag what each reaches, and what only it does: that is what deleting it would free, once
    /// garbage is collected.
    ///
    /// # Errors
    /// A ref or object that cannot be read.
    pub async fn by_ref(
        &self,
        repository: &Repository,
        progress: &dyn Progress,
    ) -> Result<UsageTable, UsageError> {
        let refs = SourceRefs::read(repository, &[]).await?;
        progress.stage("reading histories", None);
        let histories = Histories::of(repository, refs.tips()).await?;
        let branches = refs
            .branches
            .iter()
            .map(|(name, id)| (format!("branch {name}"), *id));
        let tags = refs
            .tags
            .iter()
            .map(|(name, id)| (format!("tag {name}"), *id));
        let (mut sets, mut rows) = (Sets::default(), Vec::new());
        let mut marks: BTreeMap<SnapshotId, u32> = BTreeMap::new();
        for (name, id) in branches.chain(tags) {
            let mark = sets.one(rows.len() as u32);
            let known = marks.get(&id).copied();
            marks.insert(id, known.map_or(mark, |known| sets.combine(known, mark)));
            rows.push(UsageRow {
                name,
                snapshot_id: Some(id),
                ..UsageRow::default()
            });
        }
        // Children first: what reaches them reaches their parents.
        for (id, parent) in histories.steps().iter().rev() {
            if let (Some(mark), Some(parent)) = (marks.get(id).copied(), parent) {
                let known = marks.get(parent).copied();
                let mark = known.map_or(mark, |known| sets.combine(known, mark));
                marks.insert(*parent, mark);
            }
        }
        let mut manifests: BTreeMap<[u8; 12], u32> = BTreeMap::new();
        for id in histories.ids() {
            let Some(mark) = marks.get(id).copied() else {
                continue;
            };
            for file in read_snapshot(repository, *id).await?.manifest_files() {
                let known = manifests.get(file.id.as_bytes()).copied();
                let mark = known.map_or(mark, |known| sets.combine(known, mark));
                manifests.insert(*file.id.as_bytes(), mark);
            }
        }
        let mut owners = Owners::all(manifests);
        let tallying = self.tallying(repository, progress);
        let mut tallied = tallying.run(&mut owners, &mut sets).await?;
        self.add_sizes(
            repository,
            Kind::Manifest,
            &owners.manifests(),
            &mut tallied,
        )
        .await?;
        let own = marks
            .iter()
            .map(|(id, mark)| (*id.as_bytes(), *mark))
            .collect();
        for kind in [Kind::Snapshot, Kind::TransactionLog] {
            self.add_sizes(repository, kind, &own, &mut tallied).await?;
        }
        Ok(shared(rows, &sets, &tallied))
    }

    /// Counts by container the virtual chunks that refs reach. A row without a name has those in no container of the
    /// configuration.
    ///
    /// # Errors
    /// A ref or object that cannot be read.
    pub async fn by_container(
        &self,
        repository: &Repository,
        progress: &dyn Progress,
    ) -> Result<UsageTable, UsageError> {
        let refs = SourceRefs::read(repository, &[]).await?;
        progress.stage("reading histories", None);
        let histories = Histories::of(repository, refs.tips()).await?;
        let mut manifests = BTreeMap::new();
        for id in histories.ids() {
            for file in read_snapshot(repository, *id).await?.manifest_files() {
                manifests.insert(*file.id.as_bytes(), 0);
            }
        }
        let mut containers = Containers::new(repository);
        let mut owners = Owners::by_container(manifests, &mut containers);
        let tallying = self.tallying(repository, progress);
        let tallied = tallying.run(&mut owners, &mut First).await?;
        drop(owners);
        let mut rows = Vec::new();
        for (at, name) in containers.names().into_iter().enumerate() {
            let mut row = UsageRow {
                name,
                ..UsageRow::default()
            };
            fill(&mut row, &tallied.of(|mark| mark == at as u32));
            rows.push(row);
        }
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(table(rows, &tallied))
    }

    /// Adds the sizes of objects of metadata to the marks that they have. Those that are not there count nothing.
    async fn add_sizes(
        &self,
        repository: &Repository,
        kind: Kind,
        marks: &BTreeMap<[u8; 12], u32>,
        tallied: &mut tally::Tallied,
    ) -> Result<(), UsageError> {
        let ids: Vec<_> = marks.keys().copied().collect();
        let sizes = sizes(&**repository.storage(), kind, &ids).await?;
        for (mark, size) in marks.values().zip(sizes) {
            if let Some(size) = size {
                tallied.add_object(*mark, size);
            }
        }
        Ok(())
    }
}

fn fill(row: &mut UsageRow, tally: &Tally) {
    row.objects = tally.objects;
    (row.native, row.inline, row.external) = (tally.native, tally.inline, tally.external);
}

/// The rows of those who share, from marks that are sets of them.
fn shared(mut rows: Vec<UsageRow>, sets: &Sets, tallied: &tally::Tallied) -> UsageTable {
    for (at, row) in rows.iter_mut().enumerate() {
        let at = at as u32;
        fill(row, &tallied.of(|mark| sets.contains(mark, at)));
        row.unique = Some(tallied.of(|mark| sets.is_only(mark, at)).objects);
    }
    table(rows, tallied)
}

fn table(rows: Vec<UsageRow>, tallied: &tally::Tallied) -> UsageTable {
    let mut total = UsageRow {
        name: "total".to_owned(),
        ..UsageRow::default()
    };
    fill(&mut total, &tallied.of(|_| true));
    UsageTable {
        rows,
        total,
        missing_chunks: tallied.missing,
    }
}
