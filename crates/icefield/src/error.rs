//! One error for all layers: a kind that says what to do, and the whole chain of causes below it.

mod classify;
mod kind;
mod layers;
pub(crate) mod outcome;
mod unsettled;

use std::fmt;

use icefield_storage::BoxError;

pub use kind::ErrorKind;
pub use unsettled::Unsettled;

/// The error of every operation of this crate and of those it re-exports: a [kind](ErrorKind), which says what to do,
/// and the error of the layer that failed, which says why.
///
/// `Display` is the message of the layer that failed; [`source`](std::error::Error::source) leads to the causes below
/// it. A message names the object and the rule, and never contains credentials.
///
/// Every error of a lower layer converts into one with `?`:
///
/// ```
/// use icefield::{ErrorKind, NodePath};
///
/// fn path_of(text: &str) -> Result<NodePath, icefield::Error> {
///     Ok(NodePath::parse(text)?)
/// }
/// assert_eq!(path_of("a/b").unwrap_err().kind(), ErrorKind::Invalid);
/// ```
pub struct Error {
    kind: ErrorKind,
    inner: BoxError,
}

impl Error {
    /// Makes an error of this kind from an error of another library, or from a text. Implementations of
    /// [`Connect`](crate::Connect) use it; callers branch on the kind, so choose it by what a caller should do.
    pub fn new(kind: ErrorKind, error: impl Into<BoxError>) -> Self {
        Self {
            kind,
            inner: error.into(),
        }
    }

    pub(crate) fn io(error: std::io::Error) -> Self {
        Self::new(ErrorKind::Io, error)
    }

    /// Returns the kind of the failure, by which a program decides what to do next.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the error of the layer that failed, if it has the type `E`; for programs that need its fields, such as
    /// the conflicts of [`Unsettled`].
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
