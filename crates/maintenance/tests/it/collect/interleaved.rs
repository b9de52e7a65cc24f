//! A commit and a collection at the same time, in every order of their operations that switches between them up to three
//! times.

use std::sync::Arc;
use std::time::Duration;

use icefield_core::{CommitError, CommitOutcome, Session, SessionError};
use icefield_maintenance::{Collect, CollectError, CollectReport};

use crate::turns::{Actor, Turn, Turns};
use crate::world::*;

/// The edits of the session so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Past {
    /// It wrote a chunk just now.
    Young,
    /// It wrote one chunk two days ago and one just now, so that its lease is alive.
    Leased,
    /// It wrote a chunk two days ago, and nothing since.
    Asleep,
    /// As asleep, and its lease has died meanwhile.
    Dead,
}

struct Scene {
    world: World,
    session: Session,
    turn: Turn,
    commit: Actor<Result<CommitOutcome, CommitError>>,
    collection: Actor<Result<CollectReport, CollectError>>,
}

async fn opened(world: &World, seed: u64) -> (icefield_core::Repository, Turn) {
    let (storage, turn) = Turns::on(&world.storage);
    let builder = icefield_core::Repository::builder(storage)
        .clock(Arc::new(world.clock.clone()))
        .entropy(Arc::new(icefield_core::SeededEntropy::new(seed)));
    let mut opening = Actor::new(&turn, async move { builder.open().await.expect("opened") });
    opening.finish();
    (opening.into_result(), turn)
}

fn done<T: Send + 'static>(turn: &Turn, work: impl Future<Output = T> + Send + 'static) -> T {
    Actor::new(turn, work).into_result()
}

async fn scene(past: Past) -> Scene {
    let world = World::new(20).await;
    world.commit_chunks("main", &[(0, 0)]).await;
    let (repository, turn) = opened(&world, 21).await;
    let open = async move {
        repository
            .write_session(icefield_core::BranchName::main())
            .await
    };
    let session: Session = done(&turn, open).expect("a session");
    let put = |at: u32| {
        let session = session.clone();
        done(&turn, async move {
            write(&session, at, 50 + u64::from(at)).await
        });
    };
    put(1);
    match past {
        Past::Young => world.clock.advance(5 * MINUTE),
        Past::Leased => {
            world.clock.advance(2 * DAY);
            put(2);
        }
        Past::Asleep => world.clock.advance(2 * DAY),
        Past::Dead => {
            world.clock.advance(HOUR);
            put(2);
            world.clock.advance(2 * DAY);
        }
    }
    let committing = session.clone();
    let commit = Actor::new(&turn, async move { committing.commit("late").await });
    let (repository, other) = opened(&world, 22).await;
    let collect = async move { Collect::default().run(&repository).await };
    let collection = Actor::new(&other, collect);
    Scene {
        world,
        session,
        turn,
        commit,
        collection,
    }
}

/// Runs the commit in two parts, before the operations of the collection with these numbers.
async fn run(past: Past, first: usize, part: usize, second: usize) -> (bool, bool, bool) {
    let mut scene = scene(past).await;
    let mut steps = 0;
    while steps < first && scene.collection.step() {
        steps += 1;
    }
    for _ in 0..part {
        scene.commit.step();
    }
    while steps < second && scene.collection.step() {
        steps += 1;
    }
    let whole = scene.commit.is_done();
    scene.commit.finish();
    let ended = scene.collection.is_done();
    scene.collection.finish();
    let when = format!("{past:?}: {part} steps at {first}, the rest at {second}");
    let collected = scene.collection.into_result();
    collected.unwrap_or_else(|error| panic!("{when}: {error:?}"));
    let committed = match scene.commit.into_result() {
        Ok(CommitOutcome::Committed(_)) => true,
        Err(CommitError::Session(
            SessionError::BeingCollected | SessionError::Collected { .. },
        )) if matches!(past, Past::Asleep | Past::Dead) => false,
        // It ran to its end while the collection had not yet read the leases.
        Err(CommitError::Session(SessionError::BeingCollected)) if past == Past::Leased => false,
        other => panic!("{when}: {other:?}"),
    };
    if past == Past::Leased && !committed {
        let session = scene.session.clone();
        let again = done(&scene.turn, async move { session.commit("again").await });
        assert!(
            matches!(again, Ok(CommitOutcome::Committed(_))),
            "{when}: {again:?}"
        );
    }
    scene.world.everything_is_there(&when).await;
    // And what was committed stays there.
    scene.world.clock.advance(2 * DAY + Duration::from_secs(5));
    let later = Collect::default().run(&scene.world.repository).await;
    later.unwrap_or_else(|error| panic!("{when}: {error:?}"));
    scene.world.everything_is_there(&when).await;
    (committed, whole, ended)
}

async fn all_orders(past: Past) {
    let (mut committed, mut refused) = (0, 0);
    let mut count = |landed| *(if landed { &mut committed } else { &mut refused }) += 1;
    // The whole commit at one place.
    let mut operations = 0;
    for place in 0.. {
        let (landed, _, ended) = run(past, 0, 0, place).await;
        count(landed);
        operations = place;
        if ended {
            break;
        }
    }
    assert!(operations > 15, "{operations}");
    // Its beginning at one place, and the rest at another.
    for part in 1.. {
        let mut whole = true;
        for first in 0..=operations {
            for second in first + 1..=operations {
                let (landed, all, _) = run(past, first, part, second).await;
                count(landed);
                whole &= all;
            }
        }
        if whole {
            break;
        }
    }
    println!("{past:?}: {committed} orders committed, {refused} were refused");
    assert!(committed > 50);
    match past {
        Past::Young => assert_eq!(refused, 0),
        // Only where the whole commit falls between two operations of the collection's beginning.
        Past::Leased => assert!(refused * 10 < committed, "{refused} of {committed}"),
        Past::Asleep | Past::Dead => assert!(refused > 50),
    }
}

#[tokio::test]
async fn c31_a_young_session_and_a_collection_in_every_order() {
    all_orders(Past::Young).await;
}

#[tokio::test]
async fn c31_a_session_with_a_lease_and_a_collection_in_every_order() {
    all_orders(Past::Leased).await;
}

#[tokio::test]
async fn c32_a_session_that_slept_and_a_collection_in_every_order() {
    all_orders(Past::Asleep).await;
}

#[tokio::test]
async fn c32_a_session_with_a_dead_lease_and_a_collection_in_every_order() {
    all_orders(Past::Dead).await;
}
