//! An import as it is described: what is read, where it goes, and what becomes of what does not fit.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use icefield_core::{Interrupt, NodePath};

use super::choices::{Attributes, Combine, Encoding, Missing, Order, Overlap};
use super::combine::{Stack, ValueFrom};
use super::resume::Resumption;
use super::selection::Selection;
use crate::operation::operation_methods;
use crate::{ChunkLayout, ImportError, Limits, Progress, Source};

/// An import that is being described: set what it needs, then [`Import::run`] it.
///
/// - Arrays must be new; a group may be there if one of the two says nothing, or both say the same.
/// - Documents are kept byte for byte, but for the chunk key encoding, which becomes `default` with `/`,
///   and the consolidated metadata of groups, which is dropped.
/// - With [`Import::append`], arrays that have the dimension grow along it, and only their shape changes. All
///   others must be equal, elements included. Arrays missing on either side are refused, or filled ([`Import::missing`]).
/// - Chunks go in as they are where they become chunks of the array. Those at seams, where something is put behind a chunk
///   that is not full, are put together of elements; so are all of a source with another chunk grid or other codecs.
/// - Times in other units, or in another calendar with the same dates, are converted to those that they are put behind. A
///   value that these do not have is refused.
/// - Numbers that are packed otherwise, or of another type, are stored as those that they are put behind ([`Import::encoding`]).
///
/// ```
/// use std::sync::Arc;
/// use icefield_core::{BranchName, CommitOutcome, Repository};
/// use icefield_ingest::{ArchiveOptions, ArchiveSource, Import, read_zarr};
/// use icefield_storage::{Key, Prefix, PutMode, Storage};
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // A Zarr hierarchy in a bucket.
/// let bucket = Arc::new(MemoryStorage::new());
/// # let document = r#"{"zarr_format": 3, "node_type": "group"}"#;
/// let key = Key::parse("sea.zarr/zarr.json")?;
/// let _ = bucket.put(&key, document.into(), PutMode::Create.into()).await?;
/// let prefix = Prefix::parse("sea.zarr")?;
/// let archive = read_zarr(bucket, &prefix, "s3://bucket/sea.zarr", ArchiveOptions::default()).await?;
///
/// let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
/// let import = Import::new(Arc::new(ArchiveSource::new("the sea", archive))).into_group("/sea".parse()?);
/// let imported = import.run(&repository, BranchName::main(), "the sea").await?;
/// assert!(matches!(imported.commit, CommitOutcome::Committed(_)));
/// assert_eq!(imported.report.new_groups, 2, "the root and /sea");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "nothing is imported before it is run"]
pub struct Import {
    /// At least one.
    pub(super) sources: Vec<Arc<dyn Source>>,
    pub(super) group: NodePath,
    pub(super) selection: Selection,
    pub(super) skip_unsupported: bool,
    pub(super) append: Option<String>,
    /// Along which those after the first follow it, unless all are appended.
    pub(super) concat: Option<String>,
    /// A new dimension that each of them gets.
    pub(super) stack: Option<Stack>,
    pub(super) combine: Combine,
    /// Whether coordinates along that dimension need not go on where they ended.
    pub(super) unordered: bool,
    pub(super) order: Order,
    pub(super) overlap: Overlap,
    pub(super) time_units: Option<String>,
    pub(super) encoding: Encoding,
    pub(super) missing: Missing,
    /// Nothing: of arrays, they must be equal; of groups, those of the first stay.
    pub(super) attributes: Option<Attributes>,
    /// Whether chunks are referred to where they lie, and the arrays of the source that are copied all the same.
    pub(super) refers: Option<BTreeSet<NodePath>>,
    pub(super) layout: ChunkLayout,
    pub(super) resumption: Option<Resumption>,
    /// Whether sources that are there are left out.
    pub(super) skip_existing: bool,
    pub(super) limits: Limits,
    pub(super) progress: Arc<dyn Progress>,
    pub(super) interrupt: Interrupt,
}

impl fmt::Debug for Import {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Import")
            .field("sources", &self.sources)
            .field("group", &self.group)
            .field("selection", &self.selection)
            .field("skip_unsupported", &self.skip_unsupported)
            .field("append", &self.append)
            .field("concat", &self.concat)
            .field("stack", &self.stack)
            .field("combine", &self.combine)
            .field("unordered", &self.unordered)
            .field("order", &self.order)
            .field("overlap", &self.overlap)
            .field("time_units", &self.time_units)
            .field("encoding", &self.encoding)
            .field("missing", &self.missing)
            .field("attributes", &self.attributes)
            .field("refers", &self.refers)
            .field("layout", &self.layout)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Import {
    /// Returns an import of a source to the root group.
    pub fn new(source: Arc<dyn Source>) -> Self {
        Self {
            sources: vec![source],
            group: NodePath::root(),
            selection: Selection::all(),
            skip_unsupported: false,
            append: None,
            concat: None,
            stack: None,
            combine: Combine::Nested,
            unordered: false,
            order: Order::Given,
            overlap: Overlap::Refuse,
            time_units: None,
            encoding: Encoding::Exact,
            missing: Missing::Refuse,
            attributes: None,
            refers: None,
            layout: ChunkLayout::kept(),
            resumption: None,
            skip_existing: false,
            limits: Limits::default(),
            progress: Arc::new(()),
            interrupt: Interrupt::new(),
        }
    }

    /// Puts the root of the source at this path. Groups that are missing above it are created.
    pub fn into_group(mut self, group: NodePath) -> Self {
        self.group = group;
        self
    }

    /// Imports a part of each source, or gives nodes other names. All other settings refer to the new names.
    pub fn select(mut self, selection: Selection) -> Self {
        self.selection = selection;
        self
    }

    /// Leaves out nodes that Zarr cannot express: a link that leads nowhere, a type, a filter.
    /// [`ImportReport::omitted`](crate::ImportReport::omitted) names each of them. Otherwise the first one that the
    /// selection does not leave out is an error.
    pub fn skip_unsupported(mut self) -> Self {
        self.skip_unsupported = true;
        self
    }

    /// Appends along the dimension of this name to the arrays of the repository, instead of creating arrays.
    pub fn append(mut self, dimension: impl Into<String>) -> Self {
        self.append = Some(dimension.into());
        self
    }

    /// Puts more sources behind the first one, along the dimension of this name, all in one commit.
    pub fn concat(
        mut self,
        dimension: impl Into<String>,
        others: impl IntoIterator<Item = Arc<dyn Source>>,
    ) -> Self {
        self.concat = Some(dimension.into());
        self.sources.extend(others);
        self
    }

    /// Adds more sources; [`Import::stack`] or [`Import::combine`] determines their relation.
    pub fn and(mut self, others: impl IntoIterator<Item = Arc<dyn Source>>) -> Self {
        self.sources.extend(others);
        self
    }

    /// Makes each source one element of a new leading dimension, with a coordinate of this name and the values from there, in
    /// the order of the values. With [`Import::concat`] along another dimension, the sources of each value lie behind one
    /// another along that; with [`Import::append`] along the new dimension, they are put behind what is there.
    ///
    /// Coordinates of other dimensions, their bounds, grid mappings and auxiliary coordinates with dimensions do not get the
    /// new dimension, and must be equal.
    pub fn stack(mut self, dimension: impl Into<String>, from: ValueFrom) -> Self {
        let dimension = dimension.into();
        self.stack = Some(Stack { dimension, from });
        self
    }

    /// Sets the relation of the sources to each other.
    pub fn combine(mut self, combine: Combine) -> Self {
        self.combine = combine;
        self
    }

    /// Takes coordinates along the dimension that is appended to as they come. Otherwise a source is refused whose
    /// coordinates along it overlap those that are there, or lie before them; of coordinates without units, also the
    /// times along it; and one whose coordinate has units and neither rises nor falls throughout. Nothing is asked of
    /// coordinates that are no numbers, that have no units and are in no order, or compressed in a way that is not
    /// understood here.
    pub fn unordered(mut self) -> Self {
        self.unordered = true;
        self
    }

    /// Sets the order of several sources.
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Sets the treatment of elements that overlap. [`Import::unordered`] looks for none.
    pub fn overlap(mut self, overlap: Overlap) -> Self {
        self.overlap = overlap;
        self
    }

    /// Gives the coordinate along the dimension of [`Import::concat`], and its bounds, these units of time:
    /// `seconds since 2000-01-01`. Its type stays if it has all values, else it becomes `int64`, else `float64`.
    pub fn time_units(mut self, units: impl Into<String>) -> Self {
        self.time_units = Some(units.into());
        self
    }

    /// Sets the treatment of numbers that are stored otherwise from source to source.
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.encoding = encoding;
        self
    }

    /// Sets the treatment of arrays that some sources lack.
    pub fn missing(mut self, missing: Missing) -> Self {
        self.missing = missing;
        self
    }

    /// Sets the treatment of attributes that differ. Unless set, those of arrays must be equal, and of groups those of
    /// the first source stay, or those in the repository
    /// ([`ImportReport::kept_groups`](crate::ImportReport::kept_groups)).
    pub fn attributes(mut self, attributes: Attributes) -> Self {
        self.attributes = Some(attributes);
        self
    }

    /// Refers to chunks where they lie instead of copying them, but for arrays of one dimension that have its name, which
    /// every reader reads first, for what the source has at hand, and for the arrays in `copied`, by their paths in
    /// the source. An array that cannot be referred to is an error.
    ///
    /// Containers that the repository's configuration lacks are added to it, one for the folder of each file.
    pub fn by_reference(mut self, copied: impl IntoIterator<Item = NodePath>) -> Self {
        self.refers = Some(copied.into_iter().collect());
        self
    }

    /// Cuts and encodes the chunks of the arrays otherwise than the first source does. Arrays of one dimension that
    /// have its name are read whole by every reader, and keep their chunks; arrays without dimensions stay as they are.
    /// Lengths for dimensions that an array lacks do not concern it; a dimension that no array has is an error.
    pub fn layout(mut self, layout: ChunkLayout) -> Self {
        self.layout = layout;
        self
    }

    /// Leaves out the sources of which every coordinate along the dimension of [`Import::append`] is there already, by value;
    /// [`ImportReport::skipped`](crate::ImportReport::skipped) names them. Where nothing has the dimension yet, arrays are created. So one import does for
    /// the first night and for all that follow; what it says of chunks holds for the first.
    pub fn skip_existing(mut self) -> Self {
        self.skip_existing = true;
        self
    }

    /// Writes down now and then what was done, below `icefield/imports/`, so that the next import of this name goes on there if
    /// this one breaks off: chunks that are stored are neither read nor written again, as long as their files are the same.
    /// The name says which import it is: its sources, its place and its options. [`abandon_imports`](crate::abandon_imports) ends one that broke off.
    /// A lease keeps collections from its chunks until then, for one floor after it broke off at most.
    ///
    /// An import that is short leaves no trace. References, and sources that do not know the state of their files, such as
    /// local directories of Zarr format 3, begin anew.
    pub fn resumable(mut self, name: impl Into<String>) -> Self {
        self.resumption = Some(Resumption::of(name.into()));
        self
    }

    /// Sets the number of stored bytes after which a resumable import records its progress. Default 64 MiB; it does so
    /// after 20 seconds in any case.
    pub fn resume_every(mut self, bytes: u64) -> Self {
        if let Some(resumption) = &mut self.resumption {
            resumption.every_bytes = bytes;
        }
        self
    }

    operation_methods!("ImportError", "the branch is not being moved");

    /// The dimension along which arrays grow; nothing if none do.
    pub(super) fn dimension(&self) -> &str {
        let dimension = self.append.as_deref().or(self.concat.as_deref());
        dimension.unwrap_or_default()
    }

    /// Of several sources, an error names the one.
    pub(super) fn about(&self, source: &Arc<dyn Source>, error: ImportError) -> ImportError {
        match error {
            ImportError::Source(_) | ImportError::Labels { .. } | ImportError::Times { .. } => {
                error
            }
            error if self.sources.len() == 1 => error,
            error => ImportError::OneSource {
                name: source.to_string(),
                source: Box::new(error),
            },
        }
    }
}
