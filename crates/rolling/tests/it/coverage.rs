//! Attributes and arrays that say where a window begins and ends follow it, or the window does not move.

use icefield_core::{ByteRange, Session};
use icefield_rolling::{Change, Options, RollingError};
use serde_json::{Value, json};

use crate::world::*;

/// Sets attributes of a node, and commits them.
async fn say(world: &World, at: &str, attributes: Value) {
    if attributes == json!({}) {
        return;
    }
    let session = world.writer().await;
    set_attributes(&session, at, attributes).await;
    commit(&session, "what is said").await;
}

async fn said(session: &Session, at: &str, name: &str) -> Value {
    let document = session.metadata(&path(at)).expect("there").expect("there");
    let document: Value = serde_json::from_slice(&document).expect("JSON");
    document["attributes"][name].clone()
}

fn scalar(kind: Value, codec: Value, attributes: Value) -> String {
    let fill = match kind == "string" {
        true => json!(""),
        false => json!(0),
    };
    json!({
        "zarr_format": 3, "node_type": "array", "shape": [], "data_type": kind,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": []}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": fill, "codecs": [codec],
        "attributes": attributes, "dimension_names": [],
    })
    .to_string()
}

fn little() -> Value {
    json!({"name": "bytes", "configuration": {"endian": "little"}})
}

async fn chunk(session: &Session, at: &str) -> Vec<u8> {
    let chunk = session.chunk(&path(at), &[], ByteRange::All).await;
    chunk.expect("readable").expect("written").to_vec()
}

icefield_testkit::both_versions!(attributes_of_groups_follow_the_labels);
async fn attributes_of_groups_follow_the_labels() {
    // 8 steps of 3 hours with cells of 3 hours around them.
    let world = World::new(2).await;
    say(
        &world,
        "/",
        json!({
            "title": "kept", "time_coverage_start": "1970-01-01T00:00:00Z",
            "time_coverage_end": "1970-01-01T22:30:00Z", "time_coverage_duration": "PT21H",
            "time_coverage_resolution": "PT3H", "window_start": 0, "window_end": 21.0,
        }),
    )
    .await;
    say(
        &world,
        "/deep",
        json!({"time_coverage_start": "19691231T223000Z"}),
    )
    .await;
    let commits = world.history().await;
    let before = world.read().await;
    for (change, start, end, duration, below) in [
        (
            Change::roll(4),
            "1970-01-01T12:00:00Z",
            "1970-01-02T10:30:00Z",
            "PT21H",
            "19700101T103000Z",
        ),
        (
            Change::append(4),
            "1970-01-01T12:00:00Z",
            "1970-01-02T22:30:00Z",
            "P1DT9H",
            "19700101T103000Z",
        ),
        (
            Change::roll(-8),
            "1969-12-31T12:00:00Z",
            "1970-01-01T22:30:00Z",
            "P1DT9H",
            "19691231T103000Z",
        ),
        (
            Change::trim(8, 0),
            "1970-01-01T12:00:00Z",
            "1970-01-01T22:30:00Z",
            "PT9H",
            "19700101T103000Z",
        ),
    ] {
        world.rolling().change(&change).await.expect("moved");
        let now = world.read().await;
        assert_eq!(
            said(&now, "/", "time_coverage_start").await,
            start,
            "{change:?}"
        );
        assert_eq!(said(&now, "/", "time_coverage_end").await, end);
        assert_eq!(said(&now, "/", "time_coverage_duration").await, duration);
        assert_eq!(said(&now, "/deep", "time_coverage_start").await, below);
        let labels = numbers(&now, "/time").await;
        assert_eq!(
            said(&now, "/", "window_start").await,
            json!(labels[0] as i64)
        );
        assert_eq!(
            said(&now, "/", "window_end").await,
            json!(labels[labels.len() - 1])
        );
        assert_eq!(said(&now, "/", "title").await, "kept");
    }
    assert_eq!(world.history().await, commits + 4, "one commit each");
    assert_eq!(
        said(&before, "/", "time_coverage_start").await,
        "1970-01-01T00:00:00Z"
    );
}

icefield_testkit::both_versions!(scalars_follow_the_labels);
async fn scalars_follow_the_labels() {
    let world = World::new(2).await;
    let session = world.writer().await;
    let days = json!({"units": "days since 1969-12-31"});
    put(
        &session,
        "/window_start",
        scalar(json!("float64"), little(), days),
    )
    .await;
    set(&session, "/window_start", &[], 1_f64.to_le_bytes().to_vec()).await;
    // The type of the labels, and their units.
    put(
        &session,
        "/window_end",
        scalar(json!("int16"), little(), json!({})),
    )
    .await;
    set(&session, "/window_end", &[], 21_i16.to_le_bytes().to_vec()).await;
    let text = scalar(json!("string"), json!({"name": "vlen-utf8"}), json!({}));
    put(&session, "/deep/time_coverage_end", text).await;
    let one = |text: &str| {
        let mut bytes = 1_u32.to_le_bytes().to_vec();
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.bytes());
        bytes
    };
    set(
        &session,
        "/deep/time_coverage_end",
        &[],
        one("1970-01-01 21:00"),
    )
    .await;
    commit(&session, "scalars").await;
    world
        .rolling()
        .change(&Change::roll(4))
        .await
        .expect("moved");
    let now = world.read().await;
    assert_eq!(chunk(&now, "/window_start").await, 1.5_f64.to_le_bytes());
    assert_eq!(chunk(&now, "/window_end").await, 33_i16.to_le_bytes());
    assert_eq!(
        chunk(&now, "/deep/time_coverage_end").await,
        one("1970-01-02 09:00")
    );
    // 2^15 hours are too many for it.
    let late = [40_000.0, 40_003.0, 40_006.0, 40_009.0];
    let error = world
        .rolling()
        .change(&Change::append(4).with_labels(late))
        .await;
    let error = error.expect_err("too many").to_string();
    for part in [
        "\"window_end\" of /window_end is 33",
        "its type cannot hold",
    ] {
        assert!(error.contains(part), "{error}");
    }
}

icefield_testkit::both_versions!(what_cannot_follow_stops_the_window_or_goes);
async fn what_cannot_follow_stops_the_window_or_goes() {
    let start = |text: &str| json!({"time_coverage_start": text});
    for (time, root, words) in [
        // A calendar whose dates are not those of ISO 8601, and units without a length.
        (
            json!({"calendar": "noleap"}),
            start("1970-01-01"),
            "\"noleap\" has dates",
        ),
        (
            json!({"calendar": "360_day"}),
            start("1970-01-01"),
            "\"360_day\" has dates",
        ),
        (
            json!({"units": "months since 1970-01-01"}),
            start("1970-01-01"),
            "no fixed length",
        ),
        (
            json!({"units": "hours since 1500-01-01"}),
            start("1500-01-01"),
            "before 1582-10-15",
        ),
        (
            json!({"units": "hours since long ago"}),
            start("1970-01-01"),
            "no fixed length",
        ),
        // Wrong already.
        (
            json!({}),
            start("1969-01-01"),
            "it does not follow from the labels in /time",
        ),
        (json!({}), start("soon"), "no date of ISO 8601"),
        (json!({}), start("-0044-03-15"), "no date of ISO 8601"),
        (
            json!({}),
            json!({"time_coverage_start": null}),
            "neither a text nor a number",
        ),
        (
            json!({}),
            json!({"window_end": [4]}),
            "neither a text nor a number",
        ),
        (
            json!({}),
            json!({"time_coverage_end": 3.5}),
            "it does not follow",
        ),
        (
            json!({}),
            json!({"time_coverage_duration": "P1M"}),
            "nor a duration of fixed length",
        ),
    ] {
        let world = World::new(2).await;
        let name = root
            .as_object()
            .expect("one")
            .keys()
            .next()
            .expect("one")
            .clone();
        let session = world.writer().await;
        set_attributes(&session, "/time", time).await;
        set_attributes(&session, "/", root).await;
        commit(&session, "what is said").await;
        let before = world.read().await.snapshot_id().expect("there");
        let change = Change::append(4).and_trim(8, 0);
        let error = world.rolling().change(&change).await.expect_err(words);
        assert!(matches!(&error, RollingError::Coverage { .. }), "{error}");
        let text = error.to_string();
        assert!(text.starts_with(&format!("{name:?} of / is ")), "{text}");
        assert!(text.contains(words), "{text}");
        assert_eq!(world.read().await.snapshot_id().expect("there"), before);
        let mut options: Options = large();
        options.drop_coverage = true;
        let rolling = world.rolling().options(options);
        rolling.change(&change).await.expect("taken away");
        assert_eq!(said(&world.read().await, "/", &name).await, Value::Null);
    }
}

icefield_testkit::both_versions!(numbers_of_any_calendar_follow);
async fn numbers_of_any_calendar_follow() {
    let world = World::new(2).await;
    say(&world, "/time", json!({"calendar": "noleap"})).await;
    say(&world, "/", json!({"window_start": 0.0, "window_end": 21})).await;
    world
        .rolling()
        .change(&Change::roll(4))
        .await
        .expect("moved");
    let now = world.read().await;
    assert_eq!(said(&now, "/", "window_start").await, json!(12.0));
    assert_eq!(said(&now, "/", "window_end").await, json!(33));
}

icefield_testkit::both_versions!(an_end_that_stays_leaves_what_is_said_of_it);
async fn an_end_that_stays_leaves_what_is_said_of_it() {
    let world = World::new(2).await;
    say(&world, "/", json!({"time_coverage_start": "long ago"})).await;
    world
        .rolling()
        .change(&Change::append(4))
        .await
        .expect("only the end moves");
    let now = world.read().await;
    assert_eq!(said(&now, "/", "time_coverage_start").await, "long ago");
}

icefield_testkit::both_versions!(what_the_fill_says_must_be_so);
async fn what_the_fill_says_must_be_so() {
    let world = World::new(2).await;
    let given = [100.0, 101.0, 105.0, 120.0];
    let change = Change::append(4).with_labels(given);
    let says = |end: &'static str| {
        async move |session: &Session, _: &icefield_rolling::Staged| {
            set_attributes(session, "/", json!({"time_coverage_end": end})).await;
            Ok(())
        }
    };
    let wrong = world
        .rolling()
        .run(&change, says("1970-01-05T00:00:00Z"))
        .await;
    let error = wrong.expect_err("the last label is 120 hours").to_string();
    assert!(error.contains("\"time_coverage_end\" of /"), "{error}");
    let right = world
        .rolling()
        .run(&change, says("1970-01-06T00:00:00Z"))
        .await;
    right.expect("so it is");
    // From an irregular axis, the label itself follows all the same.
    world
        .rolling()
        .change(&Change::trim(0, 4))
        .await
        .expect("moved");
    let now = world.read().await;
    assert_eq!(
        said(&now, "/", "time_coverage_end").await,
        "1970-01-01T21:00:00Z"
    );
}

icefield_testkit::both_versions!(a_masked_window_begins_at_its_first_label);
async fn a_masked_window_begins_at_its_first_label() {
    let world = World::new(3).await;
    say(
        &world,
        "/",
        json!({"time_coverage_start": "1970-01-01T00:00Z"}),
    )
    .await;
    let rolling = world.rolling().options(masking());
    rolling.change(&Change::trim(6, 0)).await.expect("masked");
    let now = world.read().await;
    assert_eq!(
        said(&now, "/", "time_coverage_start").await,
        "1970-01-01T18:00Z"
    );
}

icefield_testkit::both_versions!(other_groups_and_other_dimensions_are_left_alone);
async fn other_groups_and_other_dimensions_are_left_alone() {
    let world = World::new(2).await;
    let session = world.writer().await;
    let group = json!({"zarr_format": 3, "node_type": "group"}).to_string();
    put(&session, "/other", group).await;
    set_attributes(&session, "/other", json!({"time_coverage_start": "soon"})).await;
    set_attributes(&session, "/", json!({"time_coverage_start": "1970-01-01"})).await;
    set(
        &session,
        "/y",
        &[0],
        (0..4).flat_map(|y| f64::from(y).to_le_bytes()).collect(),
    )
    .await;
    commit(&session, "others").await;
    world
        .rolling()
        .change(&Change::roll(8))
        .await
        .expect("moved");
    let now = world.read().await;
    assert_eq!(said(&now, "/other", "time_coverage_start").await, "soon");
    assert_eq!(said(&now, "/", "time_coverage_start").await, "1970-01-02");
    // Along y, no time moves.
    let along_y =
        icefield_rolling::Rolling::new(&world.repository, icefield_core::BranchName::main(), "y");
    along_y
        .below(path("/y"))
        .change(&Change::append(1))
        .await
        .expect("moved");
}
