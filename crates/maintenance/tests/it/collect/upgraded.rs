//! Refs that a version-1 program writes after the upgrade to spec version 2: `repo` does not have what they reach.

use std::sync::Arc;

use icefield_core::{BranchName, Repository, UpgradeOptions};
use icefield_format::SpecVersion;
use icefield_maintenance::{Collect, CollectError, Expire, ExpireError, Policy};
use icefield_refs::RefsError;
use icefield_storage::wrap::FaultyStorage;
use icefield_storage::wrap::fault::{Decision, Matcher, Plan, Verb};
use icefield_testkit::stores::{dump, put, read};

use crate::world::*;

const LATE: &str = "refs/branch.late/ref.json";

async fn upgrade(world: &Repository) {
    let builder = Repository::builder(std::sync::Arc::clone(world.storage()));
    let builder = builder.clock(std::sync::Arc::clone(world.clock()));
    let upgraded = builder.upgrade(&UpgradeOptions::default()).await;
    upgraded.expect("nothing disturbs it");
}

/// A repository that was upgraded, in which a version-1 program has since committed to a new branch: it does not look for `repo`.
async fn world() -> World {
    let mut world = World::of_version(1, SpecVersion::V1).await;
    world.commit_chunks("main", &[(0, 0), (1, 1)]).await;
    let late = BranchName::parse("late").unwrap();
    let tip = world.tip("main").await;
    drop(world.repository.create_branch("late", tip).await.unwrap());
    world.commit_chunks("late", &[(2, 2)]).await;
    let file = read(&world.storage, LATE).await;
    drop(world.repository.delete_branch(&late).await.unwrap());
    upgrade(&world.repository).await;
    put(&world.storage, LATE, file).await;
    world.clock.advance(2 * DAY);
    world.repository = world.open_on(&Arc::clone(&world.storage), 2).await;
    world
}

fn names_late(error: &RefsError) -> bool {
    let text = error.to_string();
    matches!(error, RefsError::NotCarriedOver { .. })
        && text.contains("branch late at")
        && text.contains("`icefield upgrade LOCATION`")
}

#[tokio::test]
async fn what_a_ref_beside_repo_reaches_is_not_collected() {
    let world = world().await;
    let before = dump(&world.storage).await;
    for dry_run in [true, false] {
        let collected = Collect::default().dry_run(dry_run);
        let collected = collected.run(&world.repository).await;
        let Err(CollectError::Refs(error)) = collected else {
            panic!("{collected:?}");
        };
        assert!(names_late(&error), "{error}");
    }
    assert!(dump(&world.storage).await == before);

    upgrade(&world.repository).await;
    let repository = world.open_on(&world.storage, 3).await;
    Collect::default().run(&repository).await.unwrap();
    let late = BranchName::parse("late").unwrap();
    assert!(
        repository
            .refs()
            .await
            .unwrap()
            .branches
            .contains_key(&late)
    );
    world.everything_is_there("after the collection").await;
}

#[tokio::test]
async fn nothing_expires_beside_a_ref_that_repo_does_not_have() {
    let world = world().await;
    let before = dump(&world.storage).await;
    let mut policy = Policy::default();
    policy.older_than = Some(world.repository.clock().now() - DAY);
    let expire = Expire::new(policy);
    for error in [
        expire.plan(&world.repository, &()).await.map(drop),
        expire.run(&world.repository, &()).await.map(drop),
    ] {
        let Err(ExpireError::Refs(error)) = error else {
            panic!("{error:?}");
        };
        assert!(names_late(&error), "{error}");
    }
    let mut after = dump(&world.storage).await;
    after.retain(|key, _| before.contains_key(key));
    assert!(after == before);
}

/// Where `refs/` cannot be listed, or is not understood, it is not known what may go.
#[tokio::test]
async fn a_look_beside_repo_that_fails_ends_a_collection() {
    let world = world().await;
    upgrade(&world.repository).await;
    let failing = Plan::none().on(
        Matcher::verb(Verb::List).below("refs"),
        0,
        Decision::FailBefore,
    );
    let failing = FaultyStorage::new(Arc::clone(&world.storage), failing);
    let repository = world.open_on(&(std::sync::Arc::new(failing) as _), 4).await;
    let collected = Collect::default().run(&repository).await;
    assert!(
        matches!(collected, Err(CollectError::Refs(RefsError::Storage(_)))),
        "{collected:?}"
    );
    put(&world.storage, "refs/branch.dev/other.json", "what is this").await;
    let repository = world.open_on(&world.storage, 5).await;
    let collected = Collect::default().run(&repository).await;
    assert!(
        matches!(
            collected,
            Err(CollectError::Refs(RefsError::NotUnderstood { .. }))
        ),
        "{collected:?}"
    );
}
