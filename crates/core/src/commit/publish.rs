//! The one dangerous moment: moving the branch.

use std::sync::Arc;

use icefield_format::SnapshotId;
use icefield_refs::{Edit, EditOutcome, Landed, Refusal, SnapshotInfo, Tip};
use icefield_storage::{PlantedBug, StorageError, planted};

use super::outcome::CommitOutcome;
use super::store::PreparedCommit;
use crate::session::{Base, Moment, Phase, Publication, Session};
use crate::{CommitError, SessionError};

/// Makes a prepared commit visible.
pub(super) async fn publish(
    session: &Session,
    prepared: &PreparedCommit,
    onto: (&Tip, Publication),
    guarded: &Moment,
) -> Result<CommitOutcome, CommitError> {
    let snapshot = prepared.snapshot().clone();
    // The objects below the snapshot must survive a loss of power before the ref can name it.
    if !planted(PlantedBug::PublishedBeforeSync) {
        session.shared().storage.sync().await?;
    }
    session.guard_again(guarded, snapshot.id).await?;
    move_branch(session, snapshot, onto).await
}

#[tracing::instrument(name = "commit.publish", level = "debug", skip_all, fields(snapshot = %info.id))]
async fn move_branch(
    session: &Session,
    info: SnapshotInfo,
    (tip, publication): (&Tip, Publication),
) -> Result<CommitOutcome, CommitError> {
    let (shared, snapshot) = (session.shared(), info.id);
    let branch = session.branch().ok_or(SessionError::ReadOnly)?;
    let moves_nodes = session.state()?.changes.moves().next().is_some();
    let (name, expected) = (branch.clone(), tip.clone());
    let info = Box::new(info);
    let edit = match publication {
        Publication::Commit => Edit::Commit {
            name,
            snapshot: info,
            moves_nodes,
            expected,
        },
        Publication::Amend => Edit::Amend {
            name,
            snapshot: info,
            moves_nodes,
            expected,
        },
    };
    let outcome = shared.ledger.apply(edit).await?;
    tracing::debug!(?outcome, "the branch was asked to move");
    match outcome {
        EditOutcome::Done(_) => {
            advance_session(session, snapshot).await;
            Ok(CommitOutcome::Committed(snapshot))
        }
        EditOutcome::Refused(Refusal::Upgraded) => Err(CommitError::Upgraded),
        EditOutcome::Refused(refusal) => {
            shared.note_lost_race(branch);
            Ok(moved(tip, &refusal))
        }
        EditOutcome::Unknown(source) => Ok(CommitOutcome::Unknown { snapshot, source }),
    }
}

fn moved(tip: &Tip, refusal: &Refusal) -> CommitOutcome {
    CommitOutcome::BranchMoved {
        expected: tip.snapshot,
        found: match refusal {
            Refusal::BranchMoved { found } => Some(*found),
            _ => None,
        },
    }
}

/// Puts the session onto its new snapshot, as far as it can be read back. A commit that is published stays so
/// whatever fails here.
pub(super) async fn advance_session(session: &Session, snapshot: SnapshotId) {
    let decoded = session.shared().objects.snapshot(snapshot).await;
    if let (Ok(decoded), Ok(mut state)) = (decoded, session.state_mut()) {
        state.base = Arc::new(Base::new(decoded));
        state.changes = Arc::default();
        state.relocations = Arc::default();
        state.phase = Phase::Committed { snapshot };
    }
}

/// Settles a commit whose outcome was unknown.
pub(super) async fn resolve(
    session: &Session,
    snapshot: SnapshotId,
    onto: (&Tip, Publication),
) -> Result<CommitOutcome, CommitError> {
    let (tip, _) = onto;
    if let Some(outcome) = find_landed(session, snapshot, tip).await? {
        return Ok(outcome);
    }
    if let Some(collection) = session.last_collection().await? {
        session.note_collection(&collection);
    }
    // Its objects may have waited for long.
    session.guard(Some(snapshot)).await?;
    // The attempt may have been stopped before it made its objects durable.
    session.shared().storage.sync().await?;
    let info = session
        .shared()
        .ledger
        .as_child(snapshot, tip.snapshot)
        .await;
    let outcome = move_branch(session, info.map_err(SessionError::from)?, onto).await?;
    if let CommitOutcome::BranchMoved { .. } = outcome {
        // The first attempt, arriving late, may be the one that refused this attempt.
        let looked = find_landed(session, snapshot, tip).await?;
        return Ok(looked.unwrap_or_else(|| CommitOutcome::Unknown {
            snapshot,
            // The first one may still arrive.
            source: StorageError::Failed {
                action: "second attempt to move",
                target: session
                    .branch()
                    .map(ToString::to_string)
                    .unwrap_or_default(),
                source: "it was refused, and the branch is where it was".into(),
            },
        }));
    }
    Ok(outcome)
}

/// Looks whether a commit has landed; `None` if it may still.
async fn find_landed(
    session: &Session,
    snapshot: SnapshotId,
    tip: &Tip,
) -> Result<Option<CommitOutcome>, CommitError> {
    let shared = session.shared();
    let branch = session.branch().ok_or(SessionError::ReadOnly)?;
    Ok(match shared.ledger.landed(branch, snapshot, tip).await? {
        Landed::Yes => {
            // It was the answer to this that may have been lost.
            shared.storage.sync().await?;
            advance_session(session, snapshot).await;
            Some(CommitOutcome::Committed(snapshot))
        }
        Landed::Never(refusal) => Some(moved(tip, &refusal)),
        Landed::Untraceable(_) => {
            let base = tip.snapshot;
            return Err(SessionError::Untraceable { snapshot, base }.into());
        }
        Landed::NotYet => None,
    })
}

/// Where a session stands after an attempt to publish; `None`: open, where it was.
pub(super) fn phase_after(
    outcome: &CommitOutcome,
    (tip, publication): (&Tip, Publication),
) -> Option<Phase> {
    match outcome {
        CommitOutcome::Committed(snapshot) => Some(Phase::Committed {
            snapshot: *snapshot,
        }),
        CommitOutcome::BranchMoved { .. } | CommitOutcome::Conflicts { .. } => None,
        CommitOutcome::Unknown { .. } if planted(PlantedBug::OpenAfterUnknown) => None,
        CommitOutcome::Unknown { snapshot, .. } => Some(Phase::Unresolved {
            tip: tip.clone(),
            snapshot: *snapshot,
            publication,
        }),
    }
}
