//! The plan of a copy: the refs, and the snapshots that they need.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use icefield_core::{BranchName, Repository, RepositoryError, TagName};
use icefield_format::{ManifestId, Snapshot, SnapshotId, SpecVersion};
use icefield_refs::{Histories, NameError, Pace, Parents, RefsError};
use icefield_storage::{PlantedBug, planted};

use super::CopyError;

/// The name of a ref that is to be copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefChoice {
    /// A branch.
    Branch(BranchName),
    /// A tag.
    Tag(TagName),
    /// The branch of this name, or if there is none, the tag.
    Either(BranchName),
}

impl RefChoice {
    /// Reads `NAME`, `branch:NAME` or `tag:NAME`.
    ///
    /// # Errors
    /// The text is no name of a ref.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        Ok(match text.split_once(':') {
            Some(("branch", name)) => Self::Branch(BranchName::parse_new(name)?),
            Some(("tag", name)) => Self::Tag(TagName::parse_new(name)?),
            _ => Self::Either(BranchName::parse_new(text)?),
        })
    }
}

/// The refs of the source that are to be copied, as they were when they were read.
#[derive(Debug, Default)]
pub(crate) struct SourceRefs {
    pub(crate) branches: BTreeMap<BranchName, SnapshotId>,
    pub(crate) tags: BTreeMap<TagName, SnapshotId>,
    pub(crate) deleted_tags: BTreeSet<TagName>,
}

impl SourceRefs {
    /// Reads the refs that were chosen, all of them if none was. A copy of the whole repository would leave behind what is
    /// not understood, so it is refused.
    pub(crate) async fn read(source: &Repository, chosen: &[RefChoice]) -> Result<Self, CopyError> {
        let refs = source.ledger();
        let mut read = Self::default();
        if chosen.is_empty() {
            let all = refs.list().await.map_err(CopyError::SourceRefs)?;
            let all = all.require_understood().map_err(CopyError::SourceRefs)?;
            return Ok(Self {
                branches: all.branches,
                tags: all.tags,
                deleted_tags: all.deleted_tags,
            });
        }
        for choice in chosen {
            let (branch, tag) = match choice {
                RefChoice::Branch(name) => (Some(name.clone()), None),
                RefChoice::Tag(name) => (None, Some(name.clone())),
                RefChoice::Either(name) => (Some(name.clone()), TagName::parse(name.as_str()).ok()),
            };
            if let Some(name) = branch
                && let Some(tip) = refs.branch(&name).await.map_err(CopyError::SourceRefs)?
            {
                read.branches.insert(name, tip.snapshot);
                continue;
            }
            let target = match &tag {
                Some(name) => refs.resolve_tag(name).await,
                None => Err(RefsError::MainIsPermanent),
            };
            match (tag, target) {
                (Some(name), Ok(target)) => {
                    read.tags.insert(name, target);
                }
                (None, _) | (_, Err(RefsError::TagNotFound(_) | RefsError::TagDeleted(_))) => {
                    let name = match choice {
                        RefChoice::Branch(name) | RefChoice::Either(name) => name.to_string(),
                        RefChoice::Tag(name) => name.to_string(),
                    };
                    return Err(CopyError::NoSuchRef { name });
                }
                (_, Err(error)) => return Err(CopyError::SourceRefs(error)),
            }
        }
        Ok(read)
    }

    /// Returns how many there are, deleted tags included.
    pub(crate) fn count(&self) -> u64 {
        (self.branches.len() + self.tags.len() + self.deleted_tags.len()) as u64
    }

    /// Returns the snapshots that they point to, each once.
    pub(crate) fn tips(&self) -> BTreeSet<SnapshotId> {
        self.branches
            .values()
            .chain(self.tags.values())
            .copied()
            .collect()
    }
}

/// One snapshot to be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) id: SnapshotId,
    /// Its parent in the source.
    pub(crate) parent: Option<SnapshotId>,
    /// Its parent is left behind: in the copy it follows the initial snapshot.
    pub(crate) shortened: bool,
}

impl Step {
    /// The first snapshot of every repository.
    pub(crate) fn initial() -> Self {
        Self {
            id: SnapshotId::INITIAL,
            parent: None,
            shortened: false,
        }
    }
}

/// The snapshots to be copied, and the manifests that they name.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Parents before their children.
    pub(crate) steps: Vec<Step>,
    /// Ids of manifests, ascending.
    pub(crate) manifests: Vec<[u8; 12]>,
    /// Parents that are not copied because they are there already.
    pub(crate) bases: BTreeSet<SnapshotId>,
    /// Snapshots that are gone and whose transaction logs are still needed, since one that is copied names them. Spec version 2.
    pub(crate) pruned: BTreeSet<SnapshotId>,
}

impl Plan {
    /// Reads histories of the source, back to what is there already with all that it needs.
    pub(crate) async fn read(
        source: &Repository,
        tips: BTreeSet<SnapshotId>,
        depth: Option<usize>,
        is_there: &(impl Fn(&SnapshotId) -> bool + Send + Sync),
    ) -> Result<Self, CopyError> {
        let graph = Parents(source.ledger().graph());
        let histories = Histories::new(graph, Pace::long()).until(is_there);
        let mut histories = histories.depth(depth.unwrap_or(usize::MAX));
        tips.iter().for_each(|tip| histories.follow(*tip));
        let mut manifests = BTreeSet::new();
        while let Some((id, read)) = histories.next().await {
            read.map_err(|error| match error {
                RefsError::Fetch(error) => CopyError::Fetch(error),
                error => CopyError::SourceRefs(error),
            })?;
            if planted(PlantedBug::CopyOfTipsOnly) && !tips.contains(&id) {
                continue;
            }
            manifests.extend(manifests_of(&*snapshot(source, id).await?));
        }
        let ids = histories.parents_first(tips);
        let mut plan = Self {
            manifests: manifests.into_iter().collect(),
            ..Self::default()
        };
        for id in ids.map_err(CopyError::SourceRefs)? {
            let parent = histories.get(id).copied().flatten();
            let base = parent.filter(is_there);
            let is_copied = parent.is_none_or(|parent| histories.get(parent).is_some());
            plan.bases.extend(base);
            let shortened = base.is_none() && !is_copied;
            if source.spec_version() != SpecVersion::V1 && !shortened {
                let info = source.ledger().snapshot(id).await?;
                plan.pruned.extend(info.pruned_logs);
            }
            plan.steps.push(Step {
                id,
                parent,
                shortened,
            });
        }
        Ok(plan)
    }

    /// Returns the ids of the transaction logs to be copied, ascending. The first snapshot of a repository has its own.
    pub(crate) fn logs(&self) -> Vec<[u8; 12]> {
        let with_parents = self.steps.iter().filter(|step| step.parent.is_some());
        let ids = with_parents.map(|step| step.id);
        let ids: BTreeSet<_> = ids.chain(self.pruned.iter().copied()).collect();
        ids.into_iter().map(|id| *id.as_bytes()).collect()
    }

    /// Reads whole histories.
    pub(crate) async fn whole(
        source: &Repository,
        tips: BTreeSet<SnapshotId>,
    ) -> Result<Self, CopyError> {
        Self::read(source, tips, None, &|_: &SnapshotId| false).await
    }

    /// Adds the initial snapshot, which every repository has.
    pub(crate) fn add_initial(&mut self, is_there: &impl Fn(&SnapshotId) -> bool) {
        let id = SnapshotId::INITIAL;
        if !is_there(&id) && self.steps.iter().all(|step| step.id != id) {
            self.steps.insert(0, Step::initial());
        }
    }
}

/// Reads a snapshot of the source.
pub(crate) async fn snapshot(
    source: &Repository,
    id: SnapshotId,
) -> Result<Arc<Snapshot>, CopyError> {
    source.snapshot(id).await.map_err(repository_error)
}

/// Tells errors of reading the source apart.
pub(crate) fn repository_error(error: RepositoryError) -> CopyError {
    match error {
        RepositoryError::Fetch(error) => CopyError::Fetch(error),
        error => CopyError::Repository(error),
    }
}

/// The manifests that a snapshot names, ascending.
pub(crate) fn manifests_of(snapshot: &Snapshot) -> Vec<[u8; 12]> {
    let files = snapshot.manifest_files();
    files.map(|file| *ManifestId::as_bytes(&file.id)).collect()
}
