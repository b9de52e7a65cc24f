//! Errors of accounting for the bytes of a repository.

use icefield_format::FormatError;
use icefield_storage::StorageError;

use crate::copy::CopyError;

/// The reason why bytes could not be accounted for. Nothing is guessed: one object that cannot be read is an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UsageError {
    /// A ref or an object of metadata is damaged, or cannot be read.
    #[error(transparent)]
    Read(CopyError),
    /// A manifest is not what the format says.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The store cannot be listed.
    #[error("cannot list the objects of the repository")]
    Storage(#[from] StorageError),
}

impl From<CopyError> for UsageError {
    fn from(error: CopyError) -> Self {
        Self::Read(error)
    }
}
