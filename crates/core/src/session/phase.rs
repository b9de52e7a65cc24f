//! The phases of a session: which edits it takes, and what became of its commit.

use icefield_format::SnapshotId;
use icefield_refs::Tip;

use crate::SessionError;

/// Where a session stands in its life.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    ReadOnly,
    Open {
        tip: Tip,
    },
    /// Writable, and on no branch: it can be flushed or merged back, not committed.
    Detached,
    Committing {
        tip: Option<Tip>,
    },
    Unresolved {
        tip: Tip,
        snapshot: SnapshotId,
        publication: Publication,
    },
    Committed {
        snapshot: SnapshotId,
    },
}

/// How a new snapshot becomes the tip of its branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Publication {
    /// As a child of the tip.
    Commit,
    /// In the place of the tip, as a child of its parent.
    Amend,
}

impl Phase {
    pub(super) fn check_writable(&self) -> Result<(), SessionError> {
        match self {
            Self::Open { .. } | Self::Detached => Ok(()),
            Self::ReadOnly => Err(SessionError::ReadOnly),
            Self::Committing { .. } => Err(SessionError::CommitInProgress),
            Self::Unresolved { snapshot, .. } => Err(SessionError::Unresolved(*snapshot)),
            Self::Committed { snapshot } => Err(SessionError::Committed(*snapshot)),
        }
    }

    /// As [`Phase::check_writable`], for a write that began in time: a commit waits for it, so it belongs to
    /// that commit.
    pub(super) fn check_in_flight(&self) -> Result<(), SessionError> {
        match self {
            Self::Committing { .. } => Ok(()),
            other => other.check_writable(),
        }
    }
}
