//! One change of a window as one commit, tried again on top of whatever others commit meanwhile.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::TryStreamExt;
use icefield_core::{
    BasicSolver, BranchName, CommitOutcome, NodePath, RebaseOutcome, Repository, RepositoryError,
    Session, SnapshotId, VersionSelection,
};

use crate::coverage::{cover, is_anything_said};
use crate::dimension::Dimension;
use crate::error::BoxError;
use crate::slots::unwritten;
use crate::stage::{Method, Options, Staged, check, stage};
use crate::{Change, RollingError, Window};

/// The property of a snapshot that holds the key of the change that it made.
pub const ROLL_KEY: &str = "icefield.roll-key";

/// Commits that are looked through for a key.
const REMEMBERED: usize = 1000;
/// How often a change begins anew, unless the caller says otherwise.
const DEFAULT_TRIES: usize = 20;
/// How often one try is put on top of other commits.
const REBASES: usize = 1000;

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rolled {
    /// It is committed.
    Committed {
        /// The snapshot.
        snapshot: SnapshotId,
        /// What the dimension shows in it.
        window: Window,
    },
    /// A commit with the same key has made it before.
    AlreadyThere {
        /// That commit's snapshot.
        snapshot: SnapshotId,
    },
}

/// A change of a window that is being described: set what it needs, then [`Rolling::change`] or [`Rolling::run`] it.
#[derive(Clone, Debug)]
#[must_use = "nothing moves before it is run"]
pub struct Rolling {
    repository: Repository,
    branch: BranchName,
    dimension: String,
    group: NodePath,
    options: Options,
    message: Option<String>,
    key: Option<String>,
    complete: bool,
    tries: usize,
}

impl Rolling {
    /// Begins with a dimension of all arrays of a branch that have it.
    pub fn new(repository: &Repository, branch: BranchName, dimension: impl Into<String>) -> Self {
        Self {
            repository: repository.clone(),
            branch,
            dimension: dimension.into(),
            group: NodePath::root(),
            options: Options::default(),
            message: None,
            key: None,
            complete: false,
            tries: DEFAULT_TRIES,
        }
    }

    /// Moves the arrays at and below this group only.
    pub fn below(mut self, group: NodePath) -> Self {
        self.group = group;
        self
    }

    /// Sets how the change is carried out.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Sets the message of the commit.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Names the change: one with the same key that is in the history of the branch already, among its newest 1000 commits,
    /// is not made again. The new window makes a good key, the reference time of a forecast, for one.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Refuses to commit a window of which chunks that came in are not written.
    pub fn complete(mut self) -> Self {
        self.complete = true;
        self
    }

    /// Sets how often the change begins anew when others move the window first; at least once.
    pub fn tries(mut self, tries: usize) -> Self {
        self.tries = tries.max(1);
        self
    }

    /// Changes the window, and leaves what comes in unwritten.
    ///
    /// # Errors
    /// [`RollingError`].
    pub async fn change(&self, change: &Change) -> Result<Rolled, RollingError> {
        for _ in 0..self.tries {
            match self.begin_with(change).await? {
                Err(done) => return Ok(done),
                Ok((attempt, staged)) => {
                    if let Some(rolled) = attempt.commit(&staged).await? {
                        return Ok(rolled);
                    }
                }
            }
        }
        Err(RollingError::LostRaces { tries: self.tries })
    }

    /// Changes the window, and has `fill` write what comes in, to the session that is committed then. `fill` is called
    /// again where another commit moved the window first.
    ///
    /// # Errors
    /// [`RollingError`].
    pub async fn run(
        &self,
        change: &Change,
        fill: impl AsyncFn(&Session, &Staged) -> Result<(), BoxError>,
    ) -> Result<Rolled, RollingError> {
        for _ in 0..self.tries {
            match self.begin_with(change).await? {
                Err(done) => return Ok(done),
                Ok((attempt, staged)) => {
                    let filled = fill(&attempt.session, &staged).await;
                    filled.map_err(RollingError::Fill)?;
                    if let Some(rolled) = attempt.commit(&staged).await? {
                        return Ok(rolled);
                    }
                }
            }
        }
        Err(RollingError::LostRaces { tries: self.tries })
    }

    async fn begin_with(
        &self,
        change: &Change,
    ) -> Result<Result<(Attempt, Staged), Rolled>, RollingError> {
        let attempt = match self.begin().await? {
            Begun::Open(attempt) => attempt,
            Begun::AlreadyThere { snapshot } => return Ok(Err(Rolled::AlreadyThere { snapshot })),
        };
        let staged = attempt.stage(change).await?;
        Ok(Ok((attempt, staged)))
    }

    /// Begins a change by hand: put it into the session of the attempt, commit that, and begin again where
    /// [`Attempt::commit`] says so. [`Rolling::change`] and [`Rolling::run`] do it.
    ///
    /// # Errors
    /// [`RollingError`].
    pub async fn begin(&self) -> Result<Begun, RollingError> {
        if let Some(snapshot) = self.done_before().await? {
            return Ok(Begun::AlreadyThere { snapshot });
        }
        let session = self.repository.write_session(self.branch.clone()).await?;
        Ok(Begun::Open(Attempt {
            before: self.documents(&session)?,
            rolling: self.clone(),
            session,
        }))
    }

    /// The documents of all arrays that have the dimension.
    fn documents(&self, session: &Session) -> Result<BTreeMap<NodePath, Bytes>, RollingError> {
        let dimension = Dimension::of(session, &self.group, &self.dimension)?;
        let documents = dimension
            .members
            .into_iter()
            .map(|it| (it.path, it.document));
        Ok(documents.collect())
    }

    async fn done_before(&self) -> Result<Option<SnapshotId>, RollingError> {
        let Some(key) = &self.key else {
            return Ok(None);
        };
        let session = self.repository.read_session(self.branch.clone()).await?;
        let mut ancestry = self.repository.ancestry(session.snapshot_id()?);
        let mut seen = 0;
        while seen < REMEMBERED
            && let Some(info) = ancestry.try_next().await.map_err(RepositoryError::from)?
        {
            if info.metadata.get(ROLL_KEY).and_then(|it| it.as_str()) == Some(key) {
                return Ok(Some(info.id));
            }
            seen += 1;
        }
        Ok(None)
    }

    fn said(&self, staged: &Staged) -> String {
        let window = &staged.window;
        let what = match self.options.method {
            Method::Shift => "window of",
            Method::Absolute => "absolute window of",
        };
        format!(
            "{what} {}: {} to {}",
            self.dimension,
            window.first(),
            window.end()
        )
    }
}

/// What became of the beginning of a change.
#[derive(Debug)]
pub enum Begun {
    /// Here is a session to put it into.
    Open(Attempt),
    /// A commit with the same key has made it before.
    AlreadyThere {
        /// That commit's snapshot.
        snapshot: SnapshotId,
    },
}

/// One try to change a window.
#[derive(Debug)]
pub struct Attempt {
    rolling: Rolling,
    session: Session,
    /// The documents of the arrays as it found them.
    before: BTreeMap<NodePath, Bytes>,
}

impl Attempt {
    /// Returns the session that will be committed.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Puts a change into the session.
    ///
    /// # Errors
    /// As [`stage`].
    pub async fn stage(&self, change: &Change) -> Result<Staged, RollingError> {
        let rolling = &self.rolling;
        let (group, dimension) = (&rolling.group, &rolling.dimension);
        stage(&self.session, group, dimension, change, rolling.options).await
    }

    /// Has what says where the window begins and ends follow it.
    async fn cover(&self) -> Result<(), RollingError> {
        let (rolling, session) = (&self.rolling, &self.session);
        if !is_anything_said(session, &rolling.group)? {
            return Ok(());
        }
        let before = rolling
            .repository
            .read_session(session.snapshot_id()?)
            .await?;
        let (group, options) = (&rolling.group, rolling.options);
        cover(&before, session, group, &rolling.dimension, options).await
    }

    /// Checks the window and commits it, on top of whatever does not touch it. `None` if something did: begin again.
    ///
    /// # Errors
    /// [`RollingError::Labels`], [`RollingError::Unwritten`], [`RollingError::Unknown`] and others.
    pub async fn commit(&self, staged: &Staged) -> Result<Option<Rolled>, RollingError> {
        let (rolling, session) = (&self.rolling, &self.session);
        check(session, &rolling.group, &rolling.dimension).await?;
        self.cover().await?;
        if rolling.complete && !staged.new.is_empty() {
            let new = Some(staged.new.clone());
            let slots = unwritten(session, &rolling.group, &rolling.dimension, new).await?;
            if !slots.is_complete() {
                return Err(RollingError::Unwritten(slots));
            }
        }
        let message = rolling
            .message
            .clone()
            .unwrap_or_else(|| rolling.said(staged));
        for _ in 0..REBASES {
            let mut commit = session.commit(&message);
            if let Some(key) = &rolling.key {
                commit = commit.metadata(ROLL_KEY, key.as_str());
            }
            match commit.await? {
                CommitOutcome::Committed(snapshot) => {
                    return Ok(Some(Rolled::Committed {
                        snapshot,
                        window: staged.window.clone(),
                    }));
                }
                CommitOutcome::BranchMoved { .. } => {}
                CommitOutcome::Unknown { snapshot, source } => {
                    return Err(RollingError::Unknown {
                        snapshot,
                        source: source.into(),
                    });
                }
                _ => return Ok(None),
            }
            // Whoever else has changed the window may have meant the same change: begin anew, and look.
            let solver = BasicSolver::of(VersionSelection::Fail);
            match session.rebase(&solver).await? {
                RebaseOutcome::Rebased { onto, .. } => {
                    let tip = rolling.repository.read_session(onto).await?;
                    if rolling.documents(&tip).ok().as_ref() != Some(&self.before) {
                        return Ok(None);
                    }
                }
                RebaseOutcome::Conflicts { .. } => return Ok(None),
                RebaseOutcome::BranchGone => {
                    let gone = rolling
                        .repository
                        .write_session(rolling.branch.clone())
                        .await;
                    return gone.map(|_| None).map_err(RollingError::from);
                }
            }
        }
        Ok(None)
    }
}
