//! Errors of bytes that are no fork and no answer.

use icefield_format::{FormatError, PathError};

use crate::metadata::MetadataError;

/// The version of serialised forks and answers that this program writes.
pub(super) const VERSION: u8 = 5;
/// The oldest version that is read. Version 4 has no erased boxes.
pub(super) const OLDEST: u8 = 4;

/// The reason for which this program cannot open bytes as a fork.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForkBlobError {
    /// They begin differently.
    #[error("these bytes are neither a serialised fork nor an answer of one")]
    NotAFork,
    /// They are a fork with what it began with.
    #[error(
        "these bytes are a whole fork, not an answer: open it with the repository, or merge it as it is"
    )]
    WholeFork,
    /// They are what a fork changed, without what it began with.
    #[error(
        "these bytes are an answer, which says only what a fork changed: merge it into the session that was forked"
    )]
    Answer,
    /// A newer or older program wrote them.
    #[error(
        "the fork has version {0}, and this program reads versions {OLDEST} to {VERSION}: fork and merge with one version of it"
    )]
    OtherVersion(u8),
    /// They end early, or were changed.
    #[error("the serialised fork is truncated or damaged: send it again")]
    Damaged(#[source] std::io::Error),
    /// They are longer than any fork.
    #[error(
        "the serialised fork is longer than any that this program makes: commit or flush before forking, so that less is sent"
    )]
    TooLong,
    /// Its snapshot has the same id here, and is another one.
    #[error("the fork belongs to another repository")]
    OtherRepository,
    /// The content breaks a rule.
    #[error(
        "the serialised fork makes no sense, so that it was changed on its way or made by another program: {0}"
    )]
    Invalid(String),
    /// A path in it is invalid.
    #[error("the serialised fork makes no sense")]
    Path(#[from] PathError),
    /// A document in it is no metadata.
    #[error("the serialised fork makes no sense")]
    Metadata(#[from] MetadataError),
    /// An id in it is invalid.
    #[error("the serialised fork makes no sense")]
    Format(#[from] FormatError),
    /// It cannot be encoded.
    #[error("the fork cannot be serialised")]
    Encode(#[source] std::io::Error),
}

pub(super) fn invalid(problem: &str) -> ForkBlobError {
    ForkBlobError::Invalid(problem.to_owned())
}
