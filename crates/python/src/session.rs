//! A session. What it does with virtual references is in `virtual_refs`; here is how Python calls it.

use icefield::format::SpecVersion;
use icefield::{
    ChunkIndex, CommitOutcome, MergeOutcome, RebaseOutcome, RepositoryError, SessionError,
    VersionSelection,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::errors::Failure;
use crate::process::Own;
use crate::reindex::{self, Moved};
use crate::returned::Given;
use crate::rows::DiffRow;
use crate::solver::Solver;
use crate::stream::{Stream, stream};
use crate::task::{Task, begin, begin_lasting, begin_near, begin_to_the_end};
use crate::virtual_refs::{self, Columns};
use crate::{convert, document};

/// Locations that are handed over at a time.
const LOCATIONS_BATCH: usize = 10_000;

/// Where to look for what became of a commit.
const COMMITTED: &str = "once it has, `session.read_only` is True and `session.snapshot_id` the new snapshot, which \
                         `repository.ancestry(branch=...)` shows";

/// A session, and the repository that it belongs to.
#[pyclass(frozen, module = "icefield._native")]
pub(crate) struct Session(Own<(icefield::Repository, icefield::Session)>);

impl Session {
    pub(crate) fn new(repository: icefield::Repository, session: icefield::Session) -> Self {
        Self(Own::new((repository, session)))
    }

    /// A handle of the session itself.
    ///
    /// # Errors
    /// `forked`, if a parent of this process opened it.
    pub(crate) fn handle(&self) -> Result<icefield::Session, Failure> {
        Ok(self.0.get()?.1.clone())
    }

    /// The repository that it belongs to.
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
    /// If the repository is of a version that has no such thing.
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

/// What the reference implementation says of a target where something else means another error.
fn of_move(error: SessionError) -> Failure {
    match error {
        SessionError::PathTaken { .. } => Failure::of("move-wont-overwrite", &error),
        SessionError::ParentIsArray { .. } => {
            Failure::of("move-destination-parent-not-group", &error)
        }
        error => error.into(),
    }
}

/// What is to be committed, and how.
struct Committing {
    message: String,
    metadata: std::collections::BTreeMap<String, serde_json::Value>,
    solver: Option<Solver>,
    tries: usize,
    allow_empty: bool,
}

impl Committing {
    async fn run(self, session: icefield::Session) -> Result<String, Failure> {
        let mut commit = session.commit(self.message);
        for (name, value) in self.metadata {
            commit = commit.metadata(name, value);
        }
        if self.allow_empty {
            commit = commit.allow_empty();
        }
        if let Some(solver) = self.solver {
            // So many times rebase and commit again; the first commit does not count.
            commit = commit
                .rebase_with(solver)
                .tries(self.tries.saturating_add(1));
        }
        settled(commit.await?)
    }
}

/// What is to be amended, and how.
struct Amending {
    message: String,
    metadata: std::collections::BTreeMap<String, serde_json::Value>,
    allow_empty: bool,
}

impl Amending {
    async fn run(self, session: icefield::Session) -> Result<String, Failure> {
        let mut amend = session.amend(self.message);
        for (name, value) in self.metadata {
            amend = amend.metadata(name, value);
        }
        if self.allow_empty {
            amend = amend.allow_empty();
        }
        settled(amend.await?)
    }
}

fn settled(outcome: CommitOutcome) -> Result<String, Failure> {
    match outcome {
        CommitOutcome::Committed(id) => Ok(id.to_string()),
        outcome => Err(Failure::of_commit(outcome)),
    }
}

#[pymethods]
impl Session {
    // Each may wait for somebody who writes a million rows: never with the interpreter's lock.

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

    /// The branch that the session can be committed to.
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

    /// The configuration in force.
    fn config(&self) -> PyResult<String> {
        let (repository, _) = self.0.get()?;
        Ok(document::config_to_json(&repository.config())?)
    }

    fn status(&self, py: Python<'_>) -> PyResult<Task> {
        let session = self.handle()?;
        begin_near(py, async move { Ok(DiffRow(session.status().await?)) })
    }

    /// Gives a node another path, which the log names as a move.
    fn move_node(&self, py: Python<'_>, from_: &str, to: &str) -> PyResult<Task> {
        let (from, to) = (convert::path(from_)?, convert::path(to)?);
        self.check_version("moving nodes")?;
        let session = self.handle()?;
        begin_to_the_end(py, async move {
            let moved = session.move_node(&from, &to).await;
            moved.map_err(of_move)
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
        let committing = Committing {
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

    /// Puts a new snapshot in the place of the one that the session is based on.
    fn amend(
        &self,
        py: Python<'_>,
        message: String,
        metadata: Option<&str>,
        allow_empty: bool,
    ) -> PyResult<Task> {
        self.check_version("amending a commit")?;
        let session = self.check_commit()?;
        let amending = Amending {
            message,
            metadata: convert::metadata(metadata)?,
            allow_empty,
        };
        let amended = begin_lasting(py, "The amended commit", COMMITTED, amending.run(session));
        convert::release();
        amended
    }

    /// Finds out what became of a commit whose outcome is unknown, and brings it to its end.
    fn resolve(&self, py: Python<'_>) -> PyResult<Task> {
        let session = self.handle()?;
        begin_lasting(py, "The commit", COMMITTED, async move {
            settled(session.resolve().await?)
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

    fn merge(&self, py: Python<'_>, returned: Vec<Given>) -> PyResult<Task> {
        let session = self.handle()?;
        let returned = returned.into_iter().map(Given::held);
        let returned = returned.collect::<Result<Vec<_>, _>>()?;
        begin(py, async move {
            // Equal chunks are one chunk; of different ones nobody knows which was meant.
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
            let moved: Moved = reindex::run(session, path, forward, backward).await?;
            Ok(moved)
        })
    }

    fn virtual_locations(&self, py: Python<'_>) -> PyResult<Stream> {
        let (repository, session) = self.0.get()?.clone();
        // All nodes are listed first.
        let locations = py.detach(|| virtual_refs::locations(repository, session));
        Ok(stream(locations, LOCATIONS_BATCH))
    }

    fn chunk_coordinates(&self, py: Python<'_>, path: &str, batch: usize) -> PyResult<Stream> {
        let path = convert::path(path)?;
        let session = self.handle()?;
        // What is pending is sorted first.
        let coordinates = py.detach(|| virtual_refs::coordinates(session, path));
        Ok(stream(coordinates, batch))
    }

    fn chunk_type(&self, py: Python<'_>, path: &str, index: Vec<i64>) -> PyResult<Task> {
        let path = convert::path(path)?;
        let session = self.handle()?;
        // A number that no chunk can have.
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
