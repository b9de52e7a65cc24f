//! The state of an interleaving, and what it counts.

use std::ops::AddAssign;

use icefield_format::SpecVersion;
use icefield_storage::SeededEntropy;
use icefield_storage::wrap::fault::{Plan, Rates};

use super::model::Model;
use super::stage::Stage;
use crate::BranchName;
use crate::test_suite::walk::problems;

/// One interleaving to be played.
#[derive(Clone, Debug)]
pub struct Interleaving {
    /// The seed of every choice.
    pub seed: u64,
    /// Whether requests of sessions fail now and then.
    pub with_faults: bool,
    /// The version of the format that the repository begins with.
    pub spec: SpecVersion,
}

/// Counts of events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    /// Commits that landed.
    pub commits: u64,
    /// Those among them that were carried over other commits.
    pub rebased: u64,
    /// Commits and rebases that ended in conflicts.
    pub conflicts: u64,
    /// Commits in which a solver has settled something.
    pub settled: u64,
    /// Writes whose outcome was unknown at first.
    pub unknown: u64,
    /// Nodes that were moved.
    pub moves: u64,
    /// Resets of the branch.
    pub resets: u64,
    /// Amended commits.
    pub amends: u64,
    /// Snapshots that were flushed.
    pub flushes: u64,
    /// Chunks that were erased where there was none, one by one.
    pub erased: u64,
    /// Boxes that were erased and held such places.
    pub boxes: u64,
    /// Conflicts of such an erasure with a chunk that another session wrote there.
    pub erasures_met: u64,
    /// Tags that were made.
    pub tags: u64,
    /// Expirations.
    pub expirations: u64,
    /// Commits that expired.
    pub released: u64,
    /// Collections.
    pub collections: u64,
    /// Objects that collections deleted.
    pub deleted: u64,
    /// Upgrades.
    pub upgrades: u64,
    /// Commits that an upgrade meanwhile refused.
    pub upgraded_under: u64,
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.commits += other.commits;
        self.rebased += other.rebased;
        self.conflicts += other.conflicts;
        self.settled += other.settled;
        self.unknown += other.unknown;
        self.moves += other.moves;
        self.resets += other.resets;
        self.amends += other.amends;
        self.flushes += other.flushes;
        self.erased += other.erased;
        self.boxes += other.boxes;
        self.erasures_met += other.erasures_met;
        self.tags += other.tags;
        self.expirations += other.expirations;
        self.released += other.released;
        self.collections += other.collections;
        self.deleted += other.deleted;
        self.upgrades += other.upgrades;
        self.upgraded_under += other.upgraded_under;
    }
}

/// The state of one interleaving.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) seed: u64,
    pub(super) random: SeededEntropy,
    pub(super) with_faults: bool,
    /// The version of the repository.
    pub(super) spec: SpecVersion,
    pub(super) report: Report,
}

impl Run {
    pub(super) fn new(interleaving: &Interleaving) -> Self {
        Self {
            seed: interleaving.seed,
            random: SeededEntropy::new(interleaving.seed),
            with_faults: interleaving.with_faults,
            spec: interleaving.spec,
            report: Report::default(),
        }
    }

    pub(super) fn below(&self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    /// Switches the faults of the store on, if this run has any, or off.
    pub(super) fn faults(&self, stage: &Stage, on: bool) {
        let rates = Rates {
            fail_before: 15,
            fail_after: 15,
            late: 10,
            ..Rates::default()
        };
        stage.faulty.set_plan(match on && self.with_faults {
            true => Plan::seeded(self.random.next_u64(), rates),
            false => Plan::none(),
        });
    }

    pub(super) async fn check_history(&self, stage: &Stage) {
        let repository = stage.reopened().await;
        let session = repository
            .read_session(BranchName::main())
            .await
            .expect("exists");
        let mut next = Some(session.snapshot_id().expect("sound"));
        for commit in stage.history.iter().rev() {
            assert_eq!(next, Some(commit.id), "no commit is lost or doubled");
            let info = repository.snapshot_info(commit.id).await.expect("readable");
            next = info.parent_id;
        }
        assert_eq!(next, None);
        let last = stage.history.last().expect("never empty");
        assert_eq!(Model::of(&session).await, last.state);
        for (name, (id, state)) in &stage.tags {
            let session = repository.read_session(name.clone()).await;
            let session = session.expect("it exists");
            assert_eq!(session.snapshot_id().expect("sound"), *id);
            assert_eq!(Model::of(&session).await, *state, "tag {name}");
        }
        if stage.upkeep.is_none() && self.seed.is_multiple_of(16) {
            assert_eq!(problems(&stage.inner).await, Vec::<String>::new());
        }
    }
}
