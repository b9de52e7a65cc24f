//! A Zarr v3 hierarchy in a plain directory.
//!
//! Only regular files are read. A symbolic link below the root is refused by name: followed, it could lead
//! anywhere; left out, a part of the data would silently be missing. FIFOs, sockets and devices are never
//! opened.
//!
//! This module decides which entries are read, left out or refused; files are opened by a [`DirectoryTree`] alone.

mod chunks;
mod walk;

use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use icefield_core::{ArrayMetadata, NodePath};
use icefield_zarr_fs::{DirectoryTree, TreeError, TreeKey, TreePrefix};
use icefield_zarr_store::ChunkKeys;

use crate::archive::of_tree;
use crate::names::DOCUMENT;
use crate::{ChunkEntry, Hierarchy, Source, SourceError};

/// A Zarr v3 hierarchy in a plain directory as a [`Source`](crate::Source). It must be read on a tokio runtime.
#[derive(Clone, Debug)]
pub struct ZarrDirectory(Root);

/// The directory as a tree, and what messages call things in it. Clones share one handle.
#[derive(Clone, Debug)]
struct Root(DirectoryTree);

impl ZarrDirectory {
    /// Opens a directory. The path itself may lead over symbolic links; they are followed once, here.
    ///
    /// # Errors
    /// [`SourceError::NotFound`], [`SourceError::NotADirectory`], [`SourceError::Io`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SourceError> {
        Self::opened(path.as_ref(), true)
    }

    /// Opens a directory without keeping it open: each read looks the path up anew. For one of many directories, which
    /// would need too many file descriptors.
    ///
    /// # Errors
    /// As [`ZarrDirectory::open`].
    pub fn open_unheld(path: impl AsRef<Path>) -> Result<Self, SourceError> {
        Self::opened(path.as_ref(), false)
    }

    fn opened(path: &Path, is_held: bool) -> Result<Self, SourceError> {
        let builder = DirectoryTree::builder(path)
            .hold(is_held)
            .must_exist(true)
            .read_only(true);
        let opened = builder.open();
        let tree = opened.map_err(|error| explained(path.display().to_string(), error))?;
        Ok(Self(Root(tree)))
    }

    /// Returns the absolute path of the directory.
    pub fn path(&self) -> &Path {
        self.0.0.path()
    }
}

impl fmt::Display for ZarrDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.0.fmt(f)
    }
}

impl Root {
    /// The name in messages of something below the root.
    fn name_of(&self, path: &str) -> String {
        let name = self.0.to_string();
        match path.trim_end_matches('/') {
            "" => name,
            path => Path::new(&name).join(path).display().to_string(),
        }
    }

    /// The error of the tree for something below the root.
    fn explained(&self, path: &str, error: impl Into<TreeError>) -> SourceError {
        match error.into() {
            // It may be on the way.
            TreeError::Link { name, .. } => SourceError::Link {
                name: self.name_of(&name),
            },
            // So it may be below, where a whole directory is listed.
            TreeError::Io { name, source, .. } => SourceError::Io {
                name: self.name_of(&name),
                source,
            },
            error => explained(self.name_of(path), error),
        }
    }

    /// The directory of a node.
    fn directory_of(&self, node: &NodePath) -> Result<TreePrefix, SourceError> {
        let text = match &node.as_str()[1..] {
            "" => String::new(),
            path => format!("{path}/"),
        };
        TreePrefix::parse(&text).map_err(|error| self.explained(&text, error))
    }

    /// Returns whether there is anything in a directory where the document of a node would be.
    async fn has_document(&self, directory: &str) -> Result<bool, SourceError> {
        let file = format!("{directory}/{DOCUMENT}");
        let fail = |error| self.explained(&file, error);
        let key = TreeKey::parse(&file).map_err(|error| fail(error.into()))?;
        Ok(self.0.raw_kind(&key).await.map_err(fail)?.is_some())
    }
}

/// Returns the error of a tree for something that messages call `name`.
fn explained(name: String, error: TreeError) -> SourceError {
    match error {
        TreeError::Missing { .. } => SourceError::NotFound { name },
        TreeError::NotADirectory { .. } => SourceError::NotADirectory {
            name,
            found: "a file",
        },
        TreeError::Changed { .. } => SourceError::Changed { name },
        TreeError::Io { source, .. } => SourceError::Io { name, source },
        error => of_tree(&name, error),
    }
}

#[async_trait]
impl Source for ZarrDirectory {
    async fn hierarchy(&self) -> Result<Hierarchy, SourceError> {
        walk::hierarchy(&self.0).await
    }

    fn chunks(
        &self,
        path: &NodePath,
        array: &ArrayMetadata,
    ) -> BoxStream<'static, Result<ChunkEntry, SourceError>> {
        chunks::list(self.0.clone(), path, array)
    }

    async fn read_chunk(
        &self,
        path: &NodePath,
        array: &ArrayMetadata,
        index: &[u32],
        length: u64,
    ) -> Result<Bytes, SourceError> {
        let Root(tree) = &self.0;
        let key = self.0.directory_of(path)?;
        let key = key.key(&ChunkKeys::of(array).key(index));
        let key = key.map_err(|error| self.0.explained(path.as_str(), error))?;
        match tree.get_sized(&key, length..=length).await {
            Ok(Some(bytes)) => Ok(bytes),
            // It was listed as a file of that length.
            Ok(None) | Err(TreeError::Size { .. } | TreeError::NotAFile { .. }) => {
                let name = self.0.name_of(key.as_str());
                Err(SourceError::Changed { name })
            }
            Err(error) => Err(self.0.explained(key.as_str(), error)),
        }
    }

    fn chunk_name(&self, path: &NodePath, array: &ArrayMetadata, index: &[u32]) -> String {
        let key = ChunkKeys::of(array).key(index);
        self.0.name_of(&format!("{}/{key}", &path.as_str()[1..]))
    }
}
