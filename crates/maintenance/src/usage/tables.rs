//! The usage of arrays, commits, refs and containers, each in a table.

use std::collections::{BTreeMap, BTreeSet};

use icefield_core::{Repository, SnapshotId, time_of_micros};

use super::marks::{First, Marks, Sets};
use super::tally::{Containers, Owners, Tallied, Tally};
use super::{Usage, UsageError, UsageRow, UsageTable};
use crate::Progress;
use crate::copy::plan::{Plan, SourceRefs, snapshot};
use crate::listing::{ObjectKind, sizes};

impl Usage {
    /// Counts the manifests and chunk objects of one snapshot, by array.
    ///
    /// # Errors
    /// An object that cannot be read.
    pub async fn by_array(
        &self,
        repository: &Repository,
        at: SnapshotId,
        progress: &dyn Progress,
    ) -> Result<UsageTable, UsageError> {
        let snapshot = snapshot(repository, at).await?;
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
        self.add_sizes(repository, ObjectKind::Manifest, &manifests, &mut tallied)
            .await?;
        Ok(shared(rows, &sets, &tallied))
    }

    /// Counts the objects that each commit of a history added, newest first.
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
        let plan = Plan::whole(repository, BTreeSet::from([tip])).await?;
        let (mut rows, mut manifests, mut own) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        for (at, id) in plan.steps.iter().map(|step| step.id).enumerate() {
            let snapshot = snapshot(repository, id).await?;
            rows.push(UsageRow {
                name: id.to_string(),
                snapshot_id: Some(id),
                message: Some(snapshot.message().to_owned()),
                written_at: Some(time_of_micros(snapshot.flushed_at())),
                ..UsageRow::default()
            });
            own.insert(*id.as_bytes(), at as u32);
            for file in snapshot.manifest_files() {
                // Parents come first: the first snapshot on the way has added it.
                manifests.entry(*file.id.as_bytes()).or_insert(at as u32);
            }
        }
        let mut owners = Owners::all(manifests);
        let tallying = self.tallying(repository, progress);
        let mut tallied = tallying.run(&mut owners, &mut First).await?;
        self.add_sizes(
            repository,
            ObjectKind::Manifest,
            &owners.manifests(),
            &mut tallied,
        )
        .await?;
        for kind in [ObjectKind::Snapshot, ObjectKind::TransactionLog] {
            self.add_sizes(repository, kind, &own, &mut tallied).await?;
        }
        for (at, row) in rows.iter_mut().enumerate() {
            fill(row, &tallied.of(|mark| mark == at as u32));
        }
        rows.reverse();
        Ok(table(rows, &tallied))
    }

    /// Counts the objects that each branch and tag reaches, and those that only it reaches: deleting the ref would free
    /// these, once garbage is collected.
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
        let plan = Plan::whole(repository, refs.tips()).await?;
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
        for step in plan.steps.iter().rev() {
            if let (Some(mark), Some(parent)) = (marks.get(&step.id).copied(), step.parent) {
                let known = marks.get(&parent).copied();
                let mark = known.map_or(mark, |known| sets.combine(known, mark));
                marks.insert(parent, mark);
            }
        }
        let mut manifests: BTreeMap<[u8; 12], u32> = BTreeMap::new();
        for id in plan.steps.iter().map(|step| step.id) {
            let Some(mark) = marks.get(&id).copied() else {
                continue;
            };
            for file in snapshot(repository, id).await?.manifest_files() {
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
            ObjectKind::Manifest,
            &owners.manifests(),
            &mut tallied,
        )
        .await?;
        let own = marks
            .iter()
            .map(|(id, mark)| (*id.as_bytes(), *mark))
            .collect();
        for kind in [ObjectKind::Snapshot, ObjectKind::TransactionLog] {
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
        let plan = Plan::whole(repository, refs.tips()).await?;
        let manifests = plan.manifests.into_iter().map(|id| (id, 0)).collect();
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
        kind: ObjectKind,
        marks: &BTreeMap<[u8; 12], u32>,
        tallied: &mut Tallied,
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

/// The rows of users that share objects, from marks that are sets of users.
fn shared(mut rows: Vec<UsageRow>, sets: &Sets, tallied: &Tallied) -> UsageTable {
    for (at, row) in rows.iter_mut().enumerate() {
        let at = at as u32;
        fill(row, &tallied.of(|mark| sets.contains(mark, at)));
        row.unique = Some(tallied.of(|mark| sets.is_only(mark, at)).objects);
    }
    table(rows, tallied)
}

fn table(rows: Vec<UsageRow>, tallied: &Tallied) -> UsageTable {
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
