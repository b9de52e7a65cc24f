//! One snapshot, for reading by paths and coordinates.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use icefield_core::NodePath;

use crate::layout::ObjectKind;
use crate::{AlphaError, AlphaId, AlphaRepository, ChunkEntry, Manifest, Node, Payload, Rule};
use crate::{Layout, Snapshot};

/// The manifests of a snapshot, as far as they were read.
pub(crate) type Manifests = HashMap<AlphaId, Arc<Manifest>>;

/// A snapshot that is read by paths and coordinates. Manifests are read when a chunk is asked for, each once.
#[derive(Debug)]
pub struct AlphaVersion {
    repository: AlphaRepository,
    snapshot: Snapshot,
    manifests: Mutex<Manifests>,
}

/// The place of a chunk, and its bytes if they are in the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AlphaChunk {
    /// Its bytes.
    Bytes(Bytes),
    /// Where they lie outside the repository. They are not read: the generation knows no grants.
    Virtual {
        /// The URL, as it is stored.
        location: Arc<str>,
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
}

impl AlphaVersion {
    /// Returns a reader of a snapshot of this repository.
    #[must_use]
    pub fn new(repository: AlphaRepository, snapshot: Snapshot) -> Self {
        Self {
            repository,
            snapshot,
            manifests: Mutex::default(),
        }
    }

    /// Returns the snapshot.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Returns the layout of the repository.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.repository.layout()
    }

    /// Returns the chunks of an array inside its grid, in the order of their coordinates.
    ///
    /// # Errors
    /// [`AlphaError::NoArray`]; [`AlphaError::Missing`] and [`AlphaError::Damaged`] for manifests; the errors of the
    /// store.
    pub async fn chunks(&self, path: &NodePath) -> Result<Vec<ChunkEntry>, AlphaError> {
        let (node, manifests) = self.array(path).await?;
        let chunks = visible(&self.repository, node, &manifests)?;
        Ok(chunks.into_iter().map(|(_, entry)| entry.clone()).collect())
    }

    /// Reads a chunk; `None` for one that was never written, or lies outside the grid. Each call looks at all chunks of
    /// the array: a caller that reads many uses [`AlphaVersion::chunks`] and [`AlphaRepository::chunk`].
    ///
    /// # Errors
    /// As [`AlphaVersion::chunks`], and as [`AlphaRepository::chunk`].
    pub async fn chunk(
        &self,
        path: &NodePath,
        index: &[u32],
    ) -> Result<Option<AlphaChunk>, AlphaError> {
        let (node, manifests) = self.array(path).await?;
        let chunks = visible(&self.repository, node, &manifests)?;
        let found = chunks.binary_search_by(|(_, entry)| entry.index[..].cmp(index));
        let Some((manifest, entry)) = found.ok().and_then(|at| chunks.get(at)) else {
            return Ok(None);
        };
        if let Payload::Virtual {
            location,
            offset,
            length,
        } = &entry.payload
        {
            return Ok(Some(AlphaChunk::Virtual {
                location: Arc::clone(location),
                offset: *offset,
                length: *length,
            }));
        }
        let needed_by = self.repository.name_of(ObjectKind::Manifest, *manifest)?;
        let bytes = self.repository.chunk(&entry.payload, &needed_by).await?;
        Ok(bytes.map(AlphaChunk::Bytes))
    }

    /// The array at a path, and its manifests.
    async fn array(&self, path: &NodePath) -> Result<(&Node, Manifests), AlphaError> {
        let node = self.snapshot.node(path);
        let Some(node) = node.filter(|node| node.array.is_some()) else {
            let (path, id) = (path.clone(), self.snapshot.id);
            return Err(AlphaError::NoArray { path, id });
        };
        let mut manifests = Manifests::new();
        for id in &node.manifests {
            let known = self.known().get(id).cloned();
            let manifest = match known {
                Some(manifest) => manifest,
                None => {
                    let needed_by = self
                        .repository
                        .name_of(ObjectKind::Snapshot, self.snapshot.id)?;
                    Arc::new(self.repository.manifest(*id, &needed_by).await?)
                }
            };
            self.known().insert(*id, Arc::clone(&manifest));
            manifests.insert(*id, manifest);
        }
        Ok((node, manifests))
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Manifests> {
        self.manifests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The chunks of an array, sorted, each with its manifest; also those outside the grid. There is one manifest; if there
/// are more, no chunk may be in two.
pub(crate) fn chunks<'a>(
    source: &AlphaRepository,
    node: &Node,
    manifests: &'a Manifests,
) -> Result<Vec<(AlphaId, &'a ChunkEntry)>, AlphaError> {
    let Some(array) = &node.array else {
        return Ok(Vec::new());
    };
    let mut ids = node.manifests.clone();
    ids.sort_unstable();
    ids.dedup();
    let mut entries = Vec::new();
    for id in &ids {
        let of = manifests.get(id).map_or(&[][..], |it| it.of(node.id));
        entries.extend(of.iter().map(|entry| (*id, entry)));
    }
    if ids.len() > 1 {
        entries.sort_by(|(_, a), (_, b)| a.index[..].cmp(&b.index[..]));
        for pair in entries.windows(2) {
            if let [(_, one), (id, next)] = pair
                && one.index == next.index
            {
                let (node, index) = (node.id, one.index.clone());
                let key = source.name_of(ObjectKind::Manifest, *id)?;
                return Err(AlphaError::damaged(key, Rule::TwoChunks { node, index }));
            }
        }
    }
    if let Some((id, entry)) = (entries.iter()).find(|(_, it)| it.index.len() != array.rank()) {
        let rule = Rule::Rank {
            path: node.path.clone(),
            index: entry.index.clone(),
            found: entry.index.len(),
            rank: array.rank(),
        };
        let key = source.name_of(ObjectKind::Manifest, *id)?;
        return Err(AlphaError::damaged(key, rule));
    }
    Ok(entries)
}

/// Those that a reader sees.
pub(crate) fn visible<'a>(
    source: &AlphaRepository,
    node: &Node,
    manifests: &'a Manifests,
) -> Result<Vec<(AlphaId, &'a ChunkEntry)>, AlphaError> {
    let mut chunks = chunks(source, node, manifests)?;
    if let Some(array) = &node.array {
        chunks.retain(|(_, entry)| array.contains(&entry.index));
    }
    Ok(chunks)
}
