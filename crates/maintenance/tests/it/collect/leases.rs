//! Sessions that are older than what a collection spares.

use std::sync::Arc;

use icefield_core::{
    BranchName, ChunkId, ChunkLocation, CommitError, CommitOutcome, LeasePass, Session,
    SessionError, VersionSelection,
};
use icefield_maintenance::Collect;

use super::collect;
use crate::turns::{Actor, Turns};
use crate::world::*;

async fn outcome(session: &Session) -> Result<CommitOutcome, CommitError> {
    session.commit("late").await
}

#[tokio::test]
async fn c31_a_session_that_is_used_keeps_its_chunks_however_old_it_is() {
    let world = World::new(10).await;
    let session = world.session("main").await;
    write(&session, 0, 0).await;
    assert_eq!(
        world.count("icefield").await,
        0,
        "a young session writes no lease"
    );
    for at in 1..40 {
        world.clock.advance(HOUR);
        write(&session, at, u64::from(at)).await;
        if at % 5 == 0 {
            let report = collect(&world).await;
            assert_eq!(report.chunks.deleted, 0, "after {at} hours");
            let held_back = report.held_back_by.is_some();
            assert_eq!(held_back, at > 24, "after {at} hours");
        }
    }
    assert_eq!(world.count("icefield/leases").await, 1);
    let committed = outcome(&session).await;
    assert!(
        matches!(committed, Ok(CommitOutcome::Committed(_))),
        "{committed:?}"
    );
    assert_eq!(
        world.count("icefield/leases").await,
        0,
        "the lease ends with the commit"
    );
    world.everything_is_there("after forty hours").await;
}

#[tokio::test]
async fn c32_a_session_that_slept_through_a_collection_is_told_so() {
    let world = World::new(11).await;
    let session = world.session("main").await;
    write(&session, 0, 0).await;
    world.clock.advance(30 * HOUR);
    assert_eq!(collect(&world).await.chunks.deleted, 1);
    let late = outcome(&session).await;
    let collected = matches!(
        late,
        Err(CommitError::Session(SessionError::Collected { .. }))
    );
    assert!(collected, "{late:?}");
    world.everything_is_there("afterwards").await;
    // Missing chunks can be written again.
    write(&session, 0, 0).await;
    let again = outcome(&session).await;
    assert!(
        matches!(again, Ok(CommitOutcome::Committed(_))),
        "{again:?}"
    );
    world.everything_is_there("after writing again").await;
}

#[tokio::test]
async fn a_session_that_slept_while_nothing_was_collected_commits() {
    let world = World::new(12).await;
    let session = world.session("main").await;
    write(&session, 0, 0).await;
    world.clock.advance(30 * HOUR);
    let late = outcome(&session).await;
    assert!(matches!(late, Ok(CommitOutcome::Committed(_))), "{late:?}");
    collect(&world).await;
    world.everything_is_there("afterwards").await;
}

#[tokio::test]
async fn a_lease_that_is_renewed_by_hand_holds_collections_back() {
    let world = World::new(13).await;
    let session = world.session("main").await;
    write(&session, 0, 0).await;
    for _ in 0..4 {
        world.clock.advance(20 * HOUR);
        session.renew_lease().await.expect("renewed");
        assert_eq!(collect(&world).await.chunks.deleted, 0);
    }
    let late = outcome(&session).await;
    assert!(matches!(late, Ok(CommitOutcome::Committed(_))), "{late:?}");
    world.everything_is_there("afterwards").await;
}

#[tokio::test]
async fn the_lease_of_a_session_that_ended_without_a_commit_goes() {
    let world = World::new(14).await;
    let session = world.session("main").await;
    write(&session, 0, 0).await;
    world.clock.advance(HOUR);
    write(&session, 1, 1).await;
    drop(session);
    world.clock.advance(23 * HOUR);
    assert_eq!(collect(&world).await.chunks.deleted, 0);
    world.clock.advance(30 * HOUR);
    let report = collect(&world).await;
    assert_eq!(
        (report.chunks.deleted, report.leases.deleted),
        (2, 1),
        "{report:?}"
    );
    assert_eq!(world.count("icefield/leases").await, 0);
}

#[tokio::test]
async fn the_chunks_of_forks_are_held_by_the_lease_of_their_session() {
    let world = World::new(15).await;
    let session = world.session("main").await;
    let fork = session
        .fork()
        .expect("a fork")
        .to_bytes()
        .await
        .expect("bytes");
    world.clock.advance(20 * HOUR);
    let worker = world.open_on(&world.storage, 7).await;
    let fork = worker.open_fork(&fork).await.expect("a fork");
    write(&fork, 0, 0).await;
    world.clock.advance(20 * HOUR);
    write(&fork, 1, 1).await;
    assert_eq!(collect(&world).await.chunks.deleted, 0);
    let back = fork.to_bytes().await.expect("bytes");
    let back = world.repository.open_fork(&back).await.expect("a fork");
    let merged = session.merge_forks([&back], VersionSelection::Fail).await;
    drop(merged.expect("merged"));
    let committed = outcome(&session).await;
    assert!(
        matches!(committed, Ok(CommitOutcome::Committed(_))),
        "{committed:?}"
    );
    world.everything_is_there("after forty hours").await;
}

#[tokio::test]
async fn b26_a_reader_of_what_was_collected_gets_an_error_and_never_other_bytes() {
    let world = World::new(16).await;
    let tip = world.tip("main").await;
    drop(
        world
            .repository
            .create_branch("side", tip)
            .await
            .expect("made"),
    );
    let read = world.commit_chunks("side", &[(0, 0), (1, 1)]).await;
    let reader = world.open_on(&world.storage, 8).await;
    let reader = reader.read_session(read).await.expect("a session");
    let branch = icefield_core::BranchName::parse("side").expect("a name");
    drop(
        world
            .repository
            .delete_branch(&branch)
            .await
            .expect("deleted"),
    );
    world.clock.advance(6 * HOUR);
    collect(&world).await;
    readable(&reader, "within the floor").await;
    world.clock.advance(20 * HOUR);
    collect(&world).await;
    let read = reader
        .chunk(&array(), &[0], icefield_core::ByteRange::All)
        .await;
    assert!(
        matches!(read, Err(SessionError::ChunkMissing { .. })),
        "{read:?}"
    );
}

#[tokio::test]
async fn a_machine_that_slept_does_not_believe_that_its_sessions_are_young() {
    let world = World::new(18).await;
    let session = world.session("main").await;
    write(&session, 0, 0).await;
    // The monotonic clock stands still while a machine sleeps.
    let now = icefield_core::Clock::now(&world.clock);
    world.clock.set(now + 3 * DAY);
    let other = world.open_on(&world.storage, 9).await;
    let report = Collect::default().run(&other).await.expect("collected");
    assert_eq!(report.chunks.deleted, 1);
    let late = outcome(&session).await;
    let collected = matches!(
        late,
        Err(CommitError::Session(SessionError::Collected { .. }))
    );
    assert!(collected, "{late:?}");
}

#[tokio::test]
async fn what_was_taken_over_from_unreachable_snapshots_is_committed_whole_or_not_at_all() {
    for through_fork in [false, true] {
        let world = World::new(19).await;
        let tip = world.tip("main").await;
        drop(
            world
                .repository
                .create_branch("side", tip)
                .await
                .expect("made"),
        );
        let picked = world.commit_chunks("side", &[(5, 5)]).await;
        let branch = icefield_core::BranchName::parse("side").expect("a name");
        drop(
            world
                .repository
                .delete_branch(&branch)
                .await
                .expect("deleted"),
        );
        world.clock.advance(2 * DAY);
        let session = world.session("main").await;
        let solver = icefield_core::BasicSolver::default();
        if through_fork {
            let fork = session.fork().expect("a fork");
            drop(fork.cherry_pick(picked, &solver).await.expect("picked"));
            let merged = session.merge_forks([&fork], VersionSelection::Fail).await;
            drop(merged.expect("merged"));
        } else {
            drop(session.cherry_pick(picked, &solver).await.expect("picked"));
        }
        let report = collect(&world).await;
        assert_eq!(
            report.chunks.deleted, 1,
            "nothing says yet that it is wanted"
        );
        let late = outcome(&session).await;
        let collected = matches!(
            late,
            Err(CommitError::Session(SessionError::Collected { .. }))
        );
        assert!(collected, "through a fork: {through_fork}: {late:?}");
        world.everything_is_there("afterwards").await;
    }
}

#[tokio::test]
async fn a_dead_lease_that_is_renewed_at_any_moment_stays_also_where_versions_are_digests() {
    let mut refused = 0;
    for stop in 0.. {
        let world = World::new(30).await;
        let session = world.session("main").await;
        session.renew_lease().await.expect("renewed");
        world.clock.advance(3 * DAY);
        let (storage, turn) = Turns::with_digests(&world.storage);
        let clock = world.clock.clone();
        let mut running = Actor::new(&turn, async move {
            let builder = icefield_core::Repository::builder(storage);
            let opened = builder.clock(Arc::new(clock)).open().await;
            Collect::default().run(&opened.expect("opened")).await
        });
        for _ in 0..stop {
            running.step();
        }
        let ended = running.is_done();
        session.renew_lease().await.expect("renewed");
        running.finish();
        let report = running.into_result().expect("collected");
        let left = world.count("icefield/leases").await;
        assert_eq!(left, 1, "renewed at {stop}");
        refused += report.leases.failed;
        if ended {
            break;
        }
    }
    assert!(refused > 1, "{refused}");
}

/// A chunk that is written, its session gone, and what is left to go on.
async fn left_behind(world: &World) -> (ChunkId, u64, String) {
    let session = world.session("main").await;
    write(&session, 0, 0).await;
    world.clock.advance(HOUR);
    let pass = session.lease_pass().await.expect("a pass").to_string();
    match session.chunk_location(&array(), &[0]).await {
        Ok(Some(ChunkLocation::Native { id, length, .. })) => (id, length, pass),
        other => panic!("{other:?}"),
    }
}

async fn goes_on(world: &World, (id, length, pass): (ChunkId, u64, String)) -> Session {
    let pass = LeasePass::parse(&pass).expect("a pass");
    let worker = world.open_on(&world.storage, 8).await;
    let session = worker.write_session_after(BranchName::main(), &pass).await;
    let session = session.expect("a session");
    session.renew_lease().await.expect("renewed");
    let set = session
        .set_stored_chunk(&array(), &[0], id, (0, length))
        .await;
    set.expect("set");
    session
}

#[tokio::test]
async fn a_session_that_goes_on_after_another_has_its_lease() {
    let world = World::new(18).await;
    let left = left_behind(&world).await;
    for _ in 0..2 {
        world.clock.advance(20 * HOUR);
        assert_eq!(collect(&world).await.chunks.deleted, 0);
        drop(goes_on(&world, left.clone()).await);
    }
    world.clock.advance(20 * HOUR);
    let session = goes_on(&world, left).await;
    assert_eq!(collect(&world).await.chunks.deleted, 0);
    assert_eq!(world.count("icefield/leases").await, 1);
    let late = outcome(&session).await;
    assert!(matches!(late, Ok(CommitOutcome::Committed(_))), "{late:?}");
    assert_eq!(world.count("icefield/leases").await, 0);
    collect(&world).await;
    world.everything_is_there("afterwards").await;
}

#[tokio::test]
async fn a_session_that_goes_on_too_late_is_told_so() {
    let world = World::new(19).await;
    let left = left_behind(&world).await;
    world.clock.advance(50 * HOUR);
    assert_eq!(collect(&world).await.chunks.deleted, 1);
    let session = goes_on(&world, left).await;
    let late = outcome(&session).await;
    let collected = matches!(
        late,
        Err(CommitError::Session(SessionError::Collected { .. }))
    );
    assert!(collected, "{late:?}");
}

#[tokio::test]
async fn a_lease_that_is_ended_holds_nothing_back() {
    let world = World::new(20).await;
    let (_, _, pass) = left_behind(&world).await;
    let pass = LeasePass::parse(&pass).expect("a pass");
    world.repository.end_lease(&pass).await.expect("ended");
    assert_eq!(world.count("icefield/leases").await, 0);
    world.clock.advance(30 * HOUR);
    assert_eq!(collect(&world).await.chunks.deleted, 1);
}
