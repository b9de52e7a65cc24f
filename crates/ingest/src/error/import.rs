//! Errors of an import.

use icefield_core::{
    ChunkIndex, CommitError, Interrupted, NodePath, RepositoryError, SessionError,
};

use super::plan::PlanError;
use super::source::SourceError;
use crate::cf::TimeError;

/// The reason why an import failed. The branch is where it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The source could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The nodes of the source cannot go where they should.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A chunk is outside the grid of its array.
    #[error(
        "{name} is outside the grid of {path}, which has {grid:?} chunks: correct the array's metadata if it is too old, or move the chunk out of the array"
    )]
    OutOfGrid {
        /// The chunk in the source.
        name: String,
        /// The array.
        path: NodePath,
        /// Chunks per dimension.
        grid: Vec<u32>,
    },
    /// An array without the dimension that is appended along has other chunks.
    #[error(
        "{path} cannot be appended to: it has no such dimension and must be equal, but chunk {index} differs"
    )]
    ChunkDiffers {
        /// The array.
        path: NodePath,
        /// The chunk.
        index: ChunkIndex,
    },
    /// An array without the dimension that is appended along has more chunks than the source.
    #[error(
        "{path} cannot be appended to: it has no such dimension and must be equal, but it has {existing} chunks and the source {found}"
    )]
    ChunkCountDiffers {
        /// The array.
        path: NodePath,
        /// Chunks in the repository.
        existing: u64,
        /// Chunks in the source.
        found: u64,
    },
    /// Coordinates that do not go on where those before them ended.
    #[error("{name} does not go on where {path} ends: its coordinates {problem}")]
    Labels {
        /// The coordinate in the repository.
        path: NodePath,
        /// The source.
        name: String,
        /// The problem.
        problem: &'static str,
    },
    /// Times that cannot be put in order.
    #[error("{path} of {name} cannot be put behind anything, nor anything behind it")]
    Times {
        /// The array in the source.
        path: NodePath,
        /// The source.
        name: String,
        /// Why.
        source: Box<TimeError>,
    },
    /// Coordinates of one source that neither rise nor fall throughout.
    #[error(
        "{path} of {name} is in no order along {dimension:?}: element {element} is {value}, and the one before it {before}; sort the elements in the file, or accept any order with --unordered"
    )]
    NotMonotonic {
        /// The array in the source.
        path: NodePath,
        /// The source.
        name: String,
        /// The dimension.
        dimension: String,
        /// The position of the first element that turns back.
        element: u64,
        /// Its value, in the units of the result.
        value: String,
        /// The value before it.
        before: String,
    },
    /// The sources do not belong together as it was said.
    #[error(transparent)]
    Combine(#[from] crate::import::CombineError),
    /// One of several sources cannot be imported.
    #[error("{name} cannot be imported with the others")]
    OneSource {
        /// The source.
        name: String,
        /// Why.
        source: Box<Self>,
    },
    /// An array whose chunks cannot be referred to.
    #[error("{path} of {name} cannot be referred to: {reason}; copy it, or leave it out")]
    NotVirtual {
        /// The array in the source.
        path: NodePath,
        /// The source.
        name: String,
        /// Why.
        reason: String,
    },
    /// A file lies where no container can be made for it.
    #[error("there can be no container for {url}: {problem}")]
    Container {
        /// The file.
        url: String,
        /// The problem.
        problem: String,
    },
    /// Another program changed the configuration, or it is not known whether it did.
    #[error("the configuration of the repository changed meanwhile: import again")]
    ConfigChanged,
    /// A document could not be edited.
    #[error("the metadata of {path} cannot be rewritten")]
    Document {
        /// The node whose metadata it is.
        path: NodePath,
        /// The problem.
        source: serde_json::Error,
    },
    /// A survey or a share of an import that cannot be read.
    #[error(
        "this is no {what} of this version of icefield ({problem}): make and read it with the same version, and send it whole"
    )]
    Sent {
        /// `survey` or `share`.
        what: &'static str,
        /// The problem.
        problem: String,
    },
    /// A share of an import is done with the sources that it names, in that order.
    #[error("the share is one of {expected} sources, and the import that does it has {given}")]
    OtherSources {
        /// The sources that the share names.
        expected: usize,
        /// The sources of the import.
        given: usize,
    },
    /// The caller asked to end it early.
    #[error(
        "interrupted before the commit: the branch is where it was; begin again, and an import that can go on reuses its copied chunks"
    )]
    Interrupted(#[from] Interrupted),
    /// Everything is there, and what is there was to be left out. Nothing is wrong.
    #[error(
        "there is nothing to do: all coordinates of the {} sources are there along {dimension:?}",
        .skipped.len()
    )]
    NothingToDo {
        /// The dimension.
        dimension: String,
        /// The sources.
        skipped: Vec<String>,
    },
    /// An earlier attempt at this import landed, and broke off before it could say so. Nothing is wrong.
    #[error(
        "an earlier attempt at this import was committed as {snapshot}: there is nothing to do"
    )]
    AlreadyLanded {
        /// The commit.
        snapshot: icefield_core::SnapshotId,
    },
    /// Another program goes on with this import.
    #[error("{about} goes on elsewhere: wait for the other attempt, or end that and import again")]
    TakenOver {
        /// The import, in words.
        about: String,
    },
    /// The records of an interrupted import are not understood.
    #[error(
        "{place} has what an import left to go on, and is of a newer version or damaged: go on with that version, or end the import with --abandon"
    )]
    NotResumed {
        /// The folder in the repository.
        place: String,
    },
    /// An append of sources that have no elements along the dimension, or none that are kept. Nothing is wrong.
    #[error("{name} has no new elements along {dimension:?}: there is nothing to append")]
    NothingNew {
        /// The source.
        name: String,
        /// The dimension.
        dimension: String,
    },
    /// There is nothing to commit.
    #[error("{name} adds nothing to {group}: all that it holds is there already")]
    AddsNothing {
        /// The source.
        name: String,
        /// The group it should go into.
        group: NodePath,
    },
    /// The session refused.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The repository could not be read.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// The commit was not attempted, or not published.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl ImportError {
    /// Returns the error of one of several sources, or itself if it is of no single source.
    pub fn of_one_source(&self) -> &Self {
        match self {
            Self::OneSource { source, .. } => source,
            error => error,
        }
    }
}
