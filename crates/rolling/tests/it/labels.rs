//! Coordinates of every kind: how they go on, and where they are not known.

use icefield_core::{BranchName, ByteRange, NodePath};
use icefield_rolling::{
    Change, Keep, Method, Options, Rolled, Rolling, RollingError, Window, unwritten,
};
use serde_json::{Value, json};

use crate::world::*;

/// A coordinate along a dimension of its own, in chunks of two.
async fn coordinate(
    world: &World,
    at: &str,
    dimension: &str,
    kind: Value,
    labels: Vec<u8>,
    steps: u64,
    attributes: Value,
) {
    let session = world.writer().await;
    let text = document(&[steps], &[2], &[dimension], "int64", attributes);
    let mut document: Value = serde_json::from_str(&text).expect("a document");
    let is_time = kind.get("name").is_some();
    document["fill_value"] = match is_time {
        true => json!("NaT"),
        false if kind == "float64" => json!(0.0),
        false => json!(0),
    };
    document["data_type"] = kind;
    put(&session, at, document.to_string()).await;
    for (number, chunk) in labels.chunks(16).enumerate() {
        let mut chunk = chunk.to_vec();
        chunk.resize(16, 0);
        set(&session, at, &[number as u32], chunk).await;
    }
    commit(&session, "a coordinate").await;
}

fn whole(numbers: impl IntoIterator<Item = i64>) -> Vec<u8> {
    numbers.into_iter().flat_map(i64::to_le_bytes).collect()
}

fn rolling(world: &World, dimension: &str) -> Rolling {
    Rolling::new(&world.repository, BranchName::main(), dimension)
}

/// The whole numbers of a coordinate in chunks of two.
async fn wholes(world: &World, at: &str) -> Vec<i64> {
    let session = world.read().await;
    let array = session.array(&path(at)).expect("there");
    let mut all = Vec::new();
    for chunk in 0..array.chunk_counts[0] {
        let bytes = session.chunk(&path(at), &[chunk], ByteRange::All).await;
        let bytes = bytes.expect("readable").expect("written");
        let (parts, _) = bytes.as_chunks::<8>();
        all.extend(parts.iter().map(|part| i64::from_le_bytes(*part)));
    }
    all.truncate(array.shape[0] as usize);
    all
}

icefield_testkit::both_versions!(one_label_alone_does_not_say_the_next);
async fn one_label_alone_does_not_say_the_next() {
    let world = World::new(1).await;
    coordinate(
        &world,
        "/step",
        "step",
        json!("int64"),
        whole([5]),
        1,
        json!({}),
    )
    .await;
    let change = Change::append(1).and_keep(Keep::Count(1));
    let error = rolling(&world, "step")
        .change(&change)
        .await
        .expect_err("not known");
    assert!(
        matches!(error, RollingError::LabelsNeeded { .. }),
        "{error:?}"
    );
    rolling(&world, "step")
        .change(&change.with_labels([6.0]))
        .await
        .expect("given");
    assert_eq!(wholes(&world, "/step").await, [6]);
    // Zeros without units are a place holder, as ocean models write it.
    coordinate(
        &world,
        "/lon",
        "lon",
        json!("int64"),
        whole([0, 0]),
        2,
        json!({}),
    )
    .await;
    rolling(&world, "lon")
        .change(&Change::append(1))
        .await
        .expect("a place holder");
    assert_eq!(wholes(&world, "/lon").await, [0, 0, 0]);
}

icefield_testkit::both_versions!(labels_that_nobody_asked_for_are_refused);
async fn labels_that_nobody_asked_for_are_refused() {
    let world = World::new(2).await;
    for keep in ["7 days".parse().expect("a span"), Keep::Count(4)] {
        let change = Change::append(2)
            .with_labels([24.0, 27.0, 30.0])
            .and_keep(keep);
        let error = world.rolling().change(&change).await.expect_err("too many");
        assert!(
            error.to_string().contains("3 labels are given for 2"),
            "{error}"
        );
    }
    let session = world.writer().await;
    put(
        &session,
        "/data",
        document(&[4], &[2], &["n"], "uint8", json!({})),
    )
    .await;
    commit(&session, "without a coordinate").await;
    let change = Change::append(1).with_labels([1.0]);
    let error = rolling(&world, "n")
        .change(&change)
        .await
        .expect_err("nothing takes it");
    assert!(
        error
            .to_string()
            .contains("no coordinate along it takes them"),
        "{error}"
    );
}

icefield_testkit::both_versions!(times_that_are_numbers_of_their_own_type_go_on);
async fn times_that_are_numbers_of_their_own_type_go_on() {
    let world = World::new(1).await;
    let days =
        json!({"name": "numpy.datetime64", "configuration": {"unit": "D", "scale_factor": 1}});
    coordinate(&world, "/day", "day", days, whole(10..16), 6, json!({})).await;
    let keep = "4 days".parse().expect("a span");
    let change = Change::append(2).and_keep(keep);
    rolling(&world, "day")
        .change(&change)
        .await
        .expect("regular");
    assert_eq!(wholes(&world, "/day").await, [14, 15, 16, 17]);
}

icefield_testkit::both_versions!(coordinates_beside_the_index_need_not_be_regular);
/// The reference time of a forecast is one for all its steps.
async fn coordinates_beside_the_index_need_not_be_regular() {
    let world = World::new(2).await;
    let units = json!({"units": "hours since 1970-01-01"});
    let reference = "/forecast_reference_time";
    coordinate(
        &world,
        reference,
        "time",
        json!("int64"),
        whole([7; 8]),
        8,
        units.clone(),
    )
    .await;
    coordinate(
        &world,
        "/valid_time",
        "time",
        json!("int64"),
        whole((0..8).map(|n| 100 + n)),
        8,
        units,
    )
    .await;
    world
        .rolling()
        .run(&Change::roll(4), async |session, staged| {
            fill(session, staged.new.clone()).await;
            Ok(())
        })
        .await
        .expect("rolled");
    is_right(&world.read().await).await;
    assert_eq!(wholes(&world, reference).await, [7, 7, 7, 7, 0, 0, 0, 0]);
    let valid: Vec<i64> = (104..112).collect();
    assert_eq!(wholes(&world, "/valid_time").await, valid);
}

icefield_testkit::both_versions!(masked_elements_have_no_labels_or_are_refused);
async fn masked_elements_have_no_labels_or_are_refused() {
    let mut options = Options::default();
    options.mask = true;
    options.rewrite_bytes = 0;
    let attributes = json!({"units": "hours since 1970-01-01"});
    for fill in [None, Some(-1)] {
        let world = World::new(1).await;
        let mut attributes = attributes.clone();
        if let Some(fill) = fill {
            attributes["_FillValue"] = fill.into();
        }
        coordinate(
            &world,
            "/hour",
            "hour",
            json!("int64"),
            whole(0..8),
            8,
            attributes,
        )
        .await;
        let session = world.writer().await;
        put(
            &session,
            "/data",
            document(&[8], &[4], &["hour"], "uint8", json!({})),
        )
        .await;
        commit(&session, "data").await;
        let rolled = rolling(&world, "hour")
            .options(options)
            .change(&Change::trim(2, 0))
            .await;
        match fill {
            None => {
                let error = rolled.expect_err("zero is an hour");
                assert!(
                    error.to_string().contains("/hour are whole numbers"),
                    "{error}"
                );
            }
            Some(fill) => {
                rolled.expect("masked");
                assert_eq!(
                    wholes(&world, "/hour").await,
                    [fill, fill, 2, 3, 4, 5, 6, 7]
                );
            }
        }
    }
    // Floats need no word for it, whatever unwritten elements read as.
    let world = World::new(1).await;
    coordinate(
        &world,
        "/hour",
        "hour",
        json!("float64"),
        floats((0..8).map(f64::from)),
        8,
        attributes,
    )
    .await;
    let session = world.writer().await;
    put(
        &session,
        "/data",
        document(&[8], &[4], &["hour"], "uint8", json!({})),
    )
    .await;
    commit(&session, "data").await;
    let masked = rolling(&world, "hour")
        .options(options)
        .change(&Change::trim(2, 0))
        .await;
    masked.expect("masked");
    let labels = numbers(&world.read().await, "/hour").await;
    assert!(
        labels[0].is_nan() && labels[1].is_nan() && labels[2] == 2.0,
        "{labels:?}"
    );
}

icefield_testkit::both_versions!(what_is_appended_to_an_absolute_window_leaves_its_start_alone);
async fn what_is_appended_to_an_absolute_window_leaves_its_start_alone() {
    let world = World::new(3).await;
    let mut options = large();
    options.method = Method::Absolute;
    let absolute = world.rolling().options(options);
    absolute.change(&Change::trim(4, 0)).await.expect("trimmed");
    let Rolled::Committed { window, .. } = world
        .rolling()
        .change(&Change::append(4))
        .await
        .expect("appended")
    else {
        panic!("it is new");
    };
    assert_eq!((window.origin(), window.first(), window.end()), (0, 4, 16));
    let session = world.read().await;
    assert_eq!(numbers(&session, "/time").await, labels_of(&(0..16)));
    let document = session
        .metadata(&path("/t"))
        .expect("there")
        .expect("there");
    let document = String::from_utf8_lossy(&document).into_owned();
    assert!(
        document.contains("window_start") && !document.contains("masked"),
        "{document}"
    );
    // Elements go by whole chunks here, too, unless they may be masked.
    let error = absolute
        .change(&Change::trim(2, 0))
        .await
        .expect_err("a part of a chunk");
    assert!(error.to_string().contains("move it by 4"), "{error}");
}

icefield_testkit::both_versions!(bounds_of_two_coordinates_move_once);
async fn bounds_of_two_coordinates_move_once() {
    let world = World::new(3).await;
    let session = world.writer().await;
    let units = json!({"units": "hours since 1970-01-01", "bounds": "time_bnds"});
    put(
        &session,
        "/also",
        document(&[12], &[12], &["time"], "float64", units),
    )
    .await;
    set(&session, "/also", &[0], floats(labels_of(&(0..12)))).await;
    commit(&session, "another name for it").await;
    world
        .rolling()
        .run(&Change::roll(4), async |session, staged| {
            fill(session, staged.new.clone()).await;
            Ok(())
        })
        .await
        .expect("rolled");
    is_right(&world.read().await).await;
}

icefield_testkit::both_versions!(rewritten_arrays_do_not_hide_what_is_missing);
/// A small array is rewritten, and its unwritten chunks stay unwritten.
async fn rewritten_arrays_do_not_hide_what_is_missing() {
    let world = World::new(1).await;
    let session = world.writer().await;
    put(
        &session,
        "/small",
        document(&[24], &[8], &["n"], "uint8", json!({})),
    )
    .await;
    for chunk in [0, 2] {
        set(
            &session,
            "/small",
            &[chunk],
            (1..9).map(|n| chunk as u8 * 8 + n).collect(),
        )
        .await;
    }
    commit(&session, "a slab is missing").await;
    rolling(&world, "n")
        .change(&Change::roll(12))
        .await
        .expect("small");
    let session = world.read().await;
    let window = Window::of(&session, &NodePath::root(), "n").expect("a window");
    assert_eq!((window.first(), window.end()), (12, 36));
    // Elements 12 to 15 are of the missing slab, 16 to 23 of the last one.
    let chunk = async |index: u32| {
        let bytes = session
            .chunk(&path("/small"), &[index], ByteRange::All)
            .await;
        bytes.expect("readable").map(|bytes| bytes.to_vec())
    };
    assert_eq!(chunk(0).await, Some(vec![0, 0, 0, 0, 17, 18, 19, 20]));
    assert_eq!(chunk(1).await, Some(vec![21, 22, 23, 24, 0, 0, 0, 0]));
    assert_eq!(chunk(2).await, None);
    let slots = unwritten(&session, &NodePath::root(), "n", None)
        .await
        .expect("looked");
    assert_eq!(slots.missing(), 1);
}

icefield_testkit::both_versions!(labels_that_stay_are_not_written_again);
/// Labels in many chunks: those that say the same stay.
async fn labels_that_stay_are_not_written_again() {
    let world = World::new(1).await;
    coordinate(&world, "/n", "n", json!("int64"), whole(0..8), 8, json!({})).await;
    let before = chunk_objects(&world.storage).await;
    let mut options = Options::default();
    options.method = Method::Absolute;
    let absolute = rolling(&world, "n").options(options);
    absolute.change(&Change::roll(2)).await.expect("rolled");
    assert_eq!(wholes(&world, "/n").await, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let after = chunk_objects(&world.storage).await;
    assert_eq!(after.difference(&before).count(), 1);
}
