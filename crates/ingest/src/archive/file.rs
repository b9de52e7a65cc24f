//! A file on some storage, read by ranges.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use icefield_storage::{GetOptions, GetRange, Key, ObjectMeta, Storage, StorageError};

use crate::SourceError;

/// One state of a file on some storage: every read is of that state, or an error.
#[derive(Clone)]
pub struct ArchiveFile {
    storage: Arc<dyn Storage>,
    meta: ObjectMeta,
    url: Arc<str>,
}

impl ArchiveFile {
    /// Looks for the file. `url` is what messages and virtual references call it.
    ///
    /// # Errors
    /// [`SourceError::NotFound`], what the store says.
    pub async fn open(
        storage: Arc<dyn Storage>,
        key: &Key,
        url: impl Into<Arc<str>>,
    ) -> Result<Self, SourceError> {
        let url = url.into();
        match storage.head(key).await {
            Ok(meta) => Ok(Self { storage, meta, url }),
            Err(error) => Err(explained(&url, error)),
        }
    }

    /// Returns a file that a list of the store described: nothing is asked of the store.
    pub fn of_object(
        storage: Arc<dyn Storage>,
        meta: ObjectMeta,
        url: impl Into<Arc<str>>,
    ) -> Self {
        let url = url.into();
        Self { storage, meta, url }
    }

    /// Returns the URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        self.meta.size
    }

    /// Returns what is known of the file.
    pub fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    /// Reads a range, all of it.
    ///
    /// # Errors
    /// [`SourceError::Damaged`] if the file is shorter, [`SourceError::Changed`] if it is not the file any more that
    /// was opened, what the store says.
    pub async fn read(&self, range: Range<u64>) -> Result<Bytes, SourceError> {
        if range.start > range.end || range.end > self.size() {
            let (start, end, size) = (range.start, range.end, self.size());
            let problem = format!("it has {size} bytes, and refers to its bytes {start} to {end}");
            return Err(SourceError::damaged(&self.url, problem));
        }
        if range.start == range.end {
            return Ok(Bytes::new());
        }
        let options = GetOptions::range(GetRange::Bounded(range));
        let options = options.with_if_match(self.meta.version.clone());
        let object = match self.storage.get(&self.meta.key, options).await {
            Ok(object) => object.bytes().await,
            Err(error) => Err(error),
        };
        object.map_err(|error| explained(&self.url, error))
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
            .field("size", &self.meta.size)
            .finish_non_exhaustive()
    }
}
