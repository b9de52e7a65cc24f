//! Clocks that are wrong, or were wrong once.

use std::sync::Arc;
use std::time::SystemTime;

use icefield_core::collection::{CollectionPhase, CollectionState, Lease, STATE_VERSION};
use icefield_core::{
    Clock, CommitError, CommitOutcome, ManualClock, Repository, Session, SessionError,
    micros_of_time,
};
use icefield_maintenance::{Collect, CollectError};
use icefield_storage::StorageExt;
use icefield_testkit::stores;

use super::{collect, delete_branch};
use crate::world::*;

/// The repository as a machine sees it whose clock shows another time.
async fn by_a_clock_at(world: &World, now: SystemTime) -> Repository {
    Repository::builder(Arc::clone(&world.storage))
        .clock(Arc::new(ManualClock::new(now)))
        .open()
        .await
        .expect("opened")
}

async fn state(world: &World) -> CollectionState {
    let read = CollectionState::read(&*world.storage).await;
    read.expect("read").expect("there is one").0
}

async fn put_state(world: &World, phase: CollectionPhase, said: SystemTime) {
    let state = CollectionState {
        version: STATE_VERSION,
        phase,
        cutoff: micros_of_time(said - DAY),
        earlier: 0,
        run: "a run".to_owned(),
        beats: 1,
        alive_at: Some(micros_of_time(said)),
    };
    let bytes = serde_json::to_vec(&state).expect("encoded");
    stores::put(&world.storage, "icefield/gc/state.json", bytes).await;
}

async fn lands(session: &Session, when: &str) {
    let committed = session.commit("late").await;
    assert!(
        matches!(committed, Ok(CommitOutcome::Committed(_))),
        "{when}: {committed:?}"
    );
}

#[tokio::test]
async fn c38_c39_clocks_that_disagree_delete_nothing() {
    let world = World::new(70).await;
    write(&world.session("main").await, 0, 0).await;
    world.clock.advance(2 * DAY);
    let now = world.clock.now();
    for (host, is_behind) in [
        (now - 6 * MINUTE, false),
        (now + 6 * MINUTE, true),
        (now - 40 * DAY, false),
        (now + 40 * DAY, true),
    ] {
        let repository = by_a_clock_at(&world, host).await;
        for dry_run in [true, false] {
            let refused = Collect::default().dry_run(dry_run).run(&repository).await;
            let Err(CollectError::ClocksApart(apart)) = &refused else {
                panic!("{refused:?}");
            };
            assert_eq!((apart.store_time, apart.host_time), (now, host));
            let said = refused.expect_err("refused").to_string();
            let direction = ["ahead of this", "behind this"][usize::from(is_behind)];
            assert!(said.contains(direction), "{said}");
        }
    }
    assert_eq!(
        (world.count("chunks").await, world.count("icefield").await),
        (1, 0)
    );
    for host in [now - 4 * MINUTE, now + 4 * MINUTE] {
        let repository = by_a_clock_at(&world, host).await;
        let dry = Collect::default().dry_run(true).run(&repository).await;
        assert_eq!(dry.expect("looked").chunks.deleted, 1);
    }
}

#[tokio::test]
async fn a_collection_under_a_clock_that_stood_ahead_does_not_age_what_is_written_later() {
    let world = World::new(71).await;
    let right = world.clock.now();
    world.clock.set(right + 3 * DAY);
    collect(&world).await;
    world.clock.set(right);
    // The date of the state stays ahead, whichever writer writes it.
    let session = world.session("main").await;
    write(&session, 0, 0).await;
    world.clock.advance(MINUTE);
    let dry = Collect::default().dry_run(true);
    let dry = dry.run(&world.repository).await.expect("looked");
    let report = collect(&world).await;
    let (key, now) = (CollectionState::key(), world.clock.now());
    let dated = world.storage.head(&key).await.expect("there").last_modified;
    assert!(dated > Some(now + 2 * DAY), "{dated:?}");
    assert_eq!((report.chunks.deleted, dry.total()), (0, report.total()));
    assert_eq!(report.started_at, micros_of_time(now));
    lands(&session, "beside a state from the future").await;
    world.everything_is_there("afterwards").await;
    // The recorded times of earlier collections are no later than now.
    assert!(state(&world).await.earlier <= micros_of_time(now));
}

#[tokio::test]
async fn a_collection_that_died_under_a_clock_that_stood_ahead_blocks_others_for_an_hour() {
    let world = World::new(72).await;
    write(&world.session("main").await, 0, 0).await;
    world.clock.advance(2 * DAY);
    put_state(
        &world,
        CollectionPhase::Running,
        world.clock.now() + 300 * DAY,
    )
    .await;
    for _ in 0..2 {
        let early = Collect::default().run(&world.repository).await;
        assert!(matches!(early, Err(CollectError::Running)), "{early:?}");
        world.clock.advance(31 * MINUTE);
    }
    assert_eq!(collect(&world).await.chunks.deleted, 1);
    assert!(state(&world).await.earlier <= micros_of_time(world.clock.now()));
}

#[tokio::test]
async fn a_collection_that_died_under_a_clock_that_stood_ahead_keeps_commits_back_for_an_hour() {
    let world = World::new(73).await;
    let session = world.session("main").await;
    write(&session, 0, 0).await;
    world.clock.advance(2 * DAY);
    put_state(
        &world,
        CollectionPhase::Running,
        world.clock.now() + 300 * DAY,
    )
    .await;
    let early = session.commit("early").await;
    let waits = matches!(
        early,
        Err(CommitError::Session(SessionError::BeingCollected))
    );
    assert!(waits, "{early:?}");
    world.clock.advance(61 * MINUTE);
    lands(&session, "an hour later").await;
    world.everything_is_there("afterwards").await;
}

#[tokio::test]
async fn a_state_whose_date_was_set_by_hand_neither_deletes_nor_blocks() {
    for ahead in [true, false] {
        let world = World::new(74).await;
        collect(&world).await;
        let right = world.clock.now();
        let (bytes, _) = (world.storage.read(&CollectionState::key()).await).expect("there");
        let wrong = if ahead {
            right + 3 * DAY
        } else {
            right - 3 * DAY
        };
        world.clock.set(wrong);
        let key = CollectionState::key();
        drop(world.storage.delete_one(key.into()).await.expect("deleted"));
        stores::put(&world.storage, "icefield/gc/state.json", bytes.to_vec()).await;
        world.clock.set(right);
        let session = world.session("main").await;
        write(&session, 0, 0).await;
        assert_eq!(collect(&world).await.chunks.deleted, 0, "ahead: {ahead}");
        lands(&session, "beside a state with a wrong date").await;
        world.everything_is_there("afterwards").await;
    }
}

#[tokio::test]
async fn a_lease_dated_ahead_holds_back_everything_for_a_floor_and_not_until_its_date() {
    let world = World::new(75).await;
    let session = world.session("main").await;
    write(&session, 0, 0).await;
    let right = world.clock.now();
    // It is renewed under a clock that stands ahead, and its session dies.
    world.clock.set(right + 300 * DAY);
    session.renew_lease().await.expect("renewed");
    world.clock.set(right + 2 * DAY);
    let report = collect(&world).await;
    assert_eq!((report.chunks.deleted, report.cutoff), (0, 0), "{report:?}");
    assert!(report.held_back_by.is_some());
    world.clock.advance(20 * HOUR);
    assert_eq!(collect(&world).await.chunks.deleted, 0);
    world.clock.advance(5 * HOUR);
    assert_eq!(collect(&world).await.chunks.deleted, 1);
    world.clock.advance(2 * DAY);
    assert_eq!(collect(&world).await.leases.deleted, 1);
}

#[tokio::test]
async fn a_session_that_began_under_a_clock_that_stood_ahead_keeps_what_it_writes_later() {
    let world = World::new(76).await;
    let right = world.clock.now();
    world.clock.set(right + 3 * DAY);
    let session = world.session("main").await;
    write(&session, 0, 0).await;
    world.clock.advance(16 * MINUTE);
    write(&session, 1, 1).await;
    // Its lease says that it began in three days. The clock is set right, and the session goes on for longer than that.
    world.clock.set(right + 17 * MINUTE);
    for at in 2..60 {
        write(&session, at, u64::from(at)).await;
        world.clock.advance(2 * HOUR);
    }
    write(&session, 60, 60).await;
    let report = collect(&world).await;
    assert_eq!(report.chunks.deleted, 0, "{report:?}");
    lands(&session, "five days later").await;
    world.everything_is_there("afterwards").await;
}

#[tokio::test]
async fn a_lease_that_is_renewed_has_other_bytes_each_time() {
    let world = World::new(77).await;
    let session = world.session("main").await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        session.renew_lease().await.expect("renewed");
        let keys = stores::keys_below(&world.storage, "icefield/leases/").await;
        assert_eq!(keys.len(), 1);
        let (bytes, _) = (world.storage.read(&stores::key(&keys[0])).await).expect("there");
        assert!(!seen.contains(&bytes), "{bytes:?}");
        seen.push(bytes);
    }
}

#[tokio::test]
async fn what_is_dated_ahead_is_kept_and_named() {
    let world = World::new(78).await;
    world.commit_chunks("main", &[(0, 0)]).await;
    let right = world.clock.now();
    world.clock.set(right + 30 * DAY);
    write(&world.session("main").await, 1, 1).await;
    let tip = world.tip("main").await;
    drop(
        world
            .repository
            .create_branch("side", tip)
            .await
            .expect("made"),
    );
    world.commit_chunks("side", &[(2, 2)]).await;
    delete_branch(&world, "side").await;
    world.clock.set(right + 2 * DAY);
    let report = collect(&world).await;
    assert_eq!(report.total().deleted, 0, "{report:?}");
    // Two chunks, a snapshot with its log and its manifest.
    assert_eq!(report.dated_ahead.objects, 5, "{:?}", report.dated_ahead);
    for (key, date) in &report.dated_ahead.keys {
        assert!(world.exists(key).await, "{key}");
        assert!(*date > micros_of_time(right + 29 * DAY));
    }
    // It is garbage like any other once its date has come.
    world.clock.set(right + 32 * DAY);
    let report = collect(&world).await;
    assert_eq!((report.dated_ahead.objects, report.total().deleted), (0, 5));
}

#[tokio::test]
async fn what_asked_for_the_time_and_was_left_behind_does_no_harm_and_goes() {
    let world = World::new(79).await;
    let right = world.clock.now();
    for (at, date) in [right - 3 * DAY, right + 3 * DAY, right]
        .into_iter()
        .enumerate()
    {
        world.clock.set(date);
        stores::put(&world.storage, &format!("icefield/now/{at}"), "{}").await;
    }
    let session = world.session("main").await;
    write(&session, 0, 0).await;
    assert_eq!(collect(&world).await.chunks.deleted, 0);
    let left = stores::keys_below(&world.storage, "icefield/now/").await;
    assert_eq!(left, ["icefield/now/2"], "which may be in use");
    lands(&session, "beside it").await;
}

#[tokio::test]
async fn a_marker_among_the_objects_that_tell_the_time_does_not_fail_a_collection() {
    let world = World::new(84).await;
    write(&world.session("main").await, 0, 0).await;
    stores::put(&world.storage, "icefield/now/left", "{}").await;
    assert!(world.memory.plant_unreadable(b"icefield/now/", 0));
    world.clock.advance(2 * DAY);
    assert_eq!(collect(&world).await.chunks.deleted, 1);
    assert!(world.memory.remove_unreadable(b"icefield/now/"), "it stays");
    assert_eq!(world.count("icefield/now").await, 0);
}

#[tokio::test]
async fn leases_and_states_of_older_programs_are_dated_by_their_objects() {
    let world = World::new(80).await;
    write(&world.session("main").await, 0, 0).await;
    let started = micros_of_time(world.clock.now());
    world.clock.advance(2 * DAY);
    let lease = format!("{{\"started\":{started}}}");
    stores::put(
        &world.storage,
        "icefield/leases/ZZZZZZZZZZZZZZZZZZZG",
        lease,
    )
    .await;
    let old =
        format!("{{\"version\":1,\"phase\":\"running\",\"cutoff\":{started},\"run\":\"a run\"}}");
    stores::put(&world.storage, "icefield/gc/state.json", old).await;
    let listed = Lease::list(&*world.storage).await.expect("listed");
    assert_eq!(listed[0].renewed, micros_of_time(world.clock.now()));
    let early = Collect::default().run(&world.repository).await;
    assert!(matches!(early, Err(CollectError::Running)), "{early:?}");
    world.clock.advance(61 * MINUTE);
    let report = collect(&world).await;
    assert_eq!(report.chunks.deleted, 0, "{report:?}");
    assert_eq!(state(&world).await.earlier, started);
}

/// The session and the store agree that a minute has passed, and both are right.
#[tokio::test]
async fn a_chunk_that_went_while_the_clock_stood_ahead_is_missed_by_its_young_session() {
    let world = World::with_host_dates(81).await;
    let session = world.session("main").await;
    write(&session, 0, 0).await;
    let right = world.clock.now();
    world.clock.set(right + 3 * DAY);
    assert_eq!(collect(&world).await.chunks.deleted, 1);
    world.clock.set(right + MINUTE);
    let late = session.commit("late").await;
    let collected = matches!(
        late,
        Err(CommitError::Session(SessionError::Collected { .. }))
    );
    assert!(collected, "{late:?}");
    world.everything_is_there("after the refusal").await;
    write(&session, 0, 0).await;
    lands(&session, "with the chunk written again").await;
    let next = world.session("main").await;
    write(&next, 1, 1).await;
    lands(&next, "beside a cutoff that lies ahead").await;
    world.everything_is_there("afterwards").await;
    assert_eq!(world.count("icefield/leases").await, 0);
}

#[tokio::test]
async fn a_young_session_is_not_held_back_by_a_state_that_cannot_be_read_or_only_opens() {
    for (seed, state) in [
        (82, "{\"version\":99}".to_owned()),
        (
            83,
            format!(
                "{{\"version\":1,\"phase\":\"opening\",\"cutoff\":{},\"run\":\"a run\"}}",
                u64::MAX
            ),
        ),
    ] {
        let world = World::with_host_dates(seed).await;
        stores::put(&world.storage, "icefield/gc/state.json", state).await;
        let session = world.session("main").await;
        write(&session, 0, 0).await;
        lands(&session, "while it is young").await;
        world.everything_is_there("afterwards").await;
    }
}
