//! Snapshots that were flushed, and get a branch while a collection runs.

use std::sync::Arc;
use std::time::Duration;

use icefield_core::collection::{CollectionPhase, CollectionState, STATE_VERSION};
use icefield_core::{
    CommitError, EditOutcome, Repository, RepositoryError, SessionError, SnapshotId, micros_of_time,
};
use icefield_maintenance::Collect;
use icefield_storage::Clock;
use icefield_testkit::stores;

use crate::turns::{Actor, Turns};
use crate::world::*;

/// A collection that runs and does nothing, which spares what was written in the last day.
async fn begin_collection(world: &World) {
    let state = CollectionState {
        version: STATE_VERSION,
        phase: CollectionPhase::Running,
        cutoff: micros_of_time(world.clock.now() - DAY),
        earlier: 0,
        run: "a run".to_owned(),
        beats: 1,
        alive_at: Some(micros_of_time(world.clock.now())),
    };
    let bytes = serde_json::to_vec(&state).expect("encoded");
    stores::put(&world.storage, "icefield/gc/state.json", bytes).await;
}

async fn flushed(world: &World, branch: &str) -> SnapshotId {
    let session = world.session(branch).await;
    write(&session, 1, 7).await;
    session.flush("aside").await.expect("flushed")
}

async fn is_kept(world: &World, target: SnapshotId) -> bool {
    match world.repository.create_branch("kept", target).await {
        Ok(EditOutcome::Done(_)) => true,
        Err(RepositoryError::BeingCollected { target: named }) => {
            assert_eq!(named, target);
            false
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn c31_what_was_flushed_just_now_gets_a_branch_while_a_collection_runs() {
    for before in [false, true] {
        let world = World::new(60).await;
        world.commit_chunks("main", &[(0, 0)]).await;
        world.clock.advance(2 * DAY);
        if before {
            begin_collection(&world).await;
        }
        let target = flushed(&world, "main").await;
        if !before {
            begin_collection(&world).await;
        }
        assert!(is_kept(&world, target).await);
        assert_eq!(world.tip("kept").await, target);
    }
}

#[tokio::test]
async fn c31_what_was_flushed_long_ago_gets_none_while_a_collection_runs() {
    let world = World::new(61).await;
    world.commit_chunks("main", &[(0, 0)]).await;
    let target = flushed(&world, "main").await;
    world.clock.advance(2 * DAY);
    begin_collection(&world).await;
    assert!(!is_kept(&world, target).await);
}

#[tokio::test]
async fn c31_what_was_flushed_on_a_snapshot_that_nothing_reaches_gets_none_while_a_collection_runs()
{
    for old in [true, false] {
        let world = World::new(62).await;
        let main = world.tip("main").await;
        let created = world.repository.create_branch("dev", main).await;
        assert!(matches!(created, Ok(EditOutcome::Done(_))), "{created:?}");
        if old {
            world.commit_chunks("dev", &[(0, 0)]).await;
            world.clock.advance(2 * DAY);
        } else {
            world.clock.advance(2 * DAY);
            world.commit_chunks("dev", &[(0, 0)]).await;
        }
        let target = flushed(&world, "dev").await;
        let dev = "dev".parse().expect("a name");
        let deleted = world.repository.delete_branch(&dev).await;
        assert!(matches!(deleted, Ok(EditOutcome::Done(_))), "{deleted:?}");
        begin_collection(&world).await;
        // One that is young is spared with all that it needs, whatever reaches it.
        assert_eq!(is_kept(&world, target).await, !old);
    }
}

/// Flushes and creates a branch at one place of a collection, or in two parts at two.
async fn run(first: usize, part: usize, second: usize) -> (bool, bool, bool) {
    let world = World::new(63).await;
    world.commit_chunks("main", &[(0, 0)]).await;
    let lost = flushed(&world, "main").await;
    world.clock.advance(2 * DAY);
    let open = |seed: u64| {
        let (storage, turn) = Turns::on(&world.storage);
        let builder = Repository::builder(storage)
            .clock(Arc::new(world.clock.clone()))
            .entropy(Arc::new(icefield_core::SeededEntropy::new(seed)));
        let mut opening = Actor::new(&turn, async move { builder.open().await.expect("opened") });
        opening.finish();
        (opening.into_result(), turn)
    };
    let (repository, turn) = open(64);
    let mut keeping = Actor::new(&turn, async move {
        let main = icefield_core::BranchName::main();
        let session = repository.write_session(main).await.expect("a session");
        write(&session, 1, 8).await;
        let target = session.flush("aside").await.expect("it is young");
        (target, repository.create_branch("kept", target).await)
    });
    let (repository, turn) = open(65);
    let collect = async move { Collect::default().run(&repository).await };
    let mut collection = Actor::new(&turn, collect);
    let mut steps = 0;
    while steps < first && collection.step() {
        steps += 1;
    }
    for _ in 0..part {
        keeping.step();
    }
    while steps < second && collection.step() {
        steps += 1;
    }
    let whole = keeping.is_done();
    keeping.finish();
    let ended = collection.is_done();
    collection.finish();
    let when = format!("{part} steps at {first}, the rest at {second}");
    let collected = collection.into_result();
    collected.unwrap_or_else(|error| panic!("{when}: {error:?}"));
    let kept = match keeping.into_result() {
        (_, Ok(EditOutcome::Done(_))) => true,
        // All of it came while the collection had not yet said what it spares. It is there afterwards.
        (target, Err(RepositoryError::BeingCollected { .. })) => {
            assert!(is_kept(&world, target).await, "{when}");
            false
        }
        other => panic!("{when}: {other:?}"),
    };
    world.everything_is_there(&when).await;
    // And stays there, when what is not kept has gone.
    world.clock.advance(2 * DAY + Duration::from_secs(5));
    let later = Collect::default().run(&world.repository).await;
    later.unwrap_or_else(|error| panic!("{when}: {error:?}"));
    world.everything_is_there(&when).await;
    assert!(!world.exists(&format!("snapshots/{lost}")).await, "{when}");
    (kept, whole, ended)
}

#[tokio::test]
async fn c31_a_flush_and_its_branch_and_a_collection_in_every_order() {
    let mut operations = 0;
    let (mut kept, mut refused) = (0, 0);
    let mut count = |is_kept| *(if is_kept { &mut kept } else { &mut refused }) += 1;
    for place in 0.. {
        let (is_kept, _, ended) = run(0, 0, place).await;
        count(is_kept);
        operations = place;
        if ended {
            break;
        }
    }
    assert!(operations > 15, "{operations}");
    for part in 1.. {
        let mut whole = true;
        for first in 0..=operations {
            for second in (first + 1..=operations).step_by(3) {
                let (is_kept, all, _) = run(first, part, second).await;
                count(is_kept);
                whole &= all;
            }
        }
        if whole {
            break;
        }
    }
    println!("{kept} orders kept it at once, {refused} after the collection");
    assert!(kept > 50 && refused * 10 < kept, "{refused} of {kept}");
}

#[tokio::test]
async fn c31_what_stands_on_a_snapshot_that_was_collected_is_not_flushed() {
    for detached in [false, true] {
        let world = World::new(65).await;
        let main = world.tip("main").await;
        drop(
            world
                .repository
                .create_branch("dev", main)
                .await
                .expect("made"),
        );
        let base = world.commit_chunks("dev", &[(0, 0)]).await;
        world.clock.advance(2 * DAY);
        // The session is young, and holds what it stands on in memory.
        let session = match detached {
            false => world.session("dev").await,
            true => world
                .repository
                .write_session_at(base)
                .await
                .expect("a session"),
        };
        write(&session, 1, 7).await;
        let dev = icefield_core::BranchName::parse("dev").expect("a name");
        drop(world.repository.delete_branch(&dev).await.expect("deleted"));
        let other = world.open_on(&world.storage, 90).await;
        let report = Collect::default().run(&other).await.expect("collected");
        assert_eq!((report.snapshots.deleted, report.chunks.deleted), (1, 1));
        let refused = session.flush("aside").await;
        assert!(
            matches!(
                &refused,
                Err(CommitError::Session(SessionError::Collected { key }))
                    if key.as_str().ends_with(&base.to_string()) || key.as_str().starts_with("manifests/")
            ),
            "{detached}: {refused:?}"
        );
    }
}
