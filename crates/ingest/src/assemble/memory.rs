//! What is remembered of chunks that an earlier attempt has put together.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use icefield_core::{ChunkIndex, Session};
use serde_json::Value;

use super::{Assembly, Sink};
use crate::ImportError;
use crate::import::{Digest, Journal, WorkKey};
use crate::regions::{Region, each, place};

/// What is remembered of the chunks of one array.
#[derive(Debug, Default)]
pub(super) struct Memory {
    journal: Option<Arc<Journal>>,
    /// Of the documents of the array and of each part.
    documents: Option<WorkKey>,
    /// The states of the parts; `None` of one that is not known.
    states: Vec<Option<String>>,
    /// Places of chunks that are set already.
    recalled: HashSet<Vec<u64>>,
}

impl Memory {
    /// Whether a chunk is set already.
    pub(super) fn has(&self, place: &[u64]) -> bool {
        !self.recalled.is_empty() && self.recalled.contains(place)
    }

    /// Whether all chunks in a box of the grid are.
    pub(super) fn has_all(&self, chunks: &Region) -> bool {
        if self.recalled.is_empty() {
            return false;
        }
        let mut all = (0..chunks.shape.iter().product::<u64>()).map(|at| {
            let mut found = place(at, &chunks.shape);
            let starts = found.iter_mut().zip(&chunks.start);
            starts.for_each(|(at, start)| *at += start);
            found
        });
        all.all(|place| self.has(&place))
    }
}

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
        let mut counts = self.chunk_counts();
        let mut places = Vec::new();
        for range in &self.ranges {
            counts[self.axis] = range.end - range.start;
            let visited = each(&counts, |place| {
                let mut place = place.to_vec();
                place[self.axis] += range.start;
                places.push(place);
                Ok::<_, std::convert::Infallible>(true)
            });
            match visited {
                Ok(()) => {}
                Err(never) => match never {},
            }
        }
        let mut recalled = (0, 0);
        for place in places {
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
