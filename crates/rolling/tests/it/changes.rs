//! Append, prepend, trim and roll, by whole chunks.

use icefield_core::{CommitOutcome, NodePath};
use icefield_rolling::{
    Change, Keep, Method, Options, Rolled, Rolling, RollingError, Window, unwritten,
};

use crate::world::*;

async fn window(world: &World) -> Window {
    Window::of(&world.read().await, &NodePath::root(), "time").expect("a window")
}

async fn run(world: &World, rolling: &Rolling, change: &Change) -> Window {
    let rolled = rolling
        .run(change, async |session, staged| {
            fill(session, staged.new.clone()).await;
            Ok(())
        })
        .await;
    match rolled.expect("rolled") {
        Rolled::Committed { window, .. } => {
            is_right(&world.read().await).await;
            window
        }
        other => panic!("{other:?}"),
    }
}

icefield_testkit::both_versions!(a_roll_writes_the_new_slab_and_nothing_else);
async fn a_roll_writes_the_new_slab_and_nothing_else() {
    let world = World::new(6).await;
    let before = chunk_objects(&world.storage).await;
    let first = world.read().await;
    let rolled = run(&world, &world.rolling(), &Change::roll(8)).await;
    assert_eq!((rolled.first(), rolled.end()), (8, 32));
    let after = chunk_objects(&world.storage).await;
    assert!(before.is_subset(&after), "nothing is deleted");
    let labels: usize = 2;
    let new = ARRAYS.len() * TILES.len() * 2 + labels;
    assert_eq!(after.len() - before.len(), new);
    // A session that was open before keeps what was there (R7), and the way back is a branch at that snapshot (R21).
    is_right(&first).await;
    assert_eq!(numbers(&first, "/time").await[0], 0.0);
    let now = world.read().await;
    assert_eq!(numbers(&now, "/time").await[0], 24.0);
    assert_eq!(
        first.array(&path("/t")).expect("there").shape,
        now.array(&path("/t")).expect("there").shape
    );
}

icefield_testkit::both_versions!(windows_move_in_both_directions);
async fn windows_move_in_both_directions() {
    let world = World::new(3).await;
    for (change, first, end) in [
        (Change::prepend(4), -4, 12),
        (Change::roll(-8), -12, 4),
        (Change::append(12), -12, 16),
        (Change::trim(8, 0), -4, 16),
        (Change::trim(0, 12), -4, 4),
        (Change::roll(4), 0, 8),
        // All that was there goes.
        (Change::append(16).and_trim(8, 0), 8, 24),
        (Change::append(8).and_trim(16, 0), 24, 32),
    ] {
        let window = run(&world, &world.rolling(), &change).await;
        assert_eq!((window.first(), window.end()), (first, end), "{change:?}");
        assert_eq!(window.hidden(), 0);
    }
}

icefield_testkit::both_versions!(a_window_keeps_so_many_elements_or_so_much_time);
async fn a_window_keeps_so_many_elements_or_so_much_time() {
    let world = World::new(3).await;
    let keep = |text: &str| text.parse::<Keep>().expect("a window");
    for (change, first, end) in [
        (Change::append(8).and_keep(keep("12")), 8, 20),
        // Larger than the data: nothing goes.
        (Change::append(4).and_keep(keep("100")), 8, 24),
        // 3 hours a step: two days are 16 steps, 12 hours 4.
        (Change::append(4).and_keep(keep("2 days")), 12, 28),
        (Change::default().and_keep(keep("12 hours")), 24, 28),
        // In parts of a chunk, more is kept.
        (Change::append(4).and_keep(keep("5")), 24, 32),
        (Change::append(4).and_keep(keep("13 hours")), 28, 36),
        // The other way round, the newest go.
        (Change::prepend(8).and_keep(keep("12")), 20, 32),
    ] {
        let window = run(&world, &world.rolling(), &change).await;
        assert_eq!((window.first(), window.end()), (first, end), "{change:?}");
    }
}

icefield_testkit::both_versions!(labels_are_given_where_they_are_not_regular);
async fn labels_are_given_where_they_are_not_regular() {
    let world = World::new(2).await;
    let labels = [100.0, 101.0, 105.0, 120.0];
    let change = Change::append(4).with_labels(labels);
    let rolled = world
        .rolling()
        .run(&change, async |session, _| {
            fill_slab(session, 2, &labels).await;
            Ok(())
        })
        .await;
    rolled.expect("rolled");
    is_right(&world.read().await).await;
    let error = world
        .rolling()
        .change(&Change::append(4))
        .await
        .expect_err("which labels?");
    assert!(error.to_string().contains("/time are not known"), "{error}");
    let error = world
        .rolling()
        .change(&Change::append(4).with_labels([121.0]))
        .await;
    let error = error.expect_err("too few").to_string();
    assert!(error.contains("1 labels are given for 4"), "{error}");
    for wrong in [
        [119.0, 121.0, 122.0, 123.0],
        [121.0, 121.0, 122.0, 123.0],
        [121.0, f64::NAN, 122.0, 123.0],
    ] {
        let before = world.read().await.snapshot_id().expect("there");
        let error = world
            .rolling()
            .change(&Change::append(4).with_labels(wrong))
            .await;
        let error = error.expect_err("out of order").to_string();
        assert!(error.contains("/time are not in order"), "{error}");
        assert_eq!(world.read().await.snapshot_id().expect("there"), before);
    }
}

icefield_testkit::both_versions!(a_fill_that_breaks_the_labels_is_not_committed);
async fn a_fill_that_breaks_the_labels_is_not_committed() {
    let world = World::new(2).await;
    let rolled = world
        .rolling()
        .run(&Change::append(4), async |session, _| {
            let twice = [0.0_f64; 8]
                .iter()
                .flat_map(|it| it.to_le_bytes())
                .collect();
            set(session, "/time", &[0], twice).await;
            Ok(())
        })
        .await;
    let error = rolled.expect_err("labels twice there");
    assert!(
        error.to_string().contains("element 1 does not follow"),
        "{error}"
    );
}

icefield_testkit::both_versions!(a_repeated_roll_is_done_once);
async fn a_repeated_roll_is_done_once() {
    let world = World::new(3).await;
    let rolling = world.rolling().key("2026-11-22T06");
    let Rolled::Committed { snapshot, .. } =
        rolling.change(&Change::roll(4)).await.expect("rolled")
    else {
        panic!("it was not there before");
    };
    let again = rolling.change(&Change::roll(4)).await.expect("looked");
    assert_eq!(again, Rolled::AlreadyThere { snapshot });
    assert_eq!(window(&world).await.first(), 4);
    let other = world
        .rolling()
        .key("2026-11-22T12")
        .change(&Change::roll(4))
        .await;
    assert!(matches!(other.expect("rolled"), Rolled::Committed { .. }));
    // It is known behind other changes, too, and after its own commit has gone: lists name the snapshots that made them.
    let again = rolling.change(&Change::roll(4)).await.expect("looked");
    assert_eq!(again, Rolled::AlreadyThere { snapshot });
    assert_eq!(window(&world).await.first(), 8);
}

icefield_testkit::both_versions!(a_key_of_another_change_is_refused);
async fn a_key_of_another_change_is_refused() {
    let world = World::new(4).await;
    let rolling = world.rolling().key("06");
    let rolled = rolling.change(&Change::roll(4)).await.expect("rolled");
    let Rolled::Committed { snapshot: made, .. } = rolled else {
        panic!("it was not there before");
    };
    let below = world.rolling().key("06").below(path("/t"));
    for (rolling, change) in [(rolling, Change::roll(8)), (below, Change::roll(4))] {
        let error = rolling.change(&change).await.expect_err("another change");
        let RollingError::KeyTaken { key, snapshot, .. } = &error else {
            panic!("{error:?}");
        };
        assert_eq!((key.as_str(), *snapshot), ("06", made));
        assert!(error.to_string().contains("4 in at the end"), "{error}");
    }
    assert_eq!(window(&world).await.first(), 4);
}

icefield_testkit::both_versions!(a_report_is_of_the_window_alone);
async fn a_report_is_of_the_window_alone() {
    let world = World::new(2).await;
    let session = world.read().await;
    for (start, end) in [(0, 9), (-1, 4), (8, 12), (4, 0)] {
        let stretch = start..end;
        let asked = unwritten(&session, &NodePath::root(), "time", Some(stretch.clone())).await;
        assert!(
            matches!(asked, Err(RollingError::OutsideWindow { .. })),
            "{stretch:?}: {asked:?}"
        );
    }
    let asked = unwritten(&session, &NodePath::root(), "time", Some(8..8)).await;
    assert!(asked.expect("nothing to write").is_complete());
}

icefield_testkit::both_versions!(what_nobody_wrote_is_told_and_may_stop_the_commit);
async fn what_nobody_wrote_is_told_and_may_stop_the_commit() {
    let world = World::new(2).await;
    let before = world.read().await.snapshot_id().expect("there");
    let half = async |session: &icefield_core::Session, _: &icefield_rolling::Staged| {
        for at in TILES {
            set(session, "/t", &[1, at[0], at[1]], vec![1]).await;
        }
        set(session, "/u", &[1, 0, 1], vec![1]).await;
        Ok(())
    };
    let error = world
        .rolling()
        .complete()
        .run(&Change::roll(4), half)
        .await
        .expect_err("a gate");
    assert!(
        error
            .to_string()
            .contains("7 chunks of the window are not written"),
        "{error}"
    );
    assert_eq!(world.read().await.snapshot_id().expect("there"), before);
    world
        .rolling()
        .run(&Change::roll(4), half)
        .await
        .expect("without a gate");
    let session = world.read().await;
    let slots = unwritten(&session, &NodePath::root(), "time", None)
        .await
        .expect("looked");
    let told: Vec<_> = slots
        .arrays
        .iter()
        .map(|it| (it.path.to_string(), it.expected, it.written))
        .collect();
    let expected = [
        ("/deep/v", 8, 4),
        ("/t", 8, 8),
        ("/time_bnds", 1, 1),
        ("/u", 8, 5),
    ];
    assert_eq!(
        told,
        expected.map(|(path, all, here)| (path.to_owned(), all, here))
    );
    assert_eq!(slots.arrays[3].missing_in.get(&1), Some(&3));
    assert_eq!(slots.arrays[3].missing[0].to_vec(), [1, 0, 0]);
    // Of the old part, nothing is missing.
    let old = unwritten(&session, &NodePath::root(), "time", Some(4..8))
        .await
        .expect("looked");
    assert!(old.is_complete(), "{old:?}");
}

icefield_testkit::both_versions!(an_absolute_window_grows_and_takes_away_what_went);
async fn an_absolute_window_grows_and_takes_away_what_went() {
    let world = World::new(4).await;
    let mut options = Options::default();
    options.rewrite_bytes = 0;
    options.method = Method::Absolute;
    let rolling = world.rolling().options(options);
    for step in 1..4 {
        let rolled = run(&world, &rolling, &Change::roll(4)).await;
        assert_eq!(
            (rolled.origin(), rolled.first(), rolled.end()),
            (0, 4 * step, 16 + 4 * step)
        );
    }
    let session = world.read().await;
    assert_eq!(session.array(&path("/t")).expect("there").shape[0], 28);
    for slab in 0..3 {
        let chunk = session
            .chunk_location(&path("/t"), &[slab, 0, 0])
            .await
            .expect("looked");
        assert_eq!(chunk, None);
    }
    let error = rolling
        .change(&Change::prepend(4))
        .await
        .expect_err("it cannot grow there");
    assert!(
        error.to_string().contains("cannot grow at the start"),
        "{error}"
    );
}

icefield_testkit::both_versions!(rolls_can_be_spawned);
async fn rolls_can_be_spawned() {
    let world = World::new(2).await;
    let rolling = world.rolling();
    let task = tokio::spawn(async move { rolling.change(&Change::append(4)).await });
    task.await.expect("no panic").expect("rolled");
    let session = world.writer().await;
    assert!(matches!(
        session.commit("nothing").allow_empty().await,
        Ok(CommitOutcome::Committed(_))
    ));
}
