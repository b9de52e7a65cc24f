//! The plan of an expiration: the snapshots that go and stay, and those that get another parent.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::SystemTime;

use icefield_format::SnapshotId;
use icefield_refs::{
    BranchName, Histories, LedgerView, Pace, RefsError, StoredGraph, TagName, UnderstoodRefs,
    micros_of_time,
};
use icefield_storage::{PlantedBug, planted};

use super::error::ExpireError;
use super::policy::Reason;
use super::settings::Expire;
use crate::Progress;

/// The decision about one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// The id of the snapshot.
    pub id: SnapshotId,
    /// The time of the commit, by the committer's clock.
    pub written_at: SystemTime,
    /// The beginning of the commit message.
    pub message: String,
    /// The reasons why the snapshot stays. Without a reason it is released.
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
    /// The id of the snapshot.
    pub id: SnapshotId,
    /// The present parent, which is released.
    pub before: SnapshotId,
    /// The nearest ancestor that stays.
    pub after: SnapshotId,
    /// Whether that is the first snapshot of the repository.
    pub(super) is_first: bool,
}

/// The plan of an expiration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The decisions about all snapshots of all histories, each after its parent.
    pub snapshots: Vec<Fate>,
    /// The snapshots that are rewritten, the oldest first.
    pub new_parents: Vec<NewParent>,
    /// The branches that are deleted.
    pub branches: Vec<BranchName>,
    /// The tags that are deleted.
    pub tags: Vec<TagName>,
    /// The state that the plan is based on.
    pub(super) pointers: UnderstoodRefs,
    /// Of the snapshots that are released.
    pub(super) parents: HashMap<SnapshotId, SnapshotId>,
}

/// All histories, as they are stored.
struct Forest<'a> {
    histories: Histories<'a, &'a StoredGraph>,
    /// Each after its parent.
    order: Vec<SnapshotId>,
}

impl Forest<'_> {
    fn parent(&self, id: SnapshotId) -> Option<SnapshotId> {
        self.histories.get(id)?.parent
    }

    fn micros(&self, id: SnapshotId) -> Option<u64> {
        Some(micros_of_time(self.histories.get(id)?.written_at))
    }

    /// A history, newest first, with the times.
    fn of(&self, tip: SnapshotId) -> impl Iterator<Item = (SnapshotId, u64)> {
        let history = self.histories.of(tip);
        history.map(|(id, told)| (id, micros_of_time(told.written_at)))
    }

    fn is_old(&self, expire: &Expire, tip: SnapshotId) -> bool {
        self.micros(tip).is_some_and(|at| expire.policy.is_old(at))
    }
}

impl Plan {
    /// Reads all histories and decides. Nothing is changed. What is not understood may protect anything: nothing can be
    /// decided then.
    pub(super) async fn make(
        expire: &Expire,
        view: &LedgerView,
        progress: &dyn Progress,
    ) -> Result<Self, ExpireError> {
        let pointers = view.refs().require_understood()?;
        for name in expire.branches.iter().flatten() {
            if !pointers.branches.contains_key(name) {
                return Err(RefsError::BranchNotFound(name.clone()).into());
            }
        }
        progress.stage("reading histories", None);
        let mut histories = Histories::new(view.graph(), Pace::long());
        pointers.targets().for_each(|tip| histories.follow(tip));
        while let Some((_, read)) = histories.next().await {
            read?;
            progress.more(1);
            progress.advance(1, 0);
        }
        let order = histories.parents_first(pointers.targets())?;
        let forest = Forest { histories, order };
        Ok(Self::decide(expire, pointers, &forest))
    }

    fn decide(expire: &Expire, pointers: UnderstoodRefs, histories: &Forest<'_>) -> Self {
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
        for id in histories.order.iter().copied() {
            if histories.parent(id).is_none() {
                keep(id, Reason::First);
            }
            if expire.policy.older_than.is_some() && !histories.is_old(expire, id) {
                keep(id, Reason::Young);
            }
        }
        let staying = branches.iter().map(|(_, tip)| tip);
        let tagged = tags
            .iter()
            .filter(|_| !planted(PlantedBug::ExpireIgnoresTags));
        for tip in staying.chain(tagged.map(|(_, id)| id)) {
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
            let others = histories.order.iter().filter(|id| !theirs.contains(id));
            others.for_each(|id| keep(*id, Reason::NotAsked));
        }
        let mut new_parents = Vec::new();
        for id in histories.order.iter().copied() {
            let (true, Some(before)) = (reasons.contains_key(&id), histories.parent(id)) else {
                continue;
            };
            // The first one of the repository stays always, so that there is one.
            let after = histories.of(before).map(|(id, _)| id);
            let after = after.skip(usize::from(planted(PlantedBug::ExpireSkipsParent)));
            let after = after.into_iter().find(|id| reasons.contains_key(id));
            if let Some(after) = after.filter(|after| *after != before) {
                new_parents.push(NewParent {
                    id,
                    before,
                    after,
                    is_first: histories.parent(after).is_none(),
                });
            }
        }
        let (mut snapshots, mut parents) = (Vec::new(), HashMap::new());
        for id in histories.order.iter().copied() {
            let Some(told) = histories.histories.get(id) else {
                continue;
            };
            let fate = Fate {
                id,
                written_at: told.written_at,
                message: told.message.clone(),
                reasons: reasons.remove(&id).unwrap_or_default(),
            };
            if !fate.stays() {
                parents.extend(told.parent.map(|parent| (id, parent)));
            }
            snapshots.push(fate);
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

    /// Returns the refs on which the plan is based, as `main` and `tag:v1`, and the snapshots that they point to.
    pub fn pointers(&self) -> impl Iterator<Item = (String, SnapshotId)> {
        let UnderstoodRefs { branches, tags, .. } = &self.pointers;
        let branches = branches.iter().map(|(name, id)| (name.to_string(), *id));
        branches.chain(tags.iter().map(|(name, id)| (format!("tag:{name}"), *id)))
    }

    /// The refs that there should be once those that go are deleted.
    pub(super) fn remaining(&self) -> UnderstoodRefs {
        let mut pointers = self.pointers.clone();
        pointers.deleted_tags.extend(self.tags.iter().cloned());
        pointers
            .branches
            .retain(|name, _| !self.branches.contains(name));
        pointers.tags.retain(|name, _| !self.tags.contains(name));
        pointers
    }

    /// Returns the number of snapshots that are released.
    #[must_use]
    pub fn released(&self) -> u64 {
        self.snapshots.iter().filter(|it| !it.stays()).count() as u64
    }
}
