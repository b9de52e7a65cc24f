//! One change of a window as one commit, tried again on top of whatever others commit meanwhile.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use icefield_core::{
    BasicSolver, BranchName, CommitOutcome, NodePath, RebaseOutcome, Repository, Session,
    SnapshotId, VersionSelection,
};

use crate::coverage::{cover, is_anything_said};
use crate::dimension::Dimension;
use crate::error::BoxError;
use crate::keys::{Keyed, Keys, ROLLS};
use crate::stage::{Method, Options, Staged, check, stage};
use crate::unwritten::unwritten;
use crate::{Change, RollingError, Window};

/// How often a change begins anew, unless the caller says otherwise.
const DEFAULT_TRIES: usize = 20;
/// How often one try is put on top of other commits.
const REBASES: usize = 1000;

/// The outcome of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rolled {
    /// The change is committed.
    Committed {
        /// The snapshot.
        snapshot: SnapshotId,
        /// The window of the dimension in it.
        window: Window,
    },
    /// A commit with the same key has made it before.
    AlreadyThere {
        /// That commit's snapshot.
        snapshot: SnapshotId,
    },
}

/// A change of a window that is being described: set its options, then call [`Rolling::change`] or [`Rolling::run`].
///
/// ```
/// use std::sync::Arc;
/// use icefield_core::{BranchName, NodePath, Repository, WriteMode};
/// use icefield_rolling::{Change, Rolled, Rolling};
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
/// # let session = repository.write_session(BranchName::main()).await?;
/// # let document = r#"{"zarr_format": 3, "node_type": "array", "shape": [4], "dimension_names": ["time"],
/// #     "data_type": "int8", "fill_value": 0,
/// #     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
/// #     "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}]}"#;
/// # session.set_metadata(&NodePath::parse("/depth")?, document.into(), WriteMode::Overwrite).await?;
/// # let _ = session.commit("four steps").await?;
/// // Two steps come in, and the two oldest are removed.
/// let rolling = Rolling::new(&repository, BranchName::main(), "time");
/// let Rolled::Committed { window, .. } = rolling.change(&Change::roll(2)).await? else {
///     panic!("the change has no key");
/// };
/// assert_eq!((window.first(), window.end()), (2, 6));
/// # Ok(())
/// # }
/// ```
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
    /// Returns a change of a dimension of all arrays at the tip of a branch that have it.
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

    /// Limits the change to arrays at and below this group.
    pub fn below(mut self, group: NodePath) -> Self {
        self.group = group;
        self
    }

    /// Sets the options of the change.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Sets the message of the commit.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Names the change: one with the same key that the branch has already, among its newest 64 with keys, is not made again.
    /// The new window makes a good key, the reference time of a forecast, for one. A key that was given to another change is
    /// an error, as far as [`Rolling::change`] and [`Rolling::run`] can tell; [`Rolling::begin`] knows of the dimension and the
    /// group alone.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Refuses to commit a window if chunks that came in are not written.
    pub fn complete(mut self) -> Self {
        self.complete = true;
        self
    }

    /// Sets the number of attempts of the change, at least one; another attempt follows when another commit moves the
    /// window first. Default 20.
    pub fn tries(mut self, tries: usize) -> Self {
        self.tries = tries.max(1);
        self
    }

    /// Changes the window. Chunks that come in stay unwritten, and read as the fill value.
    ///
    /// # Errors
    /// [`RollingError`]. Nothing was committed.
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
        Err(self.lost())
    }

    /// Changes the window, and lets `fill` write the chunks that come in, to the session that is committed then. `fill`
    /// is called again if another commit moved the window first.
    ///
    /// # Errors
    /// [`RollingError`]. Nothing was committed.
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
        Err(self.lost())
    }

    fn lost(&self) -> RollingError {
        RollingError::LostRaces {
            dimension: self.dimension.clone(),
            tries: self.tries,
        }
    }

    async fn begin_with(
        &self,
        change: &Change,
    ) -> Result<Result<(Box<Attempt>, Staged), Rolled>, RollingError> {
        let attempt = match self.begin_if_new(Some(change)).await? {
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
        self.begin_if_new(None).await
    }

    async fn begin_if_new(&self, change: Option<&Change>) -> Result<Begun, RollingError> {
        // The history that the commit will have, and not a moment's before or after it.
        let session = self.repository.write_session(self.branch.clone()).await?;
        let keys = match &self.key {
            None => Keys::default(),
            Some(_) => Keys::of(&self.repository, session.snapshot_id()?).await?,
        };
        if let Some((made, snapshot)) = self.key.as_ref().and_then(|key| keys.find(key)) {
            let is_other = made.dimension != self.dimension
                || made.group != self.group
                || change.is_some_and(|it| it.to_string() != made.change);
            let snapshot = *snapshot;
            return match is_other {
                false => Ok(Begun::AlreadyThere { snapshot }),
                true => Err(RollingError::KeyTaken {
                    key: made.key.clone(),
                    snapshot,
                    change: made.change.clone(),
                    dimension: made.dimension.clone(),
                    group: made.group.clone(),
                }),
            };
        }
        Ok(Begun::Open(Box::new(Attempt {
            before: self.documents(&session)?,
            keys,
            change: Mutex::default(),
            rolling: self.clone(),
            session,
        })))
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

/// The outcome of beginning a change.
#[derive(Debug)]
pub enum Begun {
    /// A session to put the change into.
    Open(Box<Attempt>),
    /// A commit with the same key has made it before.
    AlreadyThere {
        /// That commit's snapshot.
        snapshot: SnapshotId,
    },
}

/// One attempt to change a window.
#[derive(Debug)]
pub struct Attempt {
    rolling: Rolling,
    session: Session,
    /// The documents of the arrays as it found them.
    before: BTreeMap<NodePath, Bytes>,
    /// The changes with keys in the history that it found.
    keys: Keys,
    /// The change that was put into the session, in words.
    change: Mutex<Option<String>>,
}

impl Attempt {
    /// Returns the session that will be committed.
    pub fn session(&self) -> &Session {
        &self.session
    }

    fn change_lock(&self) -> MutexGuard<'_, Option<String>> {
        self.change.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a change into the session.
    ///
    /// # Errors
    /// As [`stage`].
    pub async fn stage(&self, change: &Change) -> Result<Staged, RollingError> {
        let rolling = &self.rolling;
        let (group, dimension) = (&rolling.group, &rolling.dimension);
        let staged = stage(&self.session, group, dimension, change, rolling.options).await?;
        *self.change_lock() = Some(change.to_string());
        Ok(staged)
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

    /// Checks the window and commits it, on top of other commits that do not touch it. `None` if one does: begin again.
    ///
    /// # Errors
    /// [`RollingError::Labels`], [`RollingError::Unwritten`], [`RollingError::Unknown`] and others. Nothing was
    /// committed, except that this is not known after `Unknown`.
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
        let keyed = rolling.key.as_ref().map(|key| Keyed {
            key: key.clone(),
            dimension: rolling.dimension.clone(),
            group: rolling.group.clone(),
            change: self.change_lock().clone().unwrap_or_default(),
        });
        let mut keys = self.keys.clone();
        for lost in 0..REBASES {
            let mut commit = session.commit(&message);
            if let Some(keyed) = &keyed {
                commit = commit.metadata(ROLLS, keys.with(keyed));
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
            // Before the branch is looked at again: a pause behind that would only make the next race a lost one.
            if lost > 0 {
                session.back_off(lost).await;
            }
            // Another commit that changed the window may be the same change: begin anew, and look.
            let solver = BasicSolver::of(VersionSelection::Fail);
            match session.rebase(&solver).await? {
                RebaseOutcome::Rebased { onto, .. } => {
                    let tip = rolling.repository.read_session(onto).await?;
                    if rolling.documents(&tip).ok().as_ref() != Some(&self.before) {
                        return Ok(None);
                    }
                    if let Some(keyed) = &keyed {
                        // Windows of other dimensions may have moved meanwhile, under keys of theirs.
                        keys = Keys::of(&rolling.repository, onto).await?;
                        if keys.find(&keyed.key).is_some() {
                            return Ok(None);
                        }
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
