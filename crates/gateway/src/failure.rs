//! Failures as clients see them: a status that says what to do, and a message that names the object.

use std::error::Error as _;

use http::StatusCode;
use icefield::storage::StorageError;
use icefield::{Error, ErrorKind, RefsError, RepositoryError, SessionError, VirtualChunkError};

/// A request that gets no value.
///
/// Clients of Zarr take 404 for "never written" and fill in; so that status is for what the repository says does not exist,
/// and for nothing else.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    /// The word for the kind of failure, for programs.
    pub(crate) kind: &'static str,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            message: message.into(),
        }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", message)
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", message)
    }

    /// The failure of finding a version.
    pub(crate) fn of_version(text: &str, error: impl Into<Error>) -> Self {
        let error = error.into();
        if is_absent(&error) {
            return Self::not_found(chain(&error));
        }
        match missing_snapshot(&error) {
            Some(message) => Self::damage(format!("{text} leads to nothing: {message}")),
            None => Self::of_read(error),
        }
    }

    /// The failure of a snapshot that a request names by its id.
    pub(crate) fn of_snapshot(error: impl Into<Error>) -> Self {
        let error = error.into();
        match missing_snapshot(&error) {
            Some(message) => Self::gone(message),
            None => Self::of_read(error),
        }
    }

    pub(crate) fn gone(message: impl Into<String>) -> Self {
        let message = format!("{}: it has expired, or never was", message.into());
        Self::new(StatusCode::GONE, "not-found", message)
    }

    /// Turns the failure into that of a chunk. A request for a document gets 404 where nothing is; a program that asks for a chunk has
    /// the hierarchy open, and takes 404 for a chunk that was never written.
    pub(crate) fn for_chunk(self) -> Self {
        match self.status {
            StatusCode::NOT_FOUND => Self::new(StatusCode::GONE, self.kind, self.message),
            _ => self,
        }
    }

    pub(crate) fn damage(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "corrupt", message)
    }

    /// The failure of reading what should be there. Never 404.
    pub(crate) fn of_read(error: impl Into<Error>) -> Self {
        let error = error.into();
        let (status, kind) = match foreign(&error) {
            Some(source) => status_of_foreign(source),
            None => status_of(error.kind()),
        };
        Self::new(status, kind, chain(&error))
    }
}

/// The status of a kind of failure of the repository's own objects.
fn status_of(kind: ErrorKind) -> (StatusCode, &'static str) {
    match kind {
        ErrorKind::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        ErrorKind::Interrupted => (StatusCode::SERVICE_UNAVAILABLE, "interrupted"),
        ErrorKind::Corrupt | ErrorKind::NotFound => (StatusCode::INTERNAL_SERVER_ERROR, "corrupt"),
        ErrorKind::Unsupported => (StatusCode::NOT_IMPLEMENTED, "unsupported"),
        ErrorKind::Io => (StatusCode::BAD_GATEWAY, "io"),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "other"),
    }
}

fn status_of_foreign(source: &VirtualChunkError) -> (StatusCode, &'static str) {
    match source {
        VirtualChunkError::NotGranted { .. }
        | VirtualChunkError::NoGrant
        | VirtualChunkError::NoContainer
        | VirtualChunkError::NoContainerNamed { .. } => (StatusCode::FORBIDDEN, "grant"),
        VirtualChunkError::Storage(error) if is_retryable(error) => {
            (StatusCode::SERVICE_UNAVAILABLE, "unavailable")
        }
        _ => (StatusCode::BAD_GATEWAY, "corrupt"),
    }
}

fn is_retryable(error: &StorageError) -> bool {
    error.is_retryable()
}

/// The failure of a chunk outside the repository.
fn foreign(error: &Error) -> Option<&VirtualChunkError> {
    match error.downcast_ref()? {
        SessionError::VirtualChunk { source, .. } => Some(source),
        _ => None,
    }
}

fn refs_error(error: &Error) -> Option<&RefsError> {
    match error.downcast_ref() {
        Some(RepositoryError::Refs(error)) => Some(error),
        _ => error.downcast_ref(),
    }
}

/// Whether the repository says that there is no such version. `main` is always there: without it, the repository is not.
fn is_absent(error: &Error) -> bool {
    match refs_error(error) {
        Some(RefsError::BranchNotFound(name)) => !name.is_main(),
        Some(RefsError::TagNotFound(_) | RefsError::TagDeleted(_) | RefsError::Name(_)) => true,
        _ => {
            let history = matches!(
                error.downcast_ref(),
                Some(
                    RepositoryError::NoSnapshotAtTime { .. }
                        | RepositoryError::HistoryTooShort { .. }
                )
            );
            history || error.kind() == ErrorKind::Invalid
        }
    }
}

/// The message of a snapshot that is not there.
fn missing_snapshot(error: &Error) -> Option<String> {
    use icefield::FetchError::{Missing, NotListed};
    let fetch = match (error.downcast_ref(), refs_error(error)) {
        (_, Some(RefsError::SnapshotNotFound(_))) => return Some(error.to_string()),
        (Some(RepositoryError::Fetch(fetch)), _) | (_, Some(RefsError::Fetch(fetch))) => fetch,
        _ => error.downcast_ref()?,
    };
    match fetch {
        NotListed { .. } => Some(error.to_string()),
        Missing { what, .. } if *what == "snapshot" => Some(error.to_string()),
        _ => None,
    }
}

/// The message of an error with those of its causes.
pub(crate) fn chain(error: &Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !message.ends_with(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        cause = error.source();
    }
    message
}
