//! Branches, tags and tombstones of an Icechunk repository, and everything else of it that changes in place.
//!
//! A *branch* points to a snapshot and moves; a *tag* points to one for ever. Both are edited by
//! compare-and-swap: a [`RefEdit`] says what must hold, and its [`EditOutcome`] is *done*, *refused* or
//! *unknown*. A deleted tag leaves a *tombstone*, so that its name is never given again.
//!
//! [`Refs`] is one interface over the layouts of the spec versions: version 1 keeps an object per ref and
//! `config.yaml`, and the ancestry inside the snapshot files. Nothing above this crate knows that.

mod ancestry;
mod edit;
mod error;
mod list;
mod name;
mod ref_files;
mod reparent;
mod spelling;

use std::sync::Arc;

use futures::stream::{BoxStream, TryStreamExt};
use icefield_format::{RepositoryConfig, SnapshotId, encode_ref};
use icefield_storage::{Key, PutMode, Storage, Version};

pub use ancestry::{SnapshotInfo, SnapshotSource, micros_of_time, time_of_micros};
pub use edit::{EditOutcome, RefEdit, Refusal, Tip};
pub use error::{FetchError, RefsError};
pub use list::{RefList, Stray, StrayProblem, UnderstoodRefs};
pub use name::{BranchName, NameError, TagName};
pub use spelling::Misspelled;

use ref_files::RefFiles;

/// What is known of one tag name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagState {
    /// The name was never given.
    Absent,
    /// The tag points to this snapshot.
    Present(SnapshotId),
    /// The tag was deleted; the name stays taken.
    Deleted,
}

/// The stored configuration and the state of the object that holds it.
#[derive(Clone, Debug)]
pub struct StoredConfig {
    /// The configuration.
    pub config: RepositoryConfig,
    /// The state that a later save expects.
    pub version: Version,
}

/// The refs of one repository. Cheap to clone; holds no state but the handles it was given.
#[derive(Clone, Debug)]
pub struct Refs {
    files: RefFiles,
    snapshots: Arc<dyn SnapshotSource>,
}

impl Refs {
    /// Returns the refs of a repository of spec version 1 at `storage`; asks the store nothing.
    pub fn spec_v1(storage: Arc<dyn Storage>, snapshots: Arc<dyn SnapshotSource>) -> Self {
        Self {
            files: RefFiles::new(storage),
            snapshots,
        }
    }

    /// Returns where a branch stands, `None` if there is no such branch.
    ///
    /// # Errors
    /// [`RefsError::InvalidRefFile`] and what the store says.
    pub async fn branch(&self, name: &BranchName) -> Result<Option<Tip>, RefsError> {
        self.files.branch(name).await
    }

    /// Returns where the branch stands now that a tip was read of, `None` if it is gone. In a bucket, a branch whose name is
    /// the other spelling of this one is another branch, also where [`Refs::branch`] would find it.
    ///
    /// # Errors
    /// As [`Refs::branch`].
    pub async fn branch_of(&self, name: &BranchName, tip: &Tip) -> Result<Option<Tip>, RefsError> {
        self.files.branch_of(name, tip).await
    }

    /// Returns what is known of a tag name.
    ///
    /// # Errors
    /// [`RefsError::InvalidRefFile`] and what the store says.
    pub async fn tag(&self, name: &TagName) -> Result<TagState, RefsError> {
        self.files.tag(name).await
    }

    /// Returns where a branch stands.
    ///
    /// # Errors
    /// [`RefsError::BranchNotFound`], and as [`Refs::branch`].
    pub async fn resolve_branch(&self, name: &BranchName) -> Result<Tip, RefsError> {
        self.branch(name)
            .await?
            .ok_or_else(|| RefsError::BranchNotFound(name.clone()))
    }

    /// Returns what a tag points to.
    ///
    /// # Errors
    /// [`RefsError::TagNotFound`], [`RefsError::TagDeleted`], and as [`Refs::tag`].
    pub async fn resolve_tag(&self, name: &TagName) -> Result<SnapshotId, RefsError> {
        match self.tag(name).await? {
            TagState::Present(id) => Ok(id),
            TagState::Absent => Err(RefsError::TagNotFound(name.clone())),
            TagState::Deleted => Err(RefsError::TagDeleted(name.clone())),
        }
    }

    /// Lists all refs, and everything else below `refs/`.
    ///
    /// # Errors
    /// What the store says; a list that failed is never an empty one.
    pub async fn list(&self) -> Result<RefList, RefsError> {
        self.files.list().await
    }

    /// Returns the keys of the file and of the tombstone of a tag by the name that [`Refs::list`] gives it, in the spelling
    /// that the store has one of them in.
    ///
    /// # Errors
    /// [`RefsError::SpelledTwice`] and what the store says.
    pub async fn tag_keys(&self, name: &TagName) -> Result<(Key, Key), RefsError> {
        let form = self.files.form_in_list(name).await?;
        Ok((
            ref_files::tag_key(name, form)?,
            ref_files::tombstone_key(name, form)?,
        ))
    }

    /// Gives an object of a ref the store's own spelling. Readers that come in between see it spelled twice, which writers
    /// refuse; a call that was interrupted there is finished by the next one.
    ///
    /// # Errors
    /// [`RefsError::SpelledTwice`] if the store has both spellings with different bytes, [`RefsError::NoConditions`], and
    /// what the store says.
    pub async fn respell(&self, misspelled: &Misspelled) -> Result<EditOutcome, RefsError> {
        self.files.respell(misspelled).await
    }

    /// Walks a history, newest first. The stream ends after the first error.
    pub fn ancestry(
        &self,
        start: SnapshotId,
    ) -> BoxStream<'static, Result<SnapshotInfo, RefsError>> {
        ancestry::ancestry(Arc::clone(&self.snapshots), start)
    }

    /// Makes one edit visible. What it points to must be stored already.
    ///
    /// A write whose reply was lost is looked for in the ref and, if another commit has landed on top, in
    /// the history of the branch, before it is called unknown.
    ///
    /// # Errors
    /// [`RefsError::MainIsPermanent`], [`RefsError::SnapshotNotFound`], and what the store says; nothing was
    /// changed.
    pub async fn publish(&self, edit: RefEdit) -> Result<EditOutcome, RefsError> {
        tracing::debug!(?edit, "publish");
        match edit {
            RefEdit::CreateBranch { name, target } => self.files.create_branch(&name, target).await,
            RefEdit::MoveBranch {
                name,
                target,
                expected,
            } => {
                let file = encode_ref(target);
                let outcome = self.files.move_branch(&name, target, file, &expected);
                let outcome = outcome.await?;
                self.settle(&name, target, &expected, outcome, Move::Commit)
                    .await
            }
            RefEdit::ResetBranch {
                name,
                target,
                expected,
            } => {
                let file = self.files.reset_file(target, &expected);
                let outcome = self.files.move_branch(&name, target, file, &expected);
                let outcome = outcome.await?;
                self.settle(&name, target, &expected, outcome, Move::Reset)
                    .await
            }
            RefEdit::DeleteBranch { name, .. } if name.is_main() => Err(RefsError::MainIsPermanent),
            RefEdit::DeleteBranch { name, expected } => {
                self.files.delete_branch(&name, &expected).await
            }
            RefEdit::CreateTag { name, target } => self.files.create_tag(&name, target).await,
            RefEdit::DeleteTag { name } => self.files.delete_tag(&name).await,
        }
    }

    /// Checks that a ref may point to `id`.
    ///
    /// # Errors
    /// [`RefsError::SnapshotNotFound`] if there is no such snapshot.
    pub async fn check_target(&self, id: SnapshotId) -> Result<(), RefsError> {
        match self.snapshots.snapshot(id).await {
            Ok(_) => Ok(()),
            Err(FetchError::Missing { .. }) => Err(RefsError::SnapshotNotFound(id)),
            Err(error) => Err(error.into()),
        }
    }

    /// Decides a move of a branch that was unknown, or refused, by what the branch says now. A refusal may be
    /// the answer to a repetition, sent by a client below us, of a request that had landed: one that cannot be
    /// checked is unknown, whatever it is that hinders the check.
    async fn settle(
        &self,
        name: &BranchName,
        target: SnapshotId,
        expected: &Tip,
        outcome: EditOutcome,
        kind: Move,
    ) -> Result<EditOutcome, RefsError> {
        if let EditOutcome::Done(_) = outcome {
            return Ok(outcome);
        }
        let traced = self.trace(name, target, expected).await;
        match (traced, outcome) {
            (Ok(Trace::Tip), _) => self.files.make_durable(EditOutcome::Done(None)).await,
            // A commit is in the history of what was built on it, and of nothing else.
            (Ok(Trace::Below(_)), _) if kind == Move::Commit => {
                self.files.make_durable(EditOutcome::Done(None)).await
            }
            (Ok(Trace::Never(refusal)), _)
            // What the store refused just now was not on its way for long enough to land and to expire.
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

    /// Finds out whether the commit of `target`, expected to replace `expected`, has landed.
    ///
    /// # Errors
    /// What the store says.
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
        let Some(tip) = self.branch_of(name, expected).await? else {
            return Ok(Trace::Lost(Refusal::BranchGone));
        };
        if tip.version == expected.version {
            return Ok(Trace::Still);
        }
        if tip.snapshot == target {
            return Ok(Trace::Tip);
        }
        let found = tip.snapshot;
        let refusal = Refusal::BranchMoved { found };
        let mut history = self.ancestry(found);
        // Without a bound: a commit under many later ones must not be called lost.
        while let Some(info) = history.try_next().await? {
            if info.id == target {
                return Ok(Trace::Below(refusal));
            }
            if info.id == expected.snapshot {
                // A commit would be a child of this one, and on the way. A reset would have led away from it.
                return Ok(Trace::Never(refusal));
            }
        }
        Ok(Trace::Lost(refusal))
    }

    /// Returns the state of a branch that is to be replaced or deleted whatever it points to, also if its ref
    /// file is damaged. In a bucket, the name is that of the list: one in the other spelling is not looked for.
    ///
    /// # Errors
    /// [`RefsError::BranchNotFound`] and what the store says.
    pub async fn branch_to_replace(&self, name: &BranchName) -> Result<Tip, RefsError> {
        let tip = self.files.branch_to_replace(name).await?;
        tip.ok_or_else(|| RefsError::BranchNotFound(name.clone()))
    }

    /// Reads the stored configuration, `None` if none is stored.
    ///
    /// # Errors
    /// [`RefsError::Config`] and what the store says.
    pub async fn config(&self) -> Result<Option<StoredConfig>, RefsError> {
        let Some((bytes, version)) = self.files.read_config().await? else {
            return Ok(None);
        };
        let config =
            RepositoryConfig::decode(&bytes).map_err(|source| RefsError::Config { source })?;
        Ok(Some(StoredConfig { config, version }))
    }

    /// Stores the configuration, if the stored one is still in the state `expected` (`None`: there is none).
    /// A refusal is [`Refusal::AlreadyExists`]: read it again and decide anew.
    ///
    /// # Errors
    /// [`RefsError::Config`] and what the store says.
    pub async fn publish_config(
        &self,
        config: &RepositoryConfig,
        expected: Option<Version>,
    ) -> Result<EditOutcome, RefsError> {
        let bytes = config
            .encode()
            .map_err(|source| RefsError::Config { source })?;
        let mode = expected.map_or(PutMode::Create, PutMode::Update);
        self.files.write_config(bytes, mode).await
    }
}

/// What a move of a branch is.
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

/// What the history says of a commit whose reply was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landed {
    /// It landed.
    Yes,
    /// It has not landed; the branch is in the state that the move expects, so that it still may.
    NotYet,
    /// It has not landed, and cannot any more: the branch has gone on from what the commit was based on without it.
    Never(Refusal),
    /// It cannot come any more, and nothing tells whether it had: the branch has neither the commit nor what that was
    /// based on. Both have expired, or the branch was reset or deleted.
    Untraceable(Refusal),
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
