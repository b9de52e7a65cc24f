//! Errors of repositories, sessions, commits and rebases.

use icefield::format::RepoEditError;
use icefield::{
    CommitError, ForkBlobError, ForkError, NodeMetadataError, RebaseError, RefsError,
    RepositoryError, SessionError, ZarrStoreError,
};

use super::{Coded, Failure, failures_from};

failures_from!(
    RefsError,
    RepositoryError,
    SessionError,
    CommitError,
    RebaseError,
    ForkError,
    ForkBlobError,
    NodeMetadataError,
    ZarrStoreError,
);

impl Coded for RepoEditError {
    fn code(&self) -> &'static str {
        match self {
            Self::NoSnapshot(_) => "snapshot-not-found",
            Self::SnapshotExists(_) => "duplicate-snapshot-id",
            Self::NoBranch(_) | Self::NoTag(_) => "ref-not-found",
            Self::TagExists(_) => "tag-already-exists",
            Self::DeletedTag(_) => "tag-previously-deleted",
            Self::Main => "cannot-delete-main",
            Self::Named { .. } | Self::ParentOfKept { .. } => "repo-info-updated",
            Self::Format(error) => error.code(),
            _ => "unknown",
        }
    }
}

impl Coded for RefsError {
    fn code(&self) -> &'static str {
        match self {
            Self::Name(error) => error.code(),
            Self::BranchNotFound(_) | Self::TagNotFound(_) | Self::TagDeleted(_) => "ref-not-found",
            Self::SnapshotNotFound(_) => "snapshot-not-found",
            Self::MainIsPermanent => "cannot-delete-main",
            Self::NoConditions { .. } => "read-only-storage",
            Self::Pinned => "read-only-session",
            Self::Cycle(_) => "deserialization",
            Self::InvalidRefFile { .. } | Self::SpelledTwice { .. } => "deserialization",
            Self::NotUnderstood { .. } => "not-allowed",
            Self::InvalidRepo { source } => source.code(),
            Self::RepoMissing { .. } => "repository-not-found",
            Self::LogPageMissing { .. } => "object-not-found",
            Self::LogRepeats { .. } => "deserialization",
            Self::LogAhead { .. } => "snapshot-timestamp",
            Self::NotOnline { .. } | Self::UpgradeNotEnded => "read-only-repository",
            Self::Upgraded => "unsupported-spec-version",
            Self::AlreadyUpgraded { .. }
            | Self::NotCarriedOver { .. }
            | Self::UpgradeStopped { .. } => "invalid-repository-migration",
            Self::FeatureDisabled { .. } => "feature-flag-disabled",
            Self::NoAmendOfFirst(_) => "no-amend-for-initial-commit",
            Self::RacesLost { .. } => "update-attempts-exhausted",
            Self::OnlySpecV2 { .. } => "unsupported-spec-version",
            Self::OnlySpecV1 { .. } => "unsupported-operation-for-version",
            Self::RepoEdit { source } => source.code(),
            Self::Config { .. } => "config-deserialization",
            Self::Fetch(error) => error.code(),
            Self::Storage(error) => error.code(),
            _ => "unknown",
        }
    }

    fn detailed(&self, failure: Failure) -> Failure {
        match self {
            Self::SnapshotNotFound(id)
            | Self::RepoEdit {
                source: RepoEditError::NoSnapshot(id),
            } => failure.with("snapshot", id.to_string()),
            Self::BranchNotFound(name) => failure.with("ref", name.to_string()),
            Self::TagNotFound(name) | Self::TagDeleted(name) => {
                failure.with("ref", name.to_string())
            }
            Self::Fetch(error) => error.detailed(failure),
            _ => failure,
        }
    }
}

impl Coded for RepositoryError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "repository-not-found",
            // The reference implementation has one code for both.
            Self::AlreadyExists { .. } | Self::NotEmpty { .. } => "parent-directory-not-clean",
            Self::NewerSpecVersion { .. } | Self::NeedsSpecVersion2 { .. } => {
                "unsupported-spec-version"
            }
            Self::UnsafeStore { .. } => "read-only-storage",
            Self::CreateUnknown { .. } | Self::ConfigNotStored { .. } => "outcome-unknown",
            Self::NoSnapshotAtTime { .. } => "no-snapshot-at-time",
            Self::HistoryTooShort { .. } => "snapshot-not-found",
            Self::NoParent { .. } | Self::NoCommonAncestor { .. } | Self::ParentExpired { .. } => {
                "bad-snapshot-chain-for-diff"
            }
            Self::ChangesLost { source, .. } => source.code(),
            Self::CollectionRunning | Self::BeingCollected { .. } => "not-allowed",
            Self::Refs(error) => error.code(),
            Self::Fetch(error) => error.code(),
            Self::Format(error) => error.code(),
            Self::Storage(error) => error.code(),
            _ => "unknown",
        }
    }

    fn detailed(&self, failure: Failure) -> Failure {
        match self {
            Self::Refs(error) => error.detailed(failure),
            Self::Fetch(error) => error.detailed(failure),
            _ => failure,
        }
    }
}

impl Coded for SessionError {
    fn code(&self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only-session",
            Self::NoBranch => "commit-not-allowed",
            // A committed session is read-only.
            Self::Committed(_) => "read-only-session",
            Self::CommitInProgress => "not-allowed",
            Self::Unresolved(_) | Self::Untraceable { .. } => "outcome-unknown",
            Self::UncommittedChanges => "uncommitted-changes",
            Self::NodeNotFound { .. } => "node-not-found",
            Self::NotAnArray { .. } => "not-an-array",
            Self::KindChange { .. }
            | Self::PathTaken { .. }
            | Self::ParentIsArray { .. }
            | Self::HasChildren { .. } => "node-already-exists",
            Self::MoveIntoItself { .. } => "move-into-self-or-descendant",
            Self::NoGroupToMoveInto { .. } => "move-destination-parent-missing",
            Self::RearrangesOnly => "rearrange-session-only",
            Self::MoveInFork => "not-allowed",
            Self::Path(error) => error.code(),
            Self::Metadata(error) => error.code(),
            Self::OutOfGrid { .. } | Self::ShiftRank { .. } | Self::ShiftOfUnequalChunks { .. } => {
                "invalid-chunk-index"
            }
            Self::EmptyChunk { .. } | Self::EmptyCopy => "zero-length-chunk",
            Self::ArrayChanged { .. } => "not-allowed",
            Self::ChunkMissing { .. } => "object-not-found",
            Self::ChunkTruncated { .. } => "invalid-object-size",
            Self::RangeOutOfChunk { .. } => "invalid-byte-range",
            Self::VirtualChunk { source, .. } => source.code(),
            Self::VirtualRefs { source, .. } => source.code(),
            Self::IdCollision { .. } => "unknown",
            Self::WriteUnknown { .. } => "outcome-unknown",
            Self::ChunksNotStored { source, .. } => source.code(),
            Self::BeingCollected => "not-allowed",
            Self::Collected { .. } => "object-not-found",
            Self::Fetch(error) => error.code(),
            Self::Format(error) => error.code(),
            Self::Storage(error) => error.code(),
            Self::Aborted(_) => "concurrency",
            _ => "unknown",
        }
    }

    fn detailed(&self, failure: Failure) -> Failure {
        match self {
            Self::Unresolved(snapshot) | Self::Untraceable { snapshot, .. } => {
                failure.with("snapshot", snapshot.to_string())
            }
            Self::Fetch(error) => error.detailed(failure),
            _ => failure,
        }
    }
}

impl Coded for NodeMetadataError {
    fn code(&self) -> &'static str {
        "bad-metadata"
    }
}

impl Coded for CommitError {
    fn code(&self) -> &'static str {
        match self {
            Self::NothingToCommit => "no-changes-to-commit",
            Self::Upgraded => "unsupported-spec-version",
            Self::Interrupted(interrupted) => interrupted.code(),
            // The code of the reference implementation for a commit of a read-only session.
            Self::Session(SessionError::ReadOnly | SessionError::Committed(_)) => {
                "commit-not-allowed"
            }
            Self::Session(error) => error.code(),
            Self::Refs(error) => error.code(),
            Self::Format(error) => error.code(),
            Self::Repository(error) => error.code(),
            Self::Rebase(error) => error.code(),
            _ => "unknown",
        }
    }

    fn detailed(&self, failure: Failure) -> Failure {
        match self {
            Self::Session(error) => error.detailed(failure),
            Self::Refs(error) => error.detailed(failure),
            Self::Repository(error) => error.detailed(failure),
            Self::Rebase(error) => error.detailed(failure),
            _ => failure,
        }
    }
}

impl Coded for RebaseError {
    fn code(&self) -> &'static str {
        match self {
            Self::BaseNotInHistory { .. } => "rebase-tx-log-pruned",
            Self::Solver(_) | Self::Merged(_) => "rebase-failed",
            Self::Session(SessionError::ReadOnly | SessionError::Committed(_)) => {
                "commit-not-allowed"
            }
            Self::Session(error) => error.code(),
            Self::Refs(error) => error.code(),
            Self::Repository(error) => error.code(),
            _ => "unknown",
        }
    }

    fn detailed(&self, failure: Failure) -> Failure {
        match self {
            Self::Session(error) => error.detailed(failure),
            Self::Refs(error) => error.detailed(failure),
            Self::Repository(error) => error.detailed(failure),
            _ => failure,
        }
    }
}

impl Coded for ForkError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotAFork => "pickle",
            Self::OtherSession
            | Self::OtherOrigin
            | Self::OriginForgotten
            | Self::OtherBase { .. } => "merge-not-allowed",
            Self::Blob(error) => error.code(),
            Self::Repository(error) => error.code(),
            Self::Session(SessionError::ReadOnly) => "cannot-fork-read-only-session",
            Self::Session(error) => error.code(),
            _ => "unknown",
        }
    }

    fn detailed(&self, failure: Failure) -> Failure {
        match self {
            Self::Repository(error) => error.detailed(failure),
            Self::Session(error) => error.detailed(failure),
            _ => failure,
        }
    }
}

impl Coded for ForkBlobError {
    fn code(&self) -> &'static str {
        "pickle"
    }
}

impl Coded for ZarrStoreError {
    fn code(&self) -> &'static str {
        match self {
            Self::InvalidKey { .. } | Self::NothingNamed { .. } => "invalid-key",
            Self::InvalidPrefix { .. } => "bad-key-prefix",
            Self::V2Metadata { .. } => "unimplemented",
            Self::RangeOutOfValue { .. } => "invalid-byte-range",
            // The store of a read-only session is read-only.
            Self::Session(SessionError::ReadOnly | SessionError::Committed(_)) => "read-only-store",
            Self::Session(error) => error.code(),
            Self::Blocking(_) => "concurrency",
            _ => "unknown",
        }
    }

    fn detailed(&self, failure: Failure) -> Failure {
        match self {
            Self::Session(error) => error.detailed(failure),
            _ => failure,
        }
    }
}
