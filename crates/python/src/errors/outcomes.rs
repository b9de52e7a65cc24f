//! Outcomes that are values in Rust and exceptions in Python: a concurrent writer was first, or the outcome is unknown.

use icefield::{
    CommitOutcome, Conflict, EditOutcome, MergeOutcome, RebaseOutcome, Refusal, SnapshotId,
};
use serde_json::{Value, json};

use super::{Failure, chain};

impl Failure {
    /// Returns the failure of a commit that did not land, or whose outcome is unknown.
    pub(crate) fn of_commit(outcome: CommitOutcome) -> Self {
        match outcome {
            CommitOutcome::Committed(id) => Self::new(
                "unknown",
                format!("commit {id} landed and is taken for a failure: this is a bug"),
            ),
            CommitOutcome::BranchMoved { expected, found } => {
                let now = match found {
                    Some(found) => format!("it points to {found} now"),
                    None => "it does not exist any more".to_owned(),
                };
                Self::new(
                    "commit-conflict",
                    format!(
                        "another commit was first: the branch was at {expected} when the session was opened, and \
                         {now}. Nothing was changed: rebase the session, or open a new one and write again"
                    ),
                )
                .with("expected_parent", expected.to_string())
                .with("actual_parent", text_of(found))
            }
            CommitOutcome::Conflicts {
                snapshot,
                conflicts,
            } => Self::of_conflicts(snapshot, &conflicts),
            CommitOutcome::Unknown { snapshot, source } => Self::new(
                "outcome-unknown",
                format!(
                    "it is not known whether the commit landed: look for snapshot {snapshot} in the history of the \
                     branch, and delete nothing before: {}",
                    chain(&source)
                ),
            )
            .with("snapshot", snapshot.to_string()),
            other => Self::unforeseen(&other),
        }
    }

    fn unforeseen(outcome: &dyn std::fmt::Debug) -> Self {
        Self::new(
            "unknown",
            format!("unforeseen outcome {outcome:?}: this is a bug"),
        )
    }

    /// Returns the failure of a rebase that did not end at the tip of the branch.
    pub(crate) fn of_rebase(outcome: RebaseOutcome) -> Self {
        match outcome {
            RebaseOutcome::Conflicts {
                snapshot,
                conflicts,
            } => Self::of_conflicts(snapshot, &conflicts),
            RebaseOutcome::BranchGone => Self::new(
                "ref-not-found",
                "the branch of the session was deleted meanwhile: the session is as before",
            ),
            RebaseOutcome::Rebased { onto, .. } => Self::new(
                "unknown",
                format!(
                    "the session was rebased onto {onto}, which is taken for a failure: this is a bug"
                ),
            ),
        }
    }

    /// Returns the failure of edits that conflict with a commit.
    pub(crate) fn of_conflicts(snapshot: SnapshotId, conflicts: &[Conflict]) -> Self {
        Self::new(
            "rebase-failed",
            format!(
                "the edits of the session collide with commit {snapshot} in {} (the first: {}): nothing was changed; \
                 give a solver that settles them, or write again in a new session",
                place_count(conflicts.len()),
                first(conflicts)
            ),
        )
        .with("snapshot", snapshot.to_string())
        .with("conflicts", documents(conflicts))
    }

    /// Returns the failure of forks that conflict.
    pub(crate) fn of_merge(outcome: MergeOutcome) -> Self {
        let conflicts = match outcome {
            MergeOutcome::Conflicts(conflicts) => conflicts,
            other => return Self::unforeseen(&other),
        };
        Self::new(
            "merge-failed",
            format!(
                "the forks collide with each other or with the session in {} (the first: {}): the session is as \
                 before; let each fork write chunks of its own",
                place_count(conflicts.len()),
                first(&conflicts)
            ),
        )
        .with("conflicts", documents(&conflicts))
    }

    /// Returns the failure of an edit of a ref that did not land, or whose outcome is unknown.
    pub(crate) fn of_edit(outcome: EditOutcome, name: &str) -> Self {
        let refusal = match outcome {
            EditOutcome::Refused(refusal) => refusal,
            EditOutcome::Unknown(source) => {
                return Self::new(
                    "outcome-unknown",
                    format!(
                        "it is not known whether {name} was changed: read it to find out: {}",
                        chain(&source)
                    ),
                );
            }
            EditOutcome::Done(_) => {
                return Self::new(
                    "unknown",
                    format!("{name} was changed, which is taken for a failure: this is a bug"),
                );
            }
        };
        match refusal {
            Refusal::BranchMoved { found } => Self::new(
                "branch-update-conflict",
                format!(
                    "another client moved {name}, which points to {found} now: nothing was changed; look at what \
                     is new, then decide again"
                ),
            )
            .with("actual_parent", found.to_string()),
            Refusal::BranchGone | Refusal::NotFound => Self::new(
                "ref-not-found",
                format!("{name} does not exist: list what there is, and check the name"),
            ),
            Refusal::Upgraded => Self::new(
                "unsupported-spec-version",
                format!(
                    "{name} was not changed: the repository was upgraded to spec version 2 since it was opened; open it again"
                ),
            ),
            Refusal::NameTaken => Self::new(
                "tag-previously-deleted",
                format!(
                    "{name} cannot be created: a tag of this name was deleted, and the name of a tag is never given \
                     again; choose another name"
                ),
            ),
            Refusal::AlreadyExists => Self::new(
                match name.starts_with("tag ") {
                    true => "tag-already-exists",
                    false => "branch-already-exists",
                },
                format!("{name} exists already: choose another name"),
            ),
            other => Self::new(
                "branch-update-conflict",
                format!("{name} is not as it was expected, and was not changed: {other:?}"),
            ),
        }
    }
}

fn text_of(snapshot: Option<SnapshotId>) -> Value {
    snapshot.map_or(Value::Null, |id| id.to_string().into())
}

fn place_count(count: usize) -> String {
    match count {
        1 => "one place".to_owned(),
        count => format!("{count} places"),
    }
}

fn first(conflicts: &[Conflict]) -> String {
    conflicts
        .first()
        .map_or_else(|| "none".to_owned(), ToString::to_string)
}

/// Returns the conflicts for Python. `type` is the number of the kind in the reference implementation, from one.
pub(crate) fn documents(conflicts: &[Conflict]) -> Value {
    conflicts
        .iter()
        .map(|conflict| {
            let chunks = conflict.chunks().map(|chunks| {
                let chunks = chunks.iter();
                chunks
                    .map(|index| Value::from(index.to_vec()))
                    .collect::<Vec<_>>()
            });
            json!({
                "type": number(conflict),
                "path": conflict.path().as_str(),
                "chunks": chunks,
            })
        })
        .collect()
}

/// Returns the number of a kind of conflict. The reference implementation does not detect two of the kinds, which have the number
/// of the most similar one.
fn number(conflict: &Conflict) -> u8 {
    match conflict {
        Conflict::NewNodeConflictsWithExistingNode { .. } => 1,
        Conflict::NewNodeInInvalidGroup { .. } | Conflict::NewNodeInDeletedGroup { .. } => 2,
        Conflict::ZarrMetadataDoubleUpdate { .. } => 3,
        Conflict::ZarrMetadataUpdateOfDeletedArray { .. } => 4,
        Conflict::ZarrMetadataUpdateOfDeletedGroup { .. } => 5,
        Conflict::ChunkDoubleUpdate { .. } => 6,
        Conflict::ChunksUpdatedInDeletedArray { .. } => 7,
        Conflict::ChunksUpdatedInUpdatedArray { .. }
        | Conflict::ZarrMetadataUpdateOfUpdatedChunks { .. }
        | Conflict::ChunksUpdatedInShiftedArray { .. }
        | Conflict::ShiftOfUpdatedArray { .. } => 8,
        Conflict::DeleteOfUpdatedArray { .. } => 9,
        Conflict::DeleteOfUpdatedGroup { .. } => 10,
        _ => 11,
    }
}
