//! Collecting garbage.

mod clocks;
mod flushed;
mod incremental;
mod interleaved;
mod interrupted;
mod leases;
mod model;
mod spec_v2;
mod stepping;
mod stopped;
mod strays;
mod three;
mod upgraded;

use std::sync::Arc;
use std::time::Duration;

use icefield_core::{BranchName, SnapshotId, TagName};
use icefield_format::layout;
use icefield_maintenance::{Collect, CollectError, CollectReport, TimeSource};
use icefield_storage::Storage;
use icefield_storage::wrap::{CountingStorage, ReadOnlyStorage};
use icefield_testkit::stores;

use crate::world::*;

pub(crate) async fn collect(world: &World) -> CollectReport {
    let collected = Collect::default().run(&world.repository).await;
    collected.expect("collected")
}

async fn delete_branch(world: &World, name: &str) {
    let name = BranchName::parse(name).expect("a name");
    drop(
        world
            .repository
            .delete_branch(&name)
            .await
            .expect("deleted"),
    );
}

/// A repository of which a branch with five commits was deleted.
async fn with_garbage() -> World {
    let world = World::new(1).await;
    world.commit_chunks("main", &[(0, 0), (1, 1)]).await;
    let tip = world.tip("main").await;
    drop(
        world
            .repository
            .create_branch("side", tip)
            .await
            .expect("made"),
    );
    for at in 0..5 {
        world
            .commit_chunks("side", &[(at, 100 + u64::from(at))])
            .await;
    }
    delete_branch(&world, "side").await;
    world
}

#[tokio::test]
async fn what_nothing_refers_to_goes_once_it_is_old() {
    let world = with_garbage().await;
    let report = collect(&world).await;
    assert_eq!(report.total().deleted, 0, "{report:?}");
    assert_eq!((report.chunks.kept, report.chunks.young), (0, 2 + 5));
    assert_eq!(
        report.manifests.kept,
        1 + 5,
        "young snapshots hold what they need"
    );
    assert_eq!(report.snapshots.young, 5);
    world.clock.advance(DAY + HOUR);
    let report = collect(&world).await;
    assert_eq!(report.snapshots.deleted, 5, "{report:?}");
    assert_eq!(report.transaction_logs.deleted, 5);
    assert_eq!(report.manifests.deleted, 5);
    assert_eq!(report.chunks.deleted, 5);
    assert_eq!(report.chunks.deleted_bytes, 5 * 600);
    assert_eq!((report.chunks.kept, report.chunks.kept_bytes), (2, 1200));
    world.everything_is_there("afterwards").await;
    let again = collect(&world).await;
    assert_eq!(again.total().deleted, 0);
    assert!(again.marking.incremental);
    assert_eq!(
        (again.marking.snapshots_read, again.marking.manifests_read),
        (0, 0)
    );
}

#[tokio::test]
async fn a_dry_run_writes_and_deletes_nothing_and_says_the_same() {
    let world = with_garbage().await;
    world.clock.advance(2 * DAY);
    let before = stores::dump(&world.storage).await;
    let dry = Collect::default()
        .dry_run(true)
        .run(&world.repository)
        .await;
    let dry = dry.expect("looked");
    assert_eq!(stores::dump(&world.storage).await, before);
    let wet = collect(&world).await;
    assert_eq!((dry.total(), dry.dry_run), (wet.total(), true));
    let read_only: Arc<dyn Storage> = Arc::new(ReadOnlyStorage::new(Arc::clone(&world.storage)));
    let repository = world.open_on(&read_only, 2).await;
    let refused = Collect::default().run(&repository).await;
    assert!(
        matches!(refused, Err(CollectError::UnsafeStore { .. })),
        "{refused:?}"
    );
    let dry = Collect::default().dry_run(true).run(&repository).await;
    let dry = dry.expect("looked");
    assert_eq!(
        (dry.total().deleted, dry.time_source),
        (0, TimeSource::ThisMachine)
    );
    assert_eq!(wet.time_source, TimeSource::Store);
}

#[tokio::test]
async fn a_second_run_reads_what_is_new() {
    let world = World::new(2).await;
    for at in 0..30 {
        world.commit_chunks("main", &[(at, u64::from(at))]).await;
    }
    let counting = CountingStorage::new(Arc::clone(&world.storage));
    let storage: Arc<dyn Storage> = Arc::new(counting.clone());
    let run = async |whole| {
        let repository = world.open_on(&storage, 3).await;
        counting.reset();
        let report = Collect::default().whole(whole).run(&repository).await;
        (report.expect("collected"), counting.reset())
    };
    let (first, _) = run(false).await;
    assert_eq!(
        (first.marking.snapshots_read, first.marking.manifests_read),
        (32, 30)
    );
    world.commit_chunks("main", &[(50, 50)]).await;
    let (second, counts) = run(false).await;
    assert_eq!(
        (second.marking.snapshots_read, second.marking.manifests_read),
        (1, 1)
    );
    assert_eq!(counts.of("snapshots").get, 1);
    assert_eq!(counts.of("manifests").get, 1);
    assert_eq!(second.chunks.young, 31);
    let (whole, _) = run(true).await;
    assert_eq!(whole.marking.snapshots_read, 33);
    assert_eq!(whole.total(), second.total());
}

#[tokio::test]
async fn marks_in_small_buffers_and_from_scratch_are_the_same() {
    let world = World::new(3).await;
    for at in 0..40 {
        world
            .commit_chunks("main", &[(at, u64::from(at)), (at + 40, 7)])
            .await;
    }
    let tip = world.tip("main").await;
    drop(
        world
            .repository
            .create_branch("side", tip)
            .await
            .expect("made"),
    );
    for at in 0..10 {
        world
            .commit_chunks("side", &[(at, 100 + u64::from(at))])
            .await;
    }
    world.clock.advance(2 * DAY);
    let run = async |buffered| {
        let collect = Collect::default()
            .buffered(buffered)
            .dry_run(true)
            .whole(true);
        collect.run(&world.repository).await.expect("looked")
    };
    let (small, large) = (run(3).await, run(1 << 20).await);
    assert_eq!(small.total(), large.total());
    assert_eq!((small.chunks.kept, large.chunks.kept), (90, 90));
    delete_branch(&world, "side").await;
    // The counts of what is gone are taken back in small steps, too.
    let first = Collect::default().buffered(3).run(&world.repository).await;
    assert_eq!(first.expect("collected").chunks.deleted, 10);
    world.everything_is_there("after small buffers").await;
}

#[tokio::test]
async fn c43_h114_foreign_objects_and_guards_stay() {
    let world = with_garbage().await;
    let tag = world
        .repository
        .create_tag("v1", world.tip("main").await)
        .await;
    drop(tag.expect("made"));
    let name = TagName::parse("v1").expect("a name");
    drop(world.repository.delete_tag(&name).await.expect("deleted"));
    let foreign = [
        "chunks/.DS_Store",
        "chunks/not-an-id",
        "manifests/folder/inside",
        "snapshots/1CECHNKREP0F1RSTCMT0.bak",
        "transactions/README",
        "notes.txt",
        "icefield/settings-of-tomorrow",
        "refs/.DS_Store",
    ];
    for at in foreign {
        stores::put(&world.storage, at, "mine").await;
    }
    world.clock.advance(30 * DAY);
    let report = collect(&world).await;
    assert_eq!(report.chunks.deleted, 5);
    for at in foreign {
        assert!(world.exists(at).await, "{at}");
    }
    assert!(world.exists("refs/tag.v1/ref.json.deleted").await);
    assert!(world.exists("snapshots/1CECHNKREP0F1RSTCMT0").await);
}

#[tokio::test]
async fn anything_that_cannot_be_read_stops_it_before_it_deletes() {
    for (kind, at_tip) in [("snapshots", true), ("manifests", true), ("refs", false)] {
        let world = with_garbage().await;
        world.clock.advance(2 * DAY);
        let key = match kind {
            "snapshots" => layout::snapshot_key(world.tip("main").await),
            "refs" => "refs/branch.main/ref.json".to_owned(),
            _ => {
                let snapshot = world.repository.snapshot(world.tip("main").await).await;
                let manifest = snapshot.expect("a snapshot").manifest_files().next();
                layout::manifest_key(manifest.expect("one").id)
            }
        };
        let damaged = if at_tip {
            "garbage"
        } else {
            "{\"snapshot\":\"?\"}"
        };
        stores::put(&world.storage, &key, damaged).await;
        let before = world.count("chunks").await;
        let repository = world.open_on(&world.storage, 5).await;
        let stopped = Collect::default().run(&repository).await;
        assert!(stopped.is_err(), "{kind}: {stopped:?}");
        assert_eq!(world.count("chunks").await, before, "{kind}");
        assert_eq!(world.count("snapshots").await, 8, "{kind}");
    }
}

#[tokio::test]
async fn floors_below_an_hour_are_forced() {
    let world = with_garbage().await;
    world.clock.advance(30 * MINUTE);
    let low = Collect::default().floor(10 * MINUTE);
    let refused = low.run(&world.repository).await;
    assert!(
        matches!(refused, Err(CollectError::FloorTooLow { .. })),
        "{refused:?}"
    );
    let forced = Collect::default().floor(10 * MINUTE).force_floor();
    let report = forced.run(&world.repository).await.expect("collected");
    assert_eq!(report.chunks.deleted, 5);
}

#[tokio::test]
async fn c40_times_that_are_cut_to_the_second_are_taken_for_later() {
    let world = with_garbage().await;
    // The last commit of the branch is one second younger than a floor old: within the rounding.
    world.clock.advance(DAY);
    let report = collect(&world).await;
    assert!(report.snapshots.young >= 1, "{report:?}");
    world.clock.advance(Duration::from_secs(2));
    assert_eq!(collect(&world).await.snapshots.young, 0);
}

#[tokio::test]
async fn c33_a_tag_on_what_was_to_be_deleted_is_noticed() {
    let world = World::new(4).await;
    world.commit_chunks("main", &[(0, 0)]).await;
    let tip = world.tip("main").await;
    drop(
        world
            .repository
            .create_branch("side", tip)
            .await
            .expect("made"),
    );
    let wanted = world.commit_chunks("side", &[(1, 1)]).await;
    delete_branch(&world, "side").await;
    world.clock.advance(2 * DAY);
    // The objects that the tag reaches are held in memory, or read again.
    for most_spared in [1 << 20, 0] {
        tagged_anywhere(wanted, most_spared).await;
    }
}

/// A tag is put onto what is garbage by another process at each of a collection's operations.
async fn tagged_anywhere(wanted: SnapshotId, most_spared: usize) {
    for stop in 0.. {
        let fresh = World::new(4).await;
        fresh.commit_chunks("main", &[(0, 0)]).await;
        let tip = fresh.tip("main").await;
        drop(
            fresh
                .repository
                .create_branch("side", tip)
                .await
                .expect("made"),
        );
        assert_eq!(fresh.commit_chunks("side", &[(1, 1)]).await, wanted);
        delete_branch(&fresh, "side").await;
        fresh.clock.advance(2 * DAY);
        let (storage, turn) = crate::turns::Turns::on(&fresh.storage);
        let mut opening = crate::turns::Actor::new(&turn, {
            let (clock, storage) = (fresh.clock.clone(), Arc::clone(&storage));
            async move {
                let builder = icefield_core::Repository::builder(storage);
                builder.clock(Arc::new(clock)).open().await.expect("opened")
            }
        });
        opening.finish();
        let repository = opening.into_result();
        let mut running = crate::turns::Actor::new(&turn, async move {
            let collect = Collect::default().most_spared(most_spared);
            collect.run(&repository).await
        });
        for _ in 0..stop {
            running.step();
        }
        let ended = running.is_done();
        let other = fresh.open_on(&fresh.storage, 77).await;
        let tagged = other.create_tag("kept", wanted).await;
        running.finish();
        let report = running.into_result();
        if tagged.is_ok() {
            report.unwrap_or_else(|error| panic!("at {stop}: {error:?}"));
            fresh
                .everything_is_there(&format!("tagged at {stop}"))
                .await;
        }
        if ended {
            assert!(tagged.is_err(), "it is deleted by then");
            assert!(stop > 15, "{stop}");
            break;
        }
    }
}
