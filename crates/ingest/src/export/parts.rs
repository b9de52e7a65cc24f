//! Exports by several processes: one begins, any number write parts of the chunks, the first one ends it.
//!
//! ```text
//! begin      nothing is in the way; a temporary directory is made   -- BegunExport -->
//! run_part   chunks of a run of places, in any order, any number of times
//! finish     documents; the temporary directory gets its final name
//! ```
//! A part that is written twice, or by a process that dies, writes the same bytes to the same keys.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::TryStreamExt;
use icefield_zarr_fs::{DirectoryTree, ReadTree, TreeKey, TreePrefix, WriteTree};

use super::begun::{BegunExport, VERSION, unreadable};
use super::measures::measured;
use super::sink::{Sink, check_empty, tree_sink};
use super::target::{Staged, Target};
use super::{Destination, Export, ExportNode, ExportReport};
use crate::ExportError;
use crate::grid_part::GridPart;

impl Export {
    /// Begins an export that several processes write, each with a session that sees the same. All of them have to reach the
    /// destination under one name, and none may fill it but them.
    ///
    /// # Errors
    /// [`ExportError::OnePass`] for a zip file; otherwise as [`Export::run_to`], for what can be known before chunks are written.
    pub async fn begin(&self, destination: &Destination) -> Result<BegunExport, ExportError> {
        if let Destination::Zip { path, .. } = destination {
            return Err(ExportError::OnePass { path: path.clone() });
        }
        let nodes = self.interrupt.unless(self.nodes(None)).await??;
        if nodes.is_empty() {
            return Err(ExportError::Empty);
        }
        // Parts that the format cannot express are found before anything is written.
        self.dialect.spell(Arc::clone(&nodes))?;
        let staged = match destination {
            Destination::Directory(path) => {
                let staged = Staged::create(path, self.outside.as_deref()).await?;
                if let Err(interrupted) = self.interrupt.check() {
                    staged.remove().await?;
                    return Err(interrupted.into());
                }
                Some(staged)
            }
            Destination::Tree(tree) => {
                check_empty(tree).await?;
                None
            }
            Destination::Zip { .. } => None,
        };
        Ok(BegunExport {
            version: VERSION,
            staged,
            seen: self.seen(&nodes)?,
            measured: measured(&nodes),
        })
    }

    /// Writes the chunks of one of so many parts, by its number from 0 on. Done again, it comes to the same.
    ///
    /// # Errors
    /// As [`Export::run_to`].
    pub async fn run_part(
        &self,
        begun: &BegunExport,
        destination: &Destination,
        (number, of): (u32, u32),
    ) -> Result<ExportReport, ExportError> {
        let nodes = self.begun_nodes(begun).await?;
        let sink: Box<dyn Sink> = match &begun.staged {
            Some(staged) => Box::new(Shared(staged.shared()?)),
            None => in_tree(destination)?,
        };
        let writing = self.writing(&nodes, &*sink)?;
        let mut report = ExportReport::default();
        let chunks = writing.chunks_of(&nodes, GridPart::new(number, of), &mut report);
        let written = self.interrupt.unless(chunks).await;
        match written.unwrap_or_else(|interrupted| Err(interrupted.into())) {
            Ok(()) => sink.finish().await.map(|()| report),
            Err(error) => Err(without_count(sink.abandon(error).await)),
        }
    }

    /// Writes the documents, once all parts are written, and puts a directory in its final place. Returns how many nodes there are.
    ///
    /// # Errors
    /// As [`Export::run_to`]. A directory is not there then.
    pub async fn finish(
        &self,
        begun: &BegunExport,
        destination: &Destination,
    ) -> Result<ExportReport, ExportError> {
        let nodes = self.begun_nodes(begun).await?;
        let sink: Box<dyn Sink> = match &begun.staged {
            Some(staged) => Box::new(Target::reopen(staged).await?),
            None => in_tree(destination)?,
        };
        let writing = self.writing(&nodes, &*sink)?;
        // The document of the root comes last.
        let written = writing.documents(nodes.iter().rev()).await;
        let wanted = self.interrupt.check().map_err(ExportError::from);
        match written.and(wanted) {
            Ok(()) => sink.finish().await.map(|()| ExportReport::of(&nodes)),
            Err(error) => Err(without_count(sink.abandon(error).await)),
        }
    }

    /// Returns what tells the version that an export writes from others: its snapshot, and a digest of the documents.
    fn seen(&self, nodes: &[ExportNode]) -> Result<String, ExportError> {
        let digest = nodes.iter().fold(0, |sum, node| {
            let sum = crc32c::crc32c_append(sum, node.path.as_str().as_bytes());
            crc32c::crc32c_append(sum, &node.document)
        });
        Ok(format!("{}-{digest:08x}", self.session.snapshot_id()?))
    }

    /// Reads the nodes of an export that was begun. Refuses a session that sees another version than the one it began with.
    async fn begun_nodes(&self, begun: &BegunExport) -> Result<Arc<[ExportNode]>, ExportError> {
        let nodes = self.nodes(Some(&begun.measured));
        let nodes = self.interrupt.unless(nodes).await??;
        match self.seen(&nodes)? == begun.seen {
            true => Ok(nodes),
            false => Err(unreadable(
                "the session sees another version than the export began with".to_owned(),
            )),
        }
    }

    /// Removes a directory that is not finished, and returns 0; of a tree on a storage backend, returns how many objects are left.
    ///
    /// # Errors
    /// [`ExportError::Io`] if it cannot be removed.
    pub async fn abandon(
        &self,
        begun: BegunExport,
        destination: &Destination,
    ) -> Result<u64, ExportError> {
        match (begun.staged, destination) {
            (Some(staged), _) => staged.remove().await.map(|()| 0),
            (None, Destination::Tree(tree)) => {
                let mut left = 0;
                let mut values = tree.list(&TreePrefix::all());
                while values.try_next().await?.is_some() {
                    left += 1;
                }
                Ok(left)
            }
            (None, _) => Ok(0),
        }
    }
}

/// The sink of an export without a temporary directory.
fn in_tree(destination: &Destination) -> Result<Box<dyn Sink>, ExportError> {
    match destination {
        Destination::Tree(tree) => Ok(tree_sink(tree)),
        _ => Err(unreadable("it goes to another place".to_owned())),
    }
}

/// The error without the number of objects that are left, which [`Export::abandon`] counts: this process knows its own alone.
fn without_count(error: ExportError) -> ExportError {
    match error {
        ExportError::Partly { source, .. } => *source,
        error => error,
    }
}

/// A temporary directory that other processes fill, too.
struct Shared(DirectoryTree);

#[async_trait]
impl Sink for Shared {
    async fn write(&self, key: TreeKey, bytes: Bytes) -> Result<(), ExportError> {
        Ok(self.0.set(&key, bytes).await?)
    }

    async fn finish(self: Box<Self>) -> Result<(), ExportError> {
        Ok(())
    }

    async fn abandon(self: Box<Self>, error: ExportError) -> ExportError {
        error
    }
}
