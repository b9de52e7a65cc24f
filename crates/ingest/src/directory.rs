//! A Zarr v3 hierarchy in a plain directory.
//!
//! Only regular files are read. A symbolic link below the root is refused by name: followed, it could lead
//! anywhere; left out, a part of the data would silently be missing. FIFOs, sockets and devices are never
//! opened.

mod buffers;
mod chunks;
pub(crate) mod names;
mod walk;

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use icefield_core::{ArrayMetadata, NodePath};
use icefield_zarr_store::ChunkKeys;

use buffers::Buffers;

use crate::{ChunkEntry, Hierarchy, Source, SourceError};

/// Largest `zarr.json` that is read, in bytes.
const MAX_DOCUMENT: u64 = 64 << 20;

/// The source for a Zarr v3 hierarchy in a plain directory. Needs a tokio runtime to be read on.
#[derive(Clone, Debug)]
pub struct ZarrDirectory(Arc<Root>);

/// The directory and what messages call it.
#[derive(Debug)]
struct Root {
    path: PathBuf,
    name: String,
    buffers: Buffers,
}

impl ZarrDirectory {
    /// Opens a directory. The path itself may be a symbolic link; it is followed once, here.
    ///
    /// # Errors
    /// [`SourceError::NotFound`], [`SourceError::NotADirectory`], [`SourceError::Io`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SourceError> {
        let name = path.as_ref().display().to_string();
        let fail = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => SourceError::NotFound { name: name.clone() },
            _ => SourceError::Io {
                name: name.clone(),
                source,
            },
        };
        let path = fs::canonicalize(path.as_ref()).map_err(fail)?;
        match fs::metadata(&path).map_err(fail)?.is_dir() {
            true => Ok(Self(Arc::new(Root {
                path,
                name,
                buffers: Buffers::default(),
            }))),
            false => Err(SourceError::NotADirectory {
                name,
                found: "a file",
            }),
        }
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.0.path
    }
}

impl fmt::Display for ZarrDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name)
    }
}

impl Root {
    /// What messages call something below the root.
    fn name_of(&self, path: &Path) -> String {
        match path.strip_prefix(&self.path) {
            Ok(relative) if relative.as_os_str().is_empty() => self.name.clone(),
            Ok(relative) => Path::new(&self.name).join(relative).display().to_string(),
            Err(_) => path.display().to_string(),
        }
    }

    fn io_error(&self, path: &Path, source: io::Error) -> SourceError {
        SourceError::Io {
            name: self.name_of(path),
            source,
        }
    }

    /// The directory of a node.
    fn directory_of(&self, node: &NodePath) -> PathBuf {
        self.path.join(&node.as_str()[1..])
    }

    /// Returns whether there is anything in a directory where the document of a node would be.
    fn has_document(&self, directory: &Path) -> Result<bool, SourceError> {
        let file = directory.join(names::DOCUMENT);
        match fs::symlink_metadata(&file) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.io_error(&file, error)),
        }
    }

    /// Reads a file that must be a regular one. With `length`, it must have exactly so many bytes.
    fn read(&self, path: &Path, length: Option<u64>) -> Result<Bytes, SourceError> {
        let file = open_file(path).map_err(|error| self.io_error(path, error))?;
        let metadata = file
            .metadata()
            .map_err(|error| self.io_error(path, error))?;
        let changed = || SourceError::Changed {
            name: self.name_of(path),
        };
        let expected = metadata.len();
        if !metadata.is_file() || length.is_some_and(|length| length != expected) {
            return Err(changed());
        }
        // One byte more is asked for, to see the end; the buffer has the size of the file from the start.
        let room = usize::try_from(expected)
            .map_err(|_| changed())?
            .saturating_add(1);
        let mut bytes = self.buffers.take(room);
        (&file)
            .take(expected + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| self.io_error(path, error))?;
        match bytes.len() as u64 == expected {
            true => Ok(self.buffers.lend(bytes)),
            false => Err(changed()),
        }
    }
}

/// Opens a file for reading without following a link that has taken its place, and without waiting for
/// whoever should write to a FIFO.
#[cfg(unix)]
fn open_file(path: &Path) -> io::Result<fs::File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(open(path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open_file(path: &Path) -> io::Result<fs::File> {
    fs::File::open(path)
}

/// Runs file access on a thread that may wait for it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SourceError> + Send + 'static,
) -> Result<T, SourceError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(SourceError::Other {
            name: "the source".to_owned(),
            source: error.into(),
        }),
    }
}

#[async_trait]
impl Source for ZarrDirectory {
    async fn hierarchy(&self) -> Result<Hierarchy, SourceError> {
        let root = Arc::clone(&self.0);
        blocking(move || walk::hierarchy(&root)).await
    }

    fn chunks(
        &self,
        path: &NodePath,
        array: &ArrayMetadata,
    ) -> BoxStream<'static, Result<ChunkEntry, SourceError>> {
        chunks::list(Arc::clone(&self.0), path, array)
    }

    async fn read_chunk(
        &self,
        path: &NodePath,
        array: &ArrayMetadata,
        index: &[u32],
        length: u64,
    ) -> Result<Bytes, SourceError> {
        let root = Arc::clone(&self.0);
        let file = root
            .directory_of(path)
            .join(ChunkKeys::of(array).key(index));
        blocking(move || root.read(&file, Some(length))).await
    }

    fn chunk_name(&self, path: &NodePath, array: &ArrayMetadata, index: &[u32]) -> String {
        let key = ChunkKeys::of(array).key(index);
        self.0.name_of(&self.0.directory_of(path).join(key))
    }
}
