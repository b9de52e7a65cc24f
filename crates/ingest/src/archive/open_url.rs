//! How the files are opened that a file of references names.

use async_trait::async_trait;
use icefield_core::{VirtualAccess, VirtualLocation};

use super::file::ArchiveFile;
use crate::error::SourceError;

/// Opens the files that references point into.
///
/// The implementation decides which stores may be read, and with which rights: a file of references can name any URL.
#[async_trait]
pub trait OpenUrl: Send + Sync {
    /// Looks for the file at a URL, which is absolute if that of the references is.
    ///
    /// # Errors
    /// [`SourceError::NotFound`], and what else there is to say of the URL.
    async fn open(&self, url: &str) -> Result<ArchiveFile, SourceError>;
}

/// Files of references may name any file: those are opened that access was granted to.
#[async_trait]
impl OpenUrl for VirtualAccess {
    async fn open(&self, url: &str) -> Result<ArchiveFile, SourceError> {
        let other = |source: Box<dyn std::error::Error + Send + Sync>| SourceError::Other {
            name: url.to_owned(),
            source,
        };
        let location = VirtualLocation::parse_new(url).map_err(|rule| other(rule.into()))?;
        let opened = Self::open(self, &location).await;
        let (storage, key) = opened.map_err(|error| other(error.into()))?;
        ArchiveFile::open(storage, &key, location.to_string()).await
    }
}
