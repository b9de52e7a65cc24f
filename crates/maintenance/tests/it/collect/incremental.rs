//! The memory of a collection of the ones before.

use std::sync::Arc;

use icefield_core::ManualClock;
use icefield_maintenance::{Collect, CollectError, CollectReport};
use icefield_storage::Storage;
use icefield_storage::wrap::FaultyStorage;
use icefield_storage::wrap::fault::{Decision, Matcher, Plan, Verb};
use icefield_storage_memory::MemoryStorage;
use icefield_testkit::stores;

use super::{collect, delete_branch};
use crate::world::*;

const MARKS: &str = "icefield/gc/marks/";

/// Collects through a handle that knows nothing, with ids of its own.
async fn anew(world: &World, seed: u64) -> CollectReport {
    let repository = world.open_on(&world.storage, seed).await;
    let report = Collect::default().run(&repository).await;
    report.expect("collected")
}

/// The same, in a store where so many parts of the marks can be read.
async fn reading(world: &World, seed: u64, parts: u64) -> CollectReport {
    let reads = Matcher::verb(Verb::Get).below(MARKS);
    let plan = Plan::none().on(reads, parts, Decision::FailBefore);
    let faulty: Arc<dyn Storage> = Arc::new(FaultyStorage::new(Arc::clone(&world.storage), plan));
    let repository = world.open_on(&faulty, seed).await;
    let report = Collect::default().run(&repository).await;
    report.unwrap_or_else(|error| panic!("more than {parts} parts were read: {error}"))
}

/// Forty chunks, marked, and old enough to be settled.
async fn settled(seed: u64) -> World {
    let world = World::new(seed).await;
    let chunks: Vec<(u32, u64)> = (0..40).map(|at| (at, u64::from(at))).collect();
    world.commit_chunks("main", &chunks).await;
    world.clock.advance(2 * DAY);
    let report = collect(&world).await;
    assert_eq!((report.chunks.kept, report.chunks.young), (40, 0));
    world
}

async fn one_more(world: &World) {
    world.commit_chunks("main", &[(50, 50)]).await;
    world.clock.advance(2 * DAY);
}

#[tokio::test]
async fn of_chunks_that_were_there_before_nothing_is_read() {
    let world = settled(1).await;
    let before = stores::keys_below(&world.storage, MARKS).await;
    one_more(&world).await;
    // The new chunk is found in the run of its own collection.
    let report = reading(&world, 7, 1).await;
    assert_eq!((report.chunks.kept, report.marking.manifests_read), (41, 1));
    for key in before {
        assert!(world.exists(&key).await, "{key} is as it was");
    }
    let report = reading(&world, 8, 0).await;
    assert_eq!((report.chunks.kept, report.marking.manifests_read), (41, 0));
}

#[tokio::test]
async fn what_lost_its_last_reference_goes_although_it_is_older_than_the_last_collection() {
    let world = settled(2).await;
    let tip = world.tip("main").await;
    drop(world.repository.create_branch("side", tip).await);
    world.commit_chunks("side", &[(60, 60), (61, 61)]).await;
    world.clock.advance(2 * DAY);
    let report = anew(&world, 21).await;
    assert_eq!((report.chunks.kept, report.chunks.deleted), (42, 0));
    // Nothing changes for a while, and what was settled stays so.
    let report = anew(&world, 22).await;
    assert_eq!((report.chunks.kept, report.chunks.deleted), (42, 0));
    delete_branch(&world, "side").await;
    let report = anew(&world, 23).await;
    assert!(report.marking.incremental);
    assert_eq!((report.chunks.kept, report.chunks.deleted), (40, 2));
    world.everything_is_there("afterwards").await;
}

#[tokio::test]
async fn what_was_left_by_a_failure_or_an_abandoned_session_goes_next_time() {
    let world = settled(3).await;
    let session = world.session("main").await;
    write(&session, 70, 70).await;
    drop(session);
    world.clock.advance(HOUR);
    let report = anew(&world, 24).await;
    assert_eq!((report.chunks.kept, report.chunks.young), (40, 1));
    world.clock.advance(2 * DAY);
    let report = anew(&world, 25).await;
    assert_eq!((report.chunks.kept, report.chunks.deleted), (40, 1));
}

#[tokio::test]
async fn marks_that_are_lost_are_made_anew() {
    let world = settled(4).await;
    for key in stores::keys_below(&world.storage, MARKS).await {
        stores::delete(&world.storage, &key).await;
    }
    one_more(&world).await;
    let report = anew(&world, 26).await;
    assert!(!report.marking.incremental);
    assert_eq!((report.chunks.kept, report.chunks.deleted), (41, 0));
}

#[tokio::test]
async fn marks_that_are_damaged_stop_a_collection_that_needs_them_and_the_next_goes_on() {
    let world = settled(5).await;
    let tip = world.tip("main").await;
    drop(world.repository.create_branch("side", tip).await);
    world.commit_chunks("side", &[(60, 60)]).await;
    world.clock.advance(2 * DAY);
    anew(&world, 40).await;
    for key in stores::keys_below(&world.storage, MARKS).await {
        let mut bytes = stores::read(&world.storage, &key).await.to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x55;
        stores::put(&world.storage, &key, bytes).await;
    }
    delete_branch(&world, "side").await;
    let refused = Collect::default().run(&world.repository).await;
    assert!(
        matches!(&refused, Err(CollectError::Marks { key, .. }) if key.starts_with(MARKS)),
        "{refused:?}"
    );
    world.everything_is_there("after it was stopped").await;
    let report = anew(&world, 27).await;
    assert!(!report.marking.incremental);
    assert_eq!((report.chunks.kept, report.chunks.deleted), (40, 1));
}

/// All objects, in a store with another clock.
async fn copy(world: &World, clock: ManualClock) -> World {
    let memory = MemoryStorage::builder()
        .clock(Arc::new(clock.clone()))
        .build();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    stores::copy_all(&world.storage, &storage).await;
    let builder = icefield_core::Repository::builder(Arc::clone(&storage));
    let builder = builder.clock(Arc::new(clock.clone()));
    World {
        repository: builder.open().await.expect("opened"),
        storage,
        memory,
        clock,
        seed: world.seed,
    }
}

#[tokio::test]
async fn a_repository_that_was_copied_with_its_marks_loses_nothing() {
    let world = settled(6).await;
    one_more(&world).await;
    // All objects have new times there.
    let copied = copy(&world, world.clock.clone()).await;
    copied.clock.advance(2 * DAY);
    let report = anew(&copied, 28).await;
    assert!(report.marking.incremental);
    assert_eq!((report.chunks.kept, report.chunks.deleted), (41, 0));
    copied.everything_is_there("in the copy").await;
}

#[tokio::test]
async fn runs_become_few_again() {
    let world = World::new(7).await;
    let mut most = 0;
    for at in 0..100 {
        world.commit_chunks("main", &[(at, u64::from(at))]).await;
        world.clock.advance(2 * DAY);
        let report = collect(&world).await;
        assert_eq!(report.chunks.kept, u64::from(at) + 1);
        most = most.max(stores::keys_below(&world.storage, MARKS).await.len());
    }
    // Up to three of each order of four.
    assert!((3..=12).contains(&most), "{most}");
}

#[tokio::test]
async fn a_flipped_bit_in_what_is_remembered_loses_nothing() {
    let world = settled(9).await;
    one_more(&world).await;
    anew(&world, 70).await;
    let remembered = stores::read(&world.storage, "icefield/gc/marks.bin").await;
    for at in 0..remembered.len() {
        let mut bytes = remembered.to_vec();
        bytes[at] ^= 1 << (at % 8);
        stores::put(&world.storage, "icefield/gc/marks.bin", bytes).await;
        let collect = Collect::default().dry_run(true);
        let repository = world.open_on(&world.storage, 71).await;
        let report = collect.run(&repository).await;
        let report = report.unwrap_or_else(|error| panic!("byte {at}: {error}"));
        assert_eq!(report.total().deleted, 0, "byte {at}");
        assert_eq!(report.chunks.kept, 41, "byte {at}");
    }
}

#[tokio::test]
async fn a_clock_that_stood_ahead_settles_nothing() {
    let world = settled(10).await;
    // The store's clock is put right, to a time before that from which on nothing is settled.
    let now = icefield_core::Clock::now(&world.clock);
    let copied = copy(&world, ManualClock::new(now - 10 * DAY)).await;
    let session = copied.session("main").await;
    write(&session, 71, 71).await;
    drop(session);
    copied.clock.advance(3 * DAY);
    let report = anew(&copied, 80).await;
    assert!(report.marking.incremental);
    assert_eq!(report.chunks.deleted, 1, "{report:?}");
    copied.everything_is_there("afterwards").await;
}
