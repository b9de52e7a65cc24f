//! Chunks that an earlier attempt has put together, taken over.

use std::sync::Arc;

use bytes::Bytes;
use icefield_core::{ChunkIndex, Session};
use serde_json::Value;

use super::assembly::{Assembly, Sink};
use crate::ImportError;
use crate::import::{Digest, Journal, WorkKey};
use crate::regions::Region;

impl Assembly {
    /// Says what the documents of the array and of its parts are, so that chunks can be remembered.
    pub(crate) fn with_documents<'a>(
        mut self,
        array: &[u8],
        parts: impl Iterator<Item = &'a Bytes>,
    ) -> Self {
        // With more sources it is longer, and its chunks are the same.
        let mut document: Value = serde_json::from_slice(array).unwrap_or_default();
        if let Value::Object(members) = &mut document {
            members.shift_remove("shape");
        }
        let digest = Digest::new().text(&document.to_string());
        let digest = parts.fold(digest, |digest, part| digest.bytes(part));
        self.memory.documents = Some(digest.key());
        self
    }

    /// Sets the chunks that an earlier attempt has put together of the same parts. Returns how many, and their bytes.
    ///
    /// # Errors
    /// The reasons why a session cannot be written.
    pub(crate) async fn recall(
        &mut self,
        session: &Session,
        journal: &Arc<Journal>,
    ) -> Result<(u64, u64), ImportError> {
        if self.sink != Sink::Write {
            return Ok((0, 0));
        }
        self.memory.journal = Some(Arc::clone(journal));
        self.memory.states = self.parts.iter().map(|part| part.chunks.state()).collect();
        if journal.knows_nothing() {
            return Ok((0, 0));
        }
        let counts = self.chunk_counts();
        let axis = self.axis;
        let boxes = self.ranges.iter().map(|range| {
            let mut chunks = Region::new(vec![0; counts.len()], counts.clone());
            (chunks.start[axis], chunks.shape[axis]) = (range.start, range.end - range.start);
            chunks
        });
        let boxes: Vec<Region> = boxes.collect();
        let mut recalled = (0, 0);
        for place in boxes.iter().flat_map(Region::places) {
            let Some(key) = self.key(&place) else {
                continue;
            };
            let index = self.index(&place);
            let length = journal.recall(session, &key, (&self.path, &index)).await?;
            if let Some(length) = length {
                recalled = (recalled.0 + 1, recalled.1 + length);
                self.memory.recalled.insert(place);
            }
        }
        Ok(recalled)
    }

    /// Notes a chunk that was just set.
    pub(super) async fn note(
        &self,
        session: &Session,
        place: &[u64],
        index: &ChunkIndex,
    ) -> Result<(), ImportError> {
        match (&self.memory.journal, self.key(place)) {
            (Some(journal), Some(key)) => journal.note(session, key, (&self.path, index)).await,
            _ => Ok(()),
        }
    }

    /// The digest of what a chunk is made of; `None` if that is not known.
    fn key(&self, place: &[u64]) -> Option<WorkKey> {
        let whole = self.chunk_box(place);
        let digest = Digest::new().text("put together").text(self.path.as_str());
        let mut digest = digest
            .bytes(&self.memory.documents?)
            .index(&self.index(place));
        for (part, state) in self.parts.iter().zip(&self.memory.states) {
            if self.of_part(part, &whole).is_some() {
                let placed = digest.number(part.at).number(part.kept.start);
                digest = placed.number(part.kept.end).text(state.as_ref()?);
            }
        }
        Some(digest.key())
    }
}
