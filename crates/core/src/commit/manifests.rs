//! New manifests of one array, merged from the base's references and the session's in one pass over sorted inputs.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use icefield_format::{
    ChunkRef, FormatError, Manifest, ManifestEncoder, ManifestFileInfo, ManifestId, ManifestRef,
    NodeId,
};

use icefield_storage::{Entropy, PlantedBug, planted};

use crate::change_set::{BaseView, ChangeSet, ChunkTable, PendingChunk};
use crate::file_writer::FileWriter;
use crate::grid::within;
use crate::relocation::Relocations;
use crate::splits::Cells;
use crate::virtual_chunks::carried;

/// Bytes that an edit takes in memory and in a manifest, about.
const BYTES_PER_EDIT: usize = 80;

/// References of one array that are written together: those of some manifests of the base, and edits.
#[derive(Clone, Debug)]
pub(super) struct ManifestJob {
    pub(super) node: NodeId,
    /// Chunks per dimension of the array as it will be.
    pub(super) grid: Vec<u32>,
    /// Each cell with references gets a manifest.
    pub(super) cells: Cells,
    /// The box that is written; what of the inputs is seen outside of it is not. All of the grid if there is none.
    pub(super) part: Option<Vec<Range<u32>>>,
    /// The edits, in the order of their indices.
    pub(super) rows: Arc<[u32]>,
    /// The base's manifests whose references are carried over, those within their boxes: no reader finds another.
    pub(super) inputs: Vec<ManifestRef>,
    /// Where chunks of the base are by now.
    pub(super) relocations: Arc<Relocations>,
    /// Where the ids come from.
    pub(super) entropy: Arc<dyn Entropy>,
}

/// A new manifest and the array's pointer to it.
#[derive(Clone, Debug)]
pub(super) struct NewManifest {
    pub(super) reference: ManifestRef,
    pub(super) info: ManifestFileInfo,
    /// The file to be stored; `None` if it is stored already.
    pub(super) file: Option<Bytes>,
    /// Its decoded content, if the writer has it anyway.
    pub(super) decoded: Option<Arc<Manifest>>,
}

/// All that the content of manifests depends on, beside the array and the state of its edits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Origin {
    inputs: Vec<ManifestRef>,
    grid: Vec<u32>,
    cells: Cells,
    /// Which of the edits. In one state of them, a number means one edit.
    rows: Arc<[u32]>,
    part: Option<Vec<Range<u32>>>,
    view: Option<BaseView>,
}

/// Manifests of one array that are stored.
#[derive(Clone, Debug, Default)]
struct Stored {
    /// The state of the edits that they were written for.
    revision: u64,
    by_origin: HashMap<Origin, Vec<NewManifest>>,
}

/// Manifests that earlier attempts of a commit stored, by array: an attempt after a rebase writes only what
/// the commit in between touched.
#[derive(Clone, Debug, Default)]
pub(crate) struct WrittenManifests(HashMap<NodeId, Stored>);

impl WrittenManifests {
    /// Whether no earlier attempt stored anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The manifests that an earlier attempt stored for a job, if the job would make the same ones.
    pub(super) fn find(&self, job: &ManifestJob, changes: &ChangeSet) -> Option<Vec<NewManifest>> {
        let stored = self.0.get(&job.node)?;
        (stored.revision == job.revision(changes))
            .then(|| stored.by_origin.get(&job.origin(changes)).cloned())?
    }

    /// Remembers what was stored for a job.
    pub(super) fn note(&mut self, job: &ManifestJob, changes: &ChangeSet, new: &[NewManifest]) {
        let stored = self.0.entry(job.node).or_default();
        if stored.revision != job.revision(changes) {
            // Manifests for another state of the edits are of no use any more.
            *stored = Stored {
                revision: job.revision(changes),
                ..Stored::default()
            };
        }
        let new = new.iter().map(|manifest| NewManifest {
            file: None,
            decoded: None,
            ..manifest.clone()
        });
        (stored.by_origin).insert(job.origin(changes), new.collect());
    }
}

impl ManifestJob {
    fn origin(&self, changes: &ChangeSet) -> Origin {
        Origin {
            inputs: self.inputs.clone(),
            grid: self.grid.clone(),
            cells: self.cells.clone(),
            rows: Arc::clone(&self.rows),
            part: self.part.clone(),
            view: changes.view_of(&self.node).cloned(),
        }
    }

    fn revision(&self, changes: &ChangeSet) -> u64 {
        let table = changes.chunks_of(&self.node);
        table.map_or(0, ChunkTable::revision)
    }

    /// Bytes that it merges, about.
    pub(super) fn bytes(&self, inputs: &[Arc<Manifest>]) -> usize {
        let old: usize = inputs.iter().map(|manifest| manifest.body_len()).sum();
        old + self.rows.len() * BYTES_PER_EDIT
    }

    /// Merges and encodes. Cells without references get no manifest.
    pub(super) fn run(
        &self,
        changes: &ChangeSet,
        inputs: &[Arc<Manifest>],
        writer: &FileWriter,
    ) -> Result<Vec<NewManifest>, FormatError> {
        let empty = ChunkTable::new(self.grid.len());
        let table = changes.chunks_of(&self.node).unwrap_or(&empty);
        let mut rows = self.rows.iter().copied().peekable();
        let mut base = BaseRefs::new(self, changes.view_of(&self.node), table, inputs);
        let mut index = Vec::with_capacity(self.grid.len());
        let mut output = CellWriter::new(self, writer, Extras::of(self.node, inputs));
        let mut text = String::new();
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
                output.push(table.index(row), chunk, None)?;
            }
            if order != Ordering::Greater
                && let Some((input, position)) = base.next(&mut index)
                && order == Ordering::Less
                && let Some(refs) = inputs[input].array(&self.node)
            {
                let record = refs.record_at(position);
                let from = inputs[input].spec_version();
                let chunk = carried(record.chunk_ref()?, from, writer.version(), &mut text);
                output.push(&index, self.relocations.place(chunk), record.extra())?;
            }
        }
        output.finish()
    }
}

/// Whether readers look for an index in a manifest.
fn shows(manifest: &ManifestRef, index: &[u32]) -> bool {
    let mut axes = manifest.extents.ranges().iter().zip(index);
    axes.all(|(range, at)| {
        range.contains(at) && !(range.end - at == 1 && planted(PlantedBug::ExtentOneShort))
    })
}

/// The content of reserved fields of the array and of its manifests, from later versions of the format. Of several
/// manifests, only content that all of them have is kept: no reader of this version can join different ones.
#[derive(Clone, Copy, Debug, Default)]
struct Extras<'a> {
    manifest: Option<&'a [u8]>,
    array: Option<&'a [u8]>,
}

impl<'a> Extras<'a> {
    fn of(node: NodeId, inputs: &'a [Arc<Manifest>]) -> Self {
        let with_array = || {
            let inputs = inputs.iter();
            inputs.filter_map(|input| Some((input, input.array(&node)?)))
        };
        Self {
            manifest: agreed(with_array().map(|(input, _)| input.extra())),
            array: agreed(with_array().map(|(_, refs)| refs.extra())),
        }
    }
}

/// The value that all have.
fn agreed<T: Copy + PartialEq>(mut said: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = said.next()??;
    said.all(|other| other == Some(first)).then_some(first)
}

/// Sends references, which come in the order of their indices, to the manifests of their cells.
struct CellWriter<'a> {
    job: &'a ManifestJob,
    writer: &'a FileWriter,
    extras: Extras<'a>,
    cell: Vec<u32>,
    open: BTreeMap<Vec<u32>, ManifestEncoder>,
    done: Vec<NewManifest>,
}

impl<'a> CellWriter<'a> {
    fn new(job: &'a ManifestJob, writer: &'a FileWriter, extras: Extras<'a>) -> Self {
        Self {
            job,
            writer,
            extras,
            cell: Vec::new(),
            open: BTreeMap::new(),
            done: Vec::new(),
        }
    }

    fn push(
        &mut self,
        index: &[u32],
        chunk: ChunkRef<'_>,
        extra: Option<&[u8]>,
    ) -> Result<(), FormatError> {
        self.job.cells.find(index, &mut self.cell);
        if let Some(encoder) = self.open.get_mut(&self.cell) {
            return encoder.push_with_extra(index, chunk, extra);
        }
        // Along the first axis nothing comes back: what lies before can be compressed, and its memory given back.
        while let Some(first) = self.open.first_entry()
            && first.key().first() < self.cell.first()
        {
            let encoder = first.remove();
            self.end(encoder)?;
        }
        let mut id = [0; 12];
        self.job.entropy.fill(&mut id);
        let id = ManifestId::from_bytes(id);
        let encoder = self.writer.manifest(id);
        let mut encoder = encoder.with_room_for(self.job.rows.len(), index.len());
        if let Some(extra) = self.extras.manifest {
            encoder.extra(extra);
        }
        encoder.begin_array_with_extra(self.job.node, self.extras.array)?;
        encoder.push_with_extra(index, chunk, extra)?;
        self.open.insert(self.cell.clone(), encoder);
        Ok(())
    }

    fn end(&mut self, encoder: ManifestEncoder) -> Result<(), FormatError> {
        if let Some(extents) = encoder.extents_of_current() {
            let encoded = self.writer.finish_manifest(encoder)?;
            self.done.push(NewManifest {
                reference: ManifestRef {
                    id: encoded.info.id,
                    extents,
                },
                info: encoded.info,
                file: Some(encoded.bytes),
                decoded: None,
            });
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<NewManifest>, FormatError> {
        for (_, encoder) in std::mem::take(&mut self.open) {
            self.end(encoder)?;
        }
        Ok(self.done)
    }
}

/// The references of one array in several manifests that a job carries over, in the order of the indices at which they are
/// seen. A shift keeps the order in which the base has them.
struct BaseRefs<'a> {
    job: &'a ManifestJob,
    view: Option<&'a BaseView>,
    edits: &'a ChunkTable,
    inputs: &'a [Arc<Manifest>],
    heads: BinaryHeap<Reverse<(Vec<u32>, usize, usize)>>,
    /// Where the base has a reference.
    base: Vec<u32>,
}

impl<'a> BaseRefs<'a> {
    fn new(
        job: &'a ManifestJob,
        view: Option<&'a BaseView>,
        edits: &'a ChunkTable,
        inputs: &'a [Arc<Manifest>],
    ) -> Self {
        let mut refs = Self {
            job,
            view,
            edits,
            inputs,
            heads: BinaryHeap::new(),
            base: Vec::new(),
        };
        for input in 0..inputs.len() {
            refs.push(input, 0, Vec::new());
        }
        refs
    }

    /// Adds the first reference of an input, from a position on, that is carried over.
    fn push(&mut self, input: usize, from: usize, mut index: Vec<u32>) {
        let Some(refs) = self.inputs[input].array(&self.job.node) else {
            return;
        };
        for position in from..refs.len() {
            refs.record_at(position).index_into(&mut self.base);
            if self.place(input, &mut index) {
                self.heads.push(Reverse((index, input, position)));
                return;
            }
        }
    }

    /// Puts where the reference is seen into `index`; returns whether it is.
    fn place(&self, input: usize, index: &mut Vec<u32>) -> bool {
        if !shows(&self.job.inputs[input], &self.base) {
            return false;
        }
        match self.view {
            Some(view) if !view.place(&self.base, index) => return false,
            Some(_) => {}
            None => index.clone_from(&self.base),
        }
        let part = self.job.part.as_deref();
        within(index, &self.job.grid)
            && !self.edits.is_boxed(index)
            && part.is_none_or(|part| {
                part.iter()
                    .zip(&*index)
                    .all(|(range, at)| range.contains(at))
            })
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

#[cfg(test)]
mod tests;
