//! A file on some storage, or an entry of a zip file there, read by ranges.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use icefield_storage::{GetOptions, GetRange, Key, ObjectMeta, Storage, StorageError};
use icefield_zarr_fs::{ReadTree, TreeError, TreeKey, ZipTree};

use crate::SourceError;

/// One state of a file on some storage: every read is of that state, or an error.
#[derive(Clone)]
pub struct ArchiveFile {
    place: FileLocation,
    url: Arc<str>,
}

#[derive(Clone)]
enum FileLocation {
    Object(Arc<dyn Storage>, ObjectMeta),
    /// An entry of a zip file, which no reference can name.
    Entry(ZipTree, TreeKey, u64),
}

impl ArchiveFile {
    /// Opens the file by one request for its description. `url` is its name in messages and virtual references.
    ///
    /// # Errors
    /// [`SourceError::NotFound`], and the errors of the store.
    pub async fn open(
        storage: Arc<dyn Storage>,
        key: &Key,
        url: impl Into<Arc<str>>,
    ) -> Result<Self, SourceError> {
        let url = url.into();
        match storage.head(key).await {
            Ok(meta) => Ok(Self::of_object(storage, meta, url)),
            Err(error) => Err(explained(&url, error)),
        }
    }

    /// Returns a file that a list of the store described. No request is sent.
    pub fn of_object(
        storage: Arc<dyn Storage>,
        meta: ObjectMeta,
        url: impl Into<Arc<str>>,
    ) -> Self {
        Self {
            place: FileLocation::Object(storage, meta),
            url: url.into(),
        }
    }

    /// Returns an entry of a zip file that has so many bytes.
    pub(crate) fn of_entry(tree: ZipTree, key: TreeKey, size: u64, url: String) -> Self {
        Self {
            place: FileLocation::Entry(tree, key, size),
            url: url.into(),
        }
    }

    /// Returns the URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        match &self.place {
            FileLocation::Object(_, meta) => meta.size,
            FileLocation::Entry(_, _, size) => *size,
        }
    }

    /// Returns the store's description of the file; `None` for an entry of a zip file, to which nothing can refer.
    pub fn meta(&self) -> Option<&ObjectMeta> {
        match &self.place {
            FileLocation::Object(_, meta) => Some(meta),
            FileLocation::Entry(..) => None,
        }
    }

    /// Opens the file as a zip file.
    pub(crate) async fn zip(&self) -> Result<ZipTree, SourceError> {
        let FileLocation::Object(storage, meta) = &self.place else {
            return Err(SourceError::damaged(&self.url, "it lies in a zip file"));
        };
        // zarr-python writes a document anew behind its old one; of both, Python's `zipfile` reads the last.
        let builder = ZipTree::builder(&*self.url).last_entry_wins(true);
        let opened = builder.open_on(Arc::clone(storage), meta.clone()).await;
        opened.map_err(|error| of_tree(&self.url, error))
    }

    /// Returns where in its zip file an entry lies, if it lies there as it is.
    pub(crate) async fn stored(&self) -> Result<Option<Range<u64>>, SourceError> {
        let FileLocation::Entry(tree, key, _) = &self.place else {
            return Ok(None);
        };
        let stored = tree.stored(key).await;
        stored.map_err(|error| of_tree(&self.url, error))
    }

    /// Reads a whole range.
    ///
    /// # Errors
    /// [`SourceError::Damaged`] if the file is shorter, [`SourceError::Changed`] if it has been replaced since it was
    /// opened, and the errors of the store.
    pub async fn read(&self, range: Range<u64>) -> Result<Bytes, SourceError> {
        if range.start > range.end || range.end > self.size() {
            let (start, end, size) = (range.start, range.end, self.size());
            let problem = format!("it has {size} bytes, and refers to its bytes {start} to {end}");
            return Err(SourceError::damaged(&self.url, problem));
        }
        if range.start == range.end {
            return Ok(Bytes::new());
        }
        let range = GetRange::Bounded(range);
        let (storage, meta) = match &self.place {
            FileLocation::Object(storage, meta) => (storage, meta),
            FileLocation::Entry(tree, key, _) => {
                let found = tree.get(key, range).await;
                let found = found.map_err(|error| of_tree(&self.url, error))?;
                return found.ok_or_else(|| SourceError::Changed {
                    name: self.url.to_string(),
                });
            }
        };
        let options = GetOptions::range(range).with_if_match(meta.version.clone());
        let object = match storage.get(&meta.key, options).await {
            Ok(object) => object.bytes().await,
            Err(error) => Err(error),
        };
        object.map_err(|error| explained(&self.url, error))
    }
}

/// Returns the error of a tree for something that messages call `name`.
pub(crate) fn of_tree(name: &str, error: TreeError) -> SourceError {
    let name = name.to_owned();
    match error {
        TreeError::Zip { source, .. } => SourceError::Zip { name, source },
        TreeError::Storage { source, .. } => explained(&name, *source),
        error => SourceError::Other {
            name,
            source: error.into(),
        },
    }
}

pub(crate) fn explained(url: &str, error: StorageError) -> SourceError {
    let name = url.to_owned();
    match error {
        StorageError::NotFound { .. } => SourceError::NotFound { name },
        StorageError::PreconditionFailed { .. } => SourceError::Changed { name },
        error => SourceError::Other {
            name,
            source: Box::new(error),
        },
    }
}

impl fmt::Debug for ArchiveFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchiveFile")
            .field("url", &self.url)
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}
