//! What is to be copied: which refs, and which snapshots they need.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use icefield_core::{BranchName, Repository, RepositoryError, TagName};
use icefield_format::{ManifestId, Snapshot, SnapshotId};
use icefield_refs::{NameError, RefsError};

use super::CopyError;

/// Which ref is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefChoice {
    /// A branch.
    Branch(BranchName),
    /// A tag.
    Tag(TagName),
    /// The branch of this name, else the tag.
    Either(BranchName),
}

impl RefChoice {
    /// Reads `NAME`, `branch:NAME` or `tag:NAME`.
    ///
    /// # Errors
    /// A text that names no ref.
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
        let refs = source.ref_store();
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

/// The snapshots to be copied, and the manifests that they name.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Parents before their children.
    pub(crate) steps: Vec<Step>,
    /// Ids of manifests, ascending.
    pub(crate) manifests: Vec<[u8; 12]>,
    /// Parents that are not copied because they are there already.
    pub(crate) bases: BTreeSet<SnapshotId>,
}

/// What the walk knows of one snapshot.
#[derive(Debug)]
struct Seen {
    parent: Option<SnapshotId>,
    /// How many more of its ancestors were allowed.
    left: usize,
}

/// Walks from snapshots to their ancestors.
pub(crate) struct Walk<'a, S: Fn(&SnapshotId) -> bool> {
    source: &'a Repository,
    depth: usize,
    /// What is there already, with all that it needs.
    is_there: S,
    seen: BTreeMap<SnapshotId, Seen>,
    manifests: BTreeSet<[u8; 12]>,
}

impl<'a, S: Fn(&SnapshotId) -> bool> Walk<'a, S> {
    pub(crate) fn new(source: &'a Repository, depth: Option<usize>, is_there: S) -> Self {
        Self {
            source,
            depth: depth.unwrap_or(usize::MAX),
            is_there,
            seen: BTreeMap::new(),
            manifests: BTreeSet::new(),
        }
    }

    async fn look_at(&mut self, id: SnapshotId, left: usize) -> Result<(), CopyError> {
        let snapshot = snapshot(self.source, id).await?;
        let manifests = snapshot.manifest_files();
        self.manifests
            .extend(manifests.map(|file| *file.id.as_bytes()));
        let parent = snapshot.parent_id();
        self.seen.insert(id, Seen { parent, left });
        Ok(())
    }

    /// Follows the history of one snapshot.
    pub(crate) async fn follow(&mut self, tip: SnapshotId) -> Result<(), CopyError> {
        let mut left = self.depth;
        let mut next = Some(tip);
        let mut way = HashSet::new();
        while let Some(id) = next.filter(|id| left > 0 && !(self.is_there)(id)) {
            if !way.insert(id) {
                return Err(CopyError::SourceRefs(RefsError::Cycle(id)));
            }
            if self.depth != usize::MAX {
                left -= 1;
            }
            match self.seen.get_mut(&id) {
                // Somebody else came by and went further than we may.
                Some(seen) if seen.left >= left => break,
                Some(seen) => seen.left = left,
                None => self.look_at(id, left).await?,
            }
            next = self.seen.get(&id).and_then(|seen| seen.parent);
        }
        Ok(())
    }

    /// Adds the initial snapshot, which every repository has.
    pub(crate) async fn add_initial(&mut self) -> Result<(), CopyError> {
        let id = SnapshotId::INITIAL;
        if self.seen.contains_key(&id) || (self.is_there)(&id) {
            return Ok(());
        }
        self.look_at(id, 0).await
    }

    /// Ends the walk.
    pub(crate) fn finish(self) -> Plan {
        let mut plan = Plan {
            manifests: self.manifests.into_iter().collect(),
            ..Plan::default()
        };
        let mut done = HashSet::new();
        for first in self.seen.keys() {
            let mut way = Vec::new();
            let mut next = Some(*first);
            while let Some(id) = next
                && let Some(seen) = self.seen.get(&id)
                && done.insert(id)
            {
                let there = seen.parent.is_some_and(|parent| (self.is_there)(&parent));
                let copied = seen
                    .parent
                    .is_none_or(|parent| self.seen.contains_key(&parent));
                if there {
                    plan.bases.extend(seen.parent);
                }
                way.push(Step {
                    id,
                    parent: seen.parent,
                    shortened: !there && !copied,
                });
                next = seen.parent;
            }
            plan.steps.extend(way.into_iter().rev());
        }
        plan
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
