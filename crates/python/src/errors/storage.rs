//! Errors of stores, and of the files in them.

use icefield::format::{FormatError, IdError, PathError};
use icefield::storage::{KeyError, StorageError};
use icefield::{FetchError, LocationError, NameError, RevisionError};

use super::{Coded, Failure, failures_from};

failures_from!(
    StorageError,
    KeyError,
    FormatError,
    FetchError,
    IdError,
    PathError,
    NameError,
    LocationError,
    RevisionError,
);

impl Coded for StorageError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "object-not-found",
            Self::InvalidKey(_) => "invalid-key",
            Self::RangeNotSatisfiable { .. } => "invalid-byte-range",
            Self::ObjectTooLarge { .. } | Self::WrongLength { .. } => "invalid-object-size",
            Self::ReadOnly { .. } => "read-only-storage",
            Self::Unsupported { .. } | Self::Misconfigured { .. } => "storage-config",
            Self::PermissionDenied { .. } | Self::NoSpace { .. } | Self::NotAnObject { .. } => "io",
            Self::Throttled { .. } => "throttled",
            Self::Failed { source, .. } if source.is::<std::io::Error>() => "io",
            Self::Unavailable { source, .. } if source.is::<std::io::Error>() => "io",
            Self::Failed { .. } | Self::Unavailable { .. } => "object-store",
            _ => "storage-other",
        }
    }
}

impl Coded for KeyError {
    fn code(&self) -> &'static str {
        "invalid-key"
    }
}

impl Coded for FormatError {
    fn code(&self) -> &'static str {
        match self {
            Self::NewerSpecVersion { .. } => "unsupported-spec-version",
            Self::Yaml { .. } | Self::NotAMapping { .. } => "config-deserialization",
            Self::Empty { .. }
            | Self::Truncated { .. }
            | Self::WrongMagic { .. }
            | Self::WrongKind { .. }
            | Self::UnknownKind { .. }
            | Self::InvalidSpecVersion { .. }
            | Self::UnknownCompression { .. } => "invalid-file-format",
            _ => "deserialization",
        }
    }
}

impl Coded for FetchError {
    fn code(&self) -> &'static str {
        match self {
            Self::Missing {
                what: "snapshot", ..
            } => "snapshot-not-found",
            Self::NotListed { .. } => "snapshot-not-found",
            Self::Missing { .. } => "object-not-found",
            Self::Storage { source, .. } => source.code(),
            Self::Format(error) => error.code(),
            _ => "unknown",
        }
    }

    fn detailed(&self, failure: Failure) -> Failure {
        match self {
            Self::Missing { what, id, .. } if *what == "snapshot" => {
                failure.with("snapshot", id.as_str())
            }
            Self::NotListed { id } => failure.with("snapshot", id.to_string()),
            _ => failure,
        }
    }
}

impl Coded for IdError {
    fn code(&self) -> &'static str {
        "invalid-snapshot-id"
    }
}

impl Coded for PathError {
    fn code(&self) -> &'static str {
        "invalid-path"
    }
}

impl Coded for NameError {
    fn code(&self) -> &'static str {
        "invalid-ref-name"
    }
}

impl Coded for LocationError {
    fn code(&self) -> &'static str {
        "cannot-parse-url"
    }
}

impl Coded for RevisionError {
    fn code(&self) -> &'static str {
        "invalid-ref-name"
    }
}
