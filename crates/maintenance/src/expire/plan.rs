//! What an expiration would do: which snapshots go and stay, and which get another parent.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::SystemTime;

use icefield_core::Repository;
use icefield_format::SnapshotId;
use icefield_refs::{BranchName, RefsError, TagName, micros_of_time};

use super::known::Known;
use super::{Expire, ExpireError, Reason};
use crate::Progress;

/// What becomes of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// The snapshot.
    pub id: SnapshotId,
    /// When it was committed, by the committer's clock.
    pub written_at: SystemTime,
    /// The beginning of its message.
    pub message: String,
    /// Why it stays. It is released if there is no reason.
    pub reasons: BTreeSet<Reason>,
}

impl Fate {
    /// Returns whether the snapshot stays in the histories.
    #[must_use]
    pub fn stays(&self) -> bool {
        !self.reasons.is_empty()
    }
}

/// A snapshot that gets another parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewParent {
    /// The snapshot.
    pub id: SnapshotId,
    /// Its parent now, which is released.
    pub before: SnapshotId,
    /// Its nearest ancestor that stays.
    pub after: SnapshotId,
    /// Whether that is the first snapshot of the repository.
    pub(super) is_first: bool,
}

/// All refs, as they were when something was decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pointers {
    pub(super) branches: BTreeMap<BranchName, SnapshotId>,
    pub(super) tags: BTreeMap<TagName, SnapshotId>,
}

impl Pointers {
    /// Reads all refs. What is not understood may protect anything: nothing can be decided.
    pub(super) async fn read(repository: &Repository) -> Result<Self, ExpireError> {
        let refs = repository.ref_store().list().await?.require_understood()?;
        Ok(Self {
            branches: refs.branches,
            tags: refs.tags,
        })
    }

    pub(super) fn targets(&self) -> impl Iterator<Item = SnapshotId> {
        self.branches.values().chain(self.tags.values()).copied()
    }
}

/// What an expiration would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// All snapshots of all histories, each after its parent.
    pub snapshots: Vec<Fate>,
    /// What is rewritten, the oldest first.
    pub new_parents: Vec<NewParent>,
    /// Branches that are deleted.
    pub branches: Vec<BranchName>,
    /// Tags that are deleted.
    pub tags: Vec<TagName>,
    /// What this was decided on.
    pub(super) pointers: Pointers,
    /// Of the snapshots that are released.
    pub(super) parents: HashMap<SnapshotId, SnapshotId>,
}

#[derive(Debug)]
struct Step {
    parent: Option<SnapshotId>,
    micros: u64,
    /// Of the walk that found it.
    walk: usize,
}

/// All histories, as one forest.
#[derive(Debug, Default)]
struct Histories {
    steps: HashMap<SnapshotId, Step>,
    /// Each after its parent.
    fates: Vec<Fate>,
}

impl Histories {
    /// Puts together what was read. Everything that refs reach is known.
    fn of_known(known: &Known, pointers: &Pointers) -> Result<Self, ExpireError> {
        let mut all = Self::default();
        for (walk, start) in pointers.targets().enumerate() {
            let begin = all.fates.len();
            let mut next = Some(start);
            while let Some(id) = next {
                let Some(told) = known.get(id) else {
                    unreachable!("BUG: all histories were read")
                };
                match all.steps.get(&id) {
                    Some(step) if step.walk == walk => return Err(RefsError::Cycle(id).into()),
                    Some(_) => break,
                    None => {}
                }
                next = told.parent;
                let step = Step {
                    parent: told.parent,
                    micros: micros_of_time(told.written_at),
                    walk,
                };
                all.steps.insert(id, step);
                all.fates.push(Fate {
                    id,
                    written_at: told.written_at,
                    message: told.message.clone(),
                    reasons: BTreeSet::new(),
                });
            }
            // The walk went from children to parents.
            all.fates[begin..].reverse();
        }
        Ok(all)
    }

    fn parent(&self, id: SnapshotId) -> Option<SnapshotId> {
        self.steps.get(&id)?.parent
    }

    /// A history, newest first, with the times.
    fn of(&self, tip: SnapshotId) -> impl Iterator<Item = (SnapshotId, u64)> {
        std::iter::successors(Some(tip), |id| self.parent(*id))
            .map_while(|id| Some((id, self.steps.get(&id)?.micros)))
    }

    fn is_old(&self, expire: &Expire, tip: SnapshotId) -> bool {
        let step = self.steps.get(&tip);
        step.is_some_and(|step| expire.policy.is_old(step.micros))
    }
}

impl Plan {
    /// Reads all histories and decides. Nothing is changed.
    pub(super) async fn make(
        expire: &Expire,
        repository: &Repository,
        known: &mut Known,
        progress: &dyn Progress,
    ) -> Result<Self, ExpireError> {
        let pointers = Pointers::read(repository).await?;
        for name in expire.branches.iter().flatten() {
            if !pointers.branches.contains_key(name) {
                return Err(RefsError::BranchNotFound(name.clone()).into());
            }
        }
        known.read(repository, &pointers, progress).await?;
        let histories = Histories::of_known(known, &pointers)?;
        Ok(Self::decide(expire, pointers, histories))
    }

    fn decide(expire: &Expire, pointers: Pointers, histories: Histories) -> Self {
        let is_asked = |name: &BranchName| {
            let asked = expire.branches.as_ref();
            asked.is_none_or(|asked| asked.contains(name))
        };
        let goes = |name: &BranchName, tip: SnapshotId| {
            expire.delete_branches
                && !name.is_main()
                && is_asked(name)
                && histories.is_old(expire, tip)
        };
        let (gone, branches): (Vec<_>, Vec<_>) = (pointers.branches.iter())
            .map(|(name, tip)| (name.clone(), *tip))
            .partition(|(name, tip)| goes(name, *tip));
        let (gone_tags, tags): (Vec<_>, Vec<_>) = (pointers.tags.iter())
            .map(|(name, id)| (name.clone(), *id))
            .partition(|(_, id)| expire.delete_tags && histories.is_old(expire, *id));

        let mut reasons: HashMap<SnapshotId, BTreeSet<Reason>> = HashMap::new();
        let mut keep = |id: SnapshotId, reason: Reason| {
            reasons.entry(id).or_default().insert(reason);
        };
        for (id, step) in &histories.steps {
            if step.parent.is_none() {
                keep(*id, Reason::First);
            }
            if expire.policy.older_than.is_some() && !expire.policy.is_old(step.micros) {
                keep(*id, Reason::Young);
            }
        }
        let staying = branches.iter().map(|(_, tip)| tip);
        for tip in staying.chain(tags.iter().map(|(_, id)| id)) {
            keep(*tip, Reason::Ref);
        }
        for (name, tip) in &branches {
            let history = histories.of(*tip);
            match is_asked(name) {
                true => expire.policy.count(history, &mut keep),
                false => history.for_each(|(id, _)| keep(id, Reason::NotAsked)),
            }
        }
        if expire.branches.is_some() {
            let asked = pointers.branches.iter().filter(|(name, _)| is_asked(name));
            let theirs: HashSet<SnapshotId> = asked
                .flat_map(|(_, tip)| histories.of(*tip).map(|(id, _)| id))
                .collect();
            let others = histories.steps.keys().filter(|id| !theirs.contains(id));
            others.for_each(|id| keep(*id, Reason::NotAsked));
        }
        let mut new_parents = Vec::new();
        for fate in &histories.fates {
            let (true, Some(before)) = (reasons.contains_key(&fate.id), histories.parent(fate.id))
            else {
                continue;
            };
            // The first one of the repository stays always, so that there is one.
            let after = histories.of(before).map(|(id, _)| id);
            let after = after.into_iter().find(|id| reasons.contains_key(id));
            if let Some(after) = after.filter(|after| *after != before) {
                new_parents.push(NewParent {
                    id: fate.id,
                    before,
                    after,
                    is_first: histories.parent(after).is_none(),
                });
            }
        }
        let mut snapshots = histories.fates;
        let mut parents = HashMap::new();
        for fate in &mut snapshots {
            fate.reasons = reasons.remove(&fate.id).unwrap_or_default();
            if let Some(step) = histories.steps.get(&fate.id)
                && !fate.stays()
            {
                parents.extend(step.parent.map(|parent| (fate.id, parent)));
            }
        }
        Self {
            snapshots,
            new_parents,
            branches: gone.into_iter().map(|(name, _)| name).collect(),
            tags: gone_tags.into_iter().map(|(name, _)| name).collect(),
            pointers,
            parents,
        }
    }

    /// Takes back what could not be done: a snapshot keeps its parent, and with it all that comes before.
    pub(super) fn take_back(&mut self, edits: &[NewParent]) {
        let mut stay = HashSet::new();
        for edit in edits {
            let way = std::iter::successors(Some(edit.before), |id| self.parents.get(id).copied());
            stay.extend(way.take_while(|id| *id != edit.after));
        }
        self.new_parents.retain(|edit| !edits.contains(edit));
        self.parents.retain(|id, _| !stay.contains(id));
        for fate in self.snapshots.iter_mut().filter(|it| stay.contains(&it.id)) {
            fate.reasons.insert(Reason::Stuck);
        }
    }

    /// Returns the refs that this was decided on, as `main` and `tag:v1`, and what they point to.
    pub fn pointers(&self) -> impl Iterator<Item = (String, SnapshotId)> {
        let Pointers { branches, tags } = &self.pointers;
        let branches = branches.iter().map(|(name, id)| (name.to_string(), *id));
        branches.chain(tags.iter().map(|(name, id)| (format!("tag:{name}"), *id)))
    }

    /// The refs that there should be once those that go are deleted.
    pub(super) fn remaining(&self) -> Pointers {
        let mut pointers = self.pointers.clone();
        pointers
            .branches
            .retain(|name, _| !self.branches.contains(name));
        pointers.tags.retain(|name, _| !self.tags.contains(name));
        pointers
    }

    /// Returns how many snapshots are released.
    #[must_use]
    pub fn released(&self) -> u64 {
        self.snapshots.iter().filter(|it| !it.stays()).count() as u64
    }
}
