//! The kind of each error of the layers.

use icefield_core::{
    CommitError, FetchError, ForkBlobError, ForkError, NameError, NodeMetadataError, RebaseError,
    RefsError, RepositoryError, SessionError, VirtualChunkError,
};
use icefield_format::{FormatError, IdError, PathError, RepoEditError};
use icefield_storage::{KeyError, StorageError};
use icefield_zarr_store::ZarrStoreError;

use super::kind::ErrorKind;
use super::unsettled::Unsettled;
use crate::{LocationError, RevisionError};

/// Knows its kind.
pub(super) trait Classify {
    fn kind(&self) -> ErrorKind;
}

/// Errors that only a wrong argument can cause.
macro_rules! invalid {
    ($($error:ty),*) => {
        $(impl Classify for $error {
            fn kind(&self) -> ErrorKind {
                ErrorKind::Invalid
            }
        })*
    };
}

invalid!(
    KeyError,
    NameError,
    IdError,
    PathError,
    LocationError,
    NodeMetadataError
);

impl Classify for StorageError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NotFound { .. } => ErrorKind::NotFound,
            Self::InvalidKey(_) | Self::RangeNotSatisfiable { .. } | Self::Misconfigured { .. } => {
                ErrorKind::Invalid
            }
            Self::PreconditionFailed { .. } => ErrorKind::Conflict,
            Self::ReadOnly { .. } => ErrorKind::ReadOnly,
            Self::Unsupported { .. } => ErrorKind::Unsupported,
            Self::PermissionDenied { .. }
            | Self::NoSpace { .. }
            | Self::NotAnObject { .. }
            | Self::Failed { .. } => ErrorKind::Io,
            other if other.is_retryable() => ErrorKind::Unavailable,
            _ => ErrorKind::Other,
        }
    }
}

#[cfg(feature = "cache")]
impl Classify for icefield_storage_cache::CacheError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Unusable { .. } => ErrorKind::Io,
            _ => ErrorKind::Invalid,
        }
    }
}

impl Classify for FormatError {
    fn kind(&self) -> ErrorKind {
        match self.is_unsupported() {
            true => ErrorKind::Unsupported,
            false => ErrorKind::Corrupt,
        }
    }
}

impl Classify for FetchError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Missing { .. } => ErrorKind::Corrupt,
            // Spec version 2 knows each snapshot that there is: one that it does not list was never there, or is no more.
            Self::NotListed { .. } => ErrorKind::NotFound,
            Self::Storage { source, .. } => source.kind(),
            Self::Format(error) => error.kind(),
            _ => ErrorKind::Other,
        }
    }
}

impl Classify for RepoEditError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoSnapshot(_) | Self::NoBranch(_) | Self::NoTag(_) => ErrorKind::NotFound,
            Self::SnapshotExists(_) | Self::TagExists(_) | Self::DeletedTag(_) => {
                ErrorKind::AlreadyExists
            }
            Self::OwnAncestor(_) | Self::Main => ErrorKind::Invalid,
            Self::Named { .. } | Self::ParentOfKept { .. } => ErrorKind::Conflict,
            Self::Format(error) => error.kind(),
            _ => ErrorKind::Other,
        }
    }
}

impl Classify for RefsError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Name(error) => error.kind(),
            Self::BranchNotFound(_)
            | Self::TagNotFound(_)
            | Self::TagDeleted(_)
            | Self::SnapshotNotFound(_) => ErrorKind::NotFound,
            Self::MainIsPermanent | Self::NoAmendOfFirst(_) | Self::FeatureDisabled { .. } => {
                ErrorKind::Invalid
            }
            Self::NoConditions { .. }
            | Self::NotOnline { .. }
            | Self::Pinned
            | Self::UpgradeNotEnded => ErrorKind::ReadOnly,
            Self::Cycle(_)
            | Self::SpelledTwice { .. }
            | Self::RepoMissing { .. }
            | Self::LogPageMissing { .. }
            | Self::LogRepeats { .. } => ErrorKind::Corrupt,
            Self::NotUnderstood { .. }
            | Self::OnlySpecV2 { .. }
            | Self::OnlySpecV1 { .. }
            | Self::Upgraded => ErrorKind::Unsupported,
            Self::AlreadyUpgraded { .. } => ErrorKind::AlreadyExists,
            Self::UpgradeStopped { .. } => ErrorKind::OutcomeUnknown,
            // Refs differ from those of another program: `icefield upgrade` brings them together.
            Self::NotCarriedOver { .. } => ErrorKind::Conflict,
            // Waiting helps, as with a store that does not answer.
            Self::LogAhead { .. } => ErrorKind::Unavailable,
            Self::RacesLost { .. } => ErrorKind::Conflict,
            Self::InvalidRefFile { source, .. }
            | Self::Config { source, .. }
            | Self::InvalidRepo { source } => source.kind(),
            Self::RepoEdit { source } => source.kind(),
            Self::Fetch(error) => error.kind(),
            Self::Storage(error) => error.kind(),
            _ => ErrorKind::Other,
        }
    }
}

impl Classify for RepositoryError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::BeingCollected { .. } | Self::CollectionRunning => ErrorKind::Unavailable,
            Self::NotFound { .. }
            | Self::NoSnapshotAtTime { .. }
            | Self::HistoryTooShort { .. } => ErrorKind::NotFound,
            Self::AlreadyExists { .. } | Self::NotEmpty { .. } => ErrorKind::AlreadyExists,
            Self::NewerSpecVersion { .. } | Self::NeedsSpecVersion2 { .. } => {
                ErrorKind::Unsupported
            }
            Self::UnsafeStore { .. } => ErrorKind::ReadOnly,
            Self::CreateUnknown { .. } | Self::ConfigNotStored { .. } => ErrorKind::OutcomeUnknown,
            Self::NoParent { .. } | Self::NoCommonAncestor { .. } | Self::ParentExpired { .. } => {
                ErrorKind::Invalid
            }
            Self::ChangesLost { source, .. } => source.kind(),
            Self::Refs(error) => error.kind(),
            Self::Fetch(error) => error.kind(),
            Self::Format(error) => error.kind(),
            Self::Storage(error) => error.kind(),
            _ => ErrorKind::Other,
        }
    }
}

impl Classify for VirtualChunkError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Location(_) | Self::Key(_) => ErrorKind::Corrupt,
            Self::NoContainer | Self::NotGranted { .. } | Self::NoGrant => ErrorKind::Invalid,
            Self::Open { source, .. } => {
                let ours = source.downcast_ref().map(crate::Error::kind);
                let stores = source.downcast_ref().map(StorageError::kind);
                ours.or(stores).unwrap_or(ErrorKind::Other)
            }
            Self::Storage(source) => source.kind(),
            Self::Missing | Self::Truncated { .. } => ErrorKind::Corrupt,
            Self::Changed => ErrorKind::Conflict,
            _ => ErrorKind::Other,
        }
    }
}

impl Classify for SessionError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::ReadOnly => ErrorKind::ReadOnly,
            Self::NodeNotFound { .. } | Self::NoGroupToMoveInto { .. } => ErrorKind::NotFound,
            Self::ArrayChanged { .. } | Self::Collected { .. } => ErrorKind::Conflict,
            Self::BeingCollected => ErrorKind::Unavailable,
            Self::PathTaken { .. } => ErrorKind::AlreadyExists,
            Self::MoveIntoItself { .. }
            | Self::MoveInFork
            | Self::RearrangesOnly
            | Self::UncommittedChanges
            | Self::NoBranch => ErrorKind::Invalid,
            Self::Path(error) => error.kind(),
            Self::Unresolved(_) | Self::Untraceable { .. } => ErrorKind::OutcomeUnknown,
            Self::ChunkMissing { .. } | Self::ChunkTruncated { .. } => ErrorKind::Corrupt,
            Self::VirtualChunk { source, .. } => source.kind(),
            Self::VirtualRefs { .. } => ErrorKind::Invalid,
            Self::WriteUnknown { .. } => ErrorKind::Unavailable,
            Self::ChunksNotStored { source, .. } => source.kind(),
            Self::Committed(_)
            | Self::CommitInProgress
            | Self::NotAnArray { .. }
            | Self::KindChange { .. }
            | Self::ParentIsArray { .. }
            | Self::HasChildren { .. }
            | Self::OutOfGrid { .. }
            | Self::ShiftOfUnequalChunks { .. }
            | Self::EmptyChunk { .. }
            | Self::EmptyCopy
            | Self::RangeOutOfChunk { .. }
            | Self::Metadata(_) => ErrorKind::Invalid,
            Self::Fetch(error) => error.kind(),
            Self::Format(error) => error.kind(),
            Self::Storage(error) => error.kind(),
            _ => ErrorKind::Other,
        }
    }
}

impl Classify for ForkError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Blob(ForkBlobError::OtherVersion(_)) => ErrorKind::Unsupported,
            Self::Blob(ForkBlobError::Damaged(_)) => ErrorKind::Corrupt,
            Self::Repository(error) => error.kind(),
            Self::Session(error) => error.kind(),
            _ => ErrorKind::Invalid,
        }
    }
}

impl Classify for CommitError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NothingToCommit => ErrorKind::Invalid,
            Self::Interrupted(_) => ErrorKind::Interrupted,
            Self::Upgraded => ErrorKind::Unsupported,
            Self::Session(error) => error.kind(),
            Self::Refs(error) => error.kind(),
            Self::Format(error) => error.kind(),
            Self::Rebase(error) => error.kind(),
            Self::Repository(error) => error.kind(),
            _ => ErrorKind::Other,
        }
    }
}

impl Classify for RebaseError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::BaseNotInHistory { .. } => ErrorKind::Conflict,
            Self::Session(error) => error.kind(),
            Self::Refs(error) => error.kind(),
            Self::Repository(error) => error.kind(),
            _ => ErrorKind::Other,
        }
    }
}

impl Classify for ZarrStoreError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Session(error) => error.kind(),
            Self::InvalidKey { .. }
            | Self::InvalidPrefix { .. }
            | Self::NothingNamed { .. }
            | Self::V2Metadata { .. }
            | Self::RangeOutOfValue { .. } => ErrorKind::Invalid,
            _ => ErrorKind::Other,
        }
    }
}

impl Classify for RevisionError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }
}

impl Classify for Unsettled {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::BranchMoved { .. } | Self::Conflicts { .. } | Self::BranchGone => {
                ErrorKind::Conflict
            }
            Self::AlreadyExists | Self::NameTaken => ErrorKind::AlreadyExists,
            Self::NotFound => ErrorKind::NotFound,
            Self::CommitUnknown { .. } | Self::EditUnknown { .. } => ErrorKind::OutcomeUnknown,
        }
    }
}

#[cfg(feature = "alpha")]
mod alpha;

#[cfg(feature = "maintenance")]
mod copies;

#[cfg(feature = "ingest")]
mod ingest {
    use icefield_ingest::{ExportError, ImportError, PlanError, SourceError, TreeError};

    use super::{Classify, ErrorKind};

    impl Classify for SourceError {
        fn kind(&self) -> ErrorKind {
            match self {
                Self::NotFound { .. } => ErrorKind::NotFound,
                Self::ZarrFormat2 { .. } => ErrorKind::Unsupported,
                Self::Changed { .. } => ErrorKind::Conflict,
                Self::Io { .. } | Self::Other { .. } => ErrorKind::Io,
                Self::Reference { source, .. } => source.kind(),
                _ => ErrorKind::Invalid,
            }
        }
    }

    impl Classify for ImportError {
        fn kind(&self) -> ErrorKind {
            match self {
                Self::Source(error) => error.kind(),
                Self::Plan(PlanError::AlreadyExists { .. } | PlanError::GroupDiffers { .. }) => {
                    ErrorKind::AlreadyExists
                }
                Self::Session(error) => error.kind(),
                Self::Repository(error) => error.kind(),
                Self::Commit(error) => error.kind(),
                Self::OneSource { source, .. } => source.kind(),
                Self::Interrupted(_) => ErrorKind::Interrupted,
                _ => ErrorKind::Invalid,
            }
        }
    }

    impl Classify for TreeError {
        fn kind(&self) -> ErrorKind {
            match self {
                Self::Storage { source, .. } => source.kind(),
                Self::InDoubt { .. } => ErrorKind::OutcomeUnknown,
                Self::ReadOnly { .. } => ErrorKind::ReadOnly,
                Self::Missing { .. } => ErrorKind::NotFound,
                Self::Changed { .. } => ErrorKind::Conflict,
                Self::Name { .. } | Self::CaseCollision { .. } => ErrorKind::Unsupported,
                error if error.io_kind().is_some() => ErrorKind::Io,
                Self::Lost { .. } => ErrorKind::Other,
                _ => ErrorKind::Invalid,
            }
        }
    }

    impl Classify for ExportError {
        fn kind(&self) -> ErrorKind {
            match self {
                Self::AlreadyExists { .. } | Self::NotEmpty { .. } => ErrorKind::AlreadyExists,
                Self::NoParent { .. } | Self::Empty => ErrorKind::NotFound,
                Self::NodeName { .. } | Self::Unsupported { .. } | Self::OnePass { .. } => {
                    ErrorKind::Unsupported
                }
                Self::Partly { source, .. } => source.kind(),
                Self::Tree(error) => error.kind(),
                Self::InsideRepository { .. } => ErrorKind::Invalid,
                Self::Document { .. } => ErrorKind::Corrupt,
                Self::Io { .. } => ErrorKind::Io,
                Self::Interrupted(_) => ErrorKind::Interrupted,
                Self::Session(error) => error.kind(),
                _ => ErrorKind::Other,
            }
        }
    }
}

#[cfg(feature = "rolling")]
impl Classify for icefield_rolling::RollingError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoSuchDimension { .. } => ErrorKind::NotFound,
            Self::LostRaces { .. } => ErrorKind::Conflict,
            Self::KeyTaken { .. } => ErrorKind::AlreadyExists,
            Self::Unknown { .. } => ErrorKind::OutcomeUnknown,
            Self::Codec { .. } => ErrorKind::Unsupported,
            Self::Fill(_) => ErrorKind::Other,
            Self::Session(error) => error.kind(),
            Self::Repository(error) => error.kind(),
            Self::Commit(error) => error.kind(),
            Self::Rebase(error) => error.kind(),
            _ => ErrorKind::Invalid,
        }
    }
}
