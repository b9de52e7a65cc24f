//! Walks everything that a repository's refs reach and says what breaks a rule.
//!
//! Looks at: each ref resolves; each history ends at the first snapshot and its times strictly rise; each
//! snapshot, manifest, transaction log and chunk that something names is there, states its own id and has
//! the length it should have; manifest lists are complete and hold nothing else; extents are the tight boxes
//! of their refs; a log says what its snapshot changed. A chunk that only lies elsewhere did not change.

mod logs;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use futures::TryStreamExt;
use icefield_format::{
    ArrayRefs, ChunkId, ChunkIndex, ChunkRef, Extents, ManifestId, NodeId, NodeKind, NodePath,
    NodeRecord, Snapshot, SnapshotId, SpecVersion, TransactionLog, layout,
};
use icefield_storage::{Bytes, GetOptions, GetRange, Key, Storage};

use crate::metadata::{ArrayMetadata, NodeMetadata};
use crate::{Repository, RepositoryError, SnapshotInfo};

/// Where the bytes of a chunk are, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Located {
    /// A range of a chunk object: its first byte and its length.
    Native(ChunkId, u64, u64),
    /// In the manifest, or in a foreign object.
    Other(String),
}

/// The parts of a snapshot that logs are compared with.
#[derive(Debug, Default)]
struct Contents {
    nodes: BTreeMap<NodeId, (NodeKind, Vec<u8>)>,
    paths: BTreeMap<NodeId, NodePath>,
    grids: BTreeMap<NodeId, Vec<u32>>,
    chunks: BTreeMap<NodeId, BTreeMap<ChunkIndex, Located>>,
}

struct RepositoryWalk {
    repository: Repository,
    storage: Arc<dyn Storage>,
    problems: Vec<String>,
    seen: HashMap<SnapshotId, Arc<Contents>>,
    sizes: HashMap<Key, Option<u64>>,
}

/// Returns the faults of the repository at a store; none if it is sound or does not exist.
pub async fn problems(storage: &Arc<dyn Storage>) -> Vec<String> {
    let repository = match Repository::open(Arc::clone(storage)).await {
        Ok(repository) => repository,
        Err(RepositoryError::NotFound { .. }) => return Vec::new(),
        Err(error) => return vec![format!("it does not open: {error:?}")],
    };
    let mut walk = RepositoryWalk {
        repository,
        storage: Arc::clone(storage),
        problems: Vec::new(),
        seen: HashMap::new(),
        sizes: HashMap::new(),
    };
    walk.refs().await;
    walk.problems
}

/// Asserts that the repository at a store is sound.
///
/// # Panics
/// If it is not.
pub async fn assert_sound(storage: &Arc<dyn Storage>) {
    let problems = problems(storage).await;
    assert!(problems.is_empty(), "damage: {problems:#?}");
}

impl RepositoryWalk {
    fn problem(&mut self, problem: String) {
        self.problems.push(problem);
    }

    async fn refs(&mut self) {
        let refs = match self.repository.refs().await {
            Ok(refs) => refs,
            Err(error) => return self.problem(format!("refs cannot be listed: {error:?}")),
        };
        for stray in refs.strays {
            self.problem(format!("no ref: {stray}"));
        }
        let branches = refs
            .branches
            .into_iter()
            .map(|(name, tip)| (format!("branch {name}"), tip));
        let tags = refs
            .tags
            .into_iter()
            .map(|(name, tip)| (format!("tag {name}"), tip));
        for (name, tip) in branches.chain(tags) {
            match tip {
                Ok(tip) => self.history(&name, tip).await,
                Err(error) => self.problem(format!("{name} does not resolve: {error:?}")),
            }
        }
    }

    async fn history(&mut self, name: &str, tip: SnapshotId) {
        let history: Vec<SnapshotInfo> = match self.repository.ancestry(tip).try_collect().await {
            Ok(history) => history,
            Err(error) => return self.problem(format!("history of {name}: {error:?}")),
        };
        for pair in history.windows(2) {
            if pair[0].written_at <= pair[1].written_at {
                let (newer, older) = (pair[0].id, pair[1].id);
                self.problem(format!("{newer} is not younger than its parent {older}"));
            }
        }
        match history.last() {
            Some(first) if first.id == SnapshotId::INITIAL => {}
            other => self.problem(format!("history of {name} ends at {other:?}")),
        }
        // Oldest first, so that a log finds its parent's contents.
        for info in history.iter().rev() {
            if self.seen.contains_key(&info.id) {
                continue;
            }
            let contents = match self.repository.snapshot(info.id).await {
                Ok(snapshot) => Arc::new(self.snapshot(&snapshot).await),
                Err(error) => return self.problem(format!("snapshot {}: {error:?}", info.id)),
            };
            self.seen.insert(info.id, Arc::clone(&contents));
            for pruned in &info.pruned_logs {
                if let Err(error) = self.repository.transaction_log(*pruned).await {
                    self.problem(format!("pruned log {pruned} of {}: {error:?}", info.id));
                }
            }
            // Where ancestors expired, the log tells what came after them alone.
            let parent = info.parent_id.filter(|_| info.pruned_logs.is_empty());
            let parent = parent.and_then(|id| self.seen.get(&id).cloned());
            if let Some(parent) = parent {
                match self.repository.transaction_log(info.id).await {
                    Ok(log) => {
                        let (problems, moved) = logs::compare(&log, &parent, &contents);
                        self.problems.extend(problems);
                        for chunk in moved {
                            self.moved(&log, chunk).await;
                        }
                    }
                    Err(error) => self.problem(format!("log of {}: {error:?}", info.id)),
                }
            }
        }
    }

    async fn snapshot(&mut self, snapshot: &Snapshot) -> Contents {
        let id = snapshot.id();
        let file = (id, snapshot.spec_version());
        let mut contents = Contents::default();
        let mut used = BTreeSet::new();
        let mut arrays = BTreeSet::new();
        for record in snapshot.nodes() {
            let path = record.node_path();
            if path.ancestors().any(|above| arrays.contains(&above)) {
                self.problem(format!("{id}: {path} is below an array"));
            }
            contents.paths.insert(record.id(), path.clone());
            contents
                .nodes
                .insert(record.id(), (record.kind(), record.user_data().to_vec()));
            match (NodeMetadata::parse(record.user_data()), record.kind()) {
                (Ok(NodeMetadata::Array(array)), NodeKind::Array) => {
                    arrays.insert(path);
                    self.array(file, record, &array, &mut contents, &mut used)
                        .await;
                }
                (Ok(NodeMetadata::Group), NodeKind::Group) => {}
                (other, kind) => self.problem(format!("{id}: {path} is {kind:?} and {other:?}")),
            }
        }
        for info in snapshot.manifest_files() {
            if !used.remove(&info.id) {
                self.problem(format!("{id} lists manifest {} and never uses it", info.id));
            }
            let size = self.size(&layout::manifest_key(info.id)).await;
            if size != Some(info.size_bytes) {
                self.problem(format!("{id}: {info:?} has {size:?} bytes"));
            }
            if let Ok(manifest) = self.repository.manifest(info.id).await
                && manifest.total_refs() != u64::from(info.num_chunk_refs)
            {
                let found = manifest.total_refs();
                self.problem(format!("{id}: {info:?} has {found} refs"));
            }
        }
        if !used.is_empty() {
            self.problem(format!("{id} does not list {used:?}"));
        }
        contents
    }

    async fn array(
        &mut self,
        (snapshot, version): (SnapshotId, SpecVersion),
        record: NodeRecord<'_>,
        metadata: &ArrayMetadata,
        contents: &mut Contents,
        used: &mut BTreeSet<ManifestId>,
    ) {
        let name = format!("{snapshot}: {}", record.path());
        let Some(array) = record.array() else {
            return self.problem(format!("{name} is no array"));
        };
        let shape: Vec<u64> = array.shape().map(|it| it.array_length).collect();
        let counts: Vec<u64> = array.shape().map(|it| it.num_chunks()).collect();
        let chunk: Vec<u64> = array.shape().map(|it| it.chunk_length()).collect();
        // Files of version 2 have no lengths of chunks.
        let is_cut = version == SpecVersion::V2 || chunk == metadata.chunk_shape;
        let grid: Vec<u64> = metadata
            .chunk_counts
            .iter()
            .copied()
            .map(u64::from)
            .collect();
        if shape != metadata.shape || counts != grid || !is_cut {
            self.problem(format!(
                "{name} is {shape:?} by {chunk:?} in {counts:?} chunks, not {metadata:?}"
            ));
        }
        contents
            .grids
            .insert(record.id(), metadata.chunk_counts.clone());
        let mut boxes: Vec<Extents> = Vec::new();
        for reference in array.manifests() {
            used.insert(reference.id());
            let extents = reference.extents();
            if boxes.iter().any(|other| other.intersects(&extents)) {
                self.problem(format!("{name}: manifests overlap at {extents:?}"));
            }
            boxes.push(extents.clone());
            let manifest = match self.repository.manifest(reference.id()).await {
                Ok(manifest) => manifest,
                Err(error) => {
                    self.problem(format!("{name}: {error:?}"));
                    continue;
                }
            };
            let refs = manifest.array(&record.id());
            let indices: Vec<ChunkIndex> = refs
                .iter()
                .flat_map(ArrayRefs::refs)
                .map(|it| it.index())
                .collect();
            if Extents::bounding(indices.iter().map(|index| &**index)) != Some(extents) {
                let id = reference.id();
                self.problem(format!("{name}: the extents of {id} are not tight"));
            }
            for (index, chunk) in indices
                .into_iter()
                .zip(refs.iter().flat_map(ArrayRefs::refs))
            {
                if !metadata.contains(&index) {
                    self.problem(format!("{name}: {index} is outside the grid"));
                }
                let located = match chunk.chunk_ref() {
                    Ok(ChunkRef::Native { id, offset, length }) => {
                        self.chunk(&name, &index, id, offset, length).await;
                        Located::Native(id, offset, length)
                    }
                    Ok(other) => Located::Other(format!("{other:?}")),
                    Err(error) => {
                        self.problem(format!("{name}: {index}: {error:?}"));
                        continue;
                    }
                };
                contents
                    .chunks
                    .entry(record.id())
                    .or_default()
                    .insert(index, located);
            }
        }
    }

    async fn chunk(
        &mut self,
        name: &str,
        index: &ChunkIndex,
        id: ChunkId,
        offset: u64,
        length: u64,
    ) {
        let size = self.size(&layout::chunk_key(id)).await;
        if size.is_none_or(|size| offset + length > size) {
            self.problem(format!(
                "{name}: chunk {index} is bytes {offset}+{length} of {id}, which has {size:?}"
            ));
        }
    }

    /// A chunk that no log names may lie elsewhere than it did, with the bytes that it had.
    async fn moved(&mut self, log: &TransactionLog, chunk: logs::Moved) {
        let (was, is) = (self.bytes(&chunk.was).await, self.bytes(&chunk.is).await);
        if was.is_none() || was != is {
            let (id, index, node) = (log.id(), &chunk.index, chunk.node);
            self.problem(format!("log {id}: chunk {index} of {node} changed unsaid"));
        }
    }

    async fn bytes(&self, (id, offset, length): &(ChunkId, u64, u64)) -> Option<Bytes> {
        let key = Key::parse(&layout::chunk_key(*id)).expect("BUG: ids make valid keys");
        let options = GetOptions::range(GetRange::Bounded(*offset..*offset + *length));
        self.storage
            .get(&key, options)
            .await
            .ok()?
            .bytes()
            .await
            .ok()
    }

    async fn size(&mut self, key: &str) -> Option<u64> {
        let key = Key::parse(key).expect("BUG: ids make valid keys");
        if let Some(size) = self.sizes.get(&key) {
            return *size;
        }
        let size = match self.storage.head(&key).await {
            Ok(meta) => Some(meta.size),
            Err(error) if error.is_not_found() => None,
            Err(error) => {
                self.problem(format!("{key}: {error:?}"));
                None
            }
        };
        self.sizes.insert(key, size);
        size
    }
}
