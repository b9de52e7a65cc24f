//! Scenarios of crashes, and the stores on which they run.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use icefield_storage::Storage;
use icefield_storage::wrap::fault::{Decision, Delivery, When};

use crate::test_suite::Trial;
use crate::{Repository, RepositoryBuilder, Session, SnapshotId};

/// An operation of a user. After an error, no part of it may be done.
pub type Act = fn(Ground) -> BoxFuture<'static, Result<(), ReportedOutcome>>;

/// One thing that happens wholly or not at all.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Does it.
    pub act: Act,
    /// Does it, if a user finds it not done, or not quite.
    pub again: Act,
}

impl Step {
    /// Returns a step that is done again as it was tried the first time.
    pub const fn new(act: Act) -> Self {
        Self { act, again: act }
    }
}

/// A scenario that is interrupted.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// Leads to where it begins; never interrupted.
    pub prepare: &'static [Act],
    /// The steps that are interrupted.
    pub steps: &'static [Step],
    /// The state after a part of the first step, where an interruption can leave one.
    pub partly: Option<Act>,
}

/// How an operation is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process dies.
    Stop(When),
    /// The caller loses patience and drops the future.
    Cancel(When),
    /// The task panics.
    Panic,
    /// The process goes on; only this operation goes wrong.
    Once(Decision),
}

impl Fault {
    /// The process dies at an operation: before its effect, after it, or with the effect still on its way.
    pub const STOPS: [Self; 3] = [
        Self::Stop(When::Before),
        Self::Stop(When::After),
        Self::Stop(When::Late),
    ];

    /// The caller drops the future at an operation.
    pub const CANCELS: [Self; 3] = [
        Self::Cancel(When::Before),
        Self::Cancel(When::After),
        Self::Cancel(When::Late),
    ];

    /// One operation goes wrong and the process lives to see it.
    pub const HICCUPS: [Self; 5] = [
        Self::Once(Decision::FailBefore),
        Self::Once(Decision::FailAfter),
        Self::Once(Decision::Twice),
        Self::Once(Decision::Late(Delivery::After(0))),
        Self::Once(Decision::Late(Delivery::OnDemand)),
    ];

    pub(super) fn decision(self) -> Decision {
        match self {
            Self::Stop(when) => Decision::Stop(when),
            Self::Cancel(when) => Decision::Cancel(when),
            Self::Panic => Decision::Panic,
            Self::Once(decision) => decision,
        }
    }

    /// Whether a write may reach the store after its process is gone.
    pub(super) fn is_late(self) -> bool {
        matches!(
            self,
            Self::Stop(When::Late)
                | Self::Cancel(When::Late)
                | Self::Once(Decision::Late(Delivery::OnDemand))
        )
    }
}

/// The outcome that a caller got, as text.
pub struct ReportedOutcome(String);

impl ReportedOutcome {
    /// Returns an outcome that is not the wanted one.
    pub fn outcome(outcome: &impl fmt::Debug) -> Self {
        Self(format!("{outcome:?}"))
    }
}

impl fmt::Debug for ReportedOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: std::error::Error> From<E> for ReportedOutcome {
    fn from(error: E) -> Self {
        Self(format!("{error:?}"))
    }
}

#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) steps: usize,
    pub(super) session: Option<Session>,
    pub(super) acknowledged: Vec<SnapshotId>,
}

/// Where a user acts: a store, perhaps one that fails, and a notebook that outlives the process.
#[derive(Clone, Debug)]
pub struct Ground {
    pub(super) trial: Trial,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) notes: Arc<Mutex<Notes>>,
}

impl Ground {
    pub(super) fn new(trial: &Trial, storage: &Arc<dyn Storage>) -> Self {
        Self {
            trial: trial.clone(),
            storage: Arc::clone(storage),
            notes: Arc::default(),
        }
    }

    /// The same ground for a process that reaches the store in another way.
    pub(super) fn through(&self, storage: Arc<dyn Storage>) -> Self {
        Self {
            storage,
            ..self.clone()
        }
    }

    /// Begins to open or create the repository.
    pub fn builder(&self) -> RepositoryBuilder {
        self.trial.builder(&self.storage)
    }

    /// Opens the repository, as a new process would.
    ///
    /// # Errors
    /// Opens the repository, and reports the outcome.
    pub async fn open(&self) -> Result<Repository, ReportedOutcome> {
        Ok(self.builder().open().await?)
    }

    /// Notes the session in use, to be looked at if it is interrupted.
    pub fn uses(&self, session: &Session) {
        self.notes().session = Some(session.clone());
    }

    /// Records a commit that was acknowledged.
    pub fn acknowledged(&self, id: SnapshotId) {
        self.notes().acknowledged.push(id);
    }

    pub(super) fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
