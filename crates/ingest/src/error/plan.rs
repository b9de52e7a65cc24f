//! Errors of a plan: nodes of a source that cannot go where they should.

use icefield_core::NodePath;

use crate::chunk_layout::LayoutError;
use crate::document::Difference;

/// The reason why a source does not fit its target. Every variant names the node.
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
    /// Two dimensions of an array have the name, and the request does not tell them apart.
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
        /// The part that is not understood.
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
        /// The source that lacks it.
        name: String,
        /// The reason.
        reason: String,
    },
    /// An append does not change how the repository stores numbers.
    #[error(
        "an append keeps how numbers are stored in what is there: decoded numbers are stored by an import of new arrays"
    )]
    UnpackedAppend,
    /// No number is that close to another one.
    #[error("numbers cannot be within {tolerance} of others: a tolerance is a number from 0 on")]
    Tolerance {
        /// The value that was asked for.
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
