//! Writers that fill a slab while the window moves, and rollers that meet.

use icefield_core::{BasicSolver, BranchName, CommitOutcome, NodePath, Session, VersionSelection};
use icefield_rolling::{Change, Method, Rolled, Rolling, RollingError, Window};

use crate::world::*;

/// Writes one tile of a slab, by the absolute index of its first element.
async fn write_tile(session: &Session, array: usize, first: i64, at: [u32; 2]) {
    let window = Window::of(session, &NodePath::root(), "time").expect("a window");
    let slab = window.chunk_of(first, SLAB).expect("in the window");
    session
        .follow_shifts(&path(ARRAYS[array]))
        .expect("writable");
    let labels: Vec<_> = labels_of(&(first..first + 4))
        .into_iter()
        .map(Some)
        .collect();
    set(
        session,
        ARRAYS[array],
        &[slab, at[0], at[1]],
        tile(array, &labels, at),
    )
    .await;
}

icefield_testkit::both_versions!(what_was_addressed_by_its_index_lands_on_its_date);
async fn what_was_addressed_by_its_index_lands_on_its_date() {
    let world = World::new(4).await;
    world
        .rolling()
        .change(&Change::roll(4))
        .await
        .expect("an empty slab");
    let sessions = [world.writer().await, world.writer().await];
    for (session, at) in sessions.iter().zip(TILES) {
        write_tile(session, 0, 16, at).await;
    }
    // The window moves on twice before they commit.
    for _ in 0..2 {
        world
            .rolling()
            .change(&Change::roll(4))
            .await
            .expect("rolled");
    }
    for session in &sessions {
        let commit = session.commit("late").rebase_with(BasicSolver::default());
        assert!(matches!(commit.await, Ok(CommitOutcome::Committed(_))));
    }
    let session = world.read().await;
    assert_eq!(problem(&session, false).await, None);
    for (at, slab) in [(TILES[0], 1), (TILES[1], 1)] {
        let chunk = session
            .chunk_location(&path("/t"), &[slab, at[0], at[1]])
            .await
            .expect("there");
        assert!(chunk.is_some());
    }
}

icefield_testkit::both_versions!(what_fell_out_of_the_window_is_refused);
async fn what_fell_out_of_the_window_is_refused() {
    let world = World::new(2).await;
    let session = world.writer().await;
    write_tile(&session, 0, 0, TILES[0]).await;
    world
        .rolling()
        .change(&Change::roll(4))
        .await
        .expect("rolled");
    let commit = session
        .commit("too late")
        .rebase_with(BasicSolver::default());
    match commit.await {
        Ok(CommitOutcome::Conflicts { conflicts, .. }) => {
            assert_eq!(conflicts[0].path(), &path("/t"))
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(problem(&world.read().await, false).await, None);
}

icefield_testkit::both_versions!(a_roll_takes_along_what_others_wrote_meanwhile);
async fn a_roll_takes_along_what_others_wrote_meanwhile() {
    let world = World::new(3).await;
    world
        .rolling()
        .change(&Change::roll(4))
        .await
        .expect("an empty slab");
    let rolled = world
        .rolling()
        .run(&Change::roll(4), async |_, staged| {
            assert_eq!(staged.new, 16..20);
            let other = world.writer().await;
            write_tile(&other, 1, 12, TILES[3]).await;
            commit(&other, "meanwhile").await;
            Ok(())
        })
        .await;
    rolled.expect("rolled");
    let session = world.read().await;
    assert_eq!(problem(&session, false).await, None);
    let chunk = session
        .chunk_location(&path("/u"), &[1, 1, 1])
        .await
        .expect("there");
    assert!(chunk.is_some(), "it moved along");
}

icefield_testkit::both_versions!(of_two_rollers_one_rolls_and_the_other_sees_it);
/// R12: two rollers with one key, and two that mean two steps.
async fn of_two_rollers_one_rolls_and_the_other_sees_it() {
    for (keys, end) in [(["a", "a"], 16), (["a", "b"], 20)] {
        let world = World::new(3).await;
        let roller = |key: &str| -> Rolling { world.rolling().key(key) };
        let change = Change::roll(4);
        let first = roller(keys[0]);
        // The other one begins and ends while the first has begun.
        let rolled = first
            .run(&change, async |_, _| {
                let other = roller(keys[1]).tries(1).change(&change).await;
                match other {
                    Ok(Rolled::Committed { .. } | Rolled::AlreadyThere { .. }) => Ok(()),
                    Err(error) => Err(error.into()),
                }
            })
            .await;
        let rolled = rolled.expect("rolled");
        assert_eq!(
            matches!(rolled, Rolled::AlreadyThere { .. }),
            keys[0] == keys[1]
        );
        let window = Window::of(&world.read().await, &NodePath::root(), "time").expect("there");
        assert_eq!((window.first(), window.end()), (end - 12, end));
        assert_eq!(problem(&world.read().await, false).await, None);
    }
}

icefield_testkit::both_versions!(two_appends_of_one_length_are_two);
async fn two_appends_of_one_length_are_two() {
    let world = World::new(2).await;
    let inner = world.rolling();
    let rolled = world
        .rolling()
        .run(&Change::append(4), async |session, staged| {
            if staged.new.start == 8 {
                inner.change(&Change::append(4)).await?;
            }
            fill(session, staged.new.clone()).await;
            Ok(())
        })
        .await;
    rolled.expect("on top of the other");
    let window = Window::of(&world.read().await, &NodePath::root(), "time").expect("there");
    assert_eq!(window.end(), 16);
    assert_eq!(problem(&world.read().await, false).await, None);
}

icefield_testkit::both_versions!(who_loses_every_race_is_told);
async fn who_loses_every_race_is_told() {
    let world = World::new(2).await;
    let inner = world.rolling();
    let rolled = world
        .rolling()
        .tries(2)
        .run(&Change::roll(4), async |_, _| {
            inner.change(&Change::roll(4)).await?;
            Ok(())
        })
        .await;
    let error = rolled.expect_err("the other was faster");
    assert!(
        matches!(error, RollingError::LostRaces { tries: 2, .. }),
        "{error:?}"
    );
    let gone = Rolling::new(
        &world.repository,
        BranchName::parse("gone").expect("there"),
        "time",
    );
    assert!(matches!(
        gone.change(&Change::roll(4)).await,
        Err(RollingError::Repository(_))
    ));
}

icefield_testkit::both_versions!(nothing_comes_back_to_what_an_absolute_window_has_left);
/// A chunk that has gone with a window stays gone, whichever writer comes first, and whether it was there before or not.
async fn nothing_comes_back_to_what_an_absolute_window_has_left() {
    for is_first in [true, false] {
        let world = World::new(3).await;
        let session = world.writer().await;
        let deleted = session.delete_chunk(&path("/t"), &[0, 0, 0]).await;
        deleted.expect("there");
        commit(&session, "a slot is empty").await;
        let mut options = large();
        options.method = Method::Absolute;
        let rolling = world.rolling().options(options);
        let late = world.writer().await;
        set(&late, "/t", &[0, 0, 0], tile(0, &[Some(0.0); 4], [0, 0])).await;
        let fail = BasicSolver::of(VersionSelection::Fail);
        let late = std::sync::Mutex::new(Some(late));
        let rolled = rolling
            .run(&Change::roll(4), async |session, staged| {
                let late = match is_first {
                    true => late.lock().expect("not poisoned").take(),
                    false => None,
                };
                if let Some(late) = late {
                    commit(&late, "meanwhile").await;
                }
                fill(session, staged.new.clone()).await;
                Ok(())
            })
            .await;
        rolled.expect("rolled");
        let late = late.lock().expect("not poisoned").take();
        if let Some(late) = late {
            let outcome = late.commit("late").rebase_with(fail).await;
            assert!(
                matches!(outcome, Ok(CommitOutcome::Conflicts { .. })),
                "{outcome:?}"
            );
        }
        let gone = world.read().await;
        let gone = gone.chunk_location(&path("/t"), &[0, 0, 0]).await;
        assert_eq!(gone.expect("looked"), None, "first: {is_first}");
    }
}
