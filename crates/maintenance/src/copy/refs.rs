//! Refs at the destination: which may be set, and setting them.

use std::collections::BTreeSet;

use icefield_core::{BranchName, Repository, TagName};
use icefield_format::{SnapshotId, SpecVersion, encode_ref};
use icefield_refs::{Edit, EditOutcome, Graph, Ledger, RefList, RefsError, Refusal, reaches};
use icefield_storage::{Bytes, PutMode, PutOptions, PutOutcome, StorageExt};
use serde::Serialize;

use super::CopyError;
use super::plan::SourceRefs;

/// The action for one ref at the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RefAction {
    /// The ref is new at the destination.
    Created,
    /// The branch was moved forward.
    Moved,
    /// The branch was moved although it had other commits, because the caller asked for that.
    Forced,
    /// The ref is at the destination already, with the same target.
    Unchanged,
    /// The tag is deleted in the source, and is deleted at the destination now.
    Deleted,
    /// The tag is deleted at the destination, and stays deleted.
    StaysDeleted,
    /// The tag is deleted in the source, and stays at the destination: a copy takes nothing away.
    StaysPresent,
}

/// One ref of a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CopiedRef {
    /// `branch` or `tag`.
    pub kind: &'static str,
    /// The name of the ref.
    pub name: String,
    /// The target in the source; none for a deleted tag.
    pub snapshot_id: Option<SnapshotId>,
    /// The outcome at the destination.
    pub action: RefAction,
}

impl CopiedRef {
    fn branch(name: &BranchName, id: SnapshotId, action: RefAction) -> Self {
        Self {
            kind: "branch",
            name: name.to_string(),
            snapshot_id: Some(id),
            action,
        }
    }

    fn tag(name: &TagName, snapshot_id: Option<SnapshotId>, action: RefAction) -> Self {
        Self {
            kind: "tag",
            name: name.to_string(),
            snapshot_id,
            action,
        }
    }

    /// Returns whether the destination must be written.
    pub(crate) fn is_edit(&self) -> bool {
        matches!(
            self.action,
            RefAction::Created | RefAction::Moved | RefAction::Forced | RefAction::Deleted
        )
    }
}

/// An edit that is decided, with the state that it is conditional on.
#[derive(Debug)]
pub(super) enum Change {
    Apply(Edit),
    /// A tag that is deleted in the source, with what it pointed to.
    Tombstone(TagName),
}

/// All edits, and what is said of them.
#[derive(Debug, Default)]
pub(crate) struct RefPlan {
    pub(crate) refs: Vec<CopiedRef>,
    pub(super) edits: Vec<(String, Change)>,
}

impl RefPlan {
    /// Decides what may be done, before anything is copied. `there` is none where the destination is yet to be
    /// created.
    pub(crate) async fn decide(
        source: &SourceRefs,
        graph: &impl Graph<Error = RefsError>,
        destination: Option<&Repository>,
        force: bool,
    ) -> Result<Self, CopyError> {
        let there = match destination {
            Some(there) => there.refs().await.map_err(CopyError::Open)?,
            None => RefList::default(),
        };
        let destination = destination.map(Repository::ledger);
        let mut plan = Self::default();
        let mut refused = Vec::new();
        let half_done = half_done(source, &there);
        plan.decide_tags(source, &there, &half_done, &mut refused);
        // Main last: it is what readers come by.
        let (main, others): (Vec<_>, Vec<_>) =
            source.branches.iter().partition(|(name, _)| name.is_main());
        for (name, target) in others.into_iter().chain(main) {
            if let Some(Ok(tip)) = there.branches.get(name)
                && tip == target
            {
                let said = CopiedRef::branch(name, *target, RefAction::Unchanged);
                plan.refs.push(said);
                continue;
            }
            match (destination, there.branches.get(name)) {
                (Some(refs), Some(tip)) => {
                    let is_damaged = tip.is_err();
                    plan.decide_move(name, *target, refs, graph, force, is_damaged, &mut refused)
                        .await?;
                }
                _ => plan.create_branch(name, *target),
            }
        }
        match refused.is_empty() {
            true => Ok(plan),
            false => Err(CopyError::Diverged { refs: refused }),
        }
    }

    fn create_branch(&mut self, name: &BranchName, target: SnapshotId) {
        let said = CopiedRef::branch(name, target, RefAction::Created);
        self.refs.push(said);
        let edit = Edit::CreateBranch {
            name: name.clone(),
            target,
        };
        self.edits
            .push((format!("branch {name}"), Change::Apply(edit)));
    }

    #[expect(clippy::too_many_arguments, reason = "they are one decision")]
    async fn decide_move(
        &mut self,
        name: &BranchName,
        target: SnapshotId,
        refs: &Ledger,
        graph: &impl Graph<Error = RefsError>,
        force: bool,
        is_damaged: bool,
        refused: &mut Vec<String>,
    ) -> Result<(), CopyError> {
        if is_damaged && !force {
            refused.push(format!("branch {name} (its ref file is damaged)"));
            return Ok(());
        }
        let tip = match refs.branch_to_replace(name).await {
            Ok(tip) => tip,
            // Deleted since it was listed.
            Err(RefsError::BranchNotFound(_)) => {
                self.create_branch(name, target);
                return Ok(());
            }
            Err(error) => return Err(CopyError::DestinationRefs(error)),
        };
        // Every history has the initial snapshot, also where it was cut off.
        let forward = !is_damaged
            && (tip.snapshot == SnapshotId::INITIAL
                || reaches(graph, target, tip.snapshot)
                    .await
                    .map_err(CopyError::SourceRefs)?);
        let action = match (forward, force) {
            (true, _) => RefAction::Moved,
            (false, true) => RefAction::Forced,
            (false, false) => {
                refused.push(format!(
                    "branch {name} (at {}, which is not in the history of the source's)",
                    tip.snapshot
                ));
                return Ok(());
            }
        };
        self.refs.push(CopiedRef::branch(name, target, action));
        let edit = Edit::Reset {
            name: name.clone(),
            target,
            expected: tip,
        };
        self.edits
            .push((format!("branch {name}"), Change::Apply(edit)));
        Ok(())
    }

    fn decide_tags(
        &mut self,
        source: &SourceRefs,
        there: &RefList,
        half_done: &BTreeSet<TagName>,
        refused: &mut Vec<String>,
    ) {
        for (name, target) in &source.tags {
            let action = match there.tags.get(name) {
                _ if there.deleted_tags.contains(name) => RefAction::StaysDeleted,
                None => RefAction::Created,
                Some(Ok(found)) if found == target => RefAction::Unchanged,
                Some(Ok(found)) => {
                    refused.push(format!("tag {name} (of {found}, and tags never move)"));
                    continue;
                }
                Some(Err(_)) => {
                    refused.push(format!("tag {name} (its ref file is damaged)"));
                    continue;
                }
            };
            self.refs.push(CopiedRef::tag(name, Some(*target), action));
            if action == RefAction::Created {
                let edit = Edit::CreateTag {
                    name: name.clone(),
                    target: *target,
                };
                self.edits
                    .push((format!("tag {name}"), Change::Apply(edit)));
            }
        }
        for name in &source.deleted_tags {
            let action = match there.tags.contains_key(name) {
                true => RefAction::StaysPresent,
                // Half done, if a copy was stopped between its tombstone and its file.
                false if there.deleted_tags.contains(name) && !half_done.contains(name) => {
                    RefAction::Unchanged
                }
                false => RefAction::Deleted,
            };
            self.refs.push(CopiedRef::tag(name, None, action));
            if action == RefAction::Deleted {
                self.edits
                    .push((format!("tag {name}"), Change::Tombstone(name.clone())));
            }
        }
    }

    /// Returns the snapshots that the destination's refs will point to.
    pub(crate) fn targets(&self) -> impl Iterator<Item = SnapshotId> {
        let edits = self.refs.iter().filter(|said| said.is_edit());
        edits.filter_map(|said| said.snapshot_id)
    }

    /// Makes the edits. What they point to is stored.
    pub(crate) async fn publish(
        self,
        destination: &Repository,
        deleted: &dyn DeletedTags,
    ) -> Result<Vec<CopiedRef>, CopyError> {
        for (name, edit) in self.edits {
            match edit {
                Change::Apply(edit) => apply(destination, name, edit).await?,
                Change::Tombstone(tag) => {
                    let target = deleted.target(&tag).await?;
                    bury(destination, &name, &tag, target).await?;
                }
            }
        }
        Ok(self.refs)
    }
}

/// Returns the tags that are deleted at both places, but whose file is missing at the destination.
fn half_done(source: &SourceRefs, there: &RefList) -> BTreeSet<TagName> {
    let both = source.deleted_tags.intersection(&there.bare_tombstones);
    both.cloned().collect()
}

/// Where deleted tags pointed.
#[async_trait::async_trait]
pub(crate) trait DeletedTags: Send + Sync {
    /// Returns the file that a deleted tag leaves, if there is one.
    async fn target(&self, tag: &TagName) -> Result<Option<Bytes>, CopyError>;
}

#[async_trait::async_trait]
impl DeletedTags for Repository {
    async fn target(&self, tag: &TagName) -> Result<Option<Bytes>, CopyError> {
        if self.spec_version() != SpecVersion::V1 {
            // Spec version 2 does not keep it. What counts is that the name stays taken.
            return Ok(Some(encode_ref(SnapshotId::INITIAL)));
        }
        let keys = self.ledger().tag_keys(tag).await;
        let (key, _) = keys.map_err(CopyError::SourceRefs)?;
        let read = self.storage().try_read_at_most(&key, MAX_REF_LEN).await;
        Ok(read.map_err(CopyError::Source)?.map(|(bytes, _)| bytes))
    }
}

/// Most bytes of a ref file; a good one has 35.
pub(crate) const MAX_REF_LEN: u64 = 64 << 10;

async fn apply(destination: &Repository, name: String, edit: Edit) -> Result<(), CopyError> {
    let refs = destination.ledger();
    let wanted = match &edit {
        Edit::CreateBranch { name, target } => Some((Some(name.clone()), None, *target)),
        Edit::CreateTag { name, target } => Some((None, Some(name.clone()), *target)),
        _ => None,
    };
    match refs.apply(edit).await.map_err(CopyError::DestinationRefs)? {
        EditOutcome::Done(_) => Ok(()),
        EditOutcome::Unknown(source) => Err(CopyError::RefUnknown { name, source }),
        // Two copies at once: what the other one made is what we wanted.
        EditOutcome::Refused(Refusal::AlreadyExists)
            if let Some((branch, tag, target)) = wanted =>
        {
            let found = match (branch, tag) {
                (Some(branch), _) => refs
                    .branch(&branch)
                    .await
                    .map(|it| it.map(|it| it.snapshot)),
                (_, Some(tag)) => refs.resolve_tag(&tag).await.map(Some),
                (None, None) => Ok(None),
            };
            match found.map_err(CopyError::DestinationRefs)? {
                Some(found) if found == target => Ok(()),
                _ => Err(CopyError::RefChanged { name }),
            }
        }
        EditOutcome::Refused(_) => Err(CopyError::RefChanged { name }),
    }
}

/// Reserves the name of a deleted tag: first its tombstone, so that no reader ever sees the tag, then the file that keeps
/// the reference implementation from giving the name again.
async fn bury(
    destination: &Repository,
    name: &str,
    tag: &TagName,
    file: Option<Bytes>,
) -> Result<(), CopyError> {
    let storage = destination.storage();
    let keys = destination.ledger().tag_keys(tag).await;
    let (ref_file, tombstone) = keys.map_err(CopyError::DestinationRefs)?;
    // Another writer may have made the tag since it was decided that it is deleted: that one stays.
    let found = storage.try_read_at_most(&ref_file, MAX_REF_LEN).await;
    if let Some((found, _)) = found.map_err(CopyError::Destination)?
        && file.as_ref() != Some(&found)
    {
        let name = name.to_owned();
        return Err(CopyError::RefChanged { name });
    }
    let files = [(tombstone, Some(Bytes::new())), (ref_file, file)];
    for (key, bytes) in files
        .into_iter()
        .filter_map(|(key, bytes)| Some((key, bytes?)))
    {
        let options =
            PutOptions::mode(PutMode::Create).with_content_type("application/octet-stream");
        let put = storage.put(&key, bytes.into(), options).await;
        match put.map_err(CopyError::Destination)? {
            // A refusal: it is there already, of an earlier copy.
            PutOutcome::Written(_) | PutOutcome::Refused => {}
            PutOutcome::Unknown(source) => match storage.exists(&key).await {
                Ok(true) => {}
                _ => {
                    let name = name.to_owned();
                    return Err(CopyError::RefUnknown { name, source });
                }
            },
        }
    }
    storage.sync().await.map_err(CopyError::Destination)
}
