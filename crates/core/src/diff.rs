//! The *net* changes of a session, or between two snapshots.

mod elsewhere;
mod shifted;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{
    ArrayRecord, ChunkIndex, ChunkRef, Manifest, ManifestId, NodeId, NodeKind, NodePath, Snapshot,
    SnapshotId, SpecVersion,
};
use icefield_refs::FetchError;

use crate::change_set::{ChangeSet, WrittenNode};
use crate::moved::MovedChunk;
use crate::objects::Objects;
use crate::repository::Shared;
use crate::session::Base;
use crate::virtual_chunks::carried;
use crate::{RepositoryError, SessionError};

pub(crate) use elsewhere::{Elsewhere, Evidence};

/// Manifests loaded at a time.
const MANIFESTS_AHEAD: usize = 8;

/// The net difference between two states of a hierarchy. A node that was deleted and created again is in both lists.
///
/// ```
/// use std::sync::Arc;
/// use icefield_core::{BranchName, NodePath, Repository, WriteMode};
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
/// let before = repository.resolve(&BranchName::main().into()).await?;
/// let session = repository.write_session(BranchName::main()).await?;
/// let path = NodePath::parse("/ocean")?;
/// let group = r#"{"zarr_format": 3, "node_type": "group"}"#;
/// session.set_metadata(&path, group.into(), WriteMode::Overwrite).await?;
/// let _ = session.commit("a group").await?;
///
/// let diff = repository.diff(before, session.snapshot_id()?).await?;
/// assert!(diff.new_groups.contains(&path));
/// assert!(diff.updated_chunks.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diff {
    /// The groups that were added.
    pub new_groups: BTreeSet<NodePath>,
    /// The arrays that were added.
    pub new_arrays: BTreeSet<NodePath>,
    /// The groups that were removed, by the paths that they had.
    pub deleted_groups: BTreeSet<NodePath>,
    /// The arrays that were removed, by the paths that they had.
    pub deleted_arrays: BTreeSet<NodePath>,
    /// The groups whose metadata changed.
    pub updated_groups: BTreeSet<NodePath>,
    /// The arrays whose metadata changed.
    pub updated_arrays: BTreeSet<NodePath>,
    /// The nodes that got another path: from the old path to the new one. In repositories of version 1, whose logs have
    /// no moves, such nodes are among the deleted and the new ones.
    pub moved_nodes: BTreeMap<NodePath, NodePath>,
    /// The chunks that were written, deleted or changed, by array. Chunks of new arrays are included, those of deleted
    /// arrays are not.
    pub updated_chunks: BTreeMap<NodePath, BTreeSet<ChunkIndex>>,
}

impl Diff {
    /// Returns whether the two states are equal.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The edits of a session. Of arrays that it shifted, what differs from the base, found from their manifests, as
    /// [`Diff::between`] finds it after a commit; of others what was written, and be it what stood there before, as the log of
    /// the commit will name it.
    pub(crate) async fn of_changes(
        objects: &Objects,
        changes: &ChangeSet,
        base: &Base,
    ) -> Result<Self, SessionError> {
        let names_moves = names_moves(objects);
        let mut diff = Self::of_edits(changes, base, names_moves);
        for (id, path, view, array) in shifted::shifted(changes, base) {
            let chunks = shifted::changed_chunks(objects, changes, id, view, array).await?;
            match chunks.is_empty() {
                true => diff.updated_chunks.remove(&path),
                false => diff.updated_chunks.insert(path, chunks),
            };
        }
        Ok(diff)
    }

    /// The changes of a change set, without those of its moves.
    fn of_edits(changes: &ChangeSet, base: &Base, names_moves: bool) -> Self {
        let mut diff = Self::default();
        let mut paths: HashMap<NodeId, NodePath> = HashMap::new();
        let is_moved = |id: &NodeId| names_moves && changes.moved_from(id).is_some();
        for (path, node) in changes.created() {
            if !is_moved(&node.id) {
                diff.came(node.kind(), path.clone());
            }
            paths.insert(node.id, path.clone());
        }
        for (path, (id, kind)) in changes.deleted() {
            if !is_moved(id) {
                diff.went(*kind, path.clone());
            }
        }
        for (from, to, node) in changes.moves().filter(|_| names_moves) {
            diff.moved_nodes.insert(from.clone(), to.clone());
            if is_updated(base, changes, (from, to, node)) {
                diff.updated(node.kind(), to.clone());
            }
        }
        for (path, node) in changes.updated() {
            diff.updated(node.kind(), path.clone());
            paths.insert(node.id, path.clone());
        }
        if changes.chunks().keys().any(|id| !paths.contains_key(id)) {
            for record in base.snapshot().nodes() {
                if changes.chunks().contains_key(&record.id()) {
                    paths
                        .entry(record.id())
                        .or_insert_with(|| record.node_path());
                }
            }
        }
        for (id, table) in changes.chunks() {
            let named = table.named();
            if let Some(path) = paths.get(id)
                && !named.is_empty()
            {
                diff.updated_chunks.insert(path.clone(), named);
            }
        }
        diff
    }

    /// The difference of two snapshots, found from the snapshots and, where arrays have different manifests,
    /// those manifests. Chunks that lie elsewhere with the same bytes did not change, unless a commit between the two wrote them.
    pub(crate) async fn between(
        shared: &Shared,
        from: SnapshotId,
        to: SnapshotId,
    ) -> Result<Self, RepositoryError> {
        if from == to {
            return Ok(Self::default());
        }
        let objects = &shared.objects;
        let (from, to) = futures::try_join!(objects.snapshot(from), objects.snapshot(to))?;
        let (diff, lost) = Self::between_but_for_lost(shared, (&from, &to), Evidence::Logs).await?;
        match lost.into_values().next() {
            Some(error) => Err(error),
            None => Ok(diff),
        }
    }

    /// As [`Diff::between`]; of arrays with a manifest that is lost, no chunks are named, and the array is told with
    /// the reason.
    pub(crate) async fn between_but_for_lost(
        shared: &Shared,
        (from, to): (&Snapshot, &Snapshot),
        evidence: Evidence,
    ) -> Result<(Self, BTreeMap<NodePath, RepositoryError>), RepositoryError> {
        let objects = &shared.objects;
        let mut diff = Self::default();
        let mut lost = BTreeMap::new();
        let mut elsewhere = Elsewhere::default();
        // Nodes that are not where they were.
        let mut gone = HashMap::new();
        for old in from.nodes() {
            let same = to.node(&old.node_path()).filter(|new| new.id() == old.id());
            if same.is_none() {
                gone.insert(old.id(), old);
            }
        }
        let names_moves = names_moves(objects);
        for new in to.nodes() {
            let path = new.node_path();
            let mut old = from.node(&path).filter(|old| old.id() == new.id());
            if old.is_none() && names_moves {
                old = gone.remove(&new.id());
                let was = old.map(|old| old.node_path());
                (diff.moved_nodes).extend(was.map(|was| (was, path.clone())));
            }
            match old {
                None => diff.came(new.kind(), path.clone()),
                Some(old) if old.user_data() != new.user_data() => {
                    diff.updated(new.kind(), path.clone());
                }
                Some(_) => {}
            }
            if let Some(array) = new.array() {
                let old = old.and_then(|old| old.array());
                match changed_chunks(objects, new.id(), old, array, &mut elsewhere).await {
                    Ok(chunks) if chunks.is_empty() => {}
                    Ok(chunks) => drop(diff.updated_chunks.insert(path, chunks)),
                    Err(error) if is_lost(&error) => drop(lost.insert(path, error)),
                    Err(error) => return Err(error),
                }
            }
        }
        for old in gone.into_values() {
            diff.went(old.kind(), old.node_path());
        }
        let mut same = elsewhere
            .same(shared, (from.id(), to.id()), evidence)
            .await?;
        for new in to.nodes() {
            if same.is_empty() {
                break;
            }
            if let Some(same) = same.remove(&new.id()) {
                diff.forget_chunks(&new.node_path(), &same);
            }
        }
        Ok((diff, lost))
    }

    fn forget_chunks(&mut self, path: &NodePath, same: &BTreeSet<ChunkIndex>) {
        if let Some(chunks) = self.updated_chunks.get_mut(path) {
            chunks.retain(|index| !same.contains(index));
            if chunks.is_empty() {
                self.updated_chunks.remove(path);
            }
        }
    }

    fn came(&mut self, kind: NodeKind, path: NodePath) {
        match kind {
            NodeKind::Group => self.new_groups.insert(path),
            NodeKind::Array => self.new_arrays.insert(path),
        };
    }

    fn went(&mut self, kind: NodeKind, path: NodePath) {
        match kind {
            NodeKind::Group => self.deleted_groups.insert(path),
            NodeKind::Array => self.deleted_arrays.insert(path),
        };
    }

    fn updated(&mut self, kind: NodeKind, path: NodePath) {
        match kind {
            NodeKind::Group => self.updated_groups.insert(path),
            NodeKind::Array => self.updated_arrays.insert(path),
        };
    }
}

/// Whether nodes that moved are named as such, as the logs of the repository do.
fn names_moves(objects: &Objects) -> bool {
    objects.writer().version() >= SpecVersion::V2
}

/// Whether the session changed the metadata of a node that it moved, or what is seen of its chunks.
pub(crate) fn is_updated(
    base: &Base,
    changes: &ChangeSet,
    (from, _, node): (&NodePath, &NodePath, &WrittenNode),
) -> bool {
    let record = base.position(from).map(|position| base.record(position));
    let grid = base.grid_of(&node.id, from);
    record.is_none_or(|record| record.user_data() != node.document)
        || grid.is_some_and(|grid| changes.cuts(&node.id, &grid))
}

/// Whether an object cannot be had however often it is asked for.
fn is_lost(error: &RepositoryError) -> bool {
    use FetchError::{Format, Missing};
    matches!(
        error,
        RepositoryError::Fetch(Missing { .. } | Format(_)) | RepositoryError::Format(_)
    )
}

/// The chunks whose references differ between two states of one array, and in `elsewhere` those of which the bytes may not.
async fn changed_chunks(
    objects: &Objects,
    node: NodeId,
    old: Option<ArrayRecord<'_>>,
    new: ArrayRecord<'_>,
    elsewhere: &mut Elsewhere,
) -> Result<BTreeSet<ChunkIndex>, RepositoryError> {
    let mut changed = BTreeSet::new();
    for_each_change(objects, node, old, new, |index, _, moved| {
        changed.insert(ChunkIndex::from(index.to_vec()));
        if let Some(moved) = moved {
            elsewhere.note(node, index, moved);
        }
    })
    .await?;
    Ok(changed)
}

/// Calls `found` with every chunk whose reference differs between two states of one array, and the new
/// reference, if there is one; and how it moved, if its bytes may be the same. Manifests that both have are skipped by their ids.
pub(crate) async fn for_each_change(
    objects: &Objects,
    node: NodeId,
    old: Option<ArrayRecord<'_>>,
    new: ArrayRecord<'_>,
    mut found: impl FnMut(&[u32], Option<ChunkRef<'_>>, Option<MovedChunk>),
) -> Result<(), RepositoryError> {
    let ids = |array: Option<ArrayRecord<'_>>| -> HashSet<ManifestId> {
        array
            .iter()
            .flat_map(|array| array.manifests())
            .map(|it| it.id())
            .collect()
    };
    let (old, new) = (ids(old), ids(Some(new)));
    let (old, new) = (
        load(objects, old.difference(&new)).await?,
        load(objects, new.difference(&old)).await?,
    );
    let mut index = Vec::new();
    let version = objects.writer().version();
    let mut text = String::new();
    for manifest in &new.manifests {
        for record in manifest.array(&node).iter().flat_map(|refs| refs.refs()) {
            index.clear();
            record.index_into(&mut index);
            let chunk = Some(record.chunk_ref()?);
            let was = old.get(&node, &index)?;
            if was != chunk {
                let moved = MovedChunk::of(was, chunk);
                let from = manifest.spec_version();
                let chunk = chunk.map(|chunk| carried(chunk, from, version, &mut text));
                found(&index, chunk, moved);
            }
        }
    }
    for manifest in &old.manifests {
        for record in manifest.array(&node).iter().flat_map(|refs| refs.refs()) {
            index.clear();
            record.index_into(&mut index);
            if new.get(&node, &index)?.is_none() {
                found(&index, None, None);
            }
        }
    }
    Ok(())
}

struct Loaded {
    manifests: Vec<Arc<Manifest>>,
}

impl Loaded {
    fn get(&self, node: &NodeId, index: &[u32]) -> Result<Option<ChunkRef<'_>>, RepositoryError> {
        for manifest in &self.manifests {
            if let Some(chunk) = manifest.get(node, index)? {
                return Ok(Some(chunk));
            }
        }
        Ok(None)
    }
}

async fn load(
    objects: &Objects,
    ids: impl Iterator<Item = &ManifestId>,
) -> Result<Loaded, RepositoryError> {
    let mut ids: Vec<ManifestId> = ids.copied().collect();
    ids.sort_unstable();
    let loads = stream::iter(ids).map(|id| objects.manifest(id));
    let manifests = loads.buffered(MANIFESTS_AHEAD).try_collect().await?;
    Ok(Loaded { manifests })
}
