//! Imports: stage what a source holds in a session, then commit once.

mod arrange;
mod attributes;
mod choices;
mod combine;
mod containers;
mod converted;
mod encodings;
mod labels;
mod layout;
mod missing;
mod outline;
mod prepare;
mod rearrange;
mod refer;
mod resume;
mod seams;
mod selection;
mod share;
mod shares;
mod skip;
mod survey;
mod times;
mod transfer;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use icefield_core::{
    BranchName, CommitError, CommitOutcome, Interrupt, NodePath, Repository, Session, SessionError,
    WriteMode,
};

pub use self::choices::{
    Attributes, DifferingAttribute, Encoding, Gap, Lacking, Missing, Order, Overlap, Rounded,
};
use self::combine::Stack;
pub use self::combine::{Combine, CombineError, ValueFrom};
pub use self::outline::{ImportPlan, PlannedArray, PlannedSource};
use self::prepare::Prepared;
use self::resume::Resumption;
pub use self::resume::{AbandonedImport, abandon_imports};
pub(crate) use self::resume::{Digest, Journal, WorkKey};
pub use self::selection::Selection;
pub use self::share::Share;
pub use self::shares::Shares;
pub use self::survey::Survey;
use crate::assemble::{self, Assembly};
use crate::plan::{self, Existing, Transfer};
use crate::{ChunkLayout, Ignored, ImportError, Limits, Progress, Source, Unsupported};

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ImportReport {
    /// Groups that were created, those included that only their children implied.
    pub new_groups: u64,
    /// Arrays that were created.
    pub new_arrays: u64,
    /// Arrays that grew.
    pub extended_arrays: Vec<NodePath>,
    /// Groups that stayed as they were though the source says something else of them.
    pub kept_groups: Vec<NodePath>,
    /// Chunks that were copied.
    pub chunks: u64,
    /// Bytes of those chunks.
    pub bytes: u64,
    /// Chunks that are referred to where they lie.
    pub virtual_chunks: u64,
    /// Bytes of those chunks.
    pub virtual_bytes: u64,
    /// Of the chunks that were copied, those that were put together of elements: at seams between sources, and where
    /// chunk grids or codecs differ, also from what was asked for.
    pub assembled_chunks: u64,
    /// Chunks that were decoded for that.
    pub decoded_chunks: u64,
    /// Of the chunks that were copied, those that an earlier attempt had stored; see [`Import::resumable`].
    pub resumed_chunks: u64,
    /// Chunks that were compared with those that were there.
    pub compared_chunks: u64,
    /// Arrays of which some source had its times in other units, by their paths in the sources.
    pub converted_arrays: Vec<NodePath>,
    /// Arrays of which some source stored its numbers otherwise, by their paths in the sources.
    pub reencoded_arrays: Vec<NodePath>,
    /// Arrays of which numbers were rounded for that; see [`Encoding::Within`].
    pub rounded_arrays: Vec<Rounded>,
    /// Steps between sources that are longer than is usual.
    pub gaps: Vec<Gap>,
    /// Arrays that sources lack; see [`Import::missing`].
    pub lacking: Vec<Lacking>,
    /// Attributes that sources have otherwise than those before them; see [`Import::attributes`].
    pub attributes: Vec<DifferingAttribute>,
    /// Sources that were there already; see [`Import::skip_existing`].
    pub skipped: Vec<String>,
    /// What lay in the source and belongs to no node.
    pub ignored: Ignored,
    /// Warnings of the sources.
    pub warnings: Vec<String>,
    /// Nodes that were left out because Zarr has no words for them; see [`Import::skip_unsupported`].
    pub omitted: Vec<Unsupported>,
}

impl ImportReport {
    /// Adds what another part of the same import did.
    pub fn add(&mut self, other: Self) {
        self.new_groups += other.new_groups;
        self.new_arrays += other.new_arrays;
        self.chunks += other.chunks;
        self.bytes += other.bytes;
        self.virtual_chunks += other.virtual_chunks;
        self.virtual_bytes = self.virtual_bytes.saturating_add(other.virtual_bytes);
        self.assembled_chunks += other.assembled_chunks;
        self.decoded_chunks += other.decoded_chunks;
        self.compared_chunks += other.compared_chunks;
        self.resumed_chunks += other.resumed_chunks;
        self.skipped.extend(other.skipped);
        self.extended_arrays.extend(other.extended_arrays);
        self.kept_groups.extend(other.kept_groups);
        self.converted_arrays.extend(other.converted_arrays);
        self.reencoded_arrays.extend(other.reencoded_arrays);
        self.rounded_arrays.extend(other.rounded_arrays);
        self.lacking.extend(other.lacking);
        self.attributes.extend(other.attributes);
        self.gaps.extend(other.gaps);
        self.ignored.merge(other.ignored);
        self.warnings.extend(other.warnings);
        self.omitted.extend(other.omitted);
    }
}

/// A finished import.
#[derive(Debug)]
#[must_use = "the branch may have moved, or the outcome may be unknown"]
pub struct Imported {
    /// What was staged.
    pub report: ImportReport,
    /// What became of the commit.
    pub commit: CommitOutcome,
}

/// Whether chunks of an earlier attempt were collected: the commit finds that out, or what compares with them.
fn is_collected(error: &ImportError) -> bool {
    let (ImportError::Commit(CommitError::Session(error)) | ImportError::Session(error)) = error
    else {
        return false;
    };
    matches!(
        error,
        SessionError::Collected { .. } | SessionError::ChunkMissing { .. }
    )
}

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
#[derive(Clone)]
#[must_use = "nothing is imported before it is run"]
pub struct Import {
    /// At least one.
    sources: Vec<Arc<dyn Source>>,
    group: NodePath,
    selection: Selection,
    skip_unsupported: bool,
    append: Option<String>,
    /// Along which those after the first follow it, unless all are appended.
    concat: Option<String>,
    /// A new dimension that each of them gets.
    stack: Option<Stack>,
    combine: Combine,
    /// Whether coordinates along that dimension need not go on where they ended.
    unordered: bool,
    order: Order,
    overlap: Overlap,
    time_units: Option<String>,
    encoding: Encoding,
    missing: Missing,
    /// Nothing: of arrays, they must be equal; of groups, those of the first stay.
    attributes: Option<Attributes>,
    /// Whether chunks are referred to where they lie, and the arrays of the source that are copied all the same.
    refers: Option<BTreeSet<NodePath>>,
    layout: ChunkLayout,
    resumption: Option<Resumption>,
    /// Whether sources that are there are left out.
    skip_existing: bool,
    limits: Limits,
    progress: Arc<dyn Progress>,
    interrupt: Interrupt,
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
    /// Begins an import of a source to the root.
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

    /// Puts the root of the source at this path; groups that are missing above it are created.
    pub fn into_group(mut self, group: NodePath) -> Self {
        self.group = group;
        self
    }

    /// Imports a part of each source, or gives nodes other names. All else that an import is told speaks of the new names.
    pub fn select(mut self, selection: Selection) -> Self {
        self.selection = selection;
        self
    }

    /// Leaves out what Zarr has no words for: a link that leads nowhere, a type, a filter. [`ImportReport::omitted`] names
    /// each node. Otherwise the first one that is not left out by the selection is an error.
    pub fn skip_unsupported(mut self) -> Self {
        self.skip_unsupported = true;
        self
    }

    /// Appends along the dimension of this name instead of creating arrays.
    pub fn append(mut self, dimension: impl Into<String>) -> Self {
        self.append = Some(dimension.into());
        self
    }

    /// Puts more sources behind the first one, along the dimension of this name; all in one commit.
    pub fn concat(
        mut self,
        dimension: impl Into<String>,
        others: impl IntoIterator<Item = Arc<dyn Source>>,
    ) -> Self {
        self.concat = Some(dimension.into());
        self.sources.extend(others);
        self
    }

    /// Adds more sources, of which [`Import::stack`] or [`Import::combine`] says how they belong together.
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

    /// Says how the sources belong together.
    pub fn combine(mut self, combine: Combine) -> Self {
        self.combine = combine;
        self
    }

    /// Takes coordinates along the dimension that is appended to as they come. Otherwise a source is refused whose
    /// coordinates along it overlap those that are there, or lie before them; of coordinates without units, also the
    /// times along it. Nothing is asked of coordinates that are no numbers, in no order, or compressed in a way that is
    /// not understood here.
    pub fn unordered(mut self) -> Self {
        self.unordered = true;
        self
    }

    /// Sets the order of several sources.
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Sets what becomes of elements that overlap. [`Import::unordered`] looks for none.
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

    /// Sets what becomes of numbers that are stored otherwise from source to source.
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.encoding = encoding;
        self
    }

    /// Sets what becomes of arrays that some sources lack.
    pub fn missing(mut self, missing: Missing) -> Self {
        self.missing = missing;
        self
    }

    /// Sets what becomes of attributes that differ. Otherwise those of arrays must be equal, and of groups those of the first
    /// source stay, or those that are there ([`ImportReport::kept_groups`]).
    pub fn attributes(mut self, attributes: Attributes) -> Self {
        self.attributes = Some(attributes);
        self
    }

    /// Refers to chunks where they lie instead of copying them, but for arrays of one dimension that have its name, which
    /// are read first by everybody, for what the source has at hand, and for the arrays in `copied`, by their paths in
    /// the source. An array that cannot be referred to is an error.
    ///
    /// Containers that the repository's configuration lacks are added to it, one for the folder of each file.
    pub fn by_reference(mut self, copied: impl IntoIterator<Item = NodePath>) -> Self {
        self.refers = Some(copied.into_iter().collect());
        self
    }

    /// Cuts and encodes the chunks of the arrays otherwise than the first source has them. Arrays of one dimension that have its
    /// name are read whole by everybody, and keep their chunks; arrays without dimensions stay as they are. Of dimensions that an
    /// array lacks it is told nothing, and one that no array has is an error.
    pub fn layout(mut self, layout: ChunkLayout) -> Self {
        self.layout = layout;
        self
    }

    /// Leaves out the sources of which every coordinate along the dimension of [`Import::append`] is there already, by value;
    /// [`ImportReport::skipped`] names them. Where nothing has the dimension yet, arrays are created. So one import does for
    /// the first night and for all that follow; what it says of chunks holds for the first.
    pub fn skip_existing(mut self) -> Self {
        self.skip_existing = true;
        self
    }

    /// Writes down now and then what was done, below `icefield/imports/`, so that the next import of this name goes on there if
    /// this one breaks off: chunks that are stored are neither read nor written again, as long as their files are the same.
    /// The name says which import it is: its sources, its place and its options. [`abandon_imports`] ends one that broke off.
    /// A lease keeps collections from its chunks until then, for one floor after it broke off at most.
    ///
    /// An import that is short leaves no trace. References, and sources that do not know the state of their files, such as
    /// local directories of Zarr format 3, begin anew.
    pub fn resumable(mut self, name: impl Into<String>) -> Self {
        self.resumption = Some(Resumption::of(name.into()));
        self
    }

    /// Sets after how many stored bytes a resumable import writes down what was done. Default 64 MiB; it does so after 20
    /// seconds in any case.
    pub fn resume_every(mut self, bytes: u64) -> Self {
        if let Some(resumption) = &mut self.resumption {
            resumption.every_bytes = bytes;
        }
        self
    }

    /// Sets how much is under way at once.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Tells `progress` how far the import is.
    pub fn progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = progress;
        self
    }

    /// Ends early, as [`ImportError::Interrupted`], once `interrupt` is raised, as long as the branch is not being moved.
    pub fn interruptible(mut self, interrupt: &Interrupt) -> Self {
        self.interrupt = interrupt.clone();
        self
    }

    /// Imports to a branch, in one commit. On any error, and if it is stopped, the branch is where it was;
    /// chunks that were copied in vain stay behind as garbage, or for a [resumable](Import::resumable) import to go on.
    ///
    /// # Errors
    /// The first thing that does not fit, by name.
    pub async fn run(
        &self,
        repository: &Repository,
        branch: BranchName,
        message: &str,
    ) -> Result<Imported, ImportError> {
        let Some(resumption) = &self.resumption else {
            let session = repository.write_session(branch).await?;
            return self.run_in(repository, &session, message, None).await;
        };
        let (journal, session) =
            Journal::open(repository, branch, resumption, &self.sources).await?;
        let journal = Arc::new(journal);
        let imported = self
            .run_in(repository, &session, message, Some(&journal))
            .await;
        match &imported {
            Ok(Imported {
                commit: CommitOutcome::Committed(_),
                ..
            }) => journal.remove().await,
            // A mark of the attempt is in the commit only if something was written down before.
            Ok(Imported {
                commit: CommitOutcome::Unknown { .. },
                ..
            }) => {}
            // The next attempt begins anew.
            Err(error) if is_collected(error.of_one_source()) => journal.remove().await,
            // The branch moved, or it broke off: what was done is of use the next time.
            _ => {
                if let Err(error) = journal.write(&session).await {
                    tracing::debug!(%error, "the last chunks of the import will be imported anew");
                }
            }
        }
        imported
    }

    async fn run_in(
        &self,
        repository: &Repository,
        session: &Session,
        message: &str,
        journal: Option<&Arc<Journal>>,
    ) -> Result<Imported, ImportError> {
        self.interrupt.check()?;
        self.add_containers(repository).await?;
        let staged = self.stage_all(session, journal);
        let report = self.interrupt.unless(staged).await??;
        self.progress.finishing();
        let mut commit = session.commit(message).interruptible(&self.interrupt);
        if let Some(journal) = journal
            && let Some((name, attempt)) = journal.attempt().await
        {
            commit = commit.metadata(name, attempt);
        }
        let commit = match commit.await {
            Err(CommitError::Interrupted(interrupted)) => return Err(interrupted.into()),
            Err(CommitError::NothingToCommit) => {
                let name = self.sources[0].to_string();
                return Err(match &self.append {
                    Some(dimension) => ImportError::NothingNew {
                        name,
                        dimension: dimension.clone(),
                    },
                    None => ImportError::AddsNothing {
                        name,
                        group: self.group.clone(),
                    },
                });
            }
            commit => commit?,
        };
        Ok(Imported { report, commit })
    }

    /// Puts the edits into a writable session without committing them. After an error the session holds part
    /// of them: discard it.
    ///
    /// # Errors
    /// As [`Import::run`].
    pub async fn stage(&self, session: &Session) -> Result<ImportReport, ImportError> {
        // Whatever is dropped leaves uncommitted edits and garbage.
        self.interrupt.unless(self.stage_all(session, None)).await?
    }

    async fn stage_all(
        &self,
        session: &Session,
        journal: Option<&Arc<Journal>>,
    ) -> Result<ImportReport, ImportError> {
        let adapted = self.adapted(session)?;
        let this = adapted.as_ref().unwrap_or(self);
        let mut prepared = this.prepare(session).await?;
        let seams = prepared.seams(session, prepared.dimension(), self.limits)?;
        let mut report = self.stage_documents(session, &mut prepared).await?;
        let moved = self.move_chunks(session, &prepared, seams, journal);
        report.add(moved.await?);
        Ok(report)
    }

    /// Stages the documents of nodes. Returns what is known before any chunk is moved.
    async fn stage_documents(
        &self,
        session: &Session,
        prepared: &mut Prepared,
    ) -> Result<ImportReport, ImportError> {
        for (path, document) in std::mem::take(&mut prepared.documents) {
            session
                .set_metadata(&path, document, WriteMode::Overwrite)
                .await?;
        }
        let mut report = std::mem::take(&mut prepared.report);
        report.gaps = std::mem::take(&mut prepared.places.gaps);
        report.lacking = std::mem::take(&mut prepared.completed.lacking);
        report.attributes = std::mem::take(&mut prepared.combined.differing);
        for one in &prepared.opened {
            for path in &one.converted {
                if !report.converted_arrays.contains(path) {
                    report.converted_arrays.push(path.clone());
                }
            }
            for path in one.reencoded.keys() {
                if !report.reencoded_arrays.contains(path) {
                    report.reencoded_arrays.push(path.clone());
                }
            }
        }
        Ok(report)
    }

    /// Moves chunks into arrays whose documents are staged, and puts together those at seams. Returns how many.
    async fn move_chunks(
        &self,
        session: &Session,
        prepared: &Prepared,
        (mut seams, compared): (Vec<Assembly>, Vec<Assembly>),
        journal: Option<&Arc<Journal>>,
    ) -> Result<ImportReport, ImportError> {
        let mut report = ImportReport::default();
        for (one, moved) in prepared.opened.iter().zip(prepared.moved()) {
            let transfers = prepared.transfers(&moved);
            let moved = self.move_all(session, &one.source, transfers, journal);
            let (copied, referred) = moved
                .await
                .map_err(|error| self.about(&one.source, error))?;
            report.chunks += copied.chunks;
            report.bytes += copied.bytes;
            report.compared_chunks += copied.compared;
            report.resumed_chunks += copied.recalled;
            report.ignored.merge(copied.ignored);
            report.virtual_chunks += referred.chunks;
            report.virtual_bytes = report.virtual_bytes.saturating_add(referred.bytes);
        }
        if let Some(journal) = journal {
            for assembly in &mut seams {
                let (chunks, bytes) = assembly.recall(session, journal).await?;
                report.chunks += chunks;
                report.bytes += bytes;
                report.resumed_chunks += chunks;
            }
        }
        let assembled = assemble::run(session, seams, self.limits, &*self.progress).await?;
        report.chunks += assembled.chunks;
        report.bytes += assembled.bytes;
        report.assembled_chunks = assembled.chunks;
        report.decoded_chunks = assembled.decoded;
        report.ignored.merge(assembled.ignored);
        // With what was put together.
        let compared = assemble::run(session, compared, self.limits, &*self.progress).await?;
        report.compared_chunks += compared.compared;
        report.ignored.merge(compared.ignored);
        report.rounded_arrays = prepared.encoded.rounded();
        Ok(report)
    }

    /// Adds to the stored configuration what it lacks of containers for chunks that are referred to. [`Import::run`] does so
    /// itself; nothing is added if chunks are copied.
    ///
    /// # Errors
    /// [`ImportError::Container`], [`ImportError::ConfigChanged`], and what the store says.
    pub async fn add_containers(&self, repository: &Repository) -> Result<(), ImportError> {
        match self.refers {
            Some(_) => containers::add_missing(repository, &self.sources).await,
            None => Ok(()),
        }
    }

    /// The dimension along which arrays grow; nothing if none do.
    fn dimension(&self) -> &str {
        let dimension = self.append.as_deref().or(self.concat.as_deref());
        dimension.unwrap_or_default()
    }

    /// Moves the chunks of one source that stay as they are.
    #[tracing::instrument(level = "debug", skip_all, fields(source = %source))]
    async fn move_all(
        &self,
        session: &Session,
        source: &Arc<dyn Source>,
        transfers: Vec<Transfer>,
        journal: Option<&Arc<Journal>>,
    ) -> Result<(transfer::Copied, refer::Referred), ImportError> {
        let (copies, referred) = match &self.refers {
            None => (transfers, refer::Referred::default()),
            Some(_) => {
                let refers = |it: &Transfer| self.refers_to(&it.from, &it.array, &**source);
                refer::run(&**source, session, transfers, refers).await?
            }
        };
        let copied = self.transfer(source, session, copies, journal).await?;
        Ok((copied, referred))
    }

    async fn transfer(
        &self,
        source: &Arc<dyn Source>,
        session: &Session,
        transfers: Vec<Transfer>,
        journal: Option<&Arc<Journal>>,
    ) -> Result<transfer::Copied, ImportError> {
        if transfers.is_empty() {
            return Ok(transfer::Copied::default());
        }
        let told = (&*self.progress, journal.map(|journal| &**journal));
        transfer::run(source, session, transfers, self.limits, told).await
    }

    /// Of several sources, an error names the one.
    fn about(&self, source: &Arc<dyn Source>, error: ImportError) -> ImportError {
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

    /// What the repository has where the import goes.
    fn existing<'a>(
        &self,
        session: &Session,
        paths: impl Iterator<Item = &'a NodePath>,
    ) -> Result<Existing, ImportError> {
        let mut kinds = BTreeMap::new();
        for path in self.group.ancestors() {
            if let Some(kind) = session.node_kind(&path)? {
                kinds.insert(path, kind);
            }
        }
        for node in session.nodes(&self.group)? {
            kinds.insert(node.path, node.kind);
        }
        let mut documents = BTreeMap::new();
        for path in paths.collect::<BTreeSet<_>>() {
            let path = plan::target_path(&self.group, path)?;
            if kinds.contains_key(&path)
                && let Some(document) = session.metadata(&path)?
            {
                documents.insert(path, document);
            }
        }
        Ok(Existing {
            kinds,
            documents,
            ..Existing::default()
        })
    }
}
