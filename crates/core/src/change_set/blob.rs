//! A fork as bytes, for other processes.
//!
//! ```text
//! 8 bytes   "ICEFORK\0"
//! 1 byte    version, 4
//! rest      a zstd frame with a checksum: MessagePack of base, its time in microseconds,
//!           family, origin id, origin, changes, lease: its id, the age of the session in
//!           microseconds, when that was, and when the session began by the store's clock
//!           or 0; ids of snapshots whose chunks were taken over
//! ```
//! Both change sets are columns, as in memory: per array one byte string for each of coordinates, kinds, chunk
//! ids, offsets, lengths, inline bytes and the numbers of foreign objects, which are told once. Of the changes, only
//! rows that are not in the origin are kept. A
//! reader refuses versions that it does not know; fields at the end of a list that it does not know, too.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use icefield_format::{
    Checksum, ChunkId, ChunkRef, FormatError, NodeId, NodeKind, NodePath, PathError, SnapshotId,
};
use serde::{Deserialize, Serialize};

use super::frame::{
    PackedLease, VERSION, fixed, opened, packed_ids, packed_lease, sealed, unpacked_ids,
    unpacked_lease,
};
use super::interned::Interned;
use super::{BaseView, ChangeSet, ChunkTable, PendingChunk, WrittenNode, within};
use crate::metadata::{MetadataError, NodeMetadata};
use crate::session::{Base, SentLease};

const MAGIC: &[u8; 8] = b"ICEFORK\0";
/// Coordinates count from the corner of the array.
const ABSOLUTE: u8 = 0;
/// As `ABSOLUTE`, and where others shift the array, its rows move along.
const BY_CONTENT: u8 = 1;

/// Why bytes are not a fork that this program can open.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForkBlobError {
    /// They begin differently.
    #[error("these bytes are not a serialised fork")]
    NotAFork,
    /// They are what a fork changed, without what it began with.
    #[error(
        "these bytes are an answer, which says only what a fork changed: merge it into the session that was forked"
    )]
    Answer,
    /// A newer or older program wrote them.
    #[error(
        "the fork has version {0}, and this program reads version {VERSION}: fork and merge with one version of it"
    )]
    OtherVersion(u8),
    /// They end early, or were changed.
    #[error("the serialised fork is truncated or damaged")]
    Damaged(#[source] std::io::Error),
    /// They are longer than any fork.
    #[error("the serialised fork is longer than any that this program makes")]
    TooLong,
    /// Its snapshot has the same id here, and is another one.
    #[error("the fork belongs to another repository")]
    OtherRepository,
    /// The content breaks a rule.
    #[error("the serialised fork makes no sense: {0}")]
    Invalid(String),
    /// A path in it is none.
    #[error("the serialised fork makes no sense")]
    Path(#[from] PathError),
    /// A document in it is no metadata.
    #[error("the serialised fork makes no sense")]
    Metadata(#[from] MetadataError),
    /// An id in it is none.
    #[error("the serialised fork makes no sense")]
    Format(#[from] FormatError),
    /// It cannot be encoded.
    #[error("the fork cannot be serialised")]
    Encode(#[source] std::io::Error),
}

/// All that a fork consists of.
#[derive(Debug)]
pub(crate) struct ForkBlob {
    pub(crate) base: SnapshotId,
    /// When the base was written: the first snapshots of all repositories have one id.
    pub(crate) base_time: u64,
    pub(crate) family: [u8; 12],
    pub(crate) origin_id: [u8; 12],
    pub(crate) origin: ChangeSet,
    pub(crate) changes: ChangeSet,
    pub(crate) lease: SentLease,
    pub(crate) taken: BTreeSet<SnapshotId>,
}

#[derive(Serialize, Deserialize)]
struct Body(
    Bytes,
    u64,
    Bytes,
    Bytes,
    Edits,
    Edits,
    PackedLease,
    Vec<Bytes>,
);

/// A change set.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Edits {
    pub(super) created: Vec<(String, Bytes, Bytes)>,
    pub(super) updated: Vec<(String, Bytes, Bytes)>,
    pub(super) deleted: Vec<(String, Bytes, bool)>,
    pub(super) moved: Vec<(Bytes, String)>,
    pub(super) views: Vec<View>,
    pub(super) arrays: Vec<Columns>,
}

/// What is seen of an array of the base: its node, its path there, the ends and starts of what is seen and the offsets per
/// dimension, whether it was shifted.
#[derive(Serialize, Deserialize)]
pub(super) struct View(Bytes, String, Vec<u32>, Vec<u32>, Vec<i64>, bool);

/// The rows of one array.
#[derive(Serialize, Deserialize)]
pub(super) struct Columns {
    node: Bytes,
    path: String,
    addressing: u8,
    rank: u16,
    /// Whether rows of the origin that are not here are gone.
    whole: bool,
    coords: Bytes,
    kinds: Bytes,
    chunk_ids: Bytes,
    offsets: Bytes,
    lengths: Bytes,
    inline: Bytes,
    /// For each virtual chunk, which of the foreign objects.
    foreign: Bytes,
    objects: Vec<Object>,
}

/// A foreign object: its location, and its ETag or when it was modified last.
type Object = (String, Option<String>, Option<u32>);

impl ForkBlob {
    pub(crate) fn encode(&self) -> Result<Bytes, ForkBlobError> {
        let body = Body(
            Bytes::copy_from_slice(self.base.as_bytes()),
            self.base_time,
            Bytes::copy_from_slice(&self.family),
            Bytes::copy_from_slice(&self.origin_id),
            Edits::of(&self.origin, &ChangeSet::default()),
            Edits::of(&self.changes, &self.origin),
            packed_lease(&self.lease),
            packed_ids(&self.taken),
        );
        sealed(MAGIC, &body)
    }

    pub(crate) fn decode(bytes: &[u8], metadata_limit: usize) -> Result<Self, ForkBlobError> {
        if bytes.starts_with(super::answer::MAGIC) {
            return Err(ForkBlobError::Answer);
        }
        let Body(base, base_time, family, origin_id, origin, changes, lease, taken) =
            opened(MAGIC, bytes)?;
        let origin = origin.change_set(&ChangeSet::default(), metadata_limit)?;
        let changes = changes.change_set(&origin, metadata_limit)?;
        Ok(Self {
            base: SnapshotId::from_bytes(fixed(&base)?),
            base_time,
            family: fixed(&family)?,
            origin_id: fixed(&origin_id)?,
            origin,
            changes,
            lease: unpacked_lease(&lease)?,
            taken: unpacked_ids(&taken)?,
        })
    }
}

impl ForkBlob {
    /// Checks that the edits are edits of this base: what is not checked here would be committed as it is.
    pub(crate) fn check(&self, base: &Base) -> Result<(), ForkBlobError> {
        if self.base_time != base.snapshot().flushed_at() {
            return Err(ForkBlobError::OtherRepository);
        }
        self.origin.check(base)?;
        self.changes.check(base)
    }
}

impl ChangeSet {
    pub(super) fn check(&self, base: &Base) -> Result<(), ForkBlobError> {
        let at = |path: &NodePath| base.position(path).map(|it| base.record(it).id());
        let known: BTreeSet<NodeId> = base.snapshot().nodes().map(|node| node.id()).collect();
        let mut created = BTreeSet::new();
        for node in self.created.values() {
            let moved = self.moved.contains_key(&node.id);
            if !created.insert(node.id) || known.contains(&node.id) != moved {
                return Err(invalid("two nodes of one id"));
            }
        }
        self.check_kinds(base)?;
        let here = |(path, node): (&NodePath, &NodeId)| at(path) == Some(*node);
        let homes = self.moved.iter().map(|(node, home)| (home, node));
        let updated = self.updated.iter().map(|(path, node)| (path, &node.id));
        let deleted = self.deleted.iter().map(|(path, (node, _))| (path, node));
        let views = self.views.iter().map(|(node, view)| (&view.home, node));
        if !homes.chain(updated).chain(deleted).chain(views).all(here) {
            return Err(invalid("it edits nodes that its snapshot does not have"));
        }
        for (node, table) in self.chunks.iter().filter(|(_, table)| !table.is_empty()) {
            let path = self.array_paths.get(node);
            let path = path.ok_or_else(|| invalid("chunks without an array"))?;
            let written = self.created.get(path).or_else(|| self.updated.get(path));
            let grid = match written.filter(|written| written.id == *node) {
                Some(written) => written.metadata.array().map(|it| it.chunk_counts.clone()),
                None => base.grid_of(node, path),
            };
            let grid = grid.ok_or_else(|| invalid("chunks of what is no array"))?;
            let rows = 0..table.len() as u32;
            if table.rank() != grid.len()
                || !rows.into_iter().all(|row| within(table.index(row), &grid))
            {
                return Err(invalid("chunks outside the grid of their array"));
            }
        }
        Ok(())
    }
}

impl ChangeSet {
    /// Checks that nodes stay what they are, and that each has a place.
    fn check_kinds(&self, base: &Base) -> Result<(), ForkBlobError> {
        let kind = |path: &NodePath| base.position(path).map(|it| base.record(it).kind());
        if self
            .updated
            .iter()
            .any(|(path, node)| kind(path) != Some(node.kind()))
            || self
                .deleted
                .iter()
                .any(|(path, (_, was))| kind(path) != Some(*was))
        {
            return Err(invalid("it turns groups into arrays"));
        }
        let deleted = |path: &NodePath| self.deleted.contains_key(path);
        if !self.moved.values().all(deleted) {
            return Err(invalid("a node is in two places"));
        }
        for path in self.created.keys() {
            if kind(path).is_some() && !deleted(path) {
                return Err(invalid("two nodes in one place"));
            }
            for above in path.ancestors() {
                let stays = kind(&above).filter(|_| !deleted(&above));
                let above = self.created.get(&above).map(WrittenNode::kind).or(stays);
                if above == Some(NodeKind::Array) {
                    return Err(invalid("a node below an array"));
                }
            }
        }
        let gone = self
            .deleted
            .iter()
            .filter(|(_, (_, kind))| *kind == NodeKind::Group);
        for (group, _) in gone.filter(|(path, _)| !self.created.contains_key(*path)) {
            if base
                .records_below(group)
                .any(|record| !deleted(&record.node_path()))
            {
                return Err(invalid("a deleted group with nodes in it"));
            }
        }
        Ok(())
    }
}

impl Edits {
    /// The edits of a change set; of its rows, those that are not in `origin`.
    pub(super) fn of(changes: &ChangeSet, origin: &ChangeSet) -> Self {
        let id = |node: &NodeId| Bytes::copy_from_slice(node.as_bytes());
        let written = |(path, node): (&NodePath, &WrittenNode)| {
            (path.to_string(), id(&node.id), node.document.clone())
        };
        let deleted = changes.deleted.iter();
        let arrays = changes.chunks.iter().filter_map(|(node, table)| {
            let was_empty = origin.chunks.get(node).is_none_or(ChunkTable::is_empty);
            if table.is_empty() && was_empty {
                return None;
            }
            let path = changes.array_paths.get(node)?;
            let columns = Columns::of(node, path, table, origin.chunks.get(node));
            let addressing = match changes.followers.contains(node) {
                true => BY_CONTENT,
                false => ABSOLUTE,
            };
            Some(Columns {
                addressing,
                ..columns
            })
        });
        Self {
            created: changes.created.iter().map(written).collect(),
            updated: changes.updated.iter().map(written).collect(),
            deleted: deleted
                .map(|(path, (node, kind))| (path.to_string(), id(node), *kind == NodeKind::Array))
                .collect(),
            moved: changes
                .moved
                .iter()
                .map(|(node, from)| (id(node), from.to_string()))
                .collect(),
            views: changes
                .views
                .iter()
                .map(|(node, view)| View::of(node, view))
                .collect(),
            arrays: arrays.collect(),
        }
    }

    pub(super) fn change_set(
        self,
        origin: &ChangeSet,
        metadata_limit: usize,
    ) -> Result<ChangeSet, ForkBlobError> {
        let mut changes = ChangeSet::default();
        let written = |(path, id, document): (String, Bytes, Bytes)| -> Result<_, ForkBlobError> {
            let metadata = Arc::new(NodeMetadata::parse_new(&document, metadata_limit)?);
            let id = NodeId::from_bytes(fixed(&id)?);
            let node = WrittenNode {
                id,
                document,
                metadata,
            };
            Ok((NodePath::parse(&path)?, node))
        };
        for node in self.created {
            let (path, node) = written(node)?;
            changes.created.insert(path, node);
        }
        for node in self.updated {
            let (path, node) = written(node)?;
            changes.updated.insert(path, node);
        }
        for (path, node, is_array) in self.deleted {
            let kind = match is_array {
                true => NodeKind::Array,
                false => NodeKind::Group,
            };
            let node = NodeId::from_bytes(fixed(&node)?);
            changes
                .deleted
                .insert(NodePath::parse(&path)?, (node, kind));
        }
        for (node, from) in self.moved {
            let node = NodeId::from_bytes(fixed(&node)?);
            changes.moved.insert(node, NodePath::parse(&from)?);
        }
        for view in self.views {
            let (node, view) = view.read()?;
            changes.views.insert(node, view);
        }
        for columns in self.arrays {
            let node = NodeId::from_bytes(fixed(&columns.node)?);
            let path = NodePath::parse(&columns.path)?;
            let table = columns.table(origin.chunks.get(&node))?;
            if columns.addressing == BY_CONTENT {
                changes.followers.insert(node);
            }
            changes.array_paths.insert(node, path);
            changes.chunks.insert(node, table);
        }
        Ok(changes)
    }
}

impl View {
    pub(super) fn node(&self) -> &Bytes {
        &self.0
    }

    fn of(node: &NodeId, view: &BaseView) -> Self {
        let seen = view.seen().iter();
        Self(
            Bytes::copy_from_slice(node.as_bytes()),
            view.home.to_string(),
            seen.clone().map(|range| range.end).collect(),
            seen.map(|range| range.start).collect(),
            view.offset().to_vec(),
            view.is_shifted(),
        )
    }

    fn read(self) -> Result<(NodeId, BaseView), ForkBlobError> {
        let Self(node, home, ends, starts, offset, is_shifted) = self;
        if starts.len() != ends.len() || offset.len() != ends.len() {
            return Err(invalid("a view of an array with two ranks"));
        }
        let seen = starts.into_iter().zip(ends).map(|(start, end)| start..end);
        let view = BaseView::of(NodePath::parse(&home)?, seen.collect(), offset, is_shifted);
        Ok((NodeId::from_bytes(fixed(&node)?), view))
    }
}

impl Columns {
    /// Returns whether they say that the table is that of the origin, at the same place.
    pub(super) fn says_nothing(&self, path: Option<&NodePath>, follows: bool) -> bool {
        let addressing = if follows { BY_CONTENT } else { ABSOLUTE };
        self.kinds.is_empty()
            && !self.whole
            && self.addressing == addressing
            && path.is_some_and(|path| path.as_str() == self.path)
    }

    pub(super) fn node(&self) -> Result<NodeId, ForkBlobError> {
        Ok(NodeId::from_bytes(fixed(&self.node)?))
    }

    fn of(node: &NodeId, path: &NodePath, table: &ChunkTable, origin: Option<&ChunkTable>) -> Self {
        let gone = origin.is_some_and(|origin| {
            origin.rank() != table.rank()
                || (0..origin.len() as u32).any(|row| table.get(origin.index(row)).is_none())
        });
        let known = |row: u32| {
            !gone && origin.and_then(|it| it.get(table.index(row))) == Some(table.at(row))
        };
        let mut columns = (Vec::new(), Vec::new(), Vec::new());
        let (mut offsets, mut lengths, mut inline) = (Vec::new(), Vec::new(), Vec::new());
        let (mut foreign, mut objects) = (Vec::new(), Interned::<Object>::default());
        // In the order of the coordinates: equal edits are equal bytes, and compress well.
        for row in table.sorted_rows().into_iter().filter(|row| !known(*row)) {
            let (coords, kinds, ids) = (&mut columns.0, &mut columns.1, &mut columns.2);
            for coordinate in table.index(row) {
                coords.extend_from_slice(&coordinate.to_le_bytes());
            }
            let (kind, offset, length) = match table.at(row) {
                PendingChunk::Deleted => (0, 0, 0),
                PendingChunk::Set(ChunkRef::Inline(bytes)) => {
                    inline.extend_from_slice(bytes);
                    (1, 0, bytes.len() as u64)
                }
                PendingChunk::Set(ChunkRef::Native { id, offset, length }) => {
                    ids.extend_from_slice(id.as_bytes());
                    (2, offset, length)
                }
                PendingChunk::Set(ChunkRef::Virtual {
                    location,
                    offset,
                    length,
                    checksum,
                }) => {
                    let (tag, time) = match checksum {
                        None => (None, None),
                        Some(Checksum::ETag(tag)) => (Some(tag.to_owned()), None),
                        Some(Checksum::LastModified(time)) => (None, Some(time)),
                    };
                    let number = objects.number(&(location.to_owned(), tag, time));
                    foreign.extend_from_slice(&number.to_le_bytes());
                    (3, offset, length)
                }
            };
            kinds.push(kind);
            offsets.extend_from_slice(&u64::to_le_bytes(offset));
            lengths.extend_from_slice(&u64::to_le_bytes(length));
        }
        Self {
            node: Bytes::copy_from_slice(node.as_bytes()),
            path: path.to_string(),
            addressing: ABSOLUTE,
            rank: table.rank() as u16,
            whole: gone,
            coords: columns.0.into(),
            kinds: columns.1.into(),
            chunk_ids: columns.2.into(),
            offsets: offsets.into(),
            lengths: lengths.into(),
            inline: inline.into(),
            foreign: foreign.into(),
            objects: objects.into_values(),
        }
    }

    /// The rows on top of those of the origin.
    fn table(&self, origin: Option<&ChunkTable>) -> Result<ChunkTable, ForkBlobError> {
        if ![ABSOLUTE, BY_CONTENT].contains(&self.addressing) {
            return Err(invalid("chunks are addressed in a way that is not known"));
        }
        let (rank, rows) = (usize::from(self.rank), self.kinds.len());
        // Tables without rows are not sent, so that who wrote this did not have an empty one, and its rank says nothing.
        let mut table = match origin.filter(|origin| !origin.is_empty()) {
            Some(origin) if !self.whole && origin.rank() == rank => origin.clone(),
            Some(_) if !self.whole => return Err(invalid("the rank of an array differs")),
            _ => ChunkTable::new(rank),
        };
        let numbers = [
            (&self.offsets, 8),
            (&self.lengths, 8),
            (&self.coords, 4 * rank),
        ];
        if numbers
            .iter()
            .any(|(column, width)| column.len() != rows * width)
        {
            return Err(invalid("columns of different lengths"));
        }
        let mut ids = self.chunk_ids.chunks_exact(12);
        let mut inline = &self.inline[..];
        let mut foreign = self.foreign.chunks_exact(4);
        let number = |column: &Bytes, row: usize| u64::from_le_bytes(fixed_at(column, row * 8));
        let mut index = Vec::with_capacity(rank);
        for row in 0..rows {
            index.clear();
            let coords = (0..rank).map(|axis| fixed_at(&self.coords, (row * rank + axis) * 4));
            index.extend(coords.map(u32::from_le_bytes));
            let (offset, length) = (number(&self.offsets, row), number(&self.lengths, row));
            if offset.checked_add(length).is_none() {
                return Err(invalid("a chunk that ends beyond all objects"));
            }
            let chunk = match self.kinds[row] {
                0 => PendingChunk::Deleted,
                1 => {
                    let length = usize::try_from(length).ok();
                    let (bytes, rest) = length
                        .and_then(|length| inline.split_at_checked(length))
                        .ok_or_else(|| invalid("inline bytes are missing"))?;
                    inline = rest;
                    PendingChunk::Set(ChunkRef::Inline(bytes))
                }
                2 => {
                    let id = ids.next().ok_or_else(|| invalid("chunk ids are missing"))?;
                    PendingChunk::Set(ChunkRef::Native {
                        id: ChunkId::from_bytes(fixed(id)?),
                        offset,
                        length,
                    })
                }
                3 => {
                    let number = foreign.next();
                    let number = number.ok_or_else(|| invalid("foreign objects are missing"))?;
                    let number = u32::from_le_bytes(fixed(number)?);
                    let (location, tag, time) = self
                        .objects
                        .get(number as usize)
                        .ok_or_else(|| invalid("a chunk of a foreign object that is not there"))?;
                    let checksum = tag.as_deref().map(Checksum::ETag);
                    PendingChunk::Set(ChunkRef::Virtual {
                        location,
                        offset,
                        length,
                        checksum: checksum.or_else(|| time.map(Checksum::LastModified)),
                    })
                }
                _ => return Err(invalid("a chunk of a kind that is not known")),
            };
            table.set(&index, chunk);
        }
        Ok(table)
    }
}

fn invalid(problem: &str) -> ForkBlobError {
    ForkBlobError::Invalid(problem.to_owned())
}

/// The bytes at a place that is known to be within a column.
fn fixed_at<const N: usize>(column: &Bytes, at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&column[at..at + N]);
    bytes
}
