//! Times in other units and calendars, and the order of sources by the values of their times.

use std::sync::Arc;

use crate::common::{Tree, array, chain, exported, group, path, refused, repository, run};
use icefield_core::Repository;
use icefield_ingest::{Import, Order, Source};
use serde_json::{Value, json};

/// A time of numbers, and its bounds, which have no units of their own.
fn times(units: &str, calendar: Option<&str>, data_type: &str, values: &[f64]) -> Tree {
    let tree = Tree::new();
    let length = values.len() as u64;
    let little = json!([{ "name": "bytes", "configuration": { "endian": "little" } }]);
    let mut time = array(&[length], &[2], &["time"]);
    time["data_type"] = json!(data_type);
    time["codecs"] = little.clone();
    time["attributes"] = json!({ "units": units, "bounds": "time_bnds" });
    if let Some(calendar) = calendar {
        time["attributes"]["calendar"] = json!(calendar);
    }
    let mut bounds = array(&[length, 2], &[2, 2], &["time", "bnds"]);
    bounds["data_type"] = json!(data_type);
    bounds["codecs"] = little;
    tree.json("zarr.json", &group(json!({})))
        .json("time/zarr.json", &time)
        .json("time_bnds/zarr.json", &bounds);
    let bytes = |value: f64| match data_type {
        "int32" => (value as i32).to_le_bytes().to_vec(),
        "int64" => (value as i64).to_le_bytes().to_vec(),
        "float64" => value.to_le_bytes().to_vec(),
        other => panic!("{other}"),
    };
    for (index, chunk) in values.chunks(2).enumerate() {
        let mut chunk = chunk.to_vec();
        chunk.resize(2, 0.0);
        let time: Vec<u8> = chunk.iter().flat_map(|it| bytes(*it)).collect();
        let bounds: Vec<u8> = chunk
            .iter()
            .flat_map(|it| [bytes(*it), bytes(*it + 1.0)].concat())
            .collect();
        tree.file(&format!("time/c/{index}"), time)
            .file(&format!("time_bnds/c/{index}/0"), bounds);
    }
    tree
}

fn concat(trees: &[&Tree]) -> Import {
    let mut sources = trees.iter().map(|tree| tree.source() as Arc<dyn Source>);
    let first = sources.next().unwrap();
    Import::new(first).concat("time", sources)
}

/// The type, the units and the numbers of an array.
async fn found(repository: &Repository, at: &str, count: usize) -> (String, Value, Vec<f64>) {
    let files = exported(repository).await;
    let document: Value = serde_json::from_slice(&files[&format!("{at}/zarr.json")]).unwrap();
    let data_type = document["data_type"].as_str().unwrap().to_owned();
    let mut bytes = Vec::new();
    for index in 0.. {
        let keys = [format!("{at}/c/{index}"), format!("{at}/c/{index}/0")];
        let Some(chunk) = keys.iter().find_map(|key| files.get(key)) else {
            break;
        };
        bytes.extend_from_slice(chunk);
    }
    let (four, eight) = (bytes.as_chunks::<4>().0, bytes.as_chunks::<8>().0);
    let numbers: Vec<f64> = match data_type.as_str() {
        "int32" => four
            .iter()
            .map(|it| f64::from(i32::from_le_bytes(*it)))
            .collect(),
        "int64" => eight
            .iter()
            .map(|it| i64::from_le_bytes(*it) as f64)
            .collect(),
        _ => eight.iter().map(|it| f64::from_le_bytes(*it)).collect(),
    };
    let numbers = numbers.into_iter().take(count).collect();
    (data_type, document["attributes"]["units"].clone(), numbers)
}

const JANUARY: &str = "hours since 2020-01-01";
const FEBRUARY: &str = "hours since 2020-02-01 00:00:00";

#[tokio::test]
async fn months_with_units_of_their_own_become_one_time() {
    for data_type in ["int32", "int64", "float64"] {
        let january = times(JANUARY, None, data_type, &[0.0, 6.0, 12.0]);
        let february = times(FEBRUARY, Some("gregorian"), data_type, &[0.0, 6.0]);
        let repository = repository().await;
        let report = run(concat(&[&january, &february]), &repository).await;
        assert_eq!(report.converted_arrays, [path("/time"), path("/time_bnds")]);
        let expected = vec![0.0, 6.0, 12.0, 744.0, 750.0];
        let time = found(&repository, "time", 5).await;
        assert_eq!(
            time,
            (data_type.to_owned(), json!(JANUARY), expected.clone())
        );
        let (_, units, bounds) = found(&repository, "time_bnds", 10).await;
        let expected: Vec<f64> = expected.iter().flat_map(|it| [*it, it + 1.0]).collect();
        assert_eq!((units, bounds), (Value::Null, expected));
        // Existing times keep their units.
        let march = times("days since 2020-03-01", None, "int64", &[0.0, 1.0]);
        run(march.import().append("time"), &repository).await;
        let (_, units, time) = found(&repository, "time", 7).await;
        assert_eq!((units, &time[5..]), (json!(JANUARY), &[1440.0, 1464.0][..]));
        let error = refused(
            march
                .import()
                .append("time")
                .time_units("days since 2020-01-01")
                .unordered(),
            &repository,
        );
        assert!(chain(&error.await).contains("which an append keeps"));
    }
}

#[tokio::test]
async fn values_that_the_units_lack_are_refused_or_have_finer_ones() {
    let january = times("days since 2020-01-01", None, "int64", &[0.0, 1.0]);
    let february = times(FEBRUARY, None, "int64", &[0.0, 6.0]);
    let repository = repository().await;
    let error = chain(&refused(concat(&[&january, &february]), &repository).await);
    for word in [
        "/time",
        " 6 ",
        FEBRUARY,
        "--time-units",
        "hours since 2020-01-01",
    ] {
        assert!(error.contains(word), "{word} is not said: {error}");
    }
    let folder = february.path().to_str().unwrap();
    assert!(error.contains(folder), "{error}");
    let hours = concat(&[&january, &february]).time_units(JANUARY);
    run(hours.into_group(path("/hours")), &repository).await;
    let time = found(&repository, "hours/time", 4).await;
    assert_eq!(
        time,
        (
            "int64".to_owned(),
            json!(JANUARY),
            vec![0.0, 24.0, 744.0, 750.0]
        )
    );
    let days = concat(&[&january, &february]).time_units("days since 2020-01-01");
    run(days.into_group(path("/days")), &repository).await;
    let (data_type, _, time) = found(&repository, "days/time", 4).await;
    assert_eq!(
        (data_type.as_str(), time),
        ("float64", vec![0.0, 1.0, 31.0, 31.25])
    );
    let nonsense = concat(&[&january, &february]).time_units("fortnights since 2020-01-01");
    let error = chain(&refused(nonsense.into_group(path("/none")), &repository).await);
    assert!(error.contains("fortnights"), "{error}");
}

#[tokio::test]
async fn times_that_cannot_be_told_are_refused_by_name() {
    let january = || times(JANUARY, None, "float64", &[0.0, 6.0]);
    for (other, word) in [
        (
            times("hours since yesterday", None, "float64", &[0.0]),
            "yesterday",
        ),
        (
            times("months since 2020-02-01", None, "float64", &[0.0]),
            "no fixed length",
        ),
        (times(FEBRUARY, Some("noleap"), "float64", &[0.0]), "noleap"),
        (times(FEBRUARY, Some("mayan"), "float64", &[0.0]), "mayan"),
        (
            times(FEBRUARY, None, "float64", &[0.0, f64::NAN]),
            "element 1",
        ),
        (
            times(FEBRUARY, None, "float64", &[0.0, 0.0, 1.0]),
            "same time",
        ),
        (
            times("days since 1400-01-01", None, "float64", &[0.0]),
            "1582-10-15",
        ),
        (
            times("hours since 2019-12-01", None, "float64", &[0.0]),
            "before its end",
        ),
    ] {
        let repository = repository().await;
        let first = january();
        let error = chain(&refused(concat(&[&first, &other]), &repository).await);
        assert!(error.contains(word), "{word} is not said: {error}");
        let folder = other.path().to_str().unwrap();
        assert!(error.contains(folder), "the source is not said: {error}");
        assert!(error.contains("/time"), "{error}");
    }
}

#[tokio::test]
async fn sources_are_put_in_order_by_their_times() {
    let march = times("days since 2020-03-01", None, "int64", &[0.0, 1.0]);
    let february = times("days since 2020-02-01", None, "int64", &[0.0]);
    let january = times("hours since 2020-01-01", None, "int64", &[0.0, 24.0]);
    let repository = repository().await;
    let error = refused(concat(&[&march, &january, &february]), &repository).await;
    assert!(chain(&error).contains("before its end"), "{error}");
    let import = concat(&[&march, &january, &february]).order(Order::Coordinate);
    let report = run(import, &repository).await;
    let time = found(&repository, "time", 5).await;
    assert_eq!(time.1, json!("hours since 2020-01-01"));
    assert_eq!(time.2, [0.0, 24.0, 744.0, 1440.0, 1464.0]);
    assert_eq!(report.gaps.len(), 2, "{:?}", report.gaps);
}

#[tokio::test]
async fn months_of_one_step_have_a_gap_where_one_lacks() {
    let months = [1, 2, 3, 4, 6, 7].map(|month| {
        times(
            &format!("days since 2021-{month:02}-01"),
            Some("360_day"),
            "int64",
            &[0.0],
        )
    });
    let repository = repository().await;
    let report = run(concat(&months.each_ref()), &repository).await;
    let [gap] = &report.gaps[..] else {
        panic!("{:?}", report.gaps);
    };
    assert_eq!((gap.from.as_str(), gap.to.as_str()), ("90", "150"));
    let time = found(&repository, "time", 6).await;
    assert_eq!(time.2, [0.0, 30.0, 60.0, 90.0, 150.0, 180.0]);
}

/// The source, the element and the option are said, whichever source it is; the option takes them as they come.
#[tokio::test]
async fn times_that_turn_back_within_a_source_are_refused() {
    for (values, element) in [
        (
            &[0.0, 12.0, 6.0][..],
            "element 2 is 750, and the one before it 756",
        ),
        (
            &[12.0, 6.0, 18.0],
            "element 2 is 762, and the one before it 750",
        ),
        (
            &[0.0, 6.0, 12.0, 6.0],
            "element 3 is 750, and the one before it 756",
        ),
    ] {
        for order in [Order::Given, Order::Coordinate] {
            let january = times(JANUARY, None, "int64", &[0.0, 6.0]);
            let february = times(FEBRUARY, None, "int64", values);
            let repository = repository().await;
            let import = || concat(&[&january, &february]);
            let error = chain(&refused(import().order(order), &repository).await);
            let folder = february.path().to_str().unwrap();
            for word in [element, folder, "/time", "--unordered"] {
                assert!(error.contains(word), "{word} is not said: {error}");
            }
            let alone = refused(february.import().concat("time", []), &repository);
            assert!(chain(&alone.await).contains("in no order"));
            run(import().unordered(), &repository).await;
            let (_, _, found) = found(&repository, "time", 2 + values.len()).await;
            let expected: Vec<f64> = values.iter().map(|it| it + 744.0).collect();
            assert_eq!(found[2..], expected[..]);
            let behind = chain(&refused(february.import().append("time"), &repository).await);
            assert!(behind.contains("--unordered"), "{behind}");
        }
    }
}

#[tokio::test]
async fn coordinates_that_fall_are_in_order_and_names_need_none() {
    let falls = |first: f64| times(JANUARY, None, "int64", &[first, first - 6.0, first - 12.0]);
    let repository = repository().await;
    let (early, late) = (falls(12.0), falls(36.0));
    run(
        concat(&[&early, &late]).order(Order::Coordinate),
        &repository,
    )
    .await;
    let (_, _, time) = found(&repository, "time", 6).await;
    assert_eq!(time, [36.0, 30.0, 24.0, 12.0, 6.0, 0.0]);
    for (units, values, is_taken) in [
        ("degrees_north", &[60.0, 50.0, 40.0][..], true),
        ("m", &[10.0, 20.0, 20.0, 50.0], true),
        ("m", &[10.0, 20.0, 5.0], false),
        ("1", &[10.0, 20.0, 5.0], true),
        ("", &[10.0, 20.0, 5.0], true),
    ] {
        let repository = crate::common::repository().await;
        let source = times(units, None, "float64", values);
        let import = source.import().concat("time", []);
        if is_taken {
            run(import, &repository).await;
            assert_eq!(found(&repository, "time", values.len()).await.2, values);
        } else {
            let error = chain(&refused(import, &repository).await);
            assert!(error.contains("element 2 is 5"), "{error}");
        }
    }
}

/// Chunks that a source lacks hold its fill value, which is a time like others if nothing says that it is none.
#[tokio::test]
async fn times_that_no_chunk_holds_are_converted_too() {
    let january = times(JANUARY, None, "int64", &[0.0, 6.0]);
    let february = times(FEBRUARY, None, "int64", &[0.0, 6.0]);
    std::fs::remove_file(february.path().join("time_bnds/c/0/0")).unwrap();
    let repository = repository().await;
    run(concat(&[&january, &february]), &repository).await;
    let (_, _, bounds) = found(&repository, "time_bnds", 8).await;
    assert_eq!(bounds[4..], [744.0; 4]);
}
