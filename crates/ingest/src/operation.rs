//! Operations that take long: how they are bounded, watched, ended early and committed.

use icefield_core::{Commit, CommitError, CommitOutcome, Interrupt};

use crate::{ImportError, Progress};

/// Declares the methods that set the fields `limits`, `progress` and `interrupt` of an operation. The arguments are the type of its
/// errors, and until when it can be interrupted.
macro_rules! operation_methods {
    ($error:literal, $until:literal) => {
        /// Sets the bounds on the work that is under way at the same time.
        pub fn limits(mut self, limits: crate::Limits) -> Self {
            self.limits = limits;
            self
        }

        /// Sets the receiver of progress reports.
        pub fn progress(mut self, progress: std::sync::Arc<dyn crate::Progress>) -> Self {
            self.progress = progress;
            self
        }

        #[doc = concat!(
            "Ends early, as [`", $error, "::Interrupted`](crate::", $error, "::Interrupted), once `interrupt` is raised, as long as ",
            $until, "."
        )]
        pub fn interruptible(mut self, interrupt: &icefield_core::Interrupt) -> Self {
            self.interrupt = interrupt.clone();
            self
        }
    };
}
pub(crate) use operation_methods;

/// Commits the edits of an operation. Returns `None` if there are none.
pub(crate) async fn commit(
    commit: Commit,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Option<CommitOutcome>, ImportError> {
    progress.finishing();
    match commit.interruptible(interrupt).await {
        Err(CommitError::Interrupted(interrupted)) => Err(interrupted.into()),
        Err(CommitError::NothingToCommit) => Ok(None),
        commit => Ok(Some(commit?)),
    }
}
