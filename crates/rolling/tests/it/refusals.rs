//! Windows that cannot move: the error names the reason, and nothing is committed.

use icefield_core::{BranchName, NodePath};
use icefield_rolling::{Change, Keep, Rolling, RollingError};

use crate::world::*;

/// Asserts that a change is refused with these words.
async fn refused(world: &World, rolling: &Rolling, change: &Change, words: &[&str]) {
    let before = world.read().await.snapshot_id().expect("there");
    let error = rolling.change(change).await.expect_err("it cannot");
    let said = error.to_string();
    for word in words {
        assert!(said.contains(word), "{said}");
    }
    assert_eq!(world.read().await.snapshot_id().expect("there"), before);
}

icefield_testkit::both_versions!(changes_that_make_no_sense_are_refused);
async fn changes_that_make_no_sense_are_refused() {
    let world = World::new(2).await;
    let both = |append, prepend| {
        let mut change = Change::append(append);
        change.prepend = prepend;
        change
    };
    for (change, word) in [
        (both(4, 4), "not at both"),
        (
            Change::append(4).and_trim(0, 4),
            "come in and go at the end",
        ),
        (
            Change::prepend(4).and_trim(4, 0),
            "come in and go at the start",
        ),
        (
            Change::trim(4, 0).and_keep(Keep::Count(4)),
            "cannot both be said",
        ),
        (Change::trim(8, 0), "nothing of \"time\" would be left"),
        (Change::trim(4, 4), "nothing of \"time\" would be left"),
        (
            Change::default().and_keep(Keep::Count(0)),
            "nothing of \"time\" would be left",
        ),
        (
            Change::trim(12, 0),
            "12 elements cannot be trimmed from \"time\": it has 8",
        ),
        (Change::trim(u64::MAX, u64::MAX), "cannot be trimmed"),
        (Change::append(8).and_trim(12, 0), "comes in cannot go"),
        (Change::append(u64::MAX), "64 bits"),
        (Change::append(i64::MAX as u64), "64 bits"),
        (Change::prepend(i64::MAX as u64), "move whole chunks"),
        (Change::prepend(i64::MAX as u64 - 3), "2^32 chunks"),
        (Change::append(1 << 36), "2^32 chunks"),
        (Change::append(1 << 26), "256 MiB"),
        (
            Change::append(u64::MAX).and_keep("7 days".parse().expect("a span")),
            "256 MiB",
        ),
        (Change::prepend(2), "move it by -4,"),
    ] {
        refused(&world, &world.rolling(), &change, &[word]).await;
    }
}

icefield_testkit::both_versions!(dimensions_that_are_not_one_are_refused);
async fn dimensions_that_are_not_one_are_refused() {
    let world = World::new(2).await;
    let rolling =
        |name: &str| Rolling::new(&world.repository, BranchName::main(), name).options(large());
    let change = Change::append(4);
    refused(
        &world,
        &rolling("level"),
        &change,
        &["no array at or below / has a dimension named \"level\""],
    )
    .await;
    let session = world.writer().await;
    put(&session, "/square", square(&["time", "time"])).await;
    commit(&session, "twice").await;
    refused(
        &world,
        &rolling("time"),
        &change,
        &["/square has two dimensions named \"time\""],
    )
    .await;

    let world = World::new(2).await;
    let rolling = Rolling::new(&world.repository, BranchName::main(), "time").options(large());
    let session = world.writer().await;
    data_array(&session, "/longer", 12).await;
    commit(&session, "another length").await;
    refused(
        &world,
        &rolling,
        &change,
        &["/longer shows elements 0 to 12", "/deep/v shows 0 to 8"],
    )
    .await;
    // Those of a group alone belong together.
    rolling
        .clone()
        .below(path("/deep"))
        .change(&change)
        .await
        .expect("one array");
}

fn square(names: &[&str; 2]) -> String {
    serde_json::json!({
        "zarr_format": 3, "node_type": "array", "shape": [8, 8], "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 4]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}],
        "dimension_names": names,
    })
    .to_string()
}

icefield_testkit::both_versions!(arrays_with_other_chunks_move_or_are_named);
async fn arrays_with_other_chunks_move_or_are_named() {
    let world = World::new(3).await;
    let session = world.writer().await;
    let document = square(&["time", "x"])
        .replace("[8,8]", "[12,8]")
        .replace("[4,4]", "[6,4]");
    put(&session, "/coarse", document).await;
    commit(&session, "other chunks").await;
    let words = [
        "by 4 elements",
        "/coarse (of 6)",
        "/t (of 4)",
        "move it by 12,",
    ];
    refused(&world, &world.rolling(), &Change::roll(4), &words).await;
    let rolled = world
        .rolling()
        .run(&Change::roll(12), async |session, staged| {
            fill(session, staged.new.clone()).await;
            Ok(())
        })
        .await;
    rolled.expect("a multiple of both");
    is_right(&world.read().await).await;
    // A small one is rewritten.
    let rolling = Rolling::new(&world.repository, BranchName::main(), "time");
    rolling.change(&Change::trim(4, 0)).await.expect("small");
    is_right(&world.read().await).await;
}

icefield_testkit::both_versions!(attributes_that_say_something_else_are_refused);
async fn attributes_that_say_something_else_are_refused() {
    for (attribute, value) in [
        ("origin", "\"NEMO\""),
        ("origin", "[0]"),
        ("origin", "[0.5, 0, 0]"),
        ("origin", "[9223372036854775807, 0, 0]"),
        ("masked_elements", "[-1, 0, 0]"),
        ("masked_elements", "[9, 0, 0]"),
        ("window_start", "[-4, 0, 0]"),
    ] {
        let world = World::new(2).await;
        let session = world.writer().await;
        let document = session
            .metadata(&path("/t"))
            .expect("there")
            .expect("there");
        let edited = [(attribute, Some(serde_json::from_str(value).expect("there")))];
        let edited =
            icefield_core::with_shape_and_attributes(&document, None, &edited).expect("an object");
        put(&session, "/t", String::from_utf8(edited).expect("there")).await;
        commit(&session, "an attribute").await;
        refused(
            &world,
            &world.rolling(),
            &Change::append(4),
            &["/t", attribute],
        )
        .await;
    }
}

icefield_testkit::both_versions!(a_window_by_time_needs_times);
async fn a_window_by_time_needs_times() {
    let world = World::new(2).await;
    let session = world.writer().await;
    let document = session
        .metadata(&path("/time"))
        .expect("there")
        .expect("there");
    let edited = [("units", Some("months since 1970-01-01".into()))];
    let edited =
        icefield_core::with_shape_and_attributes(&document, None, &edited).expect("an object");
    put(&session, "/time", String::from_utf8(edited).expect("there")).await;
    commit(&session, "months have no one length").await;
    let change = Change::append(4).and_keep("7 days".parse().expect("a span"));
    refused(
        &world,
        &world.rolling(),
        &change,
        &["a window of \"time\" by time needs a coordinate"],
    )
    .await;
}

icefield_testkit::both_versions!(chunks_that_nobody_can_decode_move_all_the_same);
async fn chunks_that_nobody_can_decode_move_all_the_same() {
    let world = World::new(2).await;
    let session = world.writer().await;
    let document = session
        .metadata(&path("/t"))
        .expect("there")
        .expect("there");
    let document = String::from_utf8(document.to_vec())
        .expect("there")
        .replace("\"name\":\"bytes\"", "\"name\":\"secret\"");
    put(&session, "/t", document).await;
    commit(&session, "a codec").await;
    world
        .rolling()
        .change(&Change::roll(4))
        .await
        .expect("by reference");
    let rolling = world.rolling().options(masking());
    refused(
        &world,
        &rolling,
        &Change::trim(1, 0),
        &["/t has chunks that have to be rewritten", "secret"],
    )
    .await;
}

icefield_testkit::both_versions!(a_scalar_has_no_dimension_to_move);
async fn a_scalar_has_no_dimension_to_move() {
    let world = World::new(2).await;
    let session = world.writer().await;
    let document = square(&["a", "b"])
        .replace("[8,8]", "[]")
        .replace("[4,4]", "[]")
        .replace("[\"a\",\"b\"]", "[]");
    put(&session, "/scalar", document).await;
    set(&session, "/scalar", &[], vec![7]).await;
    commit(&session, "a scalar").await;
    world
        .rolling()
        .change(&Change::roll(4))
        .await
        .expect("the others");
    let error = world
        .rolling()
        .below(path("/scalar"))
        .change(&Change::roll(4))
        .await;
    assert!(
        matches!(error, Err(RollingError::NoSuchDimension { group, .. }) if group == path("/scalar"))
    );
    let here = world.read().await.nodes(&NodePath::root()).expect("there");
    assert!(here.iter().any(|node| node.path == path("/scalar")));
}
