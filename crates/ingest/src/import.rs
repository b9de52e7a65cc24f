//! Imports: stage what a source holds in a session, then commit once.

mod behind;
mod containers;
mod join;
mod labels;
mod refer;
mod transfer;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use icefield_core::{
    BranchName, CommitError, CommitOutcome, Interrupt, NodePath, Repository, Session, WriteMode,
};

use self::behind::Behind;
pub(crate) use self::join::NOT_UNDERSTOOD;
use crate::plan::{self, Existing, Join, Plan, Transfer};
use crate::{Hierarchy, Ignored, ImportError, Limits, PlanError, Progress, Source, SourceError};

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
    /// Chunks that were compared with those that were there.
    pub compared_chunks: u64,
    /// What lay in the source and belongs to no node.
    pub ignored: Ignored,
    /// Warnings of the sources.
    pub warnings: Vec<String>,
}

impl ImportReport {
    /// Adds what the import of one more source did.
    fn add(&mut self, other: Self) {
        self.new_groups += other.new_groups;
        self.new_arrays += other.new_arrays;
        for (all, more) in [
            (&mut self.extended_arrays, other.extended_arrays),
            (&mut self.kept_groups, other.kept_groups),
        ] {
            for path in more {
                if !all.contains(&path) {
                    all.push(path);
                }
            }
        }
        self.chunks += other.chunks;
        self.bytes += other.bytes;
        self.virtual_chunks += other.virtual_chunks;
        self.virtual_bytes += other.virtual_bytes;
        self.compared_chunks += other.compared_chunks;
        self.ignored.merge(other.ignored);
        self.warnings.extend(other.warnings);
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

/// An import that is being described: set what it needs, then [`Import::run`] it.
///
/// - Arrays must be new; a group may be there if one of the two says nothing, or both say the same.
/// - Documents are kept byte for byte, but for the chunk key encoding, which becomes `default` with `/`,
///   and the consolidated metadata of groups, which is dropped.
/// - With [`Import::append`], arrays that have the dimension grow along it, and only their shape changes. All
///   others must be equal, chunks included. Arrays missing on either side are refused.
#[must_use = "nothing is imported before it is run"]
pub struct Import {
    /// At least one.
    sources: Vec<Arc<dyn Source>>,
    group: NodePath,
    append: Option<String>,
    /// Along which those after the first follow it, unless all are appended.
    concat: Option<String>,
    /// Whether coordinates along that dimension need not go on where they ended.
    unordered: bool,
    /// Whether chunks are referred to where they lie, and the arrays of the source that are copied all the same.
    refers: Option<BTreeSet<NodePath>>,
    limits: Limits,
    progress: Arc<dyn Progress>,
    interrupt: Interrupt,
}

impl fmt::Debug for Import {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Import")
            .field("sources", &self.sources)
            .field("group", &self.group)
            .field("append", &self.append)
            .field("unordered", &self.unordered)
            .field("refers", &self.refers)
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
            append: None,
            concat: None,
            unordered: false,
            refers: None,
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

    /// Takes coordinates along the dimension that is appended to as they come. Otherwise a source is refused whose
    /// coordinates along it overlap those that are there, or lie before them; of coordinates without units, also the
    /// times along it. Nothing is asked of coordinates that are no numbers, in no order, or compressed in a way that is
    /// not understood here.
    pub fn unordered(mut self) -> Self {
        self.unordered = true;
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
    /// chunks that were copied in vain stay behind as garbage.
    ///
    /// # Errors
    /// The first thing that does not fit, by name.
    pub async fn run(
        &self,
        repository: &Repository,
        branch: BranchName,
        message: &str,
    ) -> Result<Imported, ImportError> {
        let session = repository.write_session(branch).await?;
        self.interrupt.check()?;
        if self.refers.is_some() {
            containers::add_missing(repository, &self.sources).await?;
        }
        let report = self.stage(&session).await?;
        self.progress.finishing();
        let commit = session.commit(message).interruptible(&self.interrupt);
        let commit = match commit.await {
            Err(CommitError::Interrupted(interrupted)) => return Err(interrupted.into()),
            Err(CommitError::NothingToCommit) => {
                return Err(ImportError::AddsNothing {
                    name: self.sources[0].to_string(),
                    group: self.group.clone(),
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
        // Whatever is dropped leaves edits that nobody commits, and garbage.
        self.interrupt.unless(self.stage_all(session)).await?
    }

    async fn stage_all(&self, session: &Session) -> Result<ImportReport, ImportError> {
        let mut all = ImportReport::default();
        let mut behind = Behind::default();
        for (number, source) in self.sources.iter().enumerate() {
            let along = match (&self.append, number) {
                (Some(dimension), _) => Some(dimension),
                (None, 0) => None,
                (None, _) => self.concat.as_ref(),
            };
            let staged = self.stage_one(session, source, along, &mut behind).await;
            all.add(staged.map_err(|error| self.about(source, error))?);
        }
        let joined = behind.joins.finish(session).await?;
        all.chunks += joined.chunks;
        all.bytes += joined.bytes;
        Ok(all)
    }

    #[tracing::instrument(level = "debug", skip_all, fields(source = %source))]
    async fn stage_one(
        &self,
        session: &Session,
        source: &Arc<dyn Source>,
        along: Option<&String>,
        so_far: &mut Behind,
    ) -> Result<ImportReport, ImportError> {
        let hierarchy = source.hierarchy().await?;
        for copied in self.refers.iter().flatten() {
            if !hierarchy.nodes.contains_key(copied) {
                let name = source.to_string();
                let reason = "it is to be copied, and there is no such array";
                return Err(SourceError::variable(&name, copied, reason).into());
            }
        }
        let mut existing = self.existing(session, &hierarchy)?;
        if self.append.is_none() {
            so_far.narrow(&mut existing, &hierarchy, &self.group)?;
        }
        let mut plan = match along {
            None => plan::create(&hierarchy, &self.group, &existing)?,
            Some(dimension) => plan::append(&hierarchy, &self.group, dimension, &existing)?,
        };
        tracing::debug!(
            documents = plan.documents.len(),
            arrays = plan.transfers.len(),
            "planned"
        );
        self.check_joins(&plan, &**source)?;
        let labels = match along.filter(|_| !self.unordered) {
            None => Vec::new(),
            Some(dimension) => plan.labels(dimension),
        };
        so_far.labels.note(session, &labels).await?;
        for (path, document) in std::mem::take(&mut plan.documents) {
            session
                .set_metadata(&path, document, WriteMode::Overwrite)
                .await?;
        }
        let transfers = std::mem::take(&mut plan.transfers);
        let (copies, referred) = match &self.refers {
            None => (transfers, refer::Referred::default()),
            Some(copied) => refer::run(&**source, session, transfers, copied).await?,
        };
        // What may be refused comes first: nothing else is copied in vain.
        let is_label = |transfer: &Transfer| labels.iter().any(|it| it.path == transfer.to);
        let (first, rest) = copies.into_iter().partition(is_label);
        let mut copied = self.transfer(source, session, first).await?;
        let mut joined = BTreeMap::new();
        for join in &plan.joins {
            let done = so_far.joins.add(&**source, session, join).await?;
            copied.chunks += done.chunks;
            copied.bytes += done.bytes;
            joined.insert(&join.to, done.numbers);
        }
        for label in &labels {
            let (added, name) = (joined.remove(&label.path), source.to_string());
            so_far.labels.check(session, label, added, &name).await?;
        }
        copied.add(self.transfer(source, session, rest).await?);
        let mut report = report(plan, hierarchy.ignored, copied);
        report.warnings = hierarchy.warnings;
        report.virtual_chunks = referred.chunks;
        report.virtual_bytes = referred.bytes;
        Ok(report)
    }

    async fn transfer(
        &self,
        source: &Arc<dyn Source>,
        session: &Session,
        transfers: Vec<Transfer>,
    ) -> Result<transfer::Copied, ImportError> {
        match transfers.is_empty() {
            true => Ok(transfer::Copied::default()),
            false => transfer::run(source, session, transfers, self.limits, &*self.progress).await,
        }
    }

    /// What is referred to cannot be joined within a chunk.
    fn check_joins(&self, plan: &Plan, source: &dyn Source) -> Result<(), PlanError> {
        let Some(copied) = &self.refers else {
            return Ok(());
        };
        let is_copied = |join: &&Join| {
            copied.contains(&join.from)
                || plan::coordinate(&join.from, &join.array).is_some()
                || source.is_at_hand(&join.from)
        };
        match plan.joins.iter().find(|join| !is_copied(join)) {
            None => Ok(()),
            Some(join) => Err(PlanError::PartialChunk {
                path: join.to.clone(),
                dimension: join.dimension.clone(),
                length: join.length,
                chunk: join.chunk,
                reason: "what is referred to cannot be joined within a chunk: have it copied",
            }),
        }
    }

    /// Of several sources, an error names the one.
    fn about(&self, source: &Arc<dyn Source>, error: ImportError) -> ImportError {
        match error {
            ImportError::Source(_) | ImportError::Labels { .. } => error,
            error if self.sources.len() == 1 => error,
            error => ImportError::OneSource {
                name: source.to_string(),
                source: Box::new(error),
            },
        }
    }

    /// What the repository has where the import goes.
    fn existing(&self, session: &Session, hierarchy: &Hierarchy) -> Result<Existing, ImportError> {
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
        for path in hierarchy.nodes.keys() {
            let path = plan::target_path(&self.group, path)?;
            if kinds.contains_key(&path)
                && let Some(document) = session.metadata(&path)?
            {
                documents.insert(path, document);
            }
        }
        Ok(Existing { kinds, documents })
    }
}

fn report(plan: Plan, ignored: Ignored, copied: transfer::Copied) -> ImportReport {
    let mut report = ImportReport {
        new_groups: plan.new_groups,
        new_arrays: plan.new_arrays,
        extended_arrays: plan.extended_arrays,
        kept_groups: plan.kept_groups,
        chunks: copied.chunks,
        bytes: copied.bytes,
        compared_chunks: copied.compared,
        ignored,
        ..ImportReport::default()
    };
    report.ignored.merge(copied.ignored);
    report
}
