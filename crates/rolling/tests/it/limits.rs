//! Shapes and numbers at their limits: what works is right, and what does not is refused by name.

use icefield_core::{NodePath, Session, WriteMode};
use icefield_rolling::{Change, Keep, Rolled, RollingError, Window};
use icefield_testkit::versions::{SPEC_2, spec};
use serde_json::json;

use crate::world::*;

fn along_time(shape: &[u64], chunk: u64, kind: &str) -> String {
    let lengths: Vec<u64> = shape.iter().map(|_| chunk).collect();
    let names = &["time", "y", "x"][..shape.len()];
    let codec = match kind {
        "uint8" => json!({"name": "bytes"}),
        _ => json!({"name": "bytes", "configuration": {"endian": "little"}}),
    };
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": kind,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": lengths}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [codec],
        "attributes": {}, "dimension_names": names,
    })
    .to_string()
}

async fn window(session: &Session, group: &str) -> Window {
    Window::of(session, &path(group), "time").expect("a window")
}

icefield_testkit::both_versions!(grids_that_are_not_regular_move_in_no_window);
async fn grids_that_are_not_regular_move_in_no_window() {
    let world = World::new(2).await;
    let session = world.writer().await;
    let regular = along_time(&[8], 4, "uint8");
    let has_rectilinear = spec() == SPEC_2;
    for (grid, words) in [
        (
            json!({"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[3, 5]]}}),
            "a rectilinear chunk grid needs spec version 2",
        ),
        (
            json!({"name": "regular", "configuration": {"chunk_shape": [[3, 5]]}}),
            "`chunk_shape` of whole numbers",
        ),
        (
            json!({"name": "regular", "configuration": {"chunk_shape": [0]}}),
            "a chunk length is 0",
        ),
        (
            json!({"name": "regular", "configuration": {"chunk_shape": [4, 4]}}),
            "the shape has 1 dimensions",
        ),
    ] {
        let mut document: serde_json::Value = serde_json::from_str(&regular).expect("JSON");
        let is_there = has_rectilinear && grid["name"] == "rectilinear";
        document["chunk_grid"] = grid;
        let at = path("/odd");
        let set = session.set_metadata(&at, document.to_string().into(), WriteMode::Overwrite);
        if is_there {
            assert!(set.await.expect("version 2 has such grids"));
            let error = Window::of(&session, &path("/"), "time").expect_err("unequal chunks");
            assert!(
                matches!(error, RollingError::UnequalChunks { .. }),
                "{error}"
            );
            assert!(error.to_string().contains("/odd"), "{error}");
            continue;
        }
        let error = set.await.expect_err(words);
        let said = std::iter::successors(Some(&error as &dyn std::error::Error), |it| it.source())
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(": ");
        assert!(said.contains("/odd") && said.contains(words), "{said}");
    }
}

icefield_testkit::both_versions!(an_empty_window_begins_with_labels);
async fn an_empty_window_begins_with_labels() {
    let world = World::new(1).await;
    let session = world.writer().await;
    let group = json!({"zarr_format": 3, "node_type": "group"}).to_string();
    put(&session, "/empty", group).await;
    put(&session, "/empty/time", along_time(&[0], 4, "float64")).await;
    put(&session, "/empty/t", along_time(&[0, 4], 4, "uint8")).await;
    commit(&session, "nothing yet").await;
    let rolling = world.rolling().below(path("/empty"));
    let error = rolling
        .change(&Change::append(4))
        .await
        .expect_err("which labels?");
    assert!(
        matches!(error, RollingError::LabelsNeeded { .. }),
        "{error}"
    );
    for change in [
        Change::trim(1, 0),
        Change::default().and_keep(Keep::Count(3)),
    ] {
        rolling.change(&change).await.expect_err("there is nothing");
    }
    let labels = [1.0, 2.0, 4.0, 8.0];
    rolling
        .change(&Change::append(4).with_labels(labels))
        .await
        .expect("the first ones");
    let now = world.read().await;
    assert_eq!(window(&now, "/empty").await.length(), 4);
    assert_eq!(numbers(&now, "/empty/time").await[..4], labels);
    assert_eq!(now.array(&path("/empty/t")).expect("there").shape, [4, 4]);
}

icefield_testkit::both_versions!(a_length_that_is_no_multiple_of_the_chunk_moves_like_any_other);
async fn a_length_that_is_no_multiple_of_the_chunk_moves_like_any_other() {
    let world = World::new(2).await;
    // 11 elements in chunks of 4.
    world
        .rolling()
        .change(&Change::append(3))
        .await
        .expect("a part of a slab");
    for (change, first, end) in [
        (Change::roll(4), 4, 15),
        (Change::trim(0, 2), 4, 13),
        (Change::prepend(4), 0, 13),
        (Change::append(1), 0, 14),
        (Change::roll(-4), -4, 10),
    ] {
        world.rolling().change(&change).await.expect("moved");
        let now = world.read().await;
        assert_eq!(problem(&now, false).await, None, "{change:?}");
        let window = window(&now, "/").await;
        assert_eq!((window.first(), window.end()), (first, end), "{change:?}");
        let labels = numbers(&now, "/time").await;
        assert_eq!(labels, labels_of(&(first..end)));
    }
}

icefield_testkit::both_versions!(everything_may_be_new_and_no_more_than_that);
async fn everything_may_be_new_and_no_more_than_that() {
    let world = World::new(2).await;
    let new = Change::roll(8);
    let rolling = world.rolling();
    let rolled = rolling.run(&new, async |session, staged| {
        fill(session, staged.new.clone()).await;
        Ok(())
    });
    rolled.await.expect("as long as the window");
    let now = world.read().await;
    is_right(&now).await;
    assert_eq!(window(&now, "/").await.first(), 8);
    let before = now.snapshot_id().expect("there");
    for change in [
        Change::roll(12),
        Change::roll(-12),
        Change::roll(i64::MAX),
        Change::roll(i64::MIN),
    ] {
        let error = world
            .rolling()
            .change(&change)
            .await
            .expect_err("longer than the window");
        assert!(!error.to_string().is_empty());
        assert_eq!(world.read().await.snapshot_id().expect("there"), before);
    }
}

icefield_testkit::both_versions!(absolute_indices_end_where_64_bits_do);
async fn absolute_indices_end_where_64_bits_do() {
    for (origin, change) in [
        (i64::MAX - 8, Change::append(4)),
        (i64::MAX - 8, Change::roll(4)),
        (i64::MIN, Change::prepend(4)),
        (i64::MIN, Change::roll(-4)),
    ] {
        let world = World::new(2).await;
        let session = world.writer().await;
        for at in ["/t", "/u", "/deep/v"] {
            set_attributes(&session, at, json!({"origin": [origin, 0, 0]})).await;
        }
        set_attributes(&session, "/time", json!({"origin": [origin]})).await;
        set_attributes(&session, "/time_bnds", json!({"origin": [origin, 0]})).await;
        let before = commit(&session, "far away").await;
        let error = world.rolling().change(&change).await.expect_err("beyond");
        let said = error.to_string();
        assert!(
            said.contains("along \"time\": absolute indices have 64 bits"),
            "{said}"
        );
        assert_eq!(world.read().await.snapshot_id().expect("there"), before);
        // The other way, there is room.
        let back = match origin > 0 {
            true => Change::roll(-4),
            false => Change::roll(4),
        };
        let rolled = world.rolling().change(&back).await.expect("there is room");
        assert!(matches!(rolled, Rolled::Committed { .. }));
    }
}

icefield_testkit::both_versions!(all_arrays_that_stand_in_the_way_are_named);
async fn all_arrays_that_stand_in_the_way_are_named() {
    let world = World::new(3).await;
    let session = world.writer().await;
    for chunk in [3_u64, 5] {
        let at = format!("/of_{chunk}");
        put(&session, &at, along_time(&[12], chunk, "uint8")).await;
    }
    let before = commit(&session, "other chunks").await;
    let error = world
        .rolling()
        .change(&Change::roll(4))
        .await
        .expect_err("no common place");
    match &error {
        RollingError::NotAligned { arrays, .. } => {
            let of = |at: &str| {
                arrays
                    .iter()
                    .find(|(path, _)| *path == NodePath::parse(at).expect("a path"))
            };
            assert_eq!(of("/of_3").expect("named").1, 3);
            assert_eq!(of("/of_5").expect("named").1, 5);
            assert_eq!(of("/t").expect("named").1, 4);
        }
        other => panic!("{other}"),
    }
    assert_eq!(world.read().await.snapshot_id().expect("there"), before);
}
