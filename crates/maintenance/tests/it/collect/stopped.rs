//! Collections that are stopped, and two at once.

use std::sync::Arc;

use futures::StreamExt;
use icefield_core::BranchName;
use icefield_maintenance::{Collect, CollectError};
use icefield_refs::RefsError;
use icefield_storage::wrap::FaultyStorage;
use icefield_storage::wrap::fault::{Decision, Matcher, Plan, Verb, When, crash_points};
use icefield_storage::{ListOptions, Listed, Storage, StorageExt};
use icefield_storage_memory::MemoryStorage;
use icefield_testkit::stores;

use super::{collect, with_garbage};
use crate::turns::{Actor, Turns};
use crate::world::*;

async fn old_garbage() -> World {
    let world = with_garbage().await;
    world.clock.advance(2 * DAY);
    world
}

#[tokio::test]
async fn c34_a_collection_that_is_stopped_anywhere_is_completed_by_the_next() {
    let world = old_garbage().await;
    let all = FaultyStorage::new(Arc::clone(&world.storage), Plan::none());
    let storage: Arc<dyn Storage> = Arc::new(all.clone());
    let repository = world.open_on(&storage, 2).await;
    let opening = all.operations();
    Collect::default()
        .run(&repository)
        .await
        .expect("collected");
    let end = stores::keys_below(&world.storage, "chunks/").await;
    let operations = all.operations();
    assert!(operations - opening > 20);
    for (k, when) in crash_points(operations).filter(|(k, _)| *k >= opening) {
        let world = old_garbage().await;
        let faulty = FaultyStorage::new(Arc::clone(&world.storage), Plan::stop_at(k, when));
        let storage: Arc<dyn Storage> = Arc::new(faulty.clone());
        let repository = world.open_on(&storage, 2).await;
        let stopped = Collect::default().run(&repository).await;
        let at = format!("stopped at {k}, {when:?}");
        if stopped.is_ok() {
            // The last steps, such as deleting marks that are no longer used, do not fail the collection.
            assert!(faulty.is_stopped(), "{at}");
        }
        world.everything_is_there(&at).await;
        // The next collection waits for an hour, and completes it.
        let soon = Collect::default().run(&world.repository).await;
        assert!(
            matches!(soon, Ok(_) | Err(CollectError::Running)),
            "{at}: {soon:?}"
        );
        world.clock.advance(2 * HOUR);
        let report = collect(&world).await;
        world.everything_is_there(&at).await;
        assert_eq!(
            stores::keys_below(&world.storage, "chunks/").await,
            end,
            "{at}: {report:?}"
        );
        assert_eq!(world.count("snapshots").await, 3, "{at}");
        assert_eq!(world.count("manifests").await, 1, "{at}");
    }
}

#[tokio::test]
async fn c35_two_collections_at_once_take_turns() {
    let mut both = 0;
    for stop in 0.. {
        let world = old_garbage().await;
        let (storage, turn) = Turns::on(&world.storage);
        let builder =
            icefield_core::Repository::builder(storage).clock(Arc::new(world.clock.clone()));
        let mut running = Actor::new(&turn, async move {
            let repository = builder.open().await.expect("opened");
            Collect::default().run(&repository).await
        });
        for _ in 0..stop {
            running.step();
        }
        let ended = running.is_done();
        let other = Collect::default().run(&world.repository).await;
        running.finish();
        let first = running.into_result();
        let when = format!("at {stop}: {first:?} and {other:?}");
        match (&first, &other) {
            (Ok(_), Ok(_)) => both += 1,
            (Ok(_), Err(CollectError::Running)) | (Err(CollectError::Running), Ok(_)) => {}
            _ => panic!("{when}"),
        }
        world.everything_is_there(&when).await;
        assert_eq!(world.count("chunks").await, 2, "{when}");
        if ended {
            break;
        }
    }
    assert!(both > 0, "one after the other is no conflict");
}

#[tokio::test]
async fn c35_a_collection_that_was_taken_for_stopped_deletes_nothing_more() {
    let world = old_garbage().await;
    let (storage, turn) = Turns::on(&world.storage);
    let builder = icefield_core::Repository::builder(storage).clock(Arc::new(world.clock.clone()));
    let mut running = Actor::new(&turn, async move {
        let repository = builder.open().await.expect("opened");
        Collect::default().run(&repository).await
    });
    for _ in 0..16 {
        running.step();
    }
    assert!(!running.is_done());
    world.clock.advance(2 * HOUR);
    collect(&world).await;
    running.finish();
    let late = running.into_result();
    assert!(matches!(late, Err(CollectError::TakenOver)), "{late:?}");
    world.everything_is_there("afterwards").await;
}

#[tokio::test]
async fn c41_a_list_that_fails_deletes_nothing() {
    for nth in 1..=6 {
        let world = old_garbage().await;
        let plan = Plan::none().on(Verb::List, nth, Decision::FailBefore);
        let faulty = FaultyStorage::new(Arc::clone(&world.storage), plan);
        let storage: Arc<dyn Storage> = Arc::new(faulty);
        let repository = world.open_on(&storage, 2).await;
        let stopped = Collect::default().run(&repository).await;
        assert!(stopped.is_err(), "list {nth}: {stopped:?}");
        world.everything_is_there(&format!("list {nth}")).await;
    }
}

#[tokio::test]
async fn c42_deletions_that_fail_are_named_and_left_to_the_next() {
    let world = old_garbage().await;
    let plan = Plan::none().on(
        Matcher::verb(Verb::Delete).below("chunks/"),
        2,
        Decision::FailBefore,
    );
    let faulty = FaultyStorage::new(Arc::clone(&world.storage), plan);
    let storage: Arc<dyn Storage> = Arc::new(faulty);
    let repository = world.open_on(&storage, 2).await;
    let report = Collect::default()
        .run(&repository)
        .await
        .expect("collected");
    assert_eq!(
        (report.chunks.failed, report.failures.len()),
        (1, 1),
        "{report:?}"
    );
    assert!(report.failures[0].0.starts_with("chunks/"));
    assert_eq!(world.count("chunks").await, 3);
    assert_eq!(collect(&world).await.chunks.deleted, 1);
}

#[tokio::test]
async fn an_unreachable_store_is_an_error_and_nothing_else() {
    let world = old_garbage().await;
    let faulty = FaultyStorage::new(Arc::clone(&world.storage), Plan::none());
    let storage: Arc<dyn Storage> = Arc::new(faulty.clone());
    let repository = world.open_on(&storage, 2).await;
    faulty.set_plan(Plan::stop_at(0, When::Before));
    let failed = Collect::default().run(&repository).await;
    assert!(
        matches!(failed, Err(CollectError::Refs(RefsError::Storage(_)))),
        "{failed:?}"
    );
    world.everything_is_there("afterwards").await;
    let main = BranchName::main();
    assert!(
        world
            .repository
            .ledger()
            .branch(&main)
            .await
            .expect("read")
            .is_some()
    );
}

/// They have no id, so they are none of ours: they neither stop a sweep nor fall to it.
#[tokio::test]
async fn names_that_are_no_keys_neither_stop_a_sweep_nor_fall_to_it() {
    let world = old_garbage().await;
    let whole = old_garbage().await;
    let expected = collect(&whole).await;
    let memory = MemoryStorage::builder()
        .clock(Arc::new(world.clock.clone()))
        .build();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    for (key, bytes) in stores::dump(&world.storage).await {
        stores::put(&storage, &key, bytes).await;
    }
    let odd = [
        "chunks/",
        "chunks//a",
        "manifests/..",
        "snapshots/x/",
        "transactions/\0",
    ];
    for name in odd {
        assert!(memory.plant_unreadable(name.as_bytes(), 1));
    }
    world.clock.advance(2 * DAY);
    let repository = world.open_on(&storage, 2).await;
    let report = Collect::default()
        .run(&repository)
        .await
        .expect("collected");
    assert!(report.chunks.deleted > 0);
    assert_eq!(report.chunks.deleted, expected.chunks.deleted);
    let listed = storage.list_entries(ListOptions::default());
    let unreadable = listed.filter_map(|entry| async move {
        match entry.expect("listed") {
            Listed::Unreadable { raw, .. } => Some(raw),
            Listed::Object(_) => None,
        }
    });
    assert_eq!(unreadable.collect::<Vec<_>>().await, odd);
}
