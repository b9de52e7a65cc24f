//! Why an import or export failed. Nothing was committed, and no directory was left behind.

use std::io;
use std::path::PathBuf;

use icefield_core::{
    ChunkIndex, CommitError, Interrupted, MetadataError, NodePath, RepositoryError, SessionError,
};
use icefield_zarr_fs::{TreeError, ZipError};

use crate::{Difference, LayoutError, TimeError};

/// Why a source could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// There is nothing.
    #[error("{name} does not exist")]
    NotFound {
        /// The source, or the part of it.
        name: String,
    },
    /// There is something else than what is read here.
    #[error("{name} is {found}; a Zarr v3 directory is needed")]
    NotADirectory {
        /// The source.
        name: String,
        /// What it is.
        found: &'static str,
    },
    /// A directory without a single node.
    #[error(
        "{name} is no Zarr v3 hierarchy: it holds no zarr.json, and neither does any directory below it"
    )]
    NoNodes {
        /// The source.
        name: String,
    },
    /// An older generation of Zarr.
    #[error(
        "{name} belongs to Zarr format 2, which cannot be imported: convert it to format 3 first"
    )]
    ZarrFormat2 {
        /// The file that shows it.
        name: String,
    },
    /// Nodes of both formats in one tree, of which a reader would see one part.
    #[error(
        "{format_2} belongs to Zarr format 2 and {format_3} to format 3: import the two parts one by one, each from a directory or file of its own"
    )]
    MixedFormats {
        /// A document of a node that has none of format 3.
        format_2: String,
        /// A document of format 3.
        format_3: String,
    },
    /// A link could lead anywhere.
    #[error(
        "{name} is a symbolic link, which an import does not follow: put the files themselves there"
    )]
    Link {
        /// The link.
        name: String,
    },
    /// A name that cannot be the name of a node.
    #[error("{name} cannot be the name of an array or group")]
    NodeName {
        /// The directory.
        name: String,
        /// The rule that it breaks.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A document is not that of a Zarr v3 node.
    #[error("{name} is not the metadata of a Zarr v3 array or group")]
    Metadata {
        /// The document.
        name: String,
        /// What is wrong with it.
        source: MetadataError,
    },
    /// Something has the name of a document and is no file.
    #[error("{name} is not a file: it should hold the metadata of a node")]
    NoDocument {
        /// What has that name.
        name: String,
    },
    /// Something lies among the chunks that is none.
    #[error(
        "{name} is not a chunk of the array it lies in: {problem}; correct the array's metadata if it is too old, or move the file out of the array"
    )]
    NotAChunk {
        /// The file.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A chunk without a byte.
    #[error("{name} is empty, and no encoded chunk is: remove the file to leave the chunk out")]
    EmptyChunk {
        /// The chunk's file.
        name: String,
    },
    /// Somebody is writing the source.
    #[error("{name} changed while it was being read: import again once nobody writes to it")]
    Changed {
        /// The file.
        name: String,
    },
    /// A file is not what its format says.
    #[error("{name} is damaged, or is not what its name says: {problem}")]
    Damaged {
        /// The file.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A zip file that breaks a rule, or one of its entries does.
    #[error("{name} is not a zip file that can be imported")]
    Zip {
        /// The file, or the entry in it.
        name: String,
        /// The rule.
        source: ZipError,
    },
    /// A message of a GRIB file is not imported.
    #[cfg(feature = "grib")]
    #[error("message {message} of {name}, at byte {offset}, cannot be imported: {problem}")]
    Grib {
        /// The file.
        name: String,
        /// The number of the message, from 1.
        message: u64,
        /// Its first byte.
        offset: u64,
        /// What is wrong.
        problem: crate::GribProblem,
    },
    /// A variable that cannot be had.
    #[error("{path} of {name} cannot be imported: {reason}")]
    Variable {
        /// The file.
        name: String,
        /// The variable.
        path: NodePath,
        /// What is in the way.
        reason: String,
    },
    /// A file of references names another one that cannot be read.
    #[error("{path} of {name} refers to {url}, which cannot be read")]
    Reference {
        /// The file of references.
        name: String,
        /// An array that refers to it.
        path: NodePath,
        /// What it refers to.
        url: String,
        /// Why.
        source: Box<Self>,
    },
    /// The operating system refused.
    #[error("cannot read {name}")]
    Io {
        /// The file or directory.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// What another kind of source has to say.
    #[error("cannot read {name}")]
    Other {
        /// The part of the source.
        name: String,
        /// Its own error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl SourceError {
    /// Returns the error of a variable that cannot be had.
    pub fn variable(file: &str, variable: &NodePath, reason: impl Into<String>) -> Self {
        Self::Variable {
            name: file.to_owned(),
            path: variable.clone(),
            reason: reason.into(),
        }
    }

    /// Returns the error of a file that is not what its format says.
    pub fn damaged(file: &str, problem: impl Into<String>) -> Self {
        Self::Damaged {
            name: file.to_owned(),
            problem: problem.into(),
        }
    }

    /// Returns the error of a message of a GRIB file: its number, counted from 1, and its first byte.
    #[cfg(feature = "grib")]
    pub(crate) fn grib(
        file: &str,
        message: u64,
        offset: u64,
        problem: crate::grib::GribProblem,
    ) -> Self {
        Self::Grib {
            name: file.to_owned(),
            message,
            offset,
            problem,
        }
    }
}

/// Why what a source holds cannot be put where it should go. Every variant names the node.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The chunks of an array cannot be laid out as it was asked for.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// An array is there already.
    #[error("{path} exists already")]
    AlreadyExists {
        /// The node.
        path: NodePath,
    },
    /// An array on one side, a group on the other.
    #[error("{path} is {existing} here and {source_kind} in the source")]
    KindDiffers {
        /// The node.
        path: NodePath,
        /// `an array` or `a group`.
        existing: &'static str,
        /// `an array` or `a group`.
        source_kind: &'static str,
    },
    /// Both sides have a group with attributes, and not the same.
    #[error("the group {path} exists already, and {difference}")]
    GroupDiffers {
        /// The group.
        path: NodePath,
        /// Where they part.
        difference: Difference,
    },
    /// Arrays have no children.
    #[error("nothing can be put at {path}: {array} is an array, and arrays have no children")]
    BelowArray {
        /// The new node.
        path: NodePath,
        /// The array above it.
        array: NodePath,
    },
    /// Two paths joined are no path.
    #[error("{path} cannot be put below {group}")]
    Path {
        /// The path in the source.
        path: NodePath,
        /// The group it should go into.
        group: NodePath,
        /// The rule that the result would break.
        source: icefield_format::PathError,
    },
    /// Nothing would grow.
    #[error(
        "no array of the source has a dimension named {dimension:?}: nothing can be appended along it"
    )]
    NoSuchDimension {
        /// The dimension.
        dimension: String,
    },
    /// Which one?
    #[error("{path} has two dimensions named {dimension:?}: it cannot be appended along either")]
    DimensionTwice {
        /// The array.
        path: NodePath,
        /// The dimension.
        dimension: String,
    },
    /// New data would begin within a chunk.
    #[error(
        "{path} cannot be appended to: its length {length} along {dimension:?} is not a multiple of the chunk length {chunk}, and {reason}"
    )]
    PartialChunk {
        /// The array.
        path: NodePath,
        /// The dimension.
        dimension: String,
        /// Its length.
        length: u64,
        /// Elements per chunk along it.
        chunk: u64,
        /// Why the last chunk is not filled up.
        reason: String,
    },
    /// Chunks that are referred to would have to begin within a chunk.
    #[error(
        "{path} cannot be referred to where it lies: its elements begin at {begins} along {dimension:?}, which is no multiple of the chunk length {chunk}; have it copied, with --copy {path}"
    )]
    Misaligned {
        /// The array in the source.
        path: NodePath,
        /// The dimension.
        dimension: String,
        /// Elements before it.
        begins: u64,
        /// Elements per chunk along it.
        chunk: u64,
    },
    /// Chunks that are referred to would have to be encoded anew.
    #[error(
        "{path} cannot be referred to where it lies: {difference}; have it copied, with --copy {path}"
    )]
    Recoded {
        /// The array in the source.
        path: NodePath,
        /// Why its chunks are not those of the array.
        difference: Difference,
    },
    /// Chunks would have to be encoded anew, and cannot be.
    #[error("the chunks of {path} cannot be encoded anew, though {difference}: {reason}")]
    NotRecoded {
        /// The array.
        path: NodePath,
        /// Why they would have to be.
        difference: Difference,
        /// What is not understood.
        reason: String,
    },
    /// An append does not change what is there.
    #[error("{path} has the units {existing:?}, which an append keeps: it cannot have {wanted:?}")]
    UnitsStay {
        /// The array in the source.
        path: NodePath,
        /// Its units in the repository.
        existing: String,
        /// The units that were asked for.
        wanted: String,
    },
    /// Elements are left out along a dimension, and it is not clear which ones of this array.
    #[error(
        "{path} has {length} elements along {dimension:?}, whose coordinate has {labels}: it is not clear which of them overlap"
    )]
    LengthDiffers {
        /// The array.
        path: NodePath,
        /// The dimension.
        dimension: String,
        /// The array's length along it.
        length: u64,
        /// The coordinate's length.
        labels: u64,
    },
    /// An array would be longer than the format can say.
    #[error("{path} would be too long along {dimension:?}")]
    TooLong {
        /// The array.
        path: NodePath,
        /// The dimension.
        dimension: String,
    },
    /// Two arrays that must be alike are not.
    #[error("{path} cannot be appended to: {difference}")]
    ArrayDiffers {
        /// The array.
        path: NodePath,
        /// Where they part.
        difference: Difference,
    },
    /// A selection names what is nowhere.
    #[error("{path} is to be {wish}, and no source has it")]
    NotInSources {
        /// The path that was named.
        path: NodePath,
        /// `selected`, `left out` or `renamed`.
        wish: &'static str,
    },
    /// Two nodes would have one path.
    #[error("{one} and {other} would both be {path}: give one of them another name")]
    SameName {
        /// The path.
        path: NodePath,
        /// A node of the source.
        one: NodePath,
        /// Another one.
        other: NodePath,
    },
    /// A new name is that of a dimension which is another one.
    #[error(
        "{path} cannot be renamed to {name:?}: {other} has a dimension of that name, which would be taken for its own"
    )]
    DimensionTaken {
        /// The node of the source.
        path: NodePath,
        /// The name that was asked for.
        name: String,
        /// An array with the dimension.
        other: NodePath,
    },
    /// A node whose document would lie where that of a group lies: no export could hold both.
    #[error(
        "{path} has the name of the documents of Zarr: give it another one with `--rename`, or leave it out with `--drop`"
    )]
    NameOfDocument {
        /// The node, where it would go.
        path: NodePath,
    },
    /// A new name is a path.
    #[error(
        "{path} cannot be renamed to {name:?}: a name has no `/`, and a node stays in its group"
    )]
    NameOfTwo {
        /// The node of the source.
        path: NodePath,
        /// The name that was asked for.
        name: String,
    },
    /// A document cannot be written with the new names.
    #[error("{path} cannot have the new names: {reason}")]
    NotRenamed {
        /// The array of the source.
        path: NodePath,
        /// Why.
        reason: String,
    },
    /// An array would have to be filled, and nothing in it reads as missing.
    #[error("{path} is not in {name}, and cannot be filled there: {reason}")]
    NotFilled {
        /// The array.
        path: NodePath,
        /// What lacks it.
        name: String,
        /// Why not.
        reason: String,
    },
    /// What is there keeps how it stores numbers.
    #[error(
        "an append keeps how numbers are stored in what is there: decoded numbers are stored by an import of new arrays"
    )]
    UnpackedAppend,
    /// No number is that close to another one.
    #[error("numbers cannot be within {tolerance} of others: a tolerance is a number from 0 on")]
    Tolerance {
        /// What was asked for.
        tolerance: f64,
    },
    /// Attributes that must be equal are not.
    #[error(
        "the attributes of {path} must be equal, and {difference}; have those of the first kept, with --attributes first, or those that differ left out, with --attributes drop-conflicts"
    )]
    AttributesDiffer {
        /// The array or group.
        path: NodePath,
        /// Where they part.
        difference: Difference,
    },
    /// The source lacks an array.
    #[error(
        "{path} is not in the source: an append needs every array that exists below the group; what is missing is filled with --missing fill"
    )]
    NotInSource {
        /// The array.
        path: NodePath,
    },
    /// The repository lacks an array.
    #[error("{path} does not exist yet, so nothing can be appended to it")]
    NotInTarget {
        /// The array.
        path: NodePath,
    },
}

/// Why an import failed. The branch is where it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The source could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// What the source holds cannot go where it should.
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
        /// What is wrong.
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
    /// The sources do not belong together as it was said.
    #[error(transparent)]
    Combine(#[from] crate::CombineError),
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
        /// What is wrong.
        problem: String,
    },
    /// The configuration was changed by somebody else, or it is not known whether it was.
    #[error("the configuration of the repository changed meanwhile: import again")]
    ConfigChanged,
    /// A document could not be edited.
    #[error("the metadata of {path} cannot be rewritten")]
    Document {
        /// The node.
        path: NodePath,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A survey or a share of an import that cannot be read.
    #[error(
        "this is no {what} of this version of icefield ({problem}): make and read it with the same version, and send it whole"
    )]
    Sent {
        /// `survey` or `share`.
        what: &'static str,
        /// What is wrong.
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
    /// What an import has left to go on is not understood.
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
    /// An import that cannot be divided into shares.
    #[error("{name} {what}: such an import is not divided into shares; run it in one process")]
    NotDivisible {
        /// The source.
        name: String,
        /// What of it takes the documents of all sources.
        what: &'static str,
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
    /// Returns what is wrong with one of several sources, and itself otherwise.
    pub fn of_one_source(&self) -> &Self {
        match self {
            Self::OneSource { source, .. } => source,
            error => error,
        }
    }
}

/// Why an export failed. No directory and no zip file was left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// Something is in the way.
    #[error("{} exists and is not an empty directory: export to another place", .path.display())]
    AlreadyExists {
        /// The destination.
        path: PathBuf,
    },
    /// A prefix with something below it.
    #[error("{place} holds {key} already: export below a prefix with nothing below it")]
    NotEmpty {
        /// The destination.
        place: String,
        /// A key there.
        key: String,
    },
    /// An export to a storage backend broke off.
    #[error(
        "the export broke off, and {place} holds {written} of its objects: delete them, or export to another place"
    )]
    Partly {
        /// The destination.
        place: String,
        /// Objects that were written.
        written: u64,
        /// Why it broke off.
        source: Box<Self>,
    },
    /// Something that the format has no word for.
    #[error("{path} cannot be written as {format}: {reason}")]
    Unsupported {
        /// The node.
        path: NodePath,
        /// The format.
        format: &'static str,
        /// What is in the way.
        reason: String,
    },
    /// The export would put its files among those of the repository.
    #[error("{} lies in the repository {}: export to a place outside it", .path.display(), .repository.display())]
    InsideRepository {
        /// The destination.
        path: PathBuf,
        /// The directory of the repository.
        repository: PathBuf,
    },
    /// There is no directory to make it in.
    #[error("cannot make {}: the directory above it does not exist", .path.display())]
    NoParent {
        /// The destination.
        path: PathBuf,
    },
    /// There are no nodes.
    #[error("there is nothing to export: this version has no array and no group")]
    Empty,
    /// A node's name is no file name.
    #[error(
        "{path} cannot be exported: {name:?} is taken in a Zarr directory, or no file can have that name"
    )]
    NodeName {
        /// The node.
        path: NodePath,
        /// The part of its path.
        name: String,
    },
    /// A document could not be edited.
    #[error("the metadata of {path} cannot be rewritten")]
    Document {
        /// The node.
        path: NodePath,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// Somebody wished so.
    #[error("the export was interrupted: begin it again")]
    Interrupted(#[from] Interrupted),
    /// The operating system refused.
    #[error("cannot write {}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The zip file or the tree could not be written, or cannot hold a key.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The session could not be read.
    #[error(transparent)]
    Session(#[from] SessionError),
}
