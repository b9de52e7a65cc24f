//! Three at once: two writers and a collection, or a writer, a collection and an expiration, in orders that a seed decides.

use std::sync::Arc;

use icefield_core::{
    BranchName, Clock, CommitError, CommitOutcome, Detector, Repository, SeededEntropy, Session,
    SessionError,
};
use icefield_maintenance::{Collect, CollectError, Expire, ExpireError, Policy};

use crate::turns::{Actor, Turn, Turns};
use crate::world::*;

/// The outcome of one of them.
#[derive(Debug)]
enum Came {
    Committed(CommitOutcome),
    NotCommitted(CommitError),
    Collected(Result<(), CollectError>),
    Expired(Result<(), ExpireError>),
}

async fn opened(world: &World, seed: u64) -> (Repository, Turn) {
    let (storage, turn) = Turns::on(&world.storage);
    let builder = Repository::builder(storage)
        .clock(Arc::new(world.clock.clone()))
        .entropy(Arc::new(SeededEntropy::new(seed)));
    let mut opening = Actor::new(&turn, async move { builder.open().await.expect("opened") });
    opening.finish();
    (opening.into_result(), turn)
}

/// A writer whose session did something before, and commits.
async fn writer(world: &World, seed: u64, past: u64, chunk: u32) -> Actor<Came> {
    let (repository, turn) = opened(world, seed).await;
    let open = async move { repository.write_session(BranchName::main()).await };
    let session: Session = Actor::new(&turn, open).into_result().expect("a session");
    let put = |at: u32, bytes: u64| {
        let session = session.clone();
        Actor::new(&turn, async move { write(&session, at, bytes).await }).into_result()
    };
    put(chunk, seed);
    match past {
        // Young, asleep since, or with a lease that is alive.
        0 => {}
        1 => world.clock.advance(2 * DAY),
        _ => {
            world.clock.advance(2 * DAY);
            put(chunk + 1, seed + 1);
        }
    }
    Actor::new(&turn, async move {
        match session
            .commit("one of three")
            .rebase_with(Detector::Strict)
            .await
        {
            Ok(outcome) => Came::Committed(outcome),
            Err(error) => Came::NotCommitted(error),
        }
    })
}

async fn collector(world: &World) -> Actor<Came> {
    let (repository, turn) = opened(world, 7).await;
    Actor::new(&turn, async move {
        Came::Collected(Collect::default().run(&repository).await.map(drop))
    })
}

async fn expirer(world: &World) -> Actor<Came> {
    let (repository, turn) = opened(world, 8).await;
    let mut policy = Policy::default();
    policy.older_than = Some(world.clock.now() - HOUR);
    Actor::new(&turn, async move {
        let expired = Expire::new(policy).run(&repository, &()).await;
        Came::Expired(expired.map(drop))
    })
}

/// Lets three go on by turns; returns how many commits landed, and how many were refused.
async fn play(seed: u64) -> (usize, usize) {
    let world = World::new(2000 + seed).await;
    let random = SeededEntropy::new(seed);
    world.commit_chunks("main", &[(0, 0)]).await;
    let tip = world.tip("main").await;
    drop(
        world
            .repository
            .create_branch("side", tip)
            .await
            .expect("made"),
    );
    world.commit_chunks("side", &[(1, 1)]).await;
    world.commit_chunks("main", &[(2, 2)]).await;
    super::delete_branch(&world, "side").await;
    world.clock.advance(2 * DAY);
    let first = writer(&world, 3 * seed + 100, random.below(3), 10).await;
    let third = match random.below(2) {
        0 => writer(&world, 3 * seed + 101, random.below(3), 20).await,
        _ => expirer(&world).await,
    };
    let mut actors = vec![first, collector(&world).await, third];
    while actors.iter().any(|it| !it.is_done()) {
        let actor = &mut actors[random.below(3) as usize];
        // One at a time, or many of one.
        for _ in 0..[1, 3, 12][random.below(3) as usize] {
            if !actor.step() {
                break;
            }
        }
    }
    let (mut committed, mut refused) = (0, 0);
    for actor in actors {
        match actor.into_result() {
            Came::Committed(CommitOutcome::Committed(_)) => committed += 1,
            Came::NotCommitted(CommitError::Session(
                SessionError::BeingCollected | SessionError::Collected { .. },
            )) => refused += 1,
            Came::Collected(Ok(())) | Came::Expired(Ok(())) => {}
            // Others were at work.
            Came::Expired(Err(ExpireError::Busy { .. })) => {}
            other => panic!("seed {seed}: {other:?}"),
        }
    }
    let when = format!("seed {seed}");
    world.everything_is_there(&when).await;
    world.clock.advance(3 * DAY);
    super::collect(&world).await;
    world.everything_is_there(&format!("{when}, later")).await;
    (committed, refused)
}

#[tokio::test]
async fn a_collection_beside_two_others_at_work_loses_nothing() {
    let (mut committed, mut refused) = (0, 0);
    for seed in 0..150 {
        let (landed, not) = play(seed).await;
        committed += landed;
        refused += not;
    }
    println!("150 orders of three: {committed} commits landed, {refused} were refused");
    assert!(committed > 100 && refused > 20, "{committed} {refused}");
}
