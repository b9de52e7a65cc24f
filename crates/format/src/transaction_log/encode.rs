//! Writing transaction logs.

use bytes::Bytes;
use flatbuffers::{FlatBufferBuilder, Vector, WIPOffset};

use super::{LogRoot, MovedNode, moves};
use crate::debug::debug_struct;
use crate::envelope::{FileKind, IDENTIFIER, SpecVersion, Writer};
use crate::error::{FormatError, FormatFile, SortedList};
use crate::generated as fb;
use crate::id::{NodeId, SnapshotId};
use crate::index::MAX_RANK;
use crate::limits;
use crate::order;

/// Bytes of the offset that a table begins with.
const SOFFSET: u32 = 4;

/// Bytes of room beside the chunks. A builder that is full by a byte doubles its memory, and clears it.
const ROOM_OF_THE_REST: usize = 4096;

type Moves = WIPOffset<Vector<'static, flatbuffers::ForwardsUOffset<fb::MoveOperation<'static>>>>;

/// The array whose chunks are being given.
struct Current {
    node: NodeId,
    rank: Option<usize>,
}

/// Writes one transaction log. Node ids may come in any order and more than once; arrays with updated chunks must come
/// in the order of node ids. See [`TransactionLog`](crate::TransactionLog) for an example.
pub struct TransactionLogEncoder {
    version: SpecVersion,
    id: SnapshotId,
    builder: FlatBufferBuilder<'static>,
    new_groups: Vec<NodeId>,
    new_arrays: Vec<NodeId>,
    deleted_groups: Vec<NodeId>,
    deleted_arrays: Vec<NodeId>,
    updated_arrays: Vec<NodeId>,
    updated_groups: Vec<NodeId>,
    arrays: Vec<WIPOffset<fb::ArrayUpdatedChunks<'static>>>,
    current: Option<Current>,
    chunks: Vec<WIPOffset<fb::ChunkIndices<'static>>>,
    /// Where the vtable of all chunks is, once there is one.
    vtable: Option<u32>,
    moves: Vec<MovedNode>,
    extra: Option<Vec<u8>>,
}

impl TransactionLogEncoder {
    /// Begins the log of a snapshot of spec 1.
    #[must_use]
    pub fn new(id: SnapshotId) -> Self {
        Self::for_version(SpecVersion::V1, id)
    }

    /// Begins the log of a snapshot of a spec version.
    #[must_use]
    pub fn for_version(version: SpecVersion, id: SnapshotId) -> Self {
        Self {
            version,
            id,
            builder: FlatBufferBuilder::with_capacity(1024),
            new_groups: Vec::new(),
            new_arrays: Vec::new(),
            deleted_groups: Vec::new(),
            deleted_arrays: Vec::new(),
            updated_arrays: Vec::new(),
            updated_groups: Vec::new(),
            arrays: Vec::new(),
            current: None,
            chunks: Vec::new(),
            vtable: None,
            moves: Vec::new(),
            extra: None,
        }
    }

    fn file(&self) -> FormatFile {
        FormatFile::TransactionLog(self.id)
    }

    /// Reserves room for this many chunks of this many dimensions each, so that a large log is not moved while it
    /// grows.
    pub fn reserve(&mut self, chunks: impl IntoIterator<Item = (usize, usize)>) -> &mut Self {
        let (mut bytes, mut longest) = (ROOM_OF_THE_REST, 0);
        for (chunks, rank) in chunks {
            // A table, the list that it points to, and the offset of the table in the list of all.
            bytes = bytes.saturating_add(chunks.saturating_mul(16 + 4 * rank));
            longest = longest.max(chunks);
        }
        if self.builder.unfinished_data().is_empty() && bytes > 2 * ROOM_OF_THE_REST {
            let most = crate::envelope::MAX_BODY_LEN as usize / 2;
            self.builder = FlatBufferBuilder::with_capacity(bytes.min(most));
            self.chunks.reserve_exact(longest.min(most / 4));
        }
        self
    }

    /// Adds groups that were created.
    pub fn new_groups(&mut self, ids: impl IntoIterator<Item = NodeId>) -> &mut Self {
        self.new_groups.extend(ids);
        self
    }

    /// Adds arrays that were created.
    pub fn new_arrays(&mut self, ids: impl IntoIterator<Item = NodeId>) -> &mut Self {
        self.new_arrays.extend(ids);
        self
    }

    /// Adds groups that were deleted.
    pub fn deleted_groups(&mut self, ids: impl IntoIterator<Item = NodeId>) -> &mut Self {
        self.deleted_groups.extend(ids);
        self
    }

    /// Adds arrays that were deleted.
    pub fn deleted_arrays(&mut self, ids: impl IntoIterator<Item = NodeId>) -> &mut Self {
        self.deleted_arrays.extend(ids);
        self
    }

    /// Adds arrays whose metadata was changed.
    pub fn updated_arrays(&mut self, ids: impl IntoIterator<Item = NodeId>) -> &mut Self {
        self.updated_arrays.extend(ids);
        self
    }

    /// Adds groups whose metadata was changed.
    pub fn updated_groups(&mut self, ids: impl IntoIterator<Item = NodeId>) -> &mut Self {
        self.updated_groups.extend(ids);
        self
    }

    /// Adds nodes that moved, in any order: the net effect, with every descendant of a group that moved.
    pub fn moved_nodes(&mut self, moves: impl IntoIterator<Item = MovedNode>) -> &mut Self {
        self.moves.extend(moves);
        self
    }

    /// Sets what [`TransactionLog::extra`](crate::TransactionLog::extra) returns. Spec 1 has no such field.
    pub fn extra(&mut self, extra: &[u8]) -> &mut Self {
        self.extra = Some(extra.to_vec());
        self
    }

    /// Begins the chunks of an array that were set or deleted.
    ///
    /// # Errors
    /// `Unsorted` or `Duplicate` if its id does not come after the one before; `TooLarge`.
    pub fn begin_chunks(&mut self, node: NodeId) -> Result<(), FormatError> {
        let (file, list, position) = (self.file(), SortedList::UpdatedChunks, self.arrays.len());
        if let Some(current) = &self.current {
            order::check(current.node.cmp(&node), file, list, position)?;
        }
        self.end_chunks()?;
        self.current = Some(Current { node, rank: None });
        Ok(())
    }

    /// Adds a chunk of the array begun last. Coordinates should ascend; nothing checks it.
    ///
    /// # Errors
    /// `NoArrayBegun`, `RankMismatch`, `RankTooLarge`, `TooLarge`. The encoder is unchanged then.
    pub fn push_chunk(&mut self, index: &[u32]) -> Result<(), FormatError> {
        let file = self.file();
        let room = 64 + 4 * (index.len() + self.chunks.len());
        limits::check_room(&self.builder, file, room)?;
        let Some(current) = &mut self.current else {
            return Err(FormatError::NoArrayBegun { file });
        };
        let (node, found) = (current.node, index.len());
        match current.rank {
            Some(expected) if expected != found => {
                return Err(FormatError::RankMismatch {
                    file,
                    node,
                    expected,
                    found,
                });
            }
            _ if found > MAX_RANK => return Err(FormatError::RankTooLarge { file, node, found }),
            _ => current.rank = Some(found),
        }
        let coords = self.builder.create_vector(index);
        let table = self.chunk_table(coords);
        self.chunks.push(table);
        Ok(())
    }

    /// Adds the table of a chunk. Logs have little else, and the builder makes a vtable for each only to find that it has it
    /// already, so from the second on the two numbers of such a table are put as they are.
    fn chunk_table(
        &mut self,
        coords: WIPOffset<Vector<'static, u32>>,
    ) -> WIPOffset<fb::ChunkIndices<'static>> {
        let builder = &mut self.builder;
        if let Some(vtable) = self.vtable {
            builder.push(coords);
            let table = builder.unfinished_data().len() as u32 + SOFFSET;
            builder.push(vtable as i32 - table as i32);
            return WIPOffset::new(table);
        }
        let args = fb::ChunkIndicesArgs {
            coords: Some(coords),
        };
        let table = fb::ChunkIndices::create(builder, &args);
        let written = builder.unfinished_data();
        let at = written.len() - table.value() as usize;
        let to_vtable = written[at..].first_chunk().copied();
        let to_vtable = i32::from_le_bytes(to_vtable.expect("BUG: a table begins with an offset"));
        self.vtable = table.value().checked_add_signed(to_vtable);
        table
    }

    fn end_chunks(&mut self) -> Result<(), FormatError> {
        let Some(current) = self.current.take() else {
            return Ok(());
        };
        limits::check_room(&self.builder, self.file(), 64 + 4 * self.chunks.len())?;
        let node_id = fb::ObjectId8(*current.node.as_bytes());
        let chunks = Some(self.builder.create_vector(&self.chunks));
        let args = fb::ArrayUpdatedChunksArgs {
            node_id: Some(&node_id),
            chunks,
        };
        self.arrays
            .push(fb::ArrayUpdatedChunks::create(&mut self.builder, &args));
        self.chunks.clear();
        Ok(())
    }

    /// Writes the nodes that moved; spec 2 has the list also where it is empty, spec 1 has none.
    fn moves(&mut self) -> Result<Option<Moves>, FormatError> {
        let file = self.file();
        if self.version == SpecVersion::V1 {
            return match self.moves.is_empty() {
                true => Ok(None),
                false => Err(FormatError::NotInVersion {
                    file,
                    what: "moved nodes",
                    version: self.version,
                }),
            };
        }
        let mut moves = std::mem::take(&mut self.moves);
        moves::sort(&mut moves, file)?;
        let text = |moved: &MovedNode| moved.from.as_str().len() + moved.to.as_str().len();
        let text: usize = moves.iter().map(text).sum();
        limits::check_room(&self.builder, file, text + 64 * moves.len())?;
        let builder = &mut self.builder;
        let tables: Vec<_> = moves
            .iter()
            .map(|moved| {
                let node_id = fb::ObjectId8(*moved.id.as_bytes());
                let args = fb::MoveOperationArgs {
                    from: Some(builder.create_string(moved.from.as_str())),
                    to: Some(builder.create_string(moved.to.as_str())),
                    node_id: Some(&node_id),
                    node_type: moved.tag(),
                };
                fb::MoveOperation::create(builder, &args)
            })
            .collect();
        Ok(Some(builder.create_vector(&tables)))
    }

    /// Ends the log and returns the whole file.
    ///
    /// # Errors
    /// `TooLarge`; `NotInVersion` if nodes moved in a log of spec 1; `Duplicate` and `DuplicateNodeId` if two nodes moved
    /// to one path, or one node twice.
    pub fn finish(mut self, writer: &Writer) -> Result<Bytes, FormatError> {
        self.end_chunks()?;
        let moved_nodes = self.moves()?;
        let file = self.file();
        let mut lists = [
            self.new_groups,
            self.new_arrays,
            self.deleted_groups,
            self.deleted_arrays,
            self.updated_arrays,
            self.updated_groups,
        ];
        let ids: usize = lists.iter().map(Vec::len).sum();
        let extra = self.extra.take();
        let extra = extra.filter(|_| self.version == SpecVersion::V2);
        let room = 256 + 8 * ids + 4 * self.arrays.len() + extra.as_ref().map_or(0, Vec::len);
        limits::check_room(&self.builder, file, room)?;
        let builder = &mut self.builder;
        let extra = extra.map(|extra| builder.create_vector(&extra));
        let lists = lists.each_mut().map(|ids| {
            ids.sort_unstable();
            ids.dedup();
            let ids: Vec<_> = ids.iter().map(|id| fb::ObjectId8(*id.as_bytes())).collect();
            Some(builder.create_vector(&ids))
        });
        let [
            new_groups,
            new_arrays,
            deleted_groups,
            deleted_arrays,
            updated_arrays,
            updated_groups,
        ] = lists;
        let updated_chunks = Some(builder.create_vector(&self.arrays));
        let id = fb::ObjectId12(*self.id.as_bytes());
        let args = fb::TransactionLogArgs {
            id: Some(&id),
            new_groups,
            new_arrays,
            deleted_groups,
            deleted_arrays,
            updated_arrays,
            updated_groups,
            updated_chunks,
            moved_nodes,
            extra,
        };
        let root = fb::TransactionLog::create(builder, &args);
        builder.finish(root, Some(IDENTIFIER));
        limits::check_readable::<LogRoot>(builder.finished_data(), 0, file)?;
        let body = builder.finished_data();
        writer.seal(file, self.version, FileKind::TransactionLog, body)
    }
}

/// Returns the log of the first snapshot of a repository of spec 2, which names nothing (spec 2, §1). In spec 1 the first
/// snapshot has no log.
///
/// # Panics
/// Never: nothing in it depends on input that could be refused.
#[must_use]
pub fn initial_transaction_log(writer: &Writer) -> Bytes {
    TransactionLogEncoder::for_version(SpecVersion::V2, SnapshotId::INITIAL)
        .finish(writer)
        .expect("BUG: an empty log is always valid")
}

debug_struct!(TransactionLogEncoder, it => {
    id: it.id,
});
