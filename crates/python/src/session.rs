//! Sessions as Python calls them. Virtual references are in `virtual_refs`.

mod commit;

use icefield::format::SpecVersion;
use icefield::{
    ChunkIndex, MergeOutcome, NodeKind, NodePath, RebaseOutcome, RepositoryError, SessionError,
    VersionSelection,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use serde_json::{Value, json};

use crate::errors::Failure;
use crate::process::ProcessOwned;
use crate::reindex::{self, ReindexOutcome};
use crate::rows::DiffRow;
use crate::solver::Solver;
use crate::stream::{Stream, stream};
use crate::task::{Task, begin, begin_lasting, begin_near, begin_to_the_end};
use crate::virtual_refs::{self, Columns};
use crate::{convert, document};
use commit::{AmendRequest, CommitRequest, commit_result};

/// The number of locations in one batch.
const LOCATIONS_BATCH: usize = 10_000;

/// Where a caller finds the outcome of a commit.
const COMMITTED: &str = "once it has, `session.read_only` is True and `session.snapshot_id` the new snapshot, which \
                         `repository.ancestry(branch=...)` shows";

/// A session, and the repository that it belongs to.
#[pyclass(frozen, module = "icefield._native")]
pub(crate) struct Session(ProcessOwned<(icefield::Repository, icefield::Session)>);

impl Session {
    pub(crate) fn new(repository: icefield::Repository, session: icefield::Session) -> Self {
        Self(ProcessOwned::new((repository, session)))
    }

    /// Returns a handle of the session itself.
    ///
    /// # Errors
    /// `forked`, if a parent of this process opened it.
    pub(crate) fn handle(&self) -> Result<icefield::Session, Failure> {
        Ok(self.0.get()?.1.clone())
    }

    /// Returns the repository that the session belongs to.
    ///
    /// # Errors
    /// `forked`, if a parent of this process opened it.
    pub(crate) fn repository(&self) -> Result<&icefield::Repository, Failure> {
        Ok(&self.0.get()?.0)
    }

    fn get(&self) -> Result<&icefield::Session, Failure> {
        Ok(&self.0.get()?.1)
    }

    /// # Errors
    /// If the spec version of the repository does not have the feature `what`.
    fn check_version(&self, what: &'static str) -> Result<(), Failure> {
        let found = self.repository()?.spec_version();
        match found < SpecVersion::V2 {
            true => Err(RepositoryError::NeedsSpecVersion2 { what, found }.into()),
            false => Ok(()),
        }
    }

    /// # Errors
    /// If the session cannot commit: read-only, committed, or a fork.
    fn check_commit(&self) -> Result<icefield::Session, Failure> {
        let session = self.handle()?;
        let problem = if session.is_fork() {
            "this session is a fork, and forks are not committed: merge it into the session that it was forked from, \
             and commit that"
        } else if session.is_read_only() {
            "this session is read-only, because it was opened so or was committed: open a new writable session"
        } else {
            return Ok(session);
        };
        Err(Failure::new("commit-not-allowed", problem))
    }
}

/// A path, and the facts of an array as JSON.
type TreeRow = (String, Option<String>);

fn tree(session: &icefield::Session, most: usize) -> Result<(Vec<TreeRow>, usize), Failure> {
    let nodes = session.nodes(&NodePath::root())?;
    let count = nodes.len();
    let mut rows = Vec::with_capacity(count.min(most));
    for node in nodes.into_iter().take(most) {
        let facts = match node.kind {
            NodeKind::Group => None,
            NodeKind::Array => {
                let array = session.array(&node.path)?;
                let bytes = session.metadata(&node.path)?.unwrap_or_default();
                // A document that is no JSON has no data type to show.
                let document: Value = serde_json::from_slice(&bytes).unwrap_or_default();
                let data_type = &document["data_type"];
                let facts = json!({
                    "shape": array.shape,
                    "dimension_names": array.dimension_names,
                    "data_type": data_type.as_str().or_else(|| data_type["name"].as_str()),
                });
                Some(facts.to_string())
            }
        };
        rows.push((node.path.to_string(), facts));
    }
    Ok((rows, count))
}

/// Returns the failure of a move, with the codes of the reference implementation for an unusable target.
fn move_failure(error: SessionError) -> Failure {
    match error {
        SessionError::PathTaken { .. } => Failure::of("move-wont-overwrite", &error),
        SessionError::ParentIsArray { .. } => {
            Failure::of("move-destination-parent-not-group", &error)
        }
        error => error.into(),
    }
}

/// A fork to merge, as Python passes it.
#[derive(FromPyObject)]
enum ReturnedFork {
    Session(Py<Session>),
    Answer(PyBackedBytes),
}

/// A fork to merge, in a form that another thread can hold.
enum ForkToMerge {
    Session(icefield::Session),
    Answer(PyBackedBytes),
}

impl ReturnedFork {
    /// # Errors
    /// `merge-not-allowed`, if the session is not a fork; `forked`, if a parent of this process opened it.
    fn into_fork(self) -> Result<ForkToMerge, Failure> {
        let fork = match self {
            Self::Answer(bytes) => return Ok(ForkToMerge::Answer(bytes)),
            Self::Session(session) => session.get().handle()?,
        };
        if !fork.is_fork() {
            return Err(Failure::new(
                "merge-not-allowed",
                "one of the sessions to merge is no fork: only forks of this session are merged into it",
            ));
        }
        Ok(ForkToMerge::Session(fork))
    }
}

impl<'a> From<&'a ForkToMerge> for icefield::Returned<'a> {
    fn from(fork: &'a ForkToMerge) -> Self {
        match fork {
            ForkToMerge::Session(fork) => Self::Fork(fork),
            ForkToMerge::Answer(bytes) => Self::Sent(bytes),
        }
    }
}

#[pymethods]
impl Session {
    // Each call may wait for a writer of a million rows, so none holds the GIL.

    #[getter]
    fn read_only(&self, py: Python<'_>) -> PyResult<bool> {
        let session = self.get()?;
        Ok(py.detach(|| session.is_read_only()))
    }

    #[getter]
    fn snapshot_id(&self, py: Python<'_>) -> PyResult<String> {
        let session = self.get()?;
        let id = py.detach(|| session.snapshot_id());
        Ok(id.map_err(Failure::from)?.to_string())
    }

    /// The branch that the session commits to; `None` if it is read-only.
    #[getter]
    fn branch(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let session = self.get()?;
        Ok(py.detach(|| match session.is_read_only() {
            true => None,
            false => session.branch().map(ToString::to_string),
        }))
    }

    #[getter]
    fn has_changes(&self, py: Python<'_>) -> PyResult<bool> {
        let session = self.get()?;
        Ok(py.detach(|| session.has_changes()).map_err(Failure::from)?)
    }

    #[getter]
    fn is_fork(&self) -> PyResult<bool> {
        Ok(self.get()?.is_fork())
    }

    /// Returns the effective configuration.
    fn config(&self) -> PyResult<String> {
        let (repository, _) = self.0.get()?;
        Ok(document::config_to_json(&repository.config())?)
    }

    fn status(&self, py: Python<'_>) -> PyResult<Task> {
        let session = self.handle()?;
        begin_near(py, async move { Ok(DiffRow(session.status().await?)) })
    }

    /// Returns the first nodes of the hierarchy by their paths, and how many there are. An array comes with a JSON object of its
    /// `shape`, `data_type` and `dimension_names`.
    fn tree(&self, py: Python<'_>, most: usize) -> PyResult<(Vec<TreeRow>, usize)> {
        let session = self.handle()?;
        Ok(py.detach(|| tree(&session, most))?)
    }

    /// Gives a node another path, which the transaction log records as a move.
    fn move_node(&self, py: Python<'_>, from_: &str, to: &str) -> PyResult<Task> {
        let (from, to) = (convert::path(from_)?, convert::path(to)?);
        self.check_version("moving nodes")?;
        let session = self.handle()?;
        begin_to_the_end(py, async move {
            let moved = session.move_node(&from, &to).await;
            moved.map_err(move_failure)
        })
    }

    fn is_rearranging(&self) -> PyResult<bool> {
        Ok(self.get()?.is_rearranging())
    }

    fn discard_changes(&self, py: Python<'_>) -> PyResult<()> {
        let session = self.handle()?;
        Ok(py.detach(|| session.discard_changes().map_err(Failure::from))?)
    }

    fn commit(
        &self,
        py: Python<'_>,
        message: String,
        metadata: Option<&str>,
        solver: Option<&str>,
        tries: usize,
        allow_empty: bool,
    ) -> PyResult<Task> {
        let session = self.check_commit()?;
        let committing = CommitRequest {
            message,
            metadata: convert::metadata(metadata)?,
            solver: solver.map(Solver::from_json).transpose()?,
            tries,
            allow_empty,
        };
        let committed = begin_lasting(py, "The commit", COMMITTED, committing.run(session));
        convert::release();
        committed
    }

    /// Replaces the snapshot that the session is based on by a new one.
    fn amend(
        &self,
        py: Python<'_>,
        message: String,
        metadata: Option<&str>,
        allow_empty: bool,
    ) -> PyResult<Task> {
        self.check_version("amending a commit")?;
        let session = self.check_commit()?;
        let amending = AmendRequest {
            message,
            metadata: convert::metadata(metadata)?,
            allow_empty,
        };
        let amended = begin_lasting(py, "The amended commit", COMMITTED, amending.run(session));
        convert::release();
        amended
    }

    /// Finds out the outcome of a commit whose outcome is unknown, and completes it.
    fn resolve(&self, py: Python<'_>) -> PyResult<Task> {
        let session = self.handle()?;
        begin_lasting(py, "The commit", COMMITTED, async move {
            commit_result(session.resolve().await?)
        })
    }

    fn flush(&self, py: Python<'_>, message: String, metadata: Option<&str>) -> PyResult<Task> {
        let session = self.handle()?;
        if session.is_fork() {
            return Err(Failure::new(
                "commit-not-allowed",
                "this session is a fork, and forks are not flushed: merge it into the session that it was forked \
                 from, and flush that",
            )
            .into());
        }
        let metadata = convert::metadata(metadata)?;
        let look = "`session.snapshot_id` is the new snapshot then";
        convert::release();
        begin_lasting(py, "The flush", look, async move {
            let id = session.flush_with(message, metadata, true).await?;
            Ok(id.to_string())
        })
    }

    fn rebase(&self, py: Python<'_>, solver: &str) -> PyResult<Task> {
        let session = self.check_commit()?;
        let solver = Solver::from_json(solver)?;
        begin(py, async move {
            match session.rebase(&solver).await? {
                RebaseOutcome::Rebased { .. } => Ok(()),
                outcome => Err(Failure::of_rebase(outcome)),
            }
        })
    }

    fn fork(&self, py: Python<'_>) -> PyResult<Self> {
        let (repository, session) = self.0.get()?;
        let fork = py.detach(|| session.fork()).map_err(|error| match error {
            SessionError::ReadOnly | SessionError::Committed(_) => Failure::new(
                "cannot-fork-read-only-session",
                "this session is read-only, and only writable sessions are forked: it can be sent as it is",
            ),
            error => error.into(),
        })?;
        Ok(Self::new(repository.clone(), fork))
    }

    fn to_bytes(&self, py: Python<'_>) -> PyResult<Task> {
        let session = self.handle()?;
        convert::release();
        begin(py, async move { Ok(session.to_bytes().await?.to_vec()) })
    }

    fn to_answer(&self, py: Python<'_>) -> PyResult<Task> {
        let session = self.handle()?;
        convert::release();
        begin(py, async move { Ok(session.to_answer().await?.to_vec()) })
    }

    fn open_answer(&self, py: Python<'_>, answer: PyBackedBytes) -> PyResult<Self> {
        let (repository, session) = self.0.get()?;
        let fork = py.detach(|| session.open_answer(&answer));
        Ok(Self::new(repository.clone(), fork.map_err(Failure::from)?))
    }

    fn merge(&self, py: Python<'_>, returned: Vec<ReturnedFork>) -> PyResult<Task> {
        let session = self.handle()?;
        let returned = returned.into_iter().map(ReturnedFork::into_fork);
        let returned = returned.collect::<Result<Vec<_>, _>>()?;
        begin(py, async move {
            // Equal chunks count as one chunk. Different ones are a conflict: no rule says which one the caller meant.
            match session
                .merge_forks(&returned, VersionSelection::Fail)
                .await?
            {
                MergeOutcome::Merged => Ok(()),
                outcome => Err(Failure::of_merge(outcome)),
            }
        })
    }

    fn node_id(&self, py: Python<'_>, path: &str) -> PyResult<String> {
        let path = convert::path(path)?;
        let session = self.get()?;
        let id = py
            .detach(|| session.node_id(&path))
            .map_err(Failure::from)?;
        let id = id.ok_or_else(|| Failure::from(SessionError::NodeNotFound { path }))?;
        Ok(id.to_string())
    }

    fn shift_array(&self, py: Python<'_>, path: &str, offsets: Vec<i64>) -> PyResult<Task> {
        let path = convert::path(path)?;
        let session = self.handle()?;
        begin_near(py, async move { Ok(session.shift(&path, &offsets).await?) })
    }

    fn reindex_array(
        &self,
        py: Python<'_>,
        path: &str,
        forward: Py<PyAny>,
        backward: Option<Py<PyAny>>,
    ) -> PyResult<Task> {
        let path = convert::path(path)?;
        let session = self.handle()?;
        begin(py, async move {
            let moved: ReindexOutcome = reindex::run(session, path, forward, backward).await?;
            Ok(moved)
        })
    }

    fn virtual_locations(&self, py: Python<'_>) -> PyResult<Stream> {
        let (repository, session) = self.0.get()?.clone();
        // The call lists all nodes before it returns.
        let locations = py.detach(|| virtual_refs::locations(repository, session));
        Ok(stream(locations, LOCATIONS_BATCH))
    }

    fn chunk_coordinates(&self, py: Python<'_>, path: &str, batch: usize) -> PyResult<Stream> {
        let path = convert::path(path)?;
        let session = self.handle()?;
        // The call sorts pending edits before it returns.
        let coordinates = py.detach(|| virtual_refs::coordinates(session, path));
        Ok(stream(coordinates, batch))
    }

    fn chunk_type(&self, py: Python<'_>, path: &str, index: Vec<i64>) -> PyResult<Task> {
        let path = convert::path(path)?;
        let session = self.handle()?;
        // A negative number names no chunk.
        let index = index.into_iter().map(|at| u32::try_from(at).ok());
        let index: Option<ChunkIndex> = index.collect::<Option<Vec<_>>>().map(ChunkIndex::from);
        begin_near(py, async move {
            virtual_refs::chunk_type(&session, &path, index.as_deref()).await
        })
    }

    fn chunk_refs(&self, py: Python<'_>, path: &str, batch: usize) -> PyResult<Stream> {
        let path = convert::path(path)?;
        let (repository, session) = self.0.get()?.clone();
        let refs = py.detach(|| virtual_refs::chunk_refs(repository, session, path));
        Ok(stream(refs, batch))
    }

    #[expect(clippy::too_many_arguments, reason = "columns of one table")]
    fn set_virtual_refs(
        &self,
        py: Python<'_>,
        path: &str,
        coordinates: &Bound<'_, PyAny>,
        locations: &Bound<'_, PyAny>,
        offsets: &Bound<'_, PyAny>,
        lengths: &Bound<'_, PyAny>,
        checksums: Option<&Bound<'_, PyAny>>,
        validate: bool,
    ) -> PyResult<Task> {
        let path = convert::path(path)?;
        let (repository, session) = self.0.get()?.clone();
        let columns = Columns::read(coordinates, locations, offsets, lengths, checksums)?;
        begin(py, async move {
            virtual_refs::set(&repository, &session, &path, columns, validate).await
        })
    }
}
