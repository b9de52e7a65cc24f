//! Expiration and collection of repositories of spec version 2, whose state is one object.

use std::collections::BTreeSet;

use futures::{StreamExt, TryStreamExt};
use icefield_core::{EditOutcome, SnapshotId, TagName};
use icefield_format::layout::{self, IdKey};
use icefield_format::{SpecVersion, UpdateKind};
use icefield_maintenance::{Expire, Policy, Usage};
use icefield_storage::{ListOptions, Prefix};

use super::collect;
use crate::world::*;

async fn world(seed: u64) -> World {
    World::of_version(seed, SpecVersion::V2).await
}

/// The ids below one prefix.
async fn ids(world: &World, prefix: &str) -> BTreeSet<SnapshotId> {
    let options = ListOptions::prefix(Prefix::parse(prefix).expect("a prefix"));
    let objects: Vec<_> = (world.storage.list(options).try_collect().await).expect("listed");
    let ids = objects
        .iter()
        .map(|object| match layout::parse_id_key(object.key.as_str()) {
            Some(IdKey::Snapshot(id) | IdKey::TransactionLog(id)) => id,
            other => panic!("{other:?}"),
        });
    ids.collect()
}

async fn backups(world: &World) -> usize {
    let prefix = Prefix::parse(layout::OVERWRITTEN).expect("a prefix");
    world
        .storage
        .list(ListOptions::prefix(prefix))
        .count()
        .await
}

async fn expire(world: &World) -> u64 {
    let mut policy = Policy::default();
    policy.older_than = Some(world.repository.clock().now() - DAY);
    let expired = Expire::new(policy).run(&world.repository, &()).await;
    expired.expect("expired").plan.released()
}

async fn history(world: &World) -> Vec<SnapshotId> {
    let tip = world.tip("main").await;
    let history = world.repository.ancestry(tip).map_ok(|info| info.id);
    history.try_collect().await.expect("whole")
}

async fn operations(world: &World) -> Vec<UpdateKind> {
    let log = world.repository.operations().await.expect("it has a log");
    let log = log.map_ok(|update| update.kind);
    log.try_collect().await.expect("whole")
}

#[tokio::test]
async fn what_expired_goes_and_the_logs_that_tell_of_it_stay() {
    let world = world(1).await;
    let mut commits = Vec::new();
    for number in 0..4 {
        commits.push(
            world
                .commit_chunks("main", &[(number, number.into())])
                .await,
        );
    }
    world.clock.advance(3 * DAY);
    let last = world.commit_chunks("main", &[(9, 9)]).await;
    assert_eq!(expire(&world).await, 5, "and the commit of the array");
    assert_eq!(history(&world).await, [last, SnapshotId::INITIAL]);
    world.clock.advance(3 * DAY);
    let report = collect(&world).await;
    assert_eq!(report.snapshots.deleted, 5, "{report:?}");
    assert_eq!(report.transaction_logs.deleted, 0, "{report:?}");
    assert_eq!(report.chunks.deleted, 0, "{report:?}");
    assert_eq!(
        ids(&world, layout::SNAPSHOTS).await,
        [last, SnapshotId::INITIAL].into()
    );
    let logs = ids(&world, layout::TRANSACTIONS).await;
    assert!(commits.iter().all(|id| logs.contains(id)), "{logs:?}");
    // Nothing is lost of what is there.
    world.everything_is_there("after the collection").await;
    world.commit_chunks("main", &[(10, 10)]).await;
    let operations = operations(&world).await;
    let commits = operations
        .iter()
        .filter(|it| matches!(it, UpdateKind::NewCommit { .. }));
    assert_eq!(commits.count(), 7, "{operations:?}");
    assert!(operations.contains(&UpdateKind::GarbageCollected));
    assert!(operations.contains(&UpdateKind::Expired));
}

#[tokio::test]
async fn backups_that_no_page_of_the_log_is_go() {
    let world = world(2).await;
    for number in 0..20 {
        world
            .commit_chunks("main", &[(number, number.into())])
            .await;
    }
    let before = backups(&world).await;
    assert_eq!(before, 21, "one for each commit");
    world.clock.advance(2 * DAY);
    let used = Usage::new().backups(&world.repository).await;
    let used = used.expect("counted").expect("it has backups");
    assert_eq!((used.total.count, used.unneeded), (21, used.total));
    let report = collect(&world).await;
    assert_eq!(report.backups.deleted, 21, "{report:?}");
    let used = Usage::new().backups(&world.repository).await;
    let used = used.expect("counted").expect("it has backups");
    assert_eq!((used.total.count, used.unneeded.count), (1, 0));
    assert_eq!(backups(&world).await, 1, "the state before the collection");
    let before = operations(&world).await.len();
    for number in 20..40 {
        world
            .commit_chunks("main", &[(number, number.into())])
            .await;
    }
    world.clock.advance(2 * DAY);
    collect(&world).await;
    assert_eq!(operations(&world).await.len(), before + 21);
    assert!(backups(&world).await <= 3);
}

#[tokio::test]
async fn what_was_flushed_long_ago_is_taken_out_of_the_list_and_deleted() {
    let world = world(3).await;
    let kept = world.commit_chunks("main", &[(0, 0)]).await;
    let session = world.session("main").await;
    write(&session, 1, 1).await;
    let flushed = session.flush("aside").await.expect("flushed");
    assert!(world.repository.snapshot_info(flushed).await.is_ok());
    let tagged = world.session("main").await;
    write(&tagged, 2, 2).await;
    let tagged = tagged.flush("kept").await.expect("flushed");
    let name = TagName::parse("kept").expect("a name");
    let outcome = world.repository.create_tag(name.as_str(), tagged).await;
    assert!(matches!(outcome, Ok(EditOutcome::Done(_))), "{outcome:?}");
    world.clock.advance(3 * DAY);
    let report = collect(&world).await;
    assert_eq!(report.snapshots.deleted, 1, "{report:?}");
    assert!(world.repository.snapshot_info(flushed).await.is_err());
    let late = world.repository.create_branch("late", flushed).await;
    assert!(late.is_err(), "{late:?}");
    assert!(world.repository.snapshot_info(tagged).await.is_ok());
    assert_eq!(world.tip("main").await, kept);
}
