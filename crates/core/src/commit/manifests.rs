//! The manifests of one array in a new snapshot: kept where nothing changed, else merged from the base's
//! references and the session's, in one pass over sorted inputs.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use icefield_format::{
    FormatError, Manifest, ManifestEncoder, ManifestFileInfo, ManifestId, ManifestRef, NodeId,
    Writer,
};

use crate::change_set::{ChangeSet, ChunkTable, PendingChunk, within};

/// One manifest to write.
#[derive(Clone, Debug)]
pub(super) struct ManifestJob {
    pub(super) id: ManifestId,
    pub(super) node: NodeId,
    /// Chunks per dimension of the array as it will be.
    pub(super) grid: Vec<u32>,
    /// The base's manifests whose references are carried over.
    pub(super) inputs: Vec<ManifestId>,
}

/// A new manifest and the array's pointer to it.
#[derive(Clone, Debug)]
pub(super) struct NewManifest {
    pub(super) reference: ManifestRef,
    pub(super) info: ManifestFileInfo,
    /// What is to be stored; `None` if an earlier attempt of the same commit stored it.
    pub(super) file: Option<Bytes>,
}

/// All that the content of a manifest depends on, beside the array.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    inputs: Vec<ManifestId>,
    grid: Vec<u32>,
    visible: Option<Vec<u32>>,
    revision: u64,
}

/// Manifests that earlier attempts of a commit stored, by array: an attempt after a rebase writes only what
/// the commit in between touched.
#[derive(Clone, Debug, Default)]
pub(crate) struct WrittenManifests(HashMap<NodeId, (Origin, Option<NewManifest>)>);

impl WrittenManifests {
    /// What an earlier attempt stored for a job, if it would come out the same.
    pub(super) fn find(
        &self,
        job: &ManifestJob,
        changes: &ChangeSet,
    ) -> Option<Option<NewManifest>> {
        let (origin, manifest) = self.0.get(&job.node)?;
        (*origin == job.origin(changes)).then(|| manifest.clone())
    }

    /// Remembers what was stored for a job.
    pub(super) fn note(
        &mut self,
        job: &ManifestJob,
        changes: &ChangeSet,
        manifest: Option<&NewManifest>,
    ) {
        let stored = manifest.map(|manifest| NewManifest {
            file: None,
            ..manifest.clone()
        });
        self.0.insert(job.node, (job.origin(changes), stored));
    }
}

impl ManifestJob {
    fn origin(&self, changes: &ChangeSet) -> Origin {
        Origin {
            inputs: self.inputs.clone(),
            grid: self.grid.clone(),
            visible: changes.visible_grid(&self.node).map(<[u32]>::to_vec),
            revision: changes
                .chunks()
                .get(&self.node)
                .map_or(0, ChunkTable::revision),
        }
    }

    /// Bytes that it merges, about.
    pub(super) fn bytes(&self, changes: &ChangeSet, inputs: &[Arc<Manifest>]) -> usize {
        let old: usize = inputs.iter().map(|manifest| manifest.body_len()).sum();
        let new = changes.chunks().get(&self.node);
        old + new.map_or(0, ChunkTable::memory_bytes)
    }

    /// Merges and encodes. `None` if no reference is left.
    pub(super) fn run(
        &self,
        changes: &ChangeSet,
        inputs: &[Arc<Manifest>],
        writer: &Writer,
    ) -> Result<Option<NewManifest>, FormatError> {
        let mut encoder = ManifestEncoder::new(self.id);
        encoder.begin_array(self.node)?;
        let empty = ChunkTable::new(self.grid.len());
        let table = changes.chunks().get(&self.node).unwrap_or(&empty);
        let rows = table.sorted_rows();
        let mut rows = rows.iter().copied().peekable();
        let mut base = BaseRefs::new(inputs, &self.node);
        let visible = changes.visible_grid(&self.node);
        let mut index = Vec::with_capacity(self.grid.len());
        loop {
            let order = match (base.peek(), rows.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(index), Some(row)) => index.cmp(table.index(*row)),
            };
            if order != Ordering::Less
                && let Some(row) = rows.next()
                && let PendingChunk::Set(chunk) = table.at(row)
            {
                encoder.push(table.index(row), chunk)?;
            }
            if order != Ordering::Greater
                && let Some((input, position)) = base.next(&mut index)
                && order == Ordering::Less
                && within(&index, &self.grid)
                && visible.is_none_or(|grid| within(&index, grid))
                && let Some(refs) = inputs[input].array(&self.node)
            {
                encoder.push(&index, refs.record_at(position).chunk_ref()?)?;
            }
        }
        let Some(extents) = encoder.extents_of_current() else {
            return Ok(None);
        };
        let encoded = encoder.finish(writer)?;
        Ok(Some(NewManifest {
            reference: ManifestRef {
                id: self.id,
                extents,
            },
            info: encoded.info,
            file: Some(encoded.bytes),
        }))
    }
}

/// The references of one array in several manifests, in the order of their indices.
struct BaseRefs<'a> {
    inputs: &'a [Arc<Manifest>],
    node: &'a NodeId,
    heads: BinaryHeap<Reverse<(Vec<u32>, usize, usize)>>,
}

impl<'a> BaseRefs<'a> {
    fn new(inputs: &'a [Arc<Manifest>], node: &'a NodeId) -> Self {
        let mut refs = Self {
            inputs,
            node,
            heads: BinaryHeap::new(),
        };
        for input in 0..inputs.len() {
            refs.push(input, 0, Vec::new());
        }
        refs
    }

    fn push(&mut self, input: usize, position: usize, mut index: Vec<u32>) {
        if let Some(refs) = self.inputs[input].array(self.node)
            && position < refs.len()
        {
            index.clear();
            refs.record_at(position).index_into(&mut index);
            self.heads.push(Reverse((index, input, position)));
        }
    }

    fn peek(&self) -> Option<&[u32]> {
        self.heads.peek().map(|Reverse((index, ..))| &index[..])
    }

    /// Says where the next reference is, and puts its index into `index`.
    fn next(&mut self, index: &mut Vec<u32>) -> Option<(usize, usize)> {
        let Reverse((mut head, input, position)) = self.heads.pop()?;
        std::mem::swap(index, &mut head);
        self.push(input, position + 1, head);
        Some((input, position))
    }
}
