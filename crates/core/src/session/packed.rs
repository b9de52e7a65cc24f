//! Chunks that wait in packs for the store.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use icefield_format::{ChunkId, ChunkIndex, ChunkRef, NodePath, layout};
use icefield_storage::{Key, PlantedBug, StorageError, planted};

use super::chunk_reference::ChunkReference;
use super::write::array_of;
use super::{Session, SessionState};
use crate::SessionError;
use crate::change_set::{ChangeSet, PendingChunk};
use crate::packs::{NotStored, PackRules, SentPacks};

impl SessionState {
    /// Returns the objects that a commit of this state refers to, and its base need not.
    pub(crate) fn objects(&self) -> BTreeSet<ChunkId> {
        let mut objects = self.relocations.targets();
        objects.extend(objects_of(&self.changes));
        objects
    }
}

/// Returns the objects that edits refer to. Chunks that lie behind one another, as in a pack, mostly tell theirs once.
fn objects_of(changes: &ChangeSet) -> impl Iterator<Item = ChunkId> {
    let tables = changes.chunks().values();
    tables.flat_map(|table| {
        let rows = 0..table.len() as u32;
        let mut last = None;
        let ids = rows.filter_map(move |row| Some(table.at(row).place()?.0));
        ids.filter(move |id| last.replace(*id) != Some(*id))
    })
}

impl Session {
    /// Puts a chunk into the open pack.
    pub(super) async fn pack(
        &self,
        bytes: &[u8],
        rules: &PackRules,
    ) -> Result<ChunkReference, SessionError> {
        let draw = || ChunkId::from_bytes(self.random());
        let appended = self.packer().append(bytes, rules, draw).await;
        self.note_stored();
        let (id, offset) = match appended {
            Ok(place) => place,
            Err(failed) => return Err(self.not_stored(&failed)?),
        };
        let length = bytes.len() as u64;
        Ok(ChunkReference::Native { id, offset, length })
    }

    /// Puts a copy of the bytes of a chunk into a pack, whatever settings say, or, if it would fill half a pack, into an object of
    /// its own; returns the object and the first byte in it. Nothing refers to it before [`Session::relocate_chunks`]. Copies in
    /// packs lie in the order of these calls.
    ///
    /// # Errors
    /// [`SessionError::EmptyCopy`]; as [`Session::set_chunk`].
    pub async fn copy_to_pack(&self, bytes: &[u8]) -> Result<(ChunkId, u64), SessionError> {
        let _permit = self.begin_write().await?;
        if bytes.is_empty() {
            return Err(SessionError::EmptyCopy);
        }
        let rules = self.shared().pack_rules();
        let packed = match rules.is_long(bytes.len()) {
            true => self.store_object(Bytes::copy_from_slice(bytes)).await?,
            false => self.pack(bytes, &rules).await?,
        };
        self.keep_lease().await;
        match packed.as_ref() {
            ChunkRef::Native { id, offset, .. } => Ok((id, offset)),
            _ => Err(SessionError::Aborted("a pack is no object".to_owned())),
        }
    }

    /// Lets the next commit refer to copies of chunks of an array: of each the range of an object that references lead to now, as
    /// object, first byte and length, and the place of the [copy](Session::copy_to_pack). The commit writes the array's manifests
    /// anew; no log names the chunks, and no other commit collides with that: chunks that it replaces stay replaced. Until
    /// then, the session reads the chunks where they were. Forks do not know of it.
    ///
    /// # Errors
    /// [`SessionError::NodeNotFound`], [`SessionError::NotAnArray`], and the reasons why a session cannot be written.
    pub async fn relocate_chunks(
        &self,
        path: &NodePath,
        moved: impl IntoIterator<Item = ((ChunkId, u64, u64), (ChunkId, u64))> + Send,
    ) -> Result<(), SessionError> {
        let _permit = self.begin_write().await?;
        let mut state = self.state_mut()?;
        state.phase.check_in_flight()?;
        let node = array_of(&state, path)?.id;
        let relocations = Arc::make_mut(&mut state.relocations);
        for (from, to) in moved {
            relocations.add(node, from, to);
        }
        // Manifests of an earlier attempt know nothing of it.
        state.forget_written();
        Ok(())
    }

    /// Stores the chunks of this session and its forks that wait in memory to be stored together with others. A commit does so
    /// by itself for those that it refers to, and so do a flush and a fork that is serialised.
    ///
    /// # Errors
    /// [`SessionError::ChunksNotStored`] with the chunks that could not be stored. They stay in memory: this can be tried again.
    pub async fn store_packs(&self) -> Result<(), SessionError> {
        let closed = self.packer().close().await;
        self.note_stored();
        match closed {
            Ok(()) => Ok(()),
            Err(failed) => Err(self.not_stored(&failed)?),
        }
    }

    /// Stores the packs that the session refers to. A pack that only a fork refers to, or nothing any more, may fail.
    pub(crate) async fn store_needed(&self) -> Result<(), SessionError> {
        let sent = self.send_needed()?;
        self.packs_stored(&sent).await
    }

    /// Begins to store the packs that the session refers to.
    pub(crate) fn send_needed(&self) -> Result<SentPacks, SessionError> {
        // The guard of the commit has to know the age of what is stored already.
        self.note_stored();
        if self.packer().is_empty() {
            return Ok(SentPacks::default());
        }
        let mut needed = self.state()?.objects();
        if let Some(lineage) = self.lineage() {
            // The packs that a fork began with go along with it.
            needed.extend(objects_of(&lineage.origin));
        }
        Ok(self.packer().send_among(&needed))
    }

    /// Waits until packs are stored.
    pub(crate) async fn packs_stored(&self, packs: &SentPacks) -> Result<(), SessionError> {
        if planted(PlantedBug::PackNotAwaited) {
            return Ok(());
        }
        let finished = self.packer().finish(packs).await;
        self.note_stored();
        match finished {
            Ok(()) => Ok(()),
            Err(failed) => Err(self.not_stored(&failed)?),
        }
    }

    /// Returns the bytes of chunks of this session and its forks that wait in memory to be stored together with others.
    /// At most [`PackSettings::buffered_bytes`](crate::PackSettings::buffered_bytes).
    pub fn buffered_bytes(&self) -> usize {
        self.packer().buffered()
    }

    /// Looks up bytes of the session that are not in the store. To be asked while the reference is in the session's state: later,
    /// another chunk may have its place.
    pub(super) fn unwritten(&self, chunk: ChunkRef<'_>) -> Option<Bytes> {
        let ChunkRef::Native { id, offset, length } = chunk else {
            return None;
        };
        let range = offset..offset.checked_add(length)?;
        self.shared().unwritten.read(id, range)
    }

    /// Lets references go to places where the session does not see them.
    pub(super) fn pin(&self, chunk: ChunkRef<'_>) {
        if let ChunkRef::Native { id, .. } = chunk {
            self.shared().unwritten.pin(id);
        }
    }

    /// Lets go of the bytes of a chunk that is about to be replaced. Returns what is to be recorded in its place: the pack may have
    /// closed up.
    pub(super) fn in_place_of<'a>(
        &self,
        replaced: Option<(ChunkId, u64)>,
        chunk: PendingChunk<'a>,
    ) -> PendingChunk<'a> {
        match (replaced, chunk) {
            (Some(old), PendingChunk::Set(ChunkRef::Native { id, offset, length })) => {
                let offset = self.packer().replace(old, (id, offset));
                PendingChunk::Set(ChunkRef::Native { id, offset, length })
            }
            (old, chunk) => {
                self.packer().forget(old.into_iter());
                chunk
            }
        }
    }

    /// Lets go of the bytes of chunks that these edits refer to, and nothing else does any more.
    pub(super) fn forget_packed(&self, changes: &ChangeSet) {
        for table in changes.chunks().values() {
            let chunks = (0..table.len() as u32).filter_map(|row| table.at(row).place());
            self.packer().forget(chunks);
        }
    }

    /// Refuses to go on if an object that a commit refers to is in memory, and so is not known to be stored. The packs of the commit
    /// were waited for; no argument for that is worth as much as a look.
    pub(crate) fn check_stored(&self) -> Result<(), SessionError> {
        let unwritten = &self.shared().unwritten;
        // The check alone would find the fault, whatever a commit writes.
        if unwritten.is_empty() || planted(PlantedBug::PackNotAwaited) {
            return Ok(());
        }
        let objects = self.state()?.objects();
        let Some(id) = unwritten.first_of(objects) else {
            return Ok(());
        };
        let early = "the commit came to refer to the chunks before they were stored".to_owned();
        let error = Arc::new(SessionError::Aborted(early));
        Err(self.not_stored(&[NotStored { id, error }])?)
    }

    fn note_stored(&self) {
        for time in self.packer().take_times() {
            self.lease().note_written(time);
        }
    }

    /// Names the chunks of the session in packs that could not be stored.
    fn not_stored(&self, failed: &[NotStored]) -> Result<SessionError, SessionError> {
        let mut chunks: Vec<(NodePath, ChunkIndex)> = Vec::new();
        let changes = Arc::clone(&self.state()?.changes);
        for (node, table) in changes.chunks() {
            let Some(path) = changes.array_path(node) else {
                continue;
            };
            for row in 0..table.len() as u32 {
                if let Some((id, _)) = table.at(row).place()
                    && failed.iter().any(|it| it.id == id)
                {
                    chunks.push((path.clone(), table.index(row).to_vec().into()));
                }
            }
        }
        chunks.sort_unstable();
        let Some(first) = failed.first() else {
            return Err(SessionError::Aborted("no pack failed".to_owned()));
        };
        let key = Key::parse(&layout::chunk_key(first.id)).map_err(StorageError::from)?;
        let source = Arc::clone(&first.error);
        Ok(SessionError::ChunksNotStored {
            key,
            chunks,
            source,
        })
    }
}
