//! Moving the chunks of an array within its grid.

use std::sync::Arc;

use futures::TryStreamExt;
use icefield_format::{ChunkIndex, NodeId, NodePath};

use super::Session;
use super::chunk_reference::ChunkReference;
use super::write::array_of;
use crate::SessionError;
use crate::change_set::PendingChunk;

/// Where a chunk goes, or comes from; `None`: nowhere.
type Mapping<'a> = dyn Fn(&[u32]) -> Option<ChunkIndex> + Send + Sync + 'a;

impl Session {
    /// Moves every chunk of an array by a number of chunks along each dimension: with -1, the chunk at index 1 is at
    /// index 0 from now on. The shape stays. Chunks that would leave the grid are dropped, and the places that are left
    /// have no chunk.
    ///
    /// Takes no time and makes no request, however many chunks there are: the commit carries it out, and rewrites the
    /// manifests of the array, not its chunks. Chunks that another commit writes meanwhile move along, as if that
    /// commit had come before; a commit that resizes, shifts or deletes the array is a conflict
    /// ([`Conflict::ShiftOfUpdatedArray`](crate::Conflict::ShiftOfUpdatedArray)). In the log of the commit, each chunk
    /// that moved or went counts as updated, as the reference implementation writes it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use icefield_core::{BranchName, ByteRange, NodePath, Repository, WriteMode};
    /// # use icefield_storage_memory::MemoryStorage;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
    /// # let session = repository.write_session(BranchName::main()).await?;
    /// # let document = r#"{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int8",
    /// #     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
    /// #     "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}"#;
    /// let path = NodePath::parse("/depth")?;
    /// # session.set_metadata(&path, document.into(), WriteMode::Overwrite).await?;
    /// session.set_chunk(&path, &[1], vec![20, 21].into(), WriteMode::Overwrite).await?;
    /// session.shift(&path, &[-1]).await?;
    /// assert_eq!(session.chunk(&path, &[0], ByteRange::All).await?.as_deref(), Some(&[20, 21][..]));
    /// assert_eq!(session.chunk(&path, &[1], ByteRange::All).await?, None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`SessionError::NodeNotFound`], [`SessionError::NotAnArray`], [`SessionError::ShiftRank`],
    /// [`SessionError::ShiftOfUnequalChunks`], and the reasons why a session cannot be written.
    pub async fn shift(&self, path: &NodePath, by: &[i64]) -> Result<(), SessionError> {
        self.check_edits()?;
        self.state()?.phase.check_writable()?;
        // Writes in flight have been given indices from before.
        let _all_writes_ended = self.in_flight().write().await;
        let mut state = self.state_mut()?;
        state.phase.check_in_flight()?;
        let node = array_of(&state, path)?;
        let array = node.metadata.array();
        if array.is_some_and(|it| !it.grid.is_regular()) {
            return Err(SessionError::ShiftOfUnequalChunks { path: path.clone() });
        }
        let grid = array.map(|it| it.chunk_counts.clone()).unwrap_or_default();
        if by.len() != grid.len() {
            return Err(SessionError::ShiftRank {
                path: path.clone(),
                expected: grid.len(),
                found: by.len(),
            });
        }
        if by.iter().any(|by| *by != 0) {
            let in_base = node.base_position.is_some();
            let changes = Arc::make_mut(&mut state.changes);
            changes.shift_chunks(path, node.id, &grid, by, in_base);
            if !in_base {
                // To a fork that has the array as it was, it is another one: what the two wrote has not the same places.
                changes.change_id(path, NodeId::from_bytes(self.random()));
            }
        }
        Ok(())
    }

    /// From now on, the chunks that this session writes to an array are addressed by what they hold: if another commit moves
    /// the array's window before this one is committed, a rebase moves them along.
    ///
    /// The array's attribute `origin` gives the distance: before and after the move, it lists the absolute index of element 0
    /// per dimension. Without it, and where a chunk would fall out of the window, the write is a conflict
    /// ([`Conflict::ChunksUpdatedInShiftedArray`](crate::Conflict::ChunksUpdatedInShiftedArray),
    /// [`Conflict::ChunksUpdatedInUpdatedArray`](crate::Conflict::ChunksUpdatedInUpdatedArray)); nothing ever lands on
    /// another place than it was meant for.
    ///
    /// # Errors
    /// As [`Session::shift`].
    pub fn follow_shifts(&self, path: &NodePath) -> Result<(), SessionError> {
        let mut state = self.state_mut()?;
        state.phase.check_writable()?;
        let node = array_of(&state, path)?;
        Arc::make_mut(&mut state.changes).follow_shifts(node.id);
        Ok(())
    }

    /// Moves chunks of an array one by one: `forward` says for each chunk that there is where it goes, or `None` for one that
    /// stays. What was at a place that another chunk goes to is replaced. With `backward`, the inverse of `forward`, a place
    /// is emptied where `backward` leads out of the grid or to a place without a chunk; without it, places that are left
    /// keep their chunk, too.
    ///
    /// Reads all manifests of the array, one after another, and holds the references that move in memory. Prefer
    /// [`Session::shift`] where all chunks move alike. Returns how many chunks moved.
    ///
    /// # Errors
    /// As [`Session::shift`]; [`SessionError::OutOfGrid`] where `forward` leads out of the grid: nothing has changed then.
    pub async fn reindex(
        &self,
        path: &NodePath,
        forward: impl Fn(&[u32]) -> Option<ChunkIndex> + Send,
        backward: Option<&Mapping<'_>>,
    ) -> Result<u64, SessionError> {
        self.check_edits()?;
        self.state()?.phase.check_writable()?;
        let _all_writes_ended = self.in_flight().write().await;
        // Two places may have one chunk then.
        self.packer().pin();
        let array = self.array(path)?;
        let mut moves = Vec::new();
        let mut here = hashbrown::HashSet::new();
        let mut chunks = self.chunks(path)?;
        while let Some(chunk) = chunks.try_next().await? {
            if let Some(to) = forward(&chunk.index) {
                if !array.contains(&to) {
                    return Err(SessionError::OutOfGrid {
                        path: path.clone(),
                        index: to,
                        grid: array.chunk_counts,
                    });
                }
                if to != chunk.index {
                    moves.push((chunk.index.clone(), to));
                }
            }
            here.insert(chunk.index);
        }
        let mut refs = Vec::with_capacity(moves.len());
        for (from, to) in moves {
            refs.extend(self.place(path, &from).await?.map(|found| (to, found)));
        }
        let emptied = here.iter().filter(|index| match backward {
            None => false,
            Some(backward) => !backward(index).is_some_and(|from| here.contains(&from)),
        });
        let emptied: Vec<ChunkIndex> = emptied.cloned().collect();
        let mut state = self.state_mut()?;
        state.phase.check_in_flight()?;
        let node = array_of(&state, path)?.id;
        let is_native =
            |(_, to): &(ChunkIndex, ChunkReference)| matches!(to, ChunkReference::Native { .. });
        if refs.iter().any(is_native) {
            // The edits refer to its chunks from now on, also where a rebase puts them on a snapshot that does not.
            let base = state.base.snapshot().id();
            state.taken.insert(base);
        }
        let changes = Arc::make_mut(&mut state.changes);
        for index in emptied {
            changes.set_chunk(path, node, &index, PendingChunk::Deleted);
        }
        let moved = refs.len() as u64;
        for (to, reference) in refs {
            changes.set_chunk(path, node, &to, PendingChunk::Set(reference.as_ref()));
        }
        Ok(moved)
    }
}
