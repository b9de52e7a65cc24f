//! `repo` put back from an earlier state: what was there is kept, what came later is named, and nothing is made up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use icefield_core::{BranchName, CommitOutcome, SnapshotId};
use icefield_format::{RepoInfo, SpecVersion, layout};
use icefield_maintenance::{
    Check, FindingKind, LogOutcome, Progress, Repair, RepairError, RepairOutcome, RepairReport,
};
use icefield_storage::Storage;
use icefield_storage::wrap::FaultyStorage;
use icefield_storage::wrap::fault::{Plan, crash_points};
use icefield_testkit::stores;

use super::damages_v2::plant;
use super::world::{World, path, set};

/// The planted damages that make `repo` unusable as a whole.
const UNUSABLE: &[&str] = &[
    "repo is missing",
    "repo is empty",
    "repo is truncated",
    "repo has another magic",
    "repo has a byte that flipped",
    "repo is a snapshot",
    "repo is of another repository",
    "repo is of a new repository",
];

async fn world() -> World {
    World::of(SpecVersion::V2).await
}

fn repair(world: &World) -> Repair {
    Repair::new(world.check(), world.builder())
}

async fn run(repair: Repair) -> RepairReport {
    repair.run(&()).await.expect("the store does not fail")
}

/// The newest earlier state.
async fn newest(world: &World) -> String {
    let keys = stores::keys_below(&world.storage, "overwritten/").await;
    keys.into_iter().next().expect("one")
}

async fn tip(world: &World, branch: &str) -> SnapshotId {
    world.repo().await.branch(branch).expect("a branch")
}

#[tokio::test]
async fn an_unusable_repo_gives_way_to_its_newest_earlier_state_and_is_kept() {
    for what in UNUSABLE {
        let world = world().await;
        plant(what, &world).await;
        let from = newest(&world).await;
        let state = stores::read(&world.storage, &from).await;
        let before = stores::dump(&world.storage).await;

        let planned = run(repair(&world).dry_run()).await;
        let repo = planned.repo.expect("planned");
        assert_eq!(
            (&repo.outcome, &repo.from),
            (&LogOutcome::Planned, &from),
            "{what}"
        );
        assert_eq!(
            stores::dump(&world.storage).await,
            before,
            "{what}: a dry run wrote"
        );

        let report = run(repair(&world)).await;
        let repo = report.repo.expect("put back");
        assert_eq!(repo.outcome, LogOutcome::Done, "{what}");
        assert_eq!((&repo.from, repo.passed_over), (&from, 0), "{what}");
        assert!(report.left.is_empty(), "{what}: {:#?}", report.left);
        assert_eq!(stores::read(&world.storage, "repo").await, state, "{what}");
        // Nothing else is changed, and what was there is kept.
        let mut after = stores::dump(&world.storage).await;
        let mut expected = before.clone();
        expected.insert("repo".to_owned(), state);
        if let Some(damaged) = before.get("repo") {
            let key = repo.kept_aside.expect("kept");
            assert_eq!(after.remove(&key).as_ref(), Some(damaged), "{what}");
        }
        // The mark names the backup.
        let name = from.strip_prefix("overwritten/").expect("a backup");
        let mark = after.remove("icefield/damaged/unsettled");
        assert_eq!(mark.as_deref(), Some(name.as_bytes()), "{what}");
        assert_eq!(after, expected, "{what}");

        // The last commit is lost with the last state. It is named, and where it belongs.
        let lost = &report.check.unlisted;
        assert_eq!(lost.len(), 1, "{what}: {lost:#?}");
        assert_eq!(lost[0].snapshot, world.commits[3], "{what}");
        assert_eq!(lost[0].parent, Some(world.commits[1]), "{what}");
        assert_eq!(
            (&*lost[0].message, &*lost[0].branches),
            ("four", &["dev".to_owned()][..])
        );
        let named = report.check.findings.iter();
        let named = named.filter(|it| it.kind == FindingKind::SnapshotUnlisted);
        assert_eq!(named.count(), 1, "{what}");
        assert_eq!(tip(&world, "dev").await, world.commits[1], "{what}");
        assert_eq!(tip(&world, "main").await, world.commits[2], "{what}");
        assert!(world.report().await.is_sound(), "{what}");

        // It is a repository again, and the next repair has nothing to do.
        let now = stores::dump(&world.storage).await;
        let again = run(repair(&world)).await;
        assert!(again.repo.is_none(), "{what}");
        assert_eq!(stores::dump(&world.storage).await, now, "{what}");
        let session = world.open().await.write_session(BranchName::main()).await;
        let session = session.expect("opens");
        set(&session, "/g/a", &[6], vec![6; 10]).await;
        let committed = session.commit("five").await;
        assert!(
            matches!(committed, Ok(CommitOutcome::Committed(_))),
            "{what}"
        );
        assert!(world.report().await.is_sound(), "{what}");
    }
}

#[tokio::test]
async fn backups_that_are_no_sound_ones_are_passed_over() {
    let world = world().await;
    world.delete("repo").await;
    let keys = stores::keys_below(&world.storage, "overwritten/").await;
    world.put(&keys[0], "x").await;
    world.truncate(&keys[1]).await;
    let report = run(repair(&world)).await;
    let repo = report.repo.expect("put back");
    assert_eq!((&repo.from, repo.passed_over), (&keys[2], 2));
    assert_eq!(repo.outcome, LogOutcome::Done);
    // Commit 3, and the branch below commit 4, are of the states that are lost.
    assert_eq!(tip(&world, "main").await, world.commits[1]);
    let lost: Vec<_> = report.check.unlisted.iter().map(|it| it.snapshot).collect();
    assert_eq!(lost, world.commits[2..]);
    assert!(world.report().await.is_sound());
}

#[tokio::test]
async fn without_a_sound_earlier_state_nothing_is_made_up() {
    let world = world().await;
    world.truncate("repo").await;
    for key in stores::keys_below(&world.storage, "overwritten/").await {
        world.put(&key, "x").await;
    }
    let before = stores::dump(&world.storage).await;
    let report = run(repair(&world)).await;
    assert!(report.repo.is_none());
    let left: Vec<_> = report.left.iter().map(|it| it.kind).collect();
    assert_eq!(left, [FindingKind::RepoDamaged]);
    let garbage = report.check.garbage.expect("all was looked at");
    assert!(!garbage.certain && garbage.objects > 0);
    assert_eq!(stores::dump(&world.storage).await, before);
}

#[tokio::test]
async fn beside_refs_of_version_1_nothing_is_put_back() {
    let world = world().await;
    plant("refs of version 1 are there, too", &world).await;
    world.delete("repo").await;
    let before = stores::dump(&world.storage).await;
    let report = run(repair(&world)).await;
    let repo = report.repo.expect("a state is there");
    assert!(
        matches!(repo.outcome, LogOutcome::Failed { .. }),
        "{repo:#?}"
    );
    assert!(
        report
            .left
            .iter()
            .any(|it| it.kind == FindingKind::RepoMissing)
    );
    assert_eq!(stores::dump(&world.storage).await, before);
}

/// Writes `repo` when the repair begins.
struct Writer {
    storage: Arc<dyn Storage>,
    bytes: bytes::Bytes,
    written: AtomicBool,
}

impl Progress for Writer {
    fn stage(&self, name: &'static str, _: Option<u64>) {
        if name == "repairing" && !self.written.swap(true, Ordering::SeqCst) {
            let put = stores::put(&self.storage, "repo", self.bytes.clone());
            futures::FutureExt::now_or_never(put).expect("memory answers at once");
        }
    }

    fn advance(&self, _: u64, _: u64) {}
}

#[tokio::test]
async fn a_repo_that_is_written_meanwhile_stays() {
    for what in ["repo is missing", "repo is truncated"] {
        let world = world().await;
        let good = stores::read(&world.storage, "repo").await;
        plant(what, &world).await;
        let writer = Writer {
            storage: Arc::clone(&world.storage),
            bytes: good.clone(),
            written: AtomicBool::new(false),
        };
        let report = repair(&world).run(&writer).await.expect("no failure");
        let repo = report.repo.expect("a state is there");
        assert_eq!(repo.outcome, LogOutcome::Changed, "{what}");
        assert_eq!(stores::read(&world.storage, "repo").await, good, "{what}");
    }
}

fn recovered() -> BranchName {
    BranchName::parse("recovered/dev").expect("a name")
}

#[tokio::test]
async fn what_was_committed_later_becomes_a_branch_on_request_where_its_parent_is_certain() {
    let world = world().await;
    plant("repo is truncated", &world).await;
    let report = run(repair(&world).restore_branch(recovered())).await;
    let snapshot = world.commits[3];
    let outcome = &report.restored[0].outcome;
    assert_eq!(*outcome, RepairOutcome::Done { snapshot });
    assert_eq!(tip(&world, "recovered/dev").await, snapshot);
    let info = world.repo().await;
    let listed = info.snapshots().get(&snapshot).expect("listed");
    assert_eq!(listed.parent_id(), Some(world.commits[1]));
    let after = world.report().await;
    assert!(after.is_sound() && after.warnings == 0, "{after:#?}");
    // A name in use is refused.
    let again = repair(&world).restore_branch(recovered()).run(&()).await;
    assert!(
        matches!(again, Err(RepairError::NotLost { .. })),
        "{again:?}"
    );
}

#[tokio::test]
async fn two_commits_of_one_branch_come_back_in_their_order() {
    let world = world().await;
    world.clock.advance(std::time::Duration::from_secs(60));
    let session = world.open().await.write_session(BranchName::main()).await;
    let session = session.expect("opens");
    set(&session, "/g/a", &[6], vec![6; 10]).await;
    let Ok(CommitOutcome::Committed(five)) = session.commit("five").await else {
        panic!("not committed");
    };
    // The states after the third commit are lost, so that nothing lists the fourth and the fifth.
    world.delete("repo").await;
    let keys = stores::keys_below(&world.storage, "overwritten/").await;
    world.delete(&keys[0]).await;
    let report = run(repair(&world)).await;
    let lost: Vec<_> = (report.check.unlisted.iter())
        .map(|it| (it.snapshot, it.parent))
        .collect();
    let (two, three, four) = (world.commits[1], world.commits[2], world.commits[3]);
    assert_eq!(lost, [(four, Some(two)), (five, Some(three))]);
    let report = run(repair(&world).restore_branch(recovered())).await;
    let done = RepairOutcome::Done { snapshot: five };
    assert_eq!(report.restored[0].outcome, done);
    assert!(world.report().await.is_sound());
}

#[tokio::test]
async fn what_does_not_prove_its_parent_is_named_and_not_adopted() {
    let world = world().await;
    plant("repo is truncated", &world).await;
    // It tells too little.
    world.write_log(4, |_| {}).await;
    let repaired = repair(&world).restore_branch(recovered()).run(&()).await;
    assert!(
        matches!(repaired, Err(RepairError::NothingToRestore { .. })),
        "{repaired:?}"
    );
    let report = run(repair(&world)).await;
    // `repo` was put back before.
    assert!(
        report.repo.is_none() && report.check.is_sound(),
        "{report:#?}"
    );
    assert!(world.repo().await.branch("recovered/dev").is_none());
}

#[tokio::test]
async fn a_repair_that_is_stopped_anywhere_is_completed_by_the_next() {
    for what in ["repo is missing", "repo is truncated"] {
        let world_of = || async {
            let world = world().await;
            plant(what, &world).await;
            world
        };
        let spoilt = world_of().await;
        let all = FaultyStorage::new(Arc::clone(&spoilt.storage), Plan::none());
        let over = |world: &World, storage: &FaultyStorage| {
            let storage: Arc<dyn Storage> = Arc::new(storage.clone());
            let mut builder = icefield_core::Repository::builder(Arc::clone(&storage));
            let clock: Arc<icefield_core::ManualClock> = Arc::clone(&world.clock);
            builder = builder.clock(clock);
            Repair::new(Check::new(storage), builder).restore_branch(recovered())
        };
        run(over(&spoilt, &all)).await;
        let operations = all.operations();
        assert!(operations > 40, "{operations}");
        for (k, when) in crash_points(operations) {
            let world = world_of().await;
            let damaged = stores::dump(&world.storage).await.remove("repo");
            let faulty = FaultyStorage::new(Arc::clone(&world.storage), Plan::stop_at(k, when));
            let at = format!("{what}, stopped at {k}, {when:?}");
            let stopped = over(&world, &faulty).run(&()).await;
            // The stored object is the damaged one, or a whole state.
            let now = stores::dump(&world.storage).await.remove("repo");
            let is_whole = now
                .as_ref()
                .is_some_and(|it| RepoInfo::decode(it, &world.limits()).is_ok());
            assert!(now == damaged || is_whole, "{at}: {stopped:?}");
            let again = repair(&world).restore_branch(recovered()).run(&()).await;
            assert!(
                matches!(again, Ok(_) | Err(RepairError::NotLost { .. })),
                "{at}: {again:?}"
            );
            faulty.deliver_pending().await;
            assert_eq!(tip(&world, "recovered/dev").await, world.commits[3], "{at}");
            assert_eq!(tip(&world, "main").await, world.commits[2], "{at}");
            let report = world.report().await;
            assert!(
                report.is_sound() && report.warnings == 0,
                "{at}: {report:#?}"
            );
            let aside = stores::keys_below(&world.storage, "icefield/damaged/repo").await;
            assert_eq!(
                aside.len(),
                usize::from(damaged.is_some()),
                "{at}: {aside:?}"
            );
            if let Some(damaged) = damaged {
                assert_eq!(
                    stores::read(&world.storage, &aside[0]).await,
                    damaged,
                    "{at}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_damaged_tip_of_version_2_is_repaired_by_a_commit() {
    let world = world().await;
    let key = world.chunk_key(3, "/g/a", &[2]).await;
    world.delete(&key).await;
    let report = run(repair(&world)).await;
    let done = report.branches.iter().map(|it| &*it.branch);
    assert_eq!(done.collect::<Vec<_>>(), ["dev", "main"]);
    for branch in ["dev", "main"] {
        let id = tip(&world, branch).await;
        let check = world.check().only(branch, id).tips_only();
        let report = check.run(&()).await.expect("checked");
        assert!(report.is_sound(), "{branch}: {report:#?}");
    }
    let snapshot = world.open().await.snapshot(tip(&world, "main").await).await;
    assert!(snapshot.expect("readable").node(&path("/g/a")).is_some());
    assert_eq!(
        stores::keys_below(&world.storage, layout::REFS).await,
        [""; 0]
    );
}
