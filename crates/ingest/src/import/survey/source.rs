//! A source of which only what a plan needs is known.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use icefield_core::{ArrayMetadata, ChunkIndex, NodePath};

use crate::{ChunkEntry, Hierarchy, Source, SourceError};

/// The chunks of an array: their lengths in bytes, and the bytes where they are known.
pub(super) type Entries = BTreeMap<ChunkIndex, (u64, Option<Bytes>)>;

/// A source as a plan sees it.
#[derive(Debug)]
pub(super) struct Surveyed {
    pub(super) name: String,
    pub(super) hierarchy: Hierarchy,
    pub(super) urls: Vec<String>,
    pub(super) at_hand: BTreeSet<NodePath>,
    pub(super) may_repeat: bool,
    pub(super) chunks: BTreeMap<NodePath, Entries>,
}

impl Surveyed {
    fn unknown(&self, path: &NodePath) -> SourceError {
        let reason = "a survey of it has none of its chunks: plan the import where the file is";
        SourceError::variable(&self.name, path, reason)
    }
}

#[async_trait]
impl Source for Surveyed {
    async fn hierarchy(&self) -> Result<Hierarchy, SourceError> {
        Ok(self.hierarchy.clone())
    }

    fn chunks(
        &self,
        path: &NodePath,
        _: &ArrayMetadata,
    ) -> BoxStream<'static, Result<ChunkEntry, SourceError>> {
        let entries: Vec<_> = match self.chunks.get(path) {
            None => vec![Err(self.unknown(path))],
            Some(entries) => {
                let known = entries.iter().map(|(index, (length, _))| {
                    let (index, length) = (index.clone(), *length);
                    Ok(ChunkEntry::Chunk { index, length })
                });
                known.collect()
            }
        };
        stream::iter(entries).boxed()
    }

    async fn read_chunk(
        &self,
        path: &NodePath,
        _: &ArrayMetadata,
        index: &[u32],
        _: u64,
    ) -> Result<Bytes, SourceError> {
        let entry = self.chunks.get(path).and_then(|it| it.get(index));
        let bytes = entry.and_then(|(_, bytes)| bytes.clone());
        bytes.ok_or_else(|| self.unknown(path))
    }

    fn urls(&self) -> Vec<String> {
        self.urls.clone()
    }

    fn may_repeat(&self) -> bool {
        self.may_repeat
    }

    fn is_survey(&self) -> bool {
        true
    }

    fn is_at_hand(&self, path: &NodePath) -> bool {
        self.at_hand.contains(path)
    }

    fn chunk_name(&self, path: &NodePath, _: &ArrayMetadata, index: &[u32]) -> String {
        let index = ChunkIndex::from(index);
        format!("chunk {index} of {path} in {}", self.name)
    }
}

impl fmt::Display for Surveyed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
