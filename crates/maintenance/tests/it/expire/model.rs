//! Random histories and policies against a model that has no clever parts.

use std::collections::{BTreeMap, BTreeSet};

use icefield_core::SnapshotId;
use icefield_core::test_suite::words::*;
use icefield_maintenance::{Expire, Policy};
use icefield_storage::SeededEntropy;

use super::{DAY, HOUR, Lab, MONDAY, at};

/// Seeds tried.
const RUNS: u64 = 60;

/// The expected contents of the repository.
#[derive(Default)]
struct Model {
    parents: BTreeMap<SnapshotId, SnapshotId>,
    times: BTreeMap<SnapshotId, u64>,
    branches: BTreeMap<String, SnapshotId>,
    tags: BTreeMap<String, SnapshotId>,
}

impl Model {
    /// Newest first, without the first.
    fn history(&self, tip: SnapshotId) -> Vec<SnapshotId> {
        let parent = |id: &SnapshotId| self.parents.get(id).copied();
        let history = std::iter::successors(Some(tip), parent);
        history.filter(|id| *id != SnapshotId::INITIAL).collect()
    }

    fn kept(&self, policy: &Policy) -> BTreeSet<SnapshotId> {
        let mut kept: BTreeSet<_> = self
            .branches
            .values()
            .chain(self.tags.values())
            .copied()
            .collect();
        if let Some(bound) = policy.older_than {
            let young = self.times.iter().filter(|(_, time)| at(**time) >= bound);
            kept.extend(young.map(|(id, _)| *id));
        }
        for tip in self.branches.values() {
            let history = self.history(*tip);
            kept.extend(history.iter().take(policy.last as usize));
            for (number, length) in [(policy.hourly, HOUR), (policy.daily, DAY)] {
                let mut periods: BTreeMap<u64, SnapshotId> = BTreeMap::new();
                for id in history.iter().rev() {
                    periods.insert(self.times[id] / length, *id);
                }
                kept.extend(periods.values().rev().take(number as usize));
            }
        }
        kept
    }
}

#[tokio::test]
async fn every_history_is_what_was_kept_of_it_in_order() {
    let mut released = 0;
    for seed in 0..RUNS {
        let random = SeededEntropy::new(seed);
        let lab = Lab::new().await;
        let mut model = Model::default();
        model
            .branches
            .insert("main".to_owned(), SnapshotId::INITIAL);
        let mut now = MONDAY;
        for round in 0..2 {
            for step in 0..14 {
                now += 1 + random.below(9 * HOUR);
                lab.clock.set(at(now));
                let names: Vec<String> = model.branches.keys().cloned().collect();
                let name = &names[random.below(names.len() as u64) as usize];
                let tip = model.branches[name];
                match random.below(10) {
                    0 => {
                        let new = format!("b{round}{step}");
                        done(lab.repository.create_branch(&new, tip).await);
                        model.branches.insert(new, tip);
                    }
                    1 => {
                        let new = format!("t{round}{step}");
                        done(lab.repository.create_tag(&new, tip).await);
                        model.tags.insert(new, tip);
                    }
                    2 => {
                        let history = model.history(tip);
                        if history.is_empty() {
                            continue;
                        }
                        let to = history[random.below(history.len() as u64) as usize];
                        done(lab.repository.reset_branch(&branch(name), to, None).await);
                        model.branches.insert(name.clone(), to);
                    }
                    _ => {
                        let id = lab.commit(name, now).await;
                        model.parents.insert(id, tip);
                        model.times.insert(id, now);
                        model.branches.insert(name.clone(), id);
                    }
                }
            }
            let mut policy = Policy::default();
            policy.last = random.below(4);
            policy.hourly = random.below(4);
            policy.daily = random.below(4);
            if random.below(2) == 0 {
                policy.older_than = Some(at(now - random.below(3 * DAY)));
            }
            if !policy.has_rules() {
                policy.last = 1;
            }
            let kept = model.kept(&policy);
            let expire = Expire::new(policy.clone());
            let expired = expire
                .run(&lab.repository, &())
                .await
                .expect("nothing disturbs it");
            released += expired.plan.released();
            let fresh = lab.open(&lab.storage).await;
            let mut histories = BTreeMap::new();
            for tip in model.branches.values().chain(model.tags.values()) {
                let mut expected = model.history(*tip);
                expected.retain(|id| kept.contains(id));
                let found = history(&fresh, *tip).await;
                let mut ids: Vec<_> = found.iter().map(|info| info.id).collect();
                assert_eq!(ids.pop(), Some(SnapshotId::INITIAL), "seed {seed}");
                assert_eq!(ids, expected, "seed {seed}, {policy:?}");
                for id in &ids {
                    reader(&fresh, *id).await;
                }
                histories.insert(*tip, ids);
            }
            // The next round goes on from what there is.
            for ids in histories.values() {
                for pair in ids.windows(2) {
                    model.parents.insert(pair[0], pair[1]);
                }
                if let Some(oldest) = ids.last() {
                    model.parents.insert(*oldest, SnapshotId::INITIAL);
                }
            }
            let reached: BTreeSet<_> = histories.into_values().flatten().collect();
            model.times.retain(|id, _| reached.contains(id));
        }
    }
    assert!(
        released > RUNS,
        "{released} released: the histories are too tame"
    );
}
