//! `transactions/ID`: what one commit touched, by node id.
//!
//! Rules checked when a file is decoded: the id is the one asked for; every list of ids strictly
//! ascends, and so do the arrays with updated chunks. The order of coordinates is not checked: some
//! writers group them by the cells of a split.
//!
//! A log of spec 2 has the nodes that moved, too (spec 2, §7). They ascend by their new paths, compared segment by segment,
//! and each is named once.

pub(crate) mod encode;
mod moves;

use crate::debug::debug_struct;
use crate::envelope::{self, DecodeLimits, FileKind, SpecVersion};
use crate::error::{FormatError, FormatFile, SortedList};
use crate::generated as fb;
use crate::id::{NodeId, SnapshotId};
use crate::index::{ChunkIndex, MAX_RANK};
use crate::order::ascending;
use crate::verified::{Root, Verified};

pub use moves::{MovedNode, MovedNodeRecord};

/// Marks the root table of a transaction log's body.
pub(crate) enum LogRoot {}

impl Root for LogRoot {
    type Table<'a> = fb::TransactionLog<'a>;
}

type Ids<'a> = flatbuffers::Vector<'a, fb::ObjectId8>;

/// A decoded transaction log: the changes of one commit. It holds the decompressed body and reads it in place; cheap to
/// clone.
///
/// ```
/// use icefield_format::{DecodeLimits, NodeId, SnapshotId, TransactionLog, TransactionLogEncoder, Writer};
///
/// # fn main() -> Result<(), icefield_format::FormatError> {
/// let (id, array) = (SnapshotId::from_bytes([1; 12]), NodeId::from_bytes([2; 8]));
/// let mut encoder = TransactionLogEncoder::new(id);
/// encoder.begin_chunks(array)?;
/// encoder.push_chunk(&[0, 4])?;
/// let file = encoder.finish(&Writer::default())?;
///
/// let log = TransactionLog::decode(&file, id, &DecodeLimits::default())?;
/// let updated = log.updated_chunks().next().unwrap();
/// assert_eq!((updated.node_id(), updated.len()), (array, 1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TransactionLog {
    version: SpecVersion,
    body: Verified<LogRoot>,
}

fn ids(list: Ids<'_>) -> impl ExactSizeIterator<Item = NodeId> + DoubleEndedIterator + use<'_> {
    (0..list.len()).map(move |at| NodeId::from_bytes(list.get(at).0))
}

impl TransactionLog {
    /// Decodes and verifies the file that was stored under the id of its snapshot.
    ///
    /// # Errors
    /// The first rule that the file breaks; [`FormatError::WrongObject`] if it states another id;
    /// [`FormatError::TooLarge`] beyond `limits`.
    pub fn decode(file: &[u8], id: SnapshotId, limits: &DecodeLimits) -> Result<Self, FormatError> {
        let name = FormatFile::TransactionLog(id);
        let (version, body) = envelope::open(file, name, FileKind::TransactionLog, limits)?;
        let body = Verified::new(body).map_err(|error| FormatError::malformed(name, error))?;
        let log = Self { version, body };
        if log.id() != id {
            let found = FormatFile::TransactionLog(log.id());
            return Err(FormatError::WrongObject {
                expected: name,
                found,
            });
        }
        log.check(name)?;
        Ok(log)
    }

    fn check(&self, file: FormatFile) -> Result<(), FormatError> {
        let root = self.root();
        let lists = [
            root.new_groups(),
            root.new_arrays(),
            root.deleted_groups(),
            root.deleted_arrays(),
            root.updated_arrays(),
            root.updated_groups(),
        ];
        for list in lists {
            ascending(list.len(), file, SortedList::NodeIds, |at| &list.get(at).0)?;
        }
        let arrays = root.updated_chunks();
        ascending(arrays.len(), file, SortedList::UpdatedChunks, |at| {
            &arrays.get(at).node_id().0
        })?;
        for array in self.updated_chunks() {
            let ranks = array
                .array
                .chunks()
                .iter()
                .map(|chunk| chunk.coords().len());
            // Ranks may differ: the reference records writes to coordinates of a wrong rank too.
            if let Some(found) = ranks.max().filter(|found| *found > MAX_RANK) {
                return Err(FormatError::RankTooLarge {
                    file,
                    node: array.node_id(),
                    found,
                });
            }
        }
        moves::check(self.moved_nodes(), file)
    }

    fn root(&self) -> fb::TransactionLog<'_> {
        self.body.root()
    }

    /// Returns the id of the snapshot whose log this is.
    #[must_use]
    pub fn id(&self) -> SnapshotId {
        SnapshotId::from_bytes(self.root().id().0)
    }

    /// Returns the version of the format that the file is written in.
    #[must_use]
    pub fn spec_version(&self) -> SpecVersion {
        self.version
    }

    /// Returns the groups that were created.
    pub fn new_groups(&self) -> impl ExactSizeIterator<Item = NodeId> + DoubleEndedIterator {
        ids(self.root().new_groups())
    }

    /// Returns the arrays that were created.
    pub fn new_arrays(&self) -> impl ExactSizeIterator<Item = NodeId> + DoubleEndedIterator {
        ids(self.root().new_arrays())
    }

    /// Returns the groups that were deleted.
    pub fn deleted_groups(&self) -> impl ExactSizeIterator<Item = NodeId> + DoubleEndedIterator {
        ids(self.root().deleted_groups())
    }

    /// Returns the arrays that were deleted.
    pub fn deleted_arrays(&self) -> impl ExactSizeIterator<Item = NodeId> + DoubleEndedIterator {
        ids(self.root().deleted_arrays())
    }

    /// Returns the arrays whose metadata was changed.
    pub fn updated_arrays(&self) -> impl ExactSizeIterator<Item = NodeId> + DoubleEndedIterator {
        ids(self.root().updated_arrays())
    }

    /// Returns the groups whose metadata was changed.
    pub fn updated_groups(&self) -> impl ExactSizeIterator<Item = NodeId> + DoubleEndedIterator {
        ids(self.root().updated_groups())
    }

    /// Returns the arrays of which chunks were set or deleted, by node id.
    pub fn updated_chunks(
        &self,
    ) -> impl ExactSizeIterator<Item = UpdatedChunks<'_>> + DoubleEndedIterator {
        let arrays = self.root().updated_chunks();
        (0..arrays.len()).map(move |at| UpdatedChunks {
            array: arrays.get(at),
        })
    }

    /// Returns the nodes that moved, by their new paths, compared segment by segment
    /// ([`NodePath::cmp_segments`](crate::NodePath::cmp_segments)). None in spec 1, where a move is a deletion and a
    /// creation of one id.
    ///
    /// Each is the net effect of the commit, and every descendant of a group that moved has an entry of its own.
    pub fn moved_nodes(&self) -> impl ExactSizeIterator<Item = MovedNodeRecord<'_>> {
        let moves = self.root().moved_nodes();
        // A library of spec 2 leaves an empty list in a log of spec 1.
        let moves = moves.filter(|_| self.version == SpecVersion::V2);
        let moves = moves.unwrap_or_default();
        (0..moves.len()).map(move |at| MovedNodeRecord::new(moves.get(at)))
    }

    /// Returns the reserved field `extra`, in which a later version of the format may have put something.
    #[must_use]
    pub fn extra(&self) -> Option<&[u8]> {
        self.root().extra().map(|extra| extra.bytes())
    }

    /// Returns the number of bytes that the log holds, for the weight in a cache.
    #[must_use]
    pub fn body_len(&self) -> usize {
        self.body.len()
    }
}

debug_struct!(TransactionLog, it => {
    id: it.id(),
    new_groups: it.new_groups().collect::<Vec<_>>(),
    new_arrays: it.new_arrays().collect::<Vec<_>>(),
    deleted_groups: it.deleted_groups().collect::<Vec<_>>(),
    deleted_arrays: it.deleted_arrays().collect::<Vec<_>>(),
    updated_arrays: it.updated_arrays().collect::<Vec<_>>(),
    updated_groups: it.updated_groups().collect::<Vec<_>>(),
    updated_chunks: it.updated_chunks().collect::<Vec<_>>(),
    moved_nodes: it.moved_nodes().collect::<Vec<_>>(),
});

/// The chunks of one array that a commit set or deleted, borrowed from the log.
#[derive(Clone, Copy)]
pub struct UpdatedChunks<'a> {
    array: fb::ArrayUpdatedChunks<'a>,
}

impl<'a> UpdatedChunks<'a> {
    /// Returns the node id of the array.
    #[must_use]
    pub fn node_id(&self) -> NodeId {
        NodeId::from_bytes(self.array.node_id().0)
    }

    /// Returns the number of chunks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.array.chunks().len()
    }

    /// Tells whether no chunks are listed. Some writers list arrays without any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the coordinates of the chunks, in the order of the file, which may be any.
    pub fn chunks(
        &self,
    ) -> impl ExactSizeIterator<Item = ChunkIndex> + DoubleEndedIterator + use<'a> {
        let chunks = self.array.chunks();
        (0..chunks.len()).map(move |at| chunks.get(at).coords().iter().collect())
    }
}

debug_struct!(UpdatedChunks<'_>, it => {
    node_id: it.node_id(),
    len: it.len(),
});

#[cfg(test)]
mod tests;
