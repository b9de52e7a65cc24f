//! Windows whose ends lie within chunks.

use icefield_core::NodePath;
use icefield_rolling::{Change, Rolled, Window};

use crate::world::*;

icefield_testkit::both_versions!(elements_are_masked_where_chunks_cannot_be_cut);
async fn elements_are_masked_where_chunks_cannot_be_cut() {
    let world = World::new(4).await;
    let error = world
        .rolling()
        .change(&Change::trim(6, 0))
        .await
        .expect_err("chunks are whole");
    let said = error.to_string();
    for part in ["by 6 elements", "/t (of 4)", "by 4 or by 8", "masked"] {
        assert!(said.contains(part), "{said}");
    }
    let before = chunk_objects(&world.storage).await.len();
    let rolling = world.rolling().options(masking());
    let Rolled::Committed { window, .. } =
        rolling.change(&Change::trim(6, 0)).await.expect("masked")
    else {
        panic!("it is new");
    };
    assert_eq!((window.origin(), window.first(), window.end()), (4, 6, 16));
    // One slab of each array, the labels and their bounds.
    let rewritten = ARRAYS.len() * TILES.len() + 2;
    assert_eq!(
        chunk_objects(&world.storage).await.len() - before,
        rewritten
    );
    let session = world.read().await;
    is_right(&session).await;
    let labels = numbers(&session, "/time").await;
    assert!(labels[0].is_nan() && labels[1].is_nan());
    assert_eq!(labels[2], 18.0);
    // On from there: what was masked goes with its chunk.
    let Rolled::Committed { window, .. } =
        rolling.change(&Change::trim(5, 0)).await.expect("masked")
    else {
        panic!("it is new");
    };
    assert_eq!((window.origin(), window.first()), (8, 11));
    is_right(&world.read().await).await;
    // Back to whole chunks, without masks.
    let Rolled::Committed { window, .. } = world
        .rolling()
        .change(&Change::trim(1, 0))
        .await
        .expect("whole")
    else {
        panic!("it is new");
    };
    assert_eq!((window.origin(), window.hidden()), (12, 0));
    is_right(&world.read().await).await;
    let t = world
        .read()
        .await
        .metadata(&path("/t"))
        .expect("there")
        .expect("there");
    assert!(!String::from_utf8_lossy(&t).contains("masked_elements"));
}

icefield_testkit::both_versions!(what_is_cut_off_at_the_end_does_not_come_back);
async fn what_is_cut_off_at_the_end_does_not_come_back() {
    let world = World::new(3).await;
    world
        .rolling()
        .change(&Change::trim(0, 5))
        .await
        .expect("trimmed");
    is_right(&world.read().await).await;
    let session = world.read().await;
    assert_eq!(session.array(&path("/u")).expect("there").shape[0], 7);
    world
        .rolling()
        .change(&Change::append(5))
        .await
        .expect("appended");
    let session = world.read().await;
    let window = Window::of(&session, &NodePath::root(), "time").expect("a window");
    assert_eq!((window.first(), window.end()), (0, 12));
    // The labels are there again, and the data is not.
    let labels = numbers(&session, "/time").await;
    let of_slab = [Some(labels[4]), Some(labels[5]), Some(labels[6]), None];
    let bytes = session
        .chunk(&path("/u"), &[1, 0, 0], icefield_core::ByteRange::All)
        .await;
    assert_eq!(
        bytes.expect("there").expect("there"),
        tile(1, &of_slab, [0, 0])
    );
    let gone = session
        .chunk_location(&path("/u"), &[2, 0, 0])
        .await
        .expect("looked");
    assert_eq!(gone, None);
}

icefield_testkit::both_versions!(small_arrays_are_rewritten_and_need_no_masks);
async fn small_arrays_are_rewritten_and_need_no_masks() {
    let world = World::new(3).await;
    let rolling = icefield_rolling::Rolling::new(
        &world.repository,
        icefield_core::BranchName::main(),
        "time",
    );
    let Rolled::Committed { window, .. } =
        rolling.change(&Change::trim(3, 2)).await.expect("small")
    else {
        panic!("it is new");
    };
    assert_eq!((window.origin(), window.hidden(), window.end()), (3, 0, 10));
    is_right(&world.read().await).await;
}
