//! Errors of copying, bundling and unbundling a repository.

use icefield_core::RepositoryError;
use icefield_format::{FormatError, SnapshotId};
use icefield_refs::{FetchError, RefsError};
use icefield_storage::{Key, StorageError};

/// The reason why a copy stopped. Objects that were written are whole, and no ref points to them unless the report says
/// so: run it again to continue from there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// The source is also the destination.
    #[error("{location} is both the source and the destination: name another place")]
    SamePlace {
        /// The place.
        location: String,
    },
    /// The copy would have an earlier version of the format than the source.
    #[error(
        "a copy cannot have an earlier version of the format than its source, which may hold what that has no place for: leave the version out, or downgrade"
    )]
    EarlierVersion,
    /// The source of a downgrade has spec version 1 already.
    #[error("the source is a repository of spec version 1 already: copy it")]
    IsVersion1,
    /// Spec version 1 cannot hold what readers of the source read.
    #[error(
        "spec version 1 cannot hold {}: nothing was copied; choose other refs, keep fewer snapshots, or leave out the refs that lead there",
        first_of(.problems)
    )]
    NotInVersion1 {
        /// The features in the way, each with the rule.
        problems: Vec<String>,
    },
    /// The destination is a repository of another version of the format.
    #[error(
        "{location} is a repository of spec version {found}, and the copy would have version {wanted}: name another place"
    )]
    OtherVersion {
        /// The destination.
        location: String,
        /// Its version.
        found: u8,
        /// That of the copy.
        wanted: u8,
    },
    /// A snapshot of the source expired during the copy.
    #[error("snapshot {snapshot} of the source was given another parent meanwhile: run it again")]
    SourceChanged {
        /// The snapshot.
        snapshot: SnapshotId,
    },
    /// The source has no ref of a name that the caller gave.
    #[error("the source has no branch or tag {name}")]
    NoSuchRef {
        /// The name as given.
        name: String,
    },
    /// The destination has commits, tags or settings that the source does not have.
    #[error(
        "the destination has its own {}: nothing was copied; give these refs other names there, or leave them out, or move them with force",
        .refs.join(", ")
    )]
    Diverged {
        /// The refs, each with what is wrong.
        refs: Vec<String>,
    },
    /// Another writer edited a ref of the destination during the copy.
    #[error(
        "{name} changed at the destination meanwhile: copy again, what is there is not copied twice"
    )]
    RefChanged {
        /// The ref.
        name: String,
    },
    /// The store gave no answer to the edit of a ref.
    #[error(
        "it is not known whether {name} was written at the destination: copy again to find out"
    )]
    RefUnknown {
        /// The ref.
        name: String,
        /// The error of the store.
        source: StorageError,
    },
    /// The store gave no answer to a write. No ref points to the object.
    #[error("it is not known whether {key} was written at the destination: copy again to find out")]
    WriteUnknown {
        /// The object.
        key: Key,
        /// The error of the store.
        source: StorageError,
    },
    /// An object exists at both places with different sizes.
    #[error(
        "{key} at the destination has {found} bytes and should have {expected}: it is damaged, and is not overwritten"
    )]
    OtherSize {
        /// The object.
        key: Key,
        /// Bytes at the destination.
        found: u64,
        /// Bytes at the source.
        expected: u64,
    },
    /// An object exists at both places with the same size and different bytes.
    #[error("{key} at the destination differs from the source's, and is not overwritten")]
    OtherBytes {
        /// The object.
        key: Key,
    },
    /// A chunk object of the source does not exist.
    #[error("the source is damaged: {key} is missing")]
    ChunkMissing {
        /// The object.
        key: Key,
    },
    /// A chunk object of the source ends before a chunk that is in it.
    #[error("the source is damaged: {key} has {size} bytes, and a chunk ends at byte {end} of it")]
    ChunkTooShort {
        /// The object.
        key: Key,
        /// Its size in bytes.
        size: u64,
        /// Where the chunk ends.
        end: u64,
    },
    /// The destination lacks the snapshot that an incremental bundle builds on.
    #[error(
        "the bundle builds on snapshot {snapshot}, which the destination does not have: unbundle an earlier bundle first, or make one without --since"
    )]
    BaseMissing {
        /// The snapshot.
        snapshot: SnapshotId,
    },
    /// A ref of the bundle leads to a snapshot that does not exist.
    #[error(
        "{name} points to snapshot {snapshot}, which is neither in the bundle nor at the destination"
    )]
    Dangling {
        /// The ref.
        name: String,
        /// The snapshot.
        snapshot: SnapshotId,
    },
    /// The source cannot be read.
    #[error("cannot read the source")]
    Source(#[source] StorageError),
    /// The destination cannot be read or written.
    #[error("cannot use the destination")]
    Destination(#[source] StorageError),
    /// An object of the source is missing, or breaks the rules of the format.
    #[error("the source is damaged, or cannot be read")]
    Fetch(#[from] FetchError),
    /// A file is not what the format says.
    #[error("the source is damaged")]
    Format(#[from] FormatError),
    /// The refs of the source cannot be read.
    #[error("cannot read the refs of the source")]
    SourceRefs(#[source] RefsError),
    /// The refs of the destination cannot be read or edited.
    #[error("cannot use the refs of the destination")]
    DestinationRefs(#[source] RefsError),
    /// The destination cannot be opened or created.
    #[error(transparent)]
    Open(RepositoryError),
    /// The source cannot be read.
    #[error(transparent)]
    Repository(RepositoryError),
    /// The file of a bundle cannot be read or written.
    #[error("cannot {action} the bundle")]
    File {
        /// The operation: `read`, `write`.
        action: &'static str,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The file is no bundle, or a damaged one.
    #[error("the bundle is damaged: {problem}; nothing of it was made visible")]
    BadBundle {
        /// The problem.
        problem: String,
    },
    /// The bundle was made by a later version.
    #[error(
        "the bundle has version {found}, and this program reads version {supported}: use a newer one"
    )]
    NewerBundle {
        /// Its version.
        found: u64,
        /// Ours.
        supported: u64,
    },
}

/// Problems that a message names.
const NAMED: usize = 5;

fn first_of(problems: &[String]) -> String {
    let named: Vec<_> = problems.iter().take(NAMED).map(String::as_str).collect();
    let named = named.join("; ");
    match problems.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}
