//! A clock that goes back and forth while a collection runs and a session is at work, at each of their operations. It dates
//! the objects and is that of the machine, as on a local disk: there is no other to compare it with.

use std::sync::Arc;

use icefield_core::{Clock, CommitError, CommitOutcome, Repository, SeededEntropy, SessionError};
use icefield_maintenance::{Collect, CollectError, CollectReport};

use crate::turns::{Actor, Turns};
use crate::world::*;

/// Where the clock is set, by so many days, and right again. Numbers are operations of the collection.
#[derive(Clone, Copy, Debug)]
struct Steps {
    days: i32,
    wrong: usize,
    right: usize,
    /// Whether the session commits before the clock is right again.
    commits_early: bool,
}

struct Came {
    committed: bool,
    ended: bool,
    refused_by_clock: bool,
}

async fn running(world: &World) -> Actor<Result<CollectReport, CollectError>> {
    let (storage, turn) = Turns::on(&world.storage);
    let builder = Repository::builder(storage)
        .clock(Arc::new(world.clock.clone()))
        .entropy(Arc::new(SeededEntropy::new(91)));
    let mut opening = Actor::new(&turn, async move { builder.open().await.expect("opened") });
    opening.finish();
    let repository = opening.into_result();
    Actor::new(
        &turn,
        async move { Collect::default().run(&repository).await },
    )
}

async fn run(steps: Steps) -> Came {
    let world = World::new(90).await;
    world.commit_chunks("main", &[(0, 0)]).await;
    // Garbage, so that there is something to delete.
    write(&world.session("main").await, 7, 7).await;
    world.clock.advance(2 * DAY);
    let session = world.session("main").await;
    let mut collection = running(&world).await;
    let set = |days: i32| {
        let now = world.clock.now();
        world.clock.set(match days < 0 {
            true => now - DAY * days.unsigned_abs(),
            false => now + DAY * days.unsigned_abs(),
        });
    };
    let mut done = 0;
    while done < steps.wrong && collection.step() {
        done += 1;
    }
    set(steps.days);
    write(&session, 1, 1).await;
    while done < steps.right && collection.step() {
        done += 1;
    }
    let early = match steps.commits_early {
        true => Some(session.commit("early").await),
        false => None,
    };
    set(-steps.days);
    let ended = collection.is_done();
    collection.step();
    collection.step();
    let outcome = match early {
        Some(outcome) => outcome,
        None => session.commit("late").await,
    };
    collection.finish();
    let committed = match outcome {
        Ok(CommitOutcome::Committed(_)) => true,
        Err(CommitError::Session(
            SessionError::BeingCollected | SessionError::Collected { .. },
        )) => false,
        other => panic!("{steps:?}: {other:?}"),
    };
    let refused_by_clock = match collection.into_result() {
        Ok(_) => false,
        Err(CollectError::ClockWentBack { .. } | CollectError::TakenOver) => true,
        other => panic!("{steps:?}: {other:?}"),
    };
    world.everything_is_there(&format!("{steps:?}")).await;
    // And a collection that comes later, by the right clock, neither loses what was committed nor is kept back for long.
    world.clock.advance(2 * HOUR);
    let later = Collect::default().run(&world.repository).await;
    let later = match later {
        // It was last heard of in the future.
        Err(CollectError::Running) => {
            world.clock.advance(61 * MINUTE);
            Collect::default().run(&world.repository).await
        }
        later => later,
    };
    later.unwrap_or_else(|error| panic!("{steps:?}: {error:?}"));
    world
        .everything_is_there(&format!("{steps:?}, later"))
        .await;
    Came {
        committed,
        ended,
        refused_by_clock,
    }
}

#[tokio::test]
async fn a_clock_that_goes_back_and_forth_while_a_collection_runs_loses_no_commit() {
    let (mut orders, mut committed, mut by_clock) = (0, 0, 0);
    for days in [-3, 3] {
        for wrong in 0.. {
            let mut is_last = false;
            for (ahead, commits_early) in [(0, true), (0, false), (2, true), (2, false), (6, false)]
            {
                let steps = Steps {
                    days,
                    wrong,
                    right: wrong + ahead,
                    commits_early,
                };
                let came = run(steps).await;
                orders += 1;
                committed += usize::from(came.committed);
                by_clock += usize::from(came.refused_by_clock);
                is_last |= ahead == 0 && came.ended;
            }
            if is_last {
                break;
            }
        }
    }
    println!("{orders} orders, {committed} committed, {by_clock} collections ended by the clock");
    assert!(orders > 100 && committed > 40 && by_clock > 20);
}
