//! The nine failures of a window that is kept by an offset in the store: each is shown there, and does not happen here.

use icefield_core::{BranchName, ByteRange, NodePath};
use icefield_rolling::{Change, Rolled, RollingError, Window};

use crate::offset_store::OffsetStore;
use crate::world::*;

/// Rolls once, and looks from outside while the new slab is being written, and after.
async fn rolls_without_anybody_noticing(world: &World) {
    let held = world.read().await;
    let rolled = world
        .rolling()
        .complete()
        .run(&Change::roll(4), async |session, staged| {
            let first = staged.new.start;
            let window = Window::of(session, &NodePath::root(), "time")?;
            let slab = window.chunk_of(first, SLAB).expect("in the window");
            let labels: Vec<_> = labels_of(&staged.new).into_iter().map(Some).collect();
            for (array, name) in ARRAYS.iter().enumerate() {
                for at in TILES {
                    is_right(&world.read().await).await;
                    set(
                        session,
                        name,
                        &[slab, at[0], at[1]],
                        tile(array, &labels, at),
                    )
                    .await;
                }
            }
            Ok(())
        })
        .await;
    rolled.expect("rolled");
    is_right(&world.read().await).await;
    is_right(&held).await;
}

fn said(problem: Option<String>) -> String {
    problem.expect("the reader notices")
}

icefield_testkit::both_versions!(f1_nothing_is_missing_at_the_end);
async fn f1_nothing_is_missing_at_the_end() {
    let store = OffsetStore::new(4);
    (0..3).for_each(|array| store.set_offset(array, 1));
    store.set_labels(1, 4);
    assert!(said(store.open().problem()).contains("missing: /t, slab 3"));
    rolls_without_anybody_noticing(&World::new(4).await).await;
}

icefield_testkit::both_versions!(f2_nothing_is_missing_at_the_start);
async fn f2_nothing_is_missing_at_the_start() {
    let store = OffsetStore::new(4);
    store.write_slab(4);
    store.delete_slab(0);
    assert!(said(store.open().problem()).contains("missing: /t, slab 0"));
    let world = World::new(4).await;
    rolls_without_anybody_noticing(&world).await;
}

icefield_testkit::both_versions!(f3_no_reader_mixes_two_windows);
async fn f3_no_reader_mixes_two_windows() {
    let store = OffsetStore::new(4);
    store.write_slab(4);
    store.set_offset(0, 1);
    // Opened between the roll of one array and that of the next.
    let between = store.open();
    (1..3).for_each(|array| store.set_offset(array, 1));
    store.set_labels(1, 4);
    assert!(said(between.problem()).contains("mislabelled: /t"));
    assert_eq!(store.open().problem(), None);
    let world = World::new(4).await;
    rolls_without_anybody_noticing(&world).await;
    // All arrays of the dimension moved, and in one commit.
    let session = world.read().await;
    for array in ARRAYS {
        let document = session
            .metadata(&path(array))
            .expect("there")
            .expect("there");
        assert!(
            String::from_utf8_lossy(&document).contains("\"origin\":[4,0,0]"),
            "{array}"
        );
    }
    let ancestry: Vec<_> = futures::TryStreamExt::try_collect(
        world
            .repository
            .ancestry(session.snapshot_id().expect("there")),
    )
    .await
    .expect("a history");
    assert_eq!(
        ancestry.len(),
        3,
        "the first snapshot, the window, and one roll"
    );
}

icefield_testkit::both_versions!(f4_labels_move_with_the_data);
async fn f4_labels_move_with_the_data() {
    let store = OffsetStore::new(4);
    store.write_slab(4);
    (0..3).for_each(|array| store.set_offset(array, 1));
    // The coordinates come in a step of their own.
    assert!(said(store.open().problem()).contains("mislabelled"));
    let world = World::new(4).await;
    rolls_without_anybody_noticing(&world).await;
    // A commit that rolls the data and forgets the labels is refused.
    let rolled = world
        .rolling()
        .run(&Change::append(4), async |session, _| {
            let labels = numbers(session, "/time").await;
            let wrong = labels[..16].iter().map(|_| labels[0]);
            set(
                session,
                "/time",
                &[0],
                wrong.flat_map(f64::to_le_bytes).collect(),
            )
            .await;
            Ok(())
        })
        .await;
    assert!(matches!(rolled, Err(RollingError::Labels { .. })));
    is_right(&world.read().await).await;
}

icefield_testkit::both_versions!(f5_what_is_missing_is_told_and_never_a_silent_fill_value);
async fn f5_what_is_missing_is_told_and_never_a_silent_fill_value() {
    let store = OffsetStore::new(4);
    (0..3).for_each(|array| store.set_offset(array, 1));
    // The reader gets fill values, and no error: only its own arithmetic tells.
    assert_eq!(store.plain(0, 4, TILES[0]), None);
    let world = World::new(4).await;
    let error = world
        .rolling()
        .complete()
        .change(&Change::roll(4))
        .await
        .expect_err("not written");
    let RollingError::Unwritten(slots) = error else {
        panic!("{error:?}");
    };
    assert_eq!(slots.missing(), (ARRAYS.len() * TILES.len()) as u64);
    is_right(&world.read().await).await;
    // A chunk that is referred to, and gone from the store, is an error.
    let session = world.read().await;
    let location = session
        .chunk_location(&path("/t"), &[0, 0, 0])
        .await
        .expect("there");
    let Some(icefield_core::ChunkLocation::Native { id, .. }) = location else {
        panic!("{location:?}");
    };
    use icefield_storage::{Storage, StorageExt};
    let key = icefield_storage::Key::parse(&format!("chunks/{id}")).expect("a key");
    let deleted = (&*world.storage as &dyn Storage)
        .delete_one(key.into())
        .await;
    assert!(matches!(
        deleted,
        Ok(icefield_storage::DeleteOutcome::Deleted)
    ));
    assert!(
        session
            .chunk(&path("/t"), &[0, 0, 0], ByteRange::All)
            .await
            .is_err()
    );
}

icefield_testkit::both_versions!(f6_of_two_rollers_neither_is_lost);
async fn f6_of_two_rollers_neither_is_lost() {
    let store = OffsetStore::new(4);
    store.write_slab(4);
    store.write_slab(5);
    // Both read the offset, both write one more: one roll is lost.
    let (one, other) = (store.offset(0), store.offset(0));
    store.set_offset(0, one + 1);
    store.set_offset(0, other + 1);
    assert_eq!(store.offset(0), 1, "where two rolls were made");
    let world = World::new(4).await;
    let inner = world.rolling();
    let rolled = world
        .rolling()
        .run(&Change::roll(4), async |session, staged| {
            if staged.new.start == 16 {
                let other = inner
                    .run(&Change::roll(4), async |session, staged| {
                        fill(session, staged.new.clone()).await;
                        Ok(())
                    })
                    .await;
                other?;
            }
            fill(session, staged.new.clone()).await;
            Ok(())
        })
        .await;
    let Rolled::Committed { window, .. } = rolled.expect("rolled") else {
        panic!("no key");
    };
    assert_eq!((window.first(), window.end()), (8, 24));
    is_right(&world.read().await).await;
}

icefield_testkit::both_versions!(f7_every_snapshot_is_an_ordinary_array);
async fn f7_every_snapshot_is_an_ordinary_array() {
    let store = OffsetStore::new(4);
    store.write_slab(4);
    (0..3).for_each(|array| store.set_offset(array, 1));
    let expected = tile(
        0,
        &labels_of(&(4..8)).into_iter().map(Some).collect::<Vec<_>>(),
        TILES[0],
    );
    assert_ne!(
        store.plain(0, 0, TILES[0]),
        Some(expected.clone()),
        "a reader without the translation"
    );
    let world = World::new(4).await;
    rolls_without_anybody_noticing(&world).await;
    // By Zarr's own keys, with no knowledge of any offset.
    let plain = icefield_zarr_store::ZarrStore::new(world.read().await);
    let chunk = plain
        .get_range("t/c/0/0/0", ByteRange::All)
        .await
        .expect("readable");
    assert_eq!(chunk.as_deref(), Some(&expected[..]));
}

icefield_testkit::both_versions!(f8_a_late_roll_loses_nothing);
async fn f8_a_late_roll_loses_nothing() {
    let store = OffsetStore::new(4);
    // The rule of the bucket counts from the write: no writer rolled, and the window went.
    (0..4).for_each(|slab| store.delete_slab(slab));
    assert!(said(store.open().problem()).contains("missing"));
    let world = World::new(4).await;
    let before = chunk_objects(&world.storage).await;
    // However long no writer rolls, objects go only when no snapshot that is kept uses them.
    is_right(&world.read().await).await;
    rolls_without_anybody_noticing(&world).await;
    assert!(before.is_subset(&chunk_objects(&world.storage).await));
}

icefield_testkit::both_versions!(f9_there_is_a_way_back);
async fn f9_there_is_a_way_back() {
    let store = OffsetStore::new(4);
    store.write_slab(4);
    (0..3).for_each(|array| store.set_offset(array, 1));
    store.set_labels(1, 4);
    store.delete_slab(0);
    (0..3).for_each(|array| store.set_offset(array, 0));
    store.set_labels(0, 4);
    assert!(
        said(store.open().problem()).contains("missing"),
        "what was deleted by key is gone"
    );
    let world = World::new(4).await;
    let old = world.read().await.snapshot_id().expect("there");
    let tip = world.read().await;
    rolls_without_anybody_noticing(&world).await;
    let now = world.read().await.snapshot_id().expect("there");
    let reset = world
        .repository
        .reset_branch(&BranchName::main(), old, Some(now))
        .await;
    assert!(matches!(reset, Ok(icefield_core::EditOutcome::Done(_))));
    is_right(&world.read().await).await;
    assert_eq!(
        numbers(&world.read().await, "/time").await,
        numbers(&tip, "/time").await
    );
}
