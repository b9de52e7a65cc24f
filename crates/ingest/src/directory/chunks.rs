//! Listing the chunks of one array: a walk in a task of its own, some entries ahead of the copying.

use futures::TryStreamExt;
use futures::stream::{self, BoxStream, StreamExt};
use icefield_core::{ArrayMetadata, ChunkKeyEncoding, NodePath};
use icefield_zarr_fs::{RawEntry, RawKind};
use icefield_zarr_store::ChunkKeys;
use tokio::sync::mpsc;

use super::Root;
use crate::names::{DOCUMENT, is_foreign};
use crate::{ChunkEntry, SourceError};

/// Entries listed ahead, besides those that the tree brings at once.
const AHEAD: usize = 256;

type Sender = mpsc::Sender<Result<ChunkEntry, SourceError>>;

/// Lists the chunks of the array at `path`.
pub(super) fn list(
    root: Root,
    path: &NodePath,
    array: &ArrayMetadata,
) -> BoxStream<'static, Result<ChunkEntry, SourceError>> {
    let walk = ChunkWalk {
        root,
        path: path.clone(),
        encoding: array.chunk_key_encoding,
        keys: ChunkKeys::of(array),
    };
    let start = async move {
        let (sender, receiver) = mpsc::channel(AHEAD);
        let name = walk.root.name_of(&walk.path.as_str()[1..]);
        let task = tokio::spawn(async move {
            if let Err(error) = walk.run(&sender).await {
                let _ = sender.send(Err(error)).await;
            }
        });
        stream::unfold((receiver, Some(task)), move |(mut receiver, mut task)| {
            let name = name.clone();
            async move {
                if let Some(entry) = receiver.recv().await {
                    return Some((entry, (receiver, task)));
                }
                // A task that did not come to its end must not look like a shorter list.
                let source = task.take()?.await.err()?.into();
                let lost = SourceError::Other { name, source };
                Some((Err(lost), (receiver, None)))
            }
        })
    };
    stream::once(start).flatten().boxed()
}

struct ChunkWalk {
    root: Root,
    path: NodePath,
    encoding: ChunkKeyEncoding,
    keys: ChunkKeys,
}

impl ChunkWalk {
    async fn run(&self, sender: &Sender) -> Result<(), SourceError> {
        let directory = self.root.directory_of(&self.path)?;
        let (own, deepest) = (directory.as_str().len(), self.deepest());
        // A level that no key of this array has is not entered.
        let enter = move |entry: &RawEntry| {
            let depth = entry.path[own..].split('/').count();
            entry.is_utf8 && !is_foreign(entry.name()) && depth <= deepest
        };
        let mut entries = self.root.0.raw_entries(&directory, enter);
        let fail = |error| self.root.explained(directory.as_str(), error);
        while let Some(entry) = entries.try_next().await.map_err(fail)? {
            let key = &entry.path[own..];
            if let Some(found) = self.look(&entry, key, deepest).await?
                && sender.send(Ok(found)).await.is_err()
            {
                // The receiver is gone.
                return Ok(());
            }
        }
        Ok(())
    }

    /// Says what an entry is; `None` if it is a directory with chunks below it, or the document.
    async fn look(
        &self,
        entry: &RawEntry,
        key: &str,
        deepest: usize,
    ) -> Result<Option<ChunkEntry>, SourceError> {
        let name = || self.root.name_of(&entry.path);
        let is_directory = entry.kind == RawKind::Directory;
        if entry.kind == RawKind::Link {
            return Err(SourceError::Link { name: name() });
        }
        if !entry.is_utf8 {
            return Err(self.no_chunk(entry, "its name is not UTF-8"));
        }
        if is_foreign(entry.name()) {
            if is_directory && self.root.has_document(&entry.path).await? {
                return Err(self.no_chunk(entry, "it is a node, and an array has none below it"));
            }
            return Ok(Some(ChunkEntry::Ignored { name: name() }));
        }
        match entry.kind {
            // Deeper than the keys of the array go.
            RawKind::Directory if key.split('/').count() > deepest => {
                Err(self.no_chunk(entry, "it is a directory where a chunk should be"))
            }
            RawKind::Directory => Ok(None),
            _ if key == DOCUMENT => Ok(None),
            RawKind::File { size } => self.chunk(entry, key, size).map(Some),
            _ => Err(self.no_chunk(entry, "it is not a regular file")),
        }
    }

    /// Levels of directories in the keys of the array.
    fn deepest(&self) -> usize {
        match self.encoding {
            ChunkKeyEncoding::Default { separator: '/' } => self.keys.rank(),
            ChunkKeyEncoding::V2 { separator: '/' } => self.keys.rank().saturating_sub(1),
            _ => 0,
        }
    }

    fn chunk(&self, entry: &RawEntry, key: &str, length: u64) -> Result<ChunkEntry, SourceError> {
        let index = self.keys.decode(key).map_err(|problem| {
            let example = self.keys.key(&vec![0; self.keys.rank()]);
            self.no_chunk(
                entry,
                &format!("{problem}; its chunks have keys such as {example}"),
            )
        })?;
        match length {
            0 => Err(SourceError::EmptyChunk {
                name: self.root.name_of(&entry.path),
            }),
            _ => Ok(ChunkEntry::Chunk { index, length }),
        }
    }

    fn no_chunk(&self, entry: &RawEntry, problem: &str) -> SourceError {
        SourceError::NotAChunk {
            name: self.root.name_of(&entry.path),
            problem: problem.to_owned(),
        }
    }
}
