//! Collections that are interrupted: they end by themselves, and keep no other collection waiting.

use std::sync::Arc;
use std::time::Duration;

use icefield_core::{Clock, Interrupt, Repository, micros_of_time};
use icefield_maintenance::{Check, Collect, CollectError};
use icefield_testkit::stores;

use super::{collect, delete_branch, with_garbage};
use crate::turns::{Actor, Turns};
use crate::world::*;

async fn old_garbage() -> World {
    let world = with_garbage().await;
    world.clock.advance(2 * DAY);
    world
}

#[tokio::test]
async fn interrupted_anywhere_it_ends_soon_and_the_next_completes_it_at_once() {
    let end = {
        let world = old_garbage().await;
        collect(&world).await;
        stores::keys_below(&world.storage, "chunks/").await
    };
    let (mut interrupted, mut deleted_before) = (0, 0);
    for stop in 0.. {
        let world = old_garbage().await;
        let all = stores::keys_below(&world.storage, "").await.len();
        let (storage, turn) = Turns::on(&world.storage);
        let builder = Repository::builder(storage).clock(Arc::new(world.clock.clone()));
        let interrupt = Interrupt::new();
        let wish = interrupt.clone();
        let mut running = Actor::new(&turn, async move {
            let repository = builder.open().await.expect("opened");
            let collect = Collect::default().interruptible(&wish);
            collect.run(&repository).await
        });
        for _ in 0..stop {
            running.step();
        }
        let has_ended = running.is_done();
        interrupt.raise();
        let result = running.into_result();
        let when = format!("interrupted at {stop}: {result:?}");
        match result {
            Ok(_) => {}
            Err(CollectError::Interrupted(_)) => {
                interrupted += 1;
                let left = stores::keys_below(&world.storage, "").await.len();
                deleted_before += usize::from(left < all);
            }
            Err(_) => panic!("{when}"),
        }
        world.everything_is_there(&when).await;
        // No time passes: the one that was interrupted has said that it is over.
        collect(&world).await;
        world.everything_is_there(&when).await;
        let check = Check::new(Arc::clone(&world.storage)).run(&()).await;
        assert!(check.expect("checked").is_sound(), "{when}");
        let chunks = stores::keys_below(&world.storage, "chunks/").await;
        assert_eq!(chunks, end, "{when}");
        assert_eq!(world.count("snapshots").await, 3, "{when}");
        assert_eq!(world.count("manifests").await, 1, "{when}");
        if has_ended {
            break;
        }
    }
    assert!(interrupted > 20, "{interrupted}");
    assert!(deleted_before > 0, "none was interrupted in its sweep");
}

#[tokio::test]
async fn a_collection_that_was_interrupted_before_it_began_writes_nothing() {
    let world = old_garbage().await;
    let before = stores::keys_below(&world.storage, "").await;
    let interrupt = Interrupt::new();
    interrupt.raise();
    for dry_run in [true, false] {
        let collect = Collect::default().dry_run(dry_run);
        let ended = collect
            .interruptible(&interrupt)
            .run(&world.repository)
            .await;
        assert!(matches!(ended, Err(CollectError::Interrupted(_))));
    }
    assert_eq!(stores::keys_below(&world.storage, "").await, before);
}

#[tokio::test]
async fn what_is_not_older_than_a_time_stays_however_late_the_collection_begins() {
    let world = with_garbage().await;
    world.clock.advance(Duration::from_secs(5));
    let bound = world.clock.now();
    world.clock.advance(Duration::from_secs(5));
    let tip = world.tip("main").await;
    let made = world.repository.create_branch("late", tip).await;
    drop(made.expect("made"));
    world.commit_chunks("late", &[(7, 700)]).await;
    delete_branch(&world, "late").await;
    // As much as passes between a call and the first answer of a slow store, and more.
    world.clock.advance(DAY);
    for (dry_run, floor) in [
        (true, Duration::ZERO),
        (false, Duration::ZERO),
        (false, HOUR),
    ] {
        let collect = Collect::default().floor(floor).force_floor();
        let collect = collect.older_than(bound).dry_run(dry_run);
        let report = collect.run(&world.repository).await.expect("collected");
        assert_eq!(report.cutoff, micros_of_time(bound));
        assert_eq!(report.chunks.young, 1, "{report:?}");
        world.everything_is_there("afterwards").await;
    }
    assert_eq!(world.count("chunks").await, 2 + 1);
    // The floor holds, too: of the two, what spares more.
    let now = world.clock.now();
    let report = Collect::default().older_than(now).run(&world.repository);
    let report = report.await.expect("collected");
    assert_eq!(report.cutoff, micros_of_time(now - DAY));
}
