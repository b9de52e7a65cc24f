//! One error for all layers: a kind that says what to do, and the whole chain of causes below it.

mod classify;
mod outcome;

use std::fmt;

use icefield_storage::BoxError;

pub use outcome::{Unsettled, committed, landed};

use classify::Classify;

/// What kind of failure it was, as far as a caller would act differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Another writer was faster, or something is not as it was expected. Nothing was changed: look at what is
    /// there now, and decide again.
    Conflict,
    /// A repository, ref, snapshot, node or file is not there. Check the name.
    NotFound,
    /// It is there already, or its name is taken for ever. Choose another name or place.
    AlreadyExists,
    /// Writes are not allowed here. Open a writable session, or the store with write access.
    ReadOnly,
    /// The store did not answer for now. Try again later; nothing was changed.
    Unavailable,
    /// What is stored is damaged or incomplete. Trying again does not help: restore it from a copy, or go back to
    /// a snapshot that is whole.
    Corrupt,
    /// A newer version of the format, or something that this build cannot do. Use another program or build.
    Unsupported,
    /// The call or its data break a rule, which the message names. Correct them.
    Invalid,
    /// It is not known whether the write happened. Do not clean up; read to find out, for a commit with
    /// [`Session::resolve`](crate::Session::resolve).
    OutcomeUnknown,
    /// The operating system or the store refused for good: permissions, a full disk, wrong credentials. Correct
    /// that, then try again.
    Io,
    /// It was ended early on request. What was done by then is sound: do it again to go on.
    Interrupted,
    /// Something else; most likely a bug.
    Other,
}

/// What any operation of this crate and of those it re-exports may fail with.
///
/// `Display` is the message of the layer that failed; [`source`](std::error::Error::source) leads to the causes
/// below it.
pub struct Error {
    kind: ErrorKind,
    inner: BoxError,
}

impl Error {
    /// Makes one of any error.
    pub fn new(kind: ErrorKind, error: impl Into<BoxError>) -> Self {
        Self {
            kind,
            inner: error.into(),
        }
    }

    pub(crate) fn io(error: std::io::Error) -> Self {
        Self::new(ErrorKind::Io, error)
    }

    /// Returns what kind of failure it was.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the error of the layer that failed, if it is of that type.
    pub fn downcast_ref<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.inner.downcast_ref()
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.kind)
            .field("inner", &self.inner)
            .finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.inner, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.inner.source()
    }
}

macro_rules! from_layers {
    ($($(#[$attribute:meta])* $error:ty,)*) => {
        $(
            $(#[$attribute])*
            impl From<$error> for Error {
                fn from(error: $error) -> Self {
                    Self::new(error.kind(), error)
                }
            }
        )*
    };
}

from_layers! {
    icefield_storage::StorageError,
    icefield_storage::KeyError,
    icefield_format::FormatError,
    icefield_format::IdError,
    icefield_format::PathError,
    icefield_core::NameError,
    icefield_core::FetchError,
    icefield_core::RefsError,
    icefield_core::RepositoryError,
    icefield_core::SessionError,
    icefield_core::CommitError,
    icefield_core::RebaseError,
    icefield_core::ForkError,
    icefield_core::NodeMetadataError,
    icefield_zarr_store::ZarrStoreError,
    crate::LocationError,
    crate::RevisionError,
    crate::Unsettled,
    #[cfg(feature = "ingest")]
    icefield_ingest::SourceError,
    #[cfg(feature = "ingest")]
    icefield_ingest::ImportError,
    #[cfg(feature = "ingest")]
    icefield_ingest::ExportError,
    #[cfg(feature = "ingest")]
    icefield_ingest::TreeError,
    #[cfg(feature = "alpha")]
    icefield_alpha::AlphaError,
    #[cfg(feature = "alpha")]
    icefield_alpha::ImportError,
    #[cfg(feature = "maintenance")]
    icefield_maintenance::CopyError,
    #[cfg(feature = "rolling")]
    icefield_rolling::RollingError,
    #[cfg(feature = "maintenance")]
    icefield_maintenance::UsageError,
}
