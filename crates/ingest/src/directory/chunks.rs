//! Listing the chunks of one array: a walk on a thread of its own, a few entries ahead of the copying.

use std::fs::{self, ReadDir};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt};
use icefield_core::{ArrayMetadata, ChunkKeyEncoding, NodePath};
use icefield_zarr_store::ChunkKeys;
use tokio::sync::mpsc;

use super::Root;
use super::names::{DOCUMENT, is_foreign};
use crate::{ChunkEntry, SourceError};

/// Entries listed ahead.
const AHEAD: usize = 256;

type Sender = mpsc::Sender<Result<ChunkEntry, SourceError>>;

/// Nobody is listening any more, or the walk has failed and said so.
struct Ended;

/// Lists the chunks of the array at `path`.
pub(super) fn list(
    root: Arc<Root>,
    path: &NodePath,
    array: &ArrayMetadata,
) -> BoxStream<'static, Result<ChunkEntry, SourceError>> {
    let walk = ChunkWalk {
        directory: root.directory_of(path),
        root,
        encoding: array.chunk_key_encoding,
        keys: ChunkKeys::of(array),
    };
    let start = async move {
        let (sender, receiver) = mpsc::channel(AHEAD);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = walk.run(&sender) {
                let _ = sender.blocking_send(Err(error));
            }
        });
        stream::unfold(receiver, |mut receiver| async move {
            let entry = receiver.recv().await?;
            Some((entry, receiver))
        })
    };
    stream::once(start).flatten().boxed()
}

struct ChunkWalk {
    root: Arc<Root>,
    directory: PathBuf,
    encoding: ChunkKeyEncoding,
    keys: ChunkKeys,
}

impl ChunkWalk {
    fn run(&self, sender: &Sender) -> Result<(), SourceError> {
        // One open directory per level; a level that no key of this array has is not entered.
        let mut open: Vec<(PathBuf, ReadDir)> = vec![self.enter(self.directory.clone())?];
        while let Some((directory, entries)) = open.last_mut() {
            let Some(entry) = entries.next() else {
                open.pop();
                continue;
            };
            let entry = entry.map_err(|error| self.root.io_error(directory, error))?;
            let file = entry.path();
            let kind = entry
                .file_type()
                .map_err(|error| self.root.io_error(&file, error))?;
            if kind.is_symlink() {
                return Err(SourceError::Link {
                    name: self.root.name_of(&file),
                });
            }
            let found = match self.key(&file)? {
                None if kind.is_dir() && self.root.has_document(&file)? => {
                    return Err(
                        self.no_chunk(&file, "it is a node, and an array has none below it")
                    );
                }
                None => Some(ChunkEntry::Ignored {
                    name: self.root.name_of(&file),
                }),
                Some(key) if kind.is_dir() => {
                    self.check_depth(&file, &key)?;
                    let next = self.enter(file)?;
                    open.push(next);
                    None
                }
                Some(key) if key == DOCUMENT => None,
                Some(key) if kind.is_file() => Some(self.chunk(&file, &key, &entry)?),
                Some(_) => return Err(self.no_chunk(&file, "it is not a regular file")),
            };
            if let Some(found) = found
                && send(sender, found).is_err()
            {
                return Ok(());
            }
        }
        Ok(())
    }

    fn enter(&self, directory: PathBuf) -> Result<(PathBuf, ReadDir), SourceError> {
        let entries =
            fs::read_dir(&directory).map_err(|error| self.root.io_error(&directory, error))?;
        Ok((directory, entries))
    }

    /// The key of a file below the array; `None` if it is one that programs leave lying about.
    fn key(&self, file: &Path) -> Result<Option<String>, SourceError> {
        let name = file.file_name().and_then(|name| name.to_str());
        if name.is_some_and(is_foreign) {
            return Ok(None);
        }
        let relative = file.strip_prefix(&self.directory).unwrap_or(file);
        let mut key = String::new();
        for part in relative {
            let Some(part) = part.to_str() else {
                return Err(self.no_chunk(file, "its name is not UTF-8"));
            };
            if !key.is_empty() {
                key.push('/');
            }
            key.push_str(part);
        }
        Ok(Some(key))
    }

    /// Refuses to go deeper than the keys of the array do.
    fn check_depth(&self, directory: &Path, key: &str) -> Result<(), SourceError> {
        let depth = key.split('/').count();
        let deepest = match self.encoding {
            ChunkKeyEncoding::Default { separator: '/' } => self.keys.rank(),
            ChunkKeyEncoding::V2 { separator: '/' } => self.keys.rank().saturating_sub(1),
            _ => 0,
        };
        match depth > deepest {
            true => Err(self.no_chunk(directory, "it is a directory where a chunk should be")),
            false => Ok(()),
        }
    }

    fn chunk(
        &self,
        file: &Path,
        key: &str,
        entry: &fs::DirEntry,
    ) -> Result<ChunkEntry, SourceError> {
        let index = self.keys.decode(key).map_err(|problem| {
            let example = self.keys.key(&vec![0; self.keys.rank()]);
            self.no_chunk(
                file,
                &format!("{problem}; its chunks have keys such as {example}"),
            )
        })?;
        let length = entry
            .metadata()
            .map_err(|error| self.root.io_error(file, error))?
            .len();
        match length {
            0 => Err(SourceError::EmptyChunk {
                name: self.root.name_of(file),
            }),
            _ => Ok(ChunkEntry::Chunk { index, length }),
        }
    }

    fn no_chunk(&self, file: &Path, problem: &str) -> SourceError {
        SourceError::NotAChunk {
            name: self.root.name_of(file),
            problem: problem.to_owned(),
        }
    }
}

fn send(sender: &Sender, entry: ChunkEntry) -> Result<(), Ended> {
    sender.blocking_send(Ok(entry)).map_err(|_| Ended)
}
