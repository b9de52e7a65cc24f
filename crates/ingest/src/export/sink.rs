//! Where an export goes: a directory, a zip file, or a tree on a storage backend.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures::TryStreamExt;
use icefield_core::SessionError;
use icefield_zarr_fs::{
    ReadTree, StorageTree, TreeKey, TreePrefix, WriteTree, ZipLayout, ZipWriter,
};
use tokio::sync::{Mutex, RwLock};

use super::place::{check_free, is_within};
#[cfg(unix)]
use super::target::Target;
use crate::ExportError;

/// The place that an export fills.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Destination {
    /// A directory, which must not exist or be empty. A new one appears whole or not at all. On Unix.
    Directory(PathBuf),
    /// A zip file, which must not exist: it appears whole or not at all, and is written in one pass. Chunks are stored
    /// in it as they are.
    Zip {
        /// The file.
        path: PathBuf,
        /// Whether names begin with a folder.
        layout: ZipLayout,
    },
    /// A tree on a storage backend, below a prefix with nothing below it. Chunks are written first and the document of
    /// the root last, so that a stopped export leaves no hierarchy.
    Tree(StorageTree),
}

/// The receiver of the values of an export. Dropped before [`Sink::finish`], it leaves nothing that looks complete.
#[async_trait]
pub(super) trait Sink: Send + Sync {
    /// Writes a value; each key comes once.
    async fn write(&self, key: TreeKey, bytes: Bytes) -> Result<(), ExportError>;

    /// Whether others see a value as soon as it is written: then documents come last.
    fn is_seen_at_once(&self) -> bool {
        false
    }

    /// Puts what was written in its final place.
    async fn finish(self: Box<Self>) -> Result<(), ExportError>;

    /// Drops what was written and waits until it is gone, and writes that go on are at their end. Says what is left
    /// behind after an error.
    async fn abandon(self: Box<Self>, error: ExportError) -> ExportError;
}

impl Destination {
    /// Prepares the place; none at or below `outside`.
    pub(super) async fn open(&self, outside: Option<&Path>) -> Result<Box<dyn Sink>, ExportError> {
        Ok(match self {
            #[cfg(unix)]
            Self::Directory(path) => Box::new(Target::create(path, outside).await?),
            #[cfg(not(unix))]
            Self::Directory(path) => {
                let path = path.clone();
                let source = std::io::ErrorKind::Unsupported.into();
                return Err(ExportError::Io { path, source });
            }
            Self::Zip { path, layout } => {
                Box::new(Zip::create(path, layout.clone(), outside).await?)
            }
            Self::Tree(tree) => {
                check_empty(tree).await?;
                tree_sink(tree)
            }
        })
    }
}

#[cfg(unix)]
#[async_trait]
impl Sink for Target {
    async fn write(&self, key: TreeKey, bytes: Bytes) -> Result<(), ExportError> {
        Self::write(self, &key, bytes).await
    }

    async fn finish(self: Box<Self>) -> Result<(), ExportError> {
        Self::finish(*self).await
    }

    async fn abandon(self: Box<Self>, error: ExportError) -> ExportError {
        Self::abandon(*self).await;
        error
    }
}

struct Zip {
    path: PathBuf,
    /// One value is written after the other; those that wait count as under way. None at the end.
    writer: Arc<Mutex<Option<ZipWriter>>>,
    is_abandoned: Arc<AtomicBool>,
}

impl Zip {
    async fn create(
        path: &Path,
        layout: ZipLayout,
        outside: Option<&Path>,
    ) -> Result<Self, ExportError> {
        let path = std::path::absolute(path).map_err(|source| ExportError::Io {
            path: path.to_owned(),
            source,
        })?;
        let Some(parent) = path.parent().filter(|_| path.file_name().is_some()) else {
            return Err(ExportError::AlreadyExists { path });
        };
        if let Some(repository) = outside
            && is_within(parent, repository)
        {
            return Err(ExportError::InsideRepository {
                repository: repository.to_owned(),
                path,
            });
        }
        check_absent(&path)?;
        if !parent.is_dir() {
            return Err(ExportError::NoParent { path });
        }
        let writer = ZipWriter::create(&path, layout).await?;
        let writer = Arc::new(Mutex::new(Some(writer)));
        Ok(Self {
            path,
            writer,
            is_abandoned: Arc::default(),
        })
    }
}

/// Fails if there is anything, even an empty directory.
fn check_absent(path: &Path) -> Result<(), ExportError> {
    check_free(path, None)?;
    match path.is_dir() {
        true => Err(ExportError::AlreadyExists {
            path: path.to_owned(),
        }),
        false => Ok(()),
    }
}

#[async_trait]
impl Sink for Zip {
    async fn write(&self, key: TreeKey, bytes: Bytes) -> Result<(), ExportError> {
        let (writer, is_abandoned) = (Arc::clone(&self.writer), Arc::clone(&self.is_abandoned));
        // A caller that abandons the file waits for its end.
        to_the_end(async move {
            match &mut *writer.lock().await {
                Some(writer) if !is_abandoned.load(Ordering::Acquire) => {
                    Ok(writer.add(&key, bytes).await?)
                }
                _ => Ok(()),
            }
        })
        .await
    }

    async fn finish(self: Box<Self>) -> Result<(), ExportError> {
        // It would be replaced.
        check_absent(&self.path)?;
        match self.writer.lock().await.take() {
            Some(writer) => Ok(writer.finish().await?),
            None => Ok(()),
        }
    }

    async fn abandon(self: Box<Self>, error: ExportError) -> ExportError {
        self.is_abandoned.store(true, Ordering::Release);
        drop(self.writer.lock().await.take());
        error
    }
}

/// Runs work that goes on when its caller no longer waits for it.
async fn to_the_end(
    work: impl Future<Output = Result<(), ExportError>> + Send + 'static,
) -> Result<(), ExportError> {
    match tokio::spawn(work).await {
        Ok(done) => done,
        Err(error) => Err(SessionError::Aborted(error.to_string()).into()),
    }
}

struct Tree {
    tree: StorageTree,
    /// Objects that are there.
    written: Arc<AtomicU64>,
    /// Held by each write.
    under_way: Arc<RwLock<()>>,
}

/// Returns what writes to a tree, whatever is there.
pub(super) fn tree_sink(tree: &StorageTree) -> Box<dyn Sink> {
    Box::new(Tree {
        tree: tree.clone(),
        written: Arc::default(),
        under_way: Arc::default(),
    })
}

/// Fails if there is anything in a tree.
pub(super) async fn check_empty(tree: &StorageTree) -> Result<(), ExportError> {
    match tree.list(&TreePrefix::all()).try_next().await? {
        None => Ok(()),
        Some(entry) => Err(ExportError::NotEmpty {
            place: tree.to_string(),
            key: entry.key.to_string(),
        }),
    }
}

#[async_trait]
impl Sink for Tree {
    async fn write(&self, key: TreeKey, bytes: Bytes) -> Result<(), ExportError> {
        let (tree, written) = (self.tree.clone(), Arc::clone(&self.written));
        let under_way = Arc::clone(&self.under_way).read_owned().await;
        to_the_end(async move {
            tree.set(&key, bytes).await?;
            written.fetch_add(1, Ordering::AcqRel);
            drop(under_way);
            Ok(())
        })
        .await
    }

    fn is_seen_at_once(&self) -> bool {
        true
    }

    async fn finish(self: Box<Self>) -> Result<(), ExportError> {
        Ok(())
    }

    async fn abandon(self: Box<Self>, error: ExportError) -> ExportError {
        let _all_ended = self.under_way.write().await;
        match self.written.load(Ordering::Acquire) {
            0 => error,
            written => ExportError::Partly {
                place: self.tree.to_string(),
                written,
                source: Box::new(error),
            },
        }
    }
}
