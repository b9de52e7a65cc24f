//! After `repo` was put back from a backup: what came later is kept and named until a person has settled it.

use std::time::Duration;

use icefield_core::{BranchName, SnapshotId};
use icefield_format::{SpecVersion, layout};
use icefield_maintenance::{
    Collect, CollectError, Expire, ExpireError, Expired, FindingKind, Policy, Repair,
    RepairOutcome, RepairReport,
};
use icefield_testkit::stores;

use super::damages_v2::plant;
use super::world::World;

const MARK: &str = "icefield/damaged/unsettled";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn repair(world: &World) -> Repair {
    Repair::new(world.check(), world.builder())
}

async fn run(repair: Repair) -> RepairReport {
    repair.run(&()).await.expect("the store does not fail")
}

fn recovered() -> BranchName {
    BranchName::parse("recovered/dev").expect("a name")
}

/// A repository whose `repo` was put back, and the acknowledged commit that it does not list.
async fn put_back() -> (World, SnapshotId) {
    let world = World::of(SpecVersion::V2).await;
    plant("repo is truncated", &world).await;
    let report = run(repair(&world)).await;
    assert_eq!(report.unsettled, Some(1));
    let four = world.commits[3];
    (world, four)
}

/// Collects all that no ref reaches, once it is old enough.
async fn collect(world: &World) -> Result<(), CollectError> {
    world.clock.advance(2 * DAY);
    let collected = Collect::default().run(&world.open().await).await;
    collected.map(drop)
}

async fn expire(world: &World) -> Result<Expired, ExpireError> {
    let mut policy = Policy::default();
    policy.last = 1;
    Expire::new(policy).run(&world.open().await, &()).await
}

async fn is_there(world: &World, key: &str) -> bool {
    stores::keys(&world.storage)
        .await
        .iter()
        .any(|it| it == key)
}

#[tokio::test]
async fn what_a_repo_that_was_put_back_does_not_list_is_kept_and_named() {
    let (world, four) = put_back().await;
    assert!(is_there(&world, MARK).await);
    let before = stores::dump(&world.storage).await;
    let collected = collect(&world).await;
    assert!(
        matches!(collected, Err(CollectError::PutBack)),
        "{collected:?}"
    );
    let expired = expire(&world).await;
    assert!(matches!(expired, Err(ExpireError::PutBack)), "{expired:?}");
    assert_eq!(stores::dump(&world.storage).await, before);
    // Tomorrow, too.
    world.clock.advance(DAY);
    let report = world.report().await;
    assert!(report.is_sound());
    let unlisted: Vec<_> = report.unlisted.iter().map(|it| it.snapshot).collect();
    assert_eq!(unlisted, [four]);
    assert_eq!(report.kinds.get(&FindingKind::PutBackUnsettled), Some(&1));
    assert!(!report.garbage.expect("all was looked at").certain);
    // A repair that only looks settles nothing.
    let again = run(repair(&world)).await;
    assert_eq!(again.unsettled, Some(1));
    let dry = run(repair(&world).give_up_unlisted().dry_run()).await;
    assert_eq!(dry.unsettled, None);
    assert!(is_there(&world, MARK).await);
}

#[tokio::test]
async fn a_branch_made_of_the_last_unlisted_snapshot_settles_it() {
    let (world, four) = put_back().await;
    let report = run(repair(&world).restore_branch(recovered())).await;
    let done = RepairOutcome::Done { snapshot: four };
    assert_eq!(report.restored[0].outcome, done);
    assert_eq!(report.unsettled, None);
    assert!(!is_there(&world, MARK).await);
    collect(&world).await.expect("it is settled");
    assert!(is_there(&world, &layout::snapshot_key(four)).await);
    expire(&world).await.expect("it is settled");
    assert!(world.report().await.is_sound());
}

#[tokio::test]
async fn a_person_can_give_it_up() {
    let (world, four) = put_back().await;
    let report = run(repair(&world).give_up_unlisted()).await;
    assert_eq!(report.unsettled, None);
    assert!(!is_there(&world, MARK).await);
    collect(&world).await.expect("it is settled");
    assert!(!is_there(&world, &layout::snapshot_key(four)).await);
    let report = world.report().await;
    assert!(report.is_sound() && report.warnings == 0, "{report:#?}");
}

#[tokio::test]
async fn a_put_back_after_which_nothing_is_missing_is_settled_at_once() {
    let world = World::of(SpecVersion::V2).await;
    // The last write added no snapshot.
    world.edit_repo(1, 1000, |_| {}).await;
    plant("repo is truncated", &world).await;
    let report = run(repair(&world)).await;
    assert!(report.repo.is_some());
    assert_eq!(report.unsettled, None);
    assert!(!is_there(&world, MARK).await);
    collect(&world).await.expect("there is nothing to settle");
}

#[tokio::test]
async fn of_too_many_unlisted_snapshots_the_oldest_are_compared_and_the_others_counted() {
    let world = World::of(SpecVersion::V2).await;
    world.delete("repo").await;
    let keys = stores::keys_below(&world.storage, "overwritten/").await;
    for key in &keys[..2] {
        world.delete(key).await;
    }
    let all = world.report().await;
    let ids: Vec<_> = all.unlisted.iter().map(|it| it.snapshot).collect();
    assert_eq!(ids, world.commits[2..]);
    let check = world.check().with_most_unlisted(1);
    let some = check.run(&()).await.expect("the store does not fail");
    assert_eq!(some.unlisted, all.unlisted[..1]);
    let named = some.findings.iter();
    let named = named.filter(|it| it.kind == FindingKind::SnapshotUnlisted);
    let counts: Vec<_> = named.map(|it| (it.key.clone(), it.count)).collect();
    let first = layout::snapshot_key(world.commits[2]);
    assert_eq!(counts, [(layout::SNAPSHOTS.to_owned(), 1), (first, 1)]);
}
