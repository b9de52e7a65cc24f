//! Applying edits, and finding out what became of those whose reply was lost.

use std::pin::pin;

use futures::TryStreamExt;
use icefield_format::{SnapshotId, encode_ref, layout};
use icefield_storage::{Key, PlantedBug, PutMode, StorageExt, planted};

use crate::ledger::Layout;
use crate::ref_files::RefFiles;
use crate::spec_v2;
use crate::walk::{Pace, ancestors};
use crate::{BranchName, Edit, EditOutcome, Ledger, RefsError, Refusal, Tip};

impl Ledger {
    /// Applies one edit. The snapshots that it points to must be stored already: a reader that sees the edit reads them
    /// at once.
    ///
    /// After a lost reply, the edit is looked for in the ref and, if another commit has landed on top of it, in the
    /// history of the branch, before its outcome is called unknown.
    ///
    /// # Errors
    /// Nothing was changed:
    /// - [`RefsError::NoConditions`]: the store cannot decide which of two writers was first.
    /// - [`RefsError::MainIsPermanent`], [`RefsError::NotOnline`], [`RefsError::FeatureDisabled`]: the repository
    ///   forbids it.
    /// - [`RefsError::Pinned`]: this handle reads a past state.
    /// - [`RefsError::Config`], [`RefsError::Fetch`], [`RefsError::Storage`]: an object cannot be read or encoded.
    ///
    /// [`RefsError::Upgraded`] is different: the file that a handle of version 1 wrote lies beside `repo`, and
    /// `icefield upgrade` takes it over.
    pub async fn apply(&self, edit: Edit) -> Result<EditOutcome, RefsError> {
        tracing::debug!(?edit, "apply");
        match &self.layout {
            Layout::V1(files) => self.apply_to_files(files, edit).await,
            Layout::V2(object) if !object.storage().capabilities().safe_commits() => {
                Err(RefsError::NoConditions {
                    location: object.storage().to_string(),
                })
            }
            Layout::V2(object) if object.is_pinned() => Err(RefsError::Pinned),
            Layout::V2(object) => object.apply(edit).await,
        }
    }

    /// Prepares an edit that replaces a tip, so that the edit takes one round of requests less. Readers do not see it;
    /// if the edit never comes, it leaves garbage.
    pub async fn prepare(&self, name: &BranchName, expected: &Tip) {
        match &self.layout {
            Layout::V1(_) => {}
            Layout::V2(object) => object.back_up_ahead(name, expected).await,
        }
    }

    async fn apply_to_files(&self, files: &RefFiles, edit: Edit) -> Result<EditOutcome, RefsError> {
        match edit {
            Edit::CreateBranch { name, target } => files.create_branch(&name, target).await,
            Edit::Commit {
                name,
                snapshot,
                moves_nodes: _,
                expected,
            } => {
                let target = snapshot.id;
                let file = encode_ref(target);
                let outcome = files.move_branch(&name, target, file, &expected);
                let outcome = outcome.await?;
                self.settle(files, &name, target, &expected, outcome, Move::Commit)
                    .await
            }
            Edit::Reset {
                name,
                target,
                expected,
            } => {
                let file = files.reset_file(target, &expected);
                let outcome = files.move_branch(&name, target, file, &expected);
                let outcome = outcome.await?;
                self.settle(files, &name, target, &expected, outcome, Move::Reset)
                    .await
            }
            Edit::DeleteBranch { name, .. } if name.is_main() => Err(RefsError::MainIsPermanent),
            Edit::DeleteBranch { name, expected } => files.delete_branch(&name, &expected).await,
            Edit::CreateTag { name, target } => files.create_tag(&name, target).await,
            Edit::DeleteTag { name } => files.delete_tag(&name).await,
            Edit::Reparent {
                snapshot,
                expected,
                parent,
            } => self.reparent(files, snapshot, expected, parent).await,
            Edit::SetConfig { config, expected } => {
                let bytes = config.encode();
                let bytes = bytes.map_err(RefsError::config_file)?;
                let mode = expected.map_or(PutMode::Create, PutMode::Update);
                files.write_config(bytes, mode).await
            }
            Edit::CarryOver(_) | Edit::EndUpgrade => Err(RefsError::OnlySpecV2 {
                edit: "the end of an upgrade",
            }),
            Edit::Amend { .. } => Err(RefsError::OnlySpecV2 { edit: "amend" }),
            Edit::Flush { .. } => Err(RefsError::OnlySpecV2 { edit: "flush" }),
            Edit::SetMetadata { .. } | Edit::UpdateMetadata { .. } => Err(RefsError::OnlySpecV2 {
                edit: "metadata of the repository",
            }),
            Edit::SetStatus { .. } => Err(RefsError::OnlySpecV2 { edit: "a status" }),
            Edit::SetFlag { .. } => Err(RefsError::OnlySpecV2 {
                edit: "a feature flag",
            }),
            Edit::Expire { .. } => Err(RefsError::OnlySpecV2 {
                edit: "expiration at once",
            }),
            Edit::Collect { .. } => Err(RefsError::OnlySpecV2 {
                edit: "collection of the graph",
            }),
            Edit::Receive(_) => Err(RefsError::OnlySpecV2 {
                edit: "refs of another repository at once",
            }),
        }
    }

    /// Decides a move of a branch that was unknown, or refused, by what the branch says now. A refusal may be
    /// the answer to a repetition, sent by a client below us, of a request that had landed: one that cannot be
    /// checked is unknown, whatever prevents the check.
    async fn settle(
        &self,
        files: &RefFiles,
        name: &BranchName,
        target: SnapshotId,
        expected: &Tip,
        outcome: EditOutcome,
        kind: Move,
    ) -> Result<EditOutcome, RefsError> {
        if let EditOutcome::Done(_) = outcome {
            return Ok(outcome);
        }
        if matches!(outcome, EditOutcome::Refused(_)) && planted(PlantedBug::RefusalBelieved) {
            return Ok(outcome);
        }
        if matches!(outcome, EditOutcome::Unknown(_)) && planted(PlantedBug::UnknownMoveRefused) {
            return Ok(EditOutcome::Refused(Refusal::BranchGone));
        }
        let traced = self.trace(name, target, expected).await;
        match (traced, outcome) {
            (Ok(Trace::Tip), _) => files.make_durable(EditOutcome::Done(None)).await,
            // A commit is in the history of what was built on it, and of nothing else.
            (Ok(Trace::Below(_)), _) if kind == Move::Commit => {
                files.make_durable(EditOutcome::Done(None)).await
            }
            (Ok(Trace::Never(refusal)), _)
            // A request that the store refused just now was not on its way for long enough to land and to expire.
            | (Ok(Trace::Lost(refusal)), EditOutcome::Refused(_)) => {
                Ok(EditOutcome::Refused(refusal))
            }
            // A reset leads to a snapshot that other histories have, too.
            (Ok(Trace::Below(refusal)), EditOutcome::Refused(_)) => {
                let source = format!("{refusal:?}, and its history has the target").into();
                Ok(EditOutcome::unchecked(format!("branch {name}"), source))
            }
            (Err(error), EditOutcome::Refused(_)) => Ok(EditOutcome::unchecked(format!("branch {name}"), error.into())),
            // Unknown as before. Refused where the branch is in the expected state: by the store, for a reason of its own.
            (Ok(Trace::Still | Trace::Lost(_) | Trace::Below(_)) | Err(_), outcome) => {
                Ok(outcome)
            }
        }
    }

    /// Finds out from the history whether the commit `target`, which was to replace the tip `expected`, has landed.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn landed(
        &self,
        name: &BranchName,
        target: SnapshotId,
        expected: &Tip,
    ) -> Result<Landed, RefsError> {
        Ok(match self.trace(name, target, expected).await? {
            Trace::Tip | Trace::Below(_) => Landed::Yes,
            Trace::Still => Landed::NotYet,
            Trace::Never(refusal) => Landed::Never(refusal),
            Trace::Lost(refusal) => Landed::Untraceable(refusal),
        })
    }

    /// Looks for the target of a move where the branch stands now.
    async fn trace(
        &self,
        name: &BranchName,
        target: SnapshotId,
        expected: &Tip,
    ) -> Result<Trace, RefsError> {
        let tip = match self.branch_of(name, expected).await {
            Err(RefsError::Upgraded) => None,
            tip => tip?,
        };
        let Some(tip) = tip else {
            return match &self.layout {
                Layout::V1(files) => trace_upgraded(files, name, target, expected).await,
                Layout::V2(_) => Ok(Trace::Lost(Refusal::BranchGone)),
            };
        };
        if let Layout::V2(object) = &self.layout
            && object.held_snapshot(target).is_some()
        {
            // The edit that lists it is the one that moves the branch.
            return Ok(Trace::Below(Refusal::BranchMoved {
                found: tip.snapshot,
            }));
        }
        if tip.version == expected.version {
            return Ok(Trace::Still);
        }
        if tip.snapshot == target {
            return Ok(Trace::Tip);
        }
        let found = tip.snapshot;
        let refusal = Refusal::BranchMoved { found };
        let pace = Pace::long().back_to(expected.snapshot);
        let mut history = pin!(ancestors(self.graph(), found, pace));
        // Without a bound: a commit under many later ones must not be called lost.
        while let Some(info) = history.try_next().await? {
            if info.id == target && !planted(PlantedBug::HistoryNotSearched) {
                return Ok(Trace::Below(refusal));
            }
            if info.id == expected.snapshot {
                // A commit would be a child of this one, and on the way. A reset would have led away from it.
                return Ok(Trace::Never(refusal));
            }
        }
        Ok(Trace::Lost(refusal))
    }
}

/// Looks for the target of a move in `repo`, for a branch whose file is gone: an upgrade removes a file only after `repo` has
/// what it says, and a move that comes later finds none to replace.
async fn trace_upgraded(
    files: &RefFiles,
    name: &BranchName,
    target: SnapshotId,
    expected: &Tip,
) -> Result<Trace, RefsError> {
    let repo = Key::parse(layout::REPO)?;
    let read = files
        .storage()
        .try_read_at_most(&repo, spec_v2::MAX_REPO_LEN);
    let Some((bytes, _)) = read.await? else {
        return Ok(Trace::Lost(Refusal::BranchGone));
    };
    let info = spec_v2::decode(&bytes)?;
    if info.snapshots().contains(&target) {
        return Ok(Trace::Below(Refusal::Upgraded));
    }
    let goes_on = info.branch(name.as_str()).is_some_and(|tip| {
        let mut history = info.snapshots().ancestry(&tip);
        history.any(|it| it.id() == expected.snapshot)
    });
    Ok(match goes_on {
        true => Trace::Never(Refusal::Upgraded),
        false => Trace::Lost(Refusal::Upgraded),
    })
}

/// The kinds of moves of a branch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Move {
    Commit,
    Reset,
}

/// Where the target of a move was found.
enum Trace {
    /// The branch is in the state that the move expects: the move may still come.
    Still,
    /// The branch points to it.
    Tip,
    /// It is in the history of the branch, above what it was to replace.
    Below(Refusal),
    /// The branch has gone on from what it was to replace, without it.
    Never(Refusal),
    /// The history has neither, or the branch is gone.
    Lost(Refusal),
}

/// The fate of a commit whose reply was lost, as the history tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landed {
    /// The commit landed.
    Yes,
    /// The commit has not landed, and still may: the branch is in the state that the commit expects.
    NotYet,
    /// It has not landed, and cannot any more: the branch has gone on from what the commit was based on without it.
    Never(Refusal),
    /// It cannot come any more, and nothing tells whether it had: the branch has neither the commit nor what that was
    /// based on. Both have expired, or the branch was reset or deleted.
    Untraceable(Refusal),
}
