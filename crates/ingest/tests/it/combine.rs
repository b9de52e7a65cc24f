//! Sources along new dimensions, nested ones, and those that form a grid.

use std::sync::Arc;

use icefield_core::BranchName;
use icefield_core::{ByteRange, Repository};
use icefield_ingest::{Combine, CombineError, Import, ImportError, Source, ValueFrom};
use icefield_testkit::classic::Classic;
use serde_json::{Value, json};

use crate::common::classic::Files;
use crate::common::{chain, path, refused, repository, run};

/// A file of two times and three columns: `air` is `start`, and one more for each element.
fn file(time: f64, x: f64, start: f64) -> Classic {
    let file = Classic::new().dimension("time", 2).dimension("x", 3);
    let file = file.text("title", "a test");
    let file = file
        .doubles("time", &["time"], &[time, time + 1.0])
        .text("units", "days since 2000-01-01");
    let file = file.doubles("x", &["x"], &[x, x + 1.0, x + 2.0]);
    let values: Vec<f64> = (0..6).map(|at| start + f64::from(at)).collect();
    file.doubles("air", &["time", "x"], &values)
}

fn import(sources: Vec<Arc<dyn Source>>) -> Import {
    let mut sources = sources.into_iter();
    Import::new(sources.next().unwrap()).and(sources)
}

fn from(text: &str) -> ValueFrom {
    ValueFrom::parse(text).unwrap()
}

async fn document(repository: &Repository, at: &str) -> Value {
    let session = repository.read_session(BranchName::main()).await.unwrap();
    let document = session.metadata(&path(at)).unwrap().unwrap();
    serde_json::from_slice(&document).unwrap()
}

/// All numbers of an array of eight bytes each, in the order of its elements.
async fn numbers(repository: &Repository, at: &str) -> (Vec<u64>, Vec<f64>) {
    let session = repository.read_session(BranchName::main()).await.unwrap();
    let array = session.array(&path(at)).unwrap();
    let document = document(repository, at).await;
    let is_big = document["codecs"][0]["configuration"]["endian"] == "big";
    let is_float = document["data_type"] == "float64";
    let strides = |shape: &[u64]| {
        let mut strides = vec![1; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis];
        }
        strides
    };
    let place = |number: u64, strides: &[u64], shape: &[u64]| -> Vec<u64> {
        let pairs = strides.iter().zip(shape);
        pairs
            .map(|(stride, length)| number / stride % length.max(&1))
            .collect()
    };
    let (outer, inner) = (strides(&array.shape), strides(&array.chunk_shape));
    let mut numbers = Vec::new();
    for number in 0..array.shape.iter().product() {
        let at_element = place(number, &outer, &array.shape);
        let pairs = at_element.iter().zip(&array.chunk_shape);
        let index: Vec<u32> = pairs
            .clone()
            .map(|(at, chunk)| (at / chunk) as u32)
            .collect();
        let within = pairs.map(|(at, chunk)| at % chunk).zip(&inner);
        let within: u64 = within.map(|(at, stride)| at * stride).sum();
        let bytes = session
            .chunk(&path(at), &index, ByteRange::All)
            .await
            .unwrap()
            .unwrap();
        let bytes: [u8; 8] = bytes[within as usize * 8..][..8].try_into().unwrap();
        let bits = match is_big {
            true => u64::from_be_bytes(bytes),
            false => u64::from_le_bytes(bytes),
        };
        numbers.push(match is_float {
            true => f64::from_bits(bits),
            false => bits as i64 as f64,
        });
    }
    (array.shape.clone(), numbers)
}

fn counted(starts: &[f64]) -> Vec<f64> {
    let all = starts
        .iter()
        .flat_map(|start| (0..6).map(move |at| start + f64::from(at)));
    all.collect()
}

#[tokio::test]
async fn each_file_is_one_element_of_a_new_dimension_by_its_name() {
    let files = Files::new();
    let named = [
        ("air_m10.nc", 100.0),
        ("air_m01.nc", 10.0),
        ("air_m02.nc", 20.0),
    ];
    let named = named.map(|(name, start)| (name.to_owned(), file(0.0, 0.0, start)));
    for place in ["pattern:air_m{}.nc", "pattern:m(\\d+)"] {
        let sources = files.sources(&named).await;
        let repository = repository().await;
        run(import(sources).stack("member", from(place)), &repository).await;
        let (shape, values) = numbers(&repository, "/air").await;
        assert_eq!(shape, [3, 2, 3]);
        assert_eq!(values, counted(&[10.0, 20.0, 100.0]));
        assert_eq!(
            numbers(&repository, "/member").await,
            (vec![3], vec![1.0, 2.0, 10.0])
        );
        let air = document(&repository, "/air").await;
        assert_eq!(air["dimension_names"], json!(["member", "time", "x"]));
        // Coordinates are those of all.
        assert_eq!(numbers(&repository, "/time").await.0, [2]);
        assert_eq!(document(&repository, "/member").await["data_type"], "int64");
    }
}

#[tokio::test]
async fn values_come_from_attributes_and_from_variables_too() {
    let files = Files::new();
    let described = |start: f64, name: &str, number: i32| {
        let file = Classic::new().text("model", name).number("version", start);
        let file = file
            .dimension("x", 3)
            .doubles("x", &["x"], &[0.0, 1.0, 2.0]);
        let file = file.integers("realization", &[], &[number]);
        let file = file.text("long_name", "number of the run");
        file.doubles("air", &["x"], &[start, start + 1.0, start + 2.0])
            .text("coordinates", "realization")
    };
    let named = [
        ("b.nc".to_owned(), described(0.5, "beta", 7)),
        ("a.nc".to_owned(), described(1.5, "alpha", 3)),
    ];
    let all = |starts: [f64; 2]| -> Vec<f64> {
        let all = starts
            .iter()
            .flat_map(|start| (0..3).map(move |at| start + f64::from(at)));
        all.collect()
    };
    let mut repository_of_texts = None;
    for (place, values, order) in [
        ("attribute:version", vec![0.5, 1.5], [0.5, 1.5]),
        ("attribute:model", vec![], [1.5, 0.5]),
        ("variable:realization", vec![], [1.5, 0.5]),
    ] {
        let sources = files.sources(&named).await;
        let repository = repository().await;
        run(import(sources).stack("run", from(place)), &repository).await;
        assert_eq!(
            numbers(&repository, "/air").await,
            (vec![2, 3], all(order)),
            "{place}"
        );
        let run = document(&repository, "/run").await;
        match place {
            "attribute:version" => {
                assert_eq!(numbers(&repository, "/run").await.1, values);
                // A number of the file is one for each file.
                let shape = &document(&repository, "/realization").await["shape"];
                assert_eq!(*shape, json!([2]));
            }
            "attribute:model" => {
                assert_eq!(run["data_type"], "string");
                repository_of_texts = Some(repository);
            }
            _ => {
                assert_eq!(run["data_type"], "int32");
                assert_eq!(run["attributes"]["long_name"], "number of the run");
                assert_eq!(run["dimension_names"], json!(["run"]));
            }
        }
    }
    // One more, behind what is there.
    let repository = repository_of_texts.unwrap();
    let more = [("c.nc".to_owned(), described(9.0, "gamma", 8))];
    let sources = files.sources(&more).await;
    let appended = import(sources)
        .append("run")
        .stack("run", from("attribute:model"));
    run(appended, &repository).await;
    let (shape, values) = numbers(&repository, "/air").await;
    assert_eq!((shape, values[6]), (vec![3, 3], 9.0));
}

#[tokio::test]
async fn what_has_no_value_or_the_same_one_is_refused() {
    let files = Files::new();
    let named = [("m1.nc", 0.0), ("x/m1.nc", 1.0)];
    let named = named.map(|(name, start)| (name.to_owned(), file(0.0, 0.0, start)));
    for (dimension, place, said) in [
        ("member", "pattern:m(\\d+)", "both have the value 1"),
        ("member", "pattern:n(\\d+)", "does not match the pattern"),
        ("member", "attribute:none", "no global attribute \"none\""),
        ("member", "variable:none", "no variable /none"),
        ("member", "variable:x", "has the shape [3]"),
        ("time", "pattern:m(\\d+)", "has /air along \"time\" already"),
        ("air", "pattern:m(\\d+)", "has /air along \"air\" already"),
        (
            "a/b",
            "pattern:m(\\d+)",
            "cannot be the name of a new dimension",
        ),
    ] {
        let sources = files.sources(&named).await;
        let repository = repository().await;
        let error = refused(import(sources).stack(dimension, from(place)), &repository).await;
        assert!(chain(&error).contains(said), "{place}: {}", chain(&error));
    }
}

/// Members by times; the files of the second member are cut otherwise.
#[tokio::test]
async fn members_of_several_files_are_nested() {
    let files = Files::new();
    let one = |time: f64, start: f64| {
        let file = Classic::new().dimension("time", 1).dimension("x", 3);
        let file = file.doubles("time", &["time"], &[time]);
        let file = file.text("units", "days since 2000-01-01");
        let file = file.doubles("x", &["x"], &[0.0, 1.0, 2.0]);
        file.doubles("air", &["time", "x"], &[start, start + 1.0, start + 2.0])
    };
    let named = [
        ("m2_a.nc", one(0.0, 100.0)),
        ("m1_b.nc", file(2.0, 0.0, 6.0)),
        ("m1_a.nc", file(0.0, 0.0, 0.0)),
        ("m2_b.nc", file(1.0, 0.0, 103.0)),
        ("m2_c.nc", one(3.0, 109.0)),
    ];
    let named: Vec<_> = named.map(|(name, file)| (name.to_owned(), file)).into();
    let nested = |sources| {
        import(sources)
            .stack("member", from("pattern:m(\\d)_"))
            .concat("time", [])
            .order(icefield_ingest::Order::Coordinate)
    };
    let sources = files.sources(&named).await;
    let repository = repository().await;
    let report = run(nested(sources), &repository).await;
    assert_eq!(report.new_arrays, 4);
    let (shape, values) = numbers(&repository, "/air").await;
    assert_eq!(shape, [2, 4, 3]);
    let expected: Vec<f64> = (0..12).chain(100..112).map(f64::from).collect();
    assert_eq!(values, expected);
    assert_eq!(numbers(&repository, "/time").await.1, [0.0, 1.0, 2.0, 3.0]);

    // A file is missing, in either member.
    for without in ["m2_c.nc", "m1_b.nc"] {
        let some: Vec<_> = named
            .iter()
            .filter(|(name, _)| name != without)
            .cloned()
            .collect();
        let sources = files.sources(&some).await;
        let repository = crate::common::repository().await;
        let error = refused(nested(sources), &repository).await;
        let ImportError::Combine(CombineError::Missing { value, inner, .. }) = &error else {
            panic!("{error:?}");
        };
        let first = if without == "m2_c.nc" { "3" } else { "2" };
        assert_eq!((value.as_str(), inner.as_str()), (first, "time"));
    }
}

fn grid() -> Vec<(String, Classic)> {
    let mut named = Vec::new();
    for time in [2, 0, 1] {
        for x in [1, 0] {
            let start = f64::from(time) * 100.0 + f64::from(x) * 10.0;
            let name = format!("{}.nc", named.len());
            named.push((name, file(f64::from(time) * 2.0, f64::from(x) * 3.0, start)));
        }
    }
    named
}

#[tokio::test]
async fn files_that_form_a_grid_are_put_together_by_their_coordinates() {
    let files = Files::new();
    let sources = files.sources(&grid()).await;
    let repository = repository().await;
    run(import(sources).combine(Combine::ByCoordinates), &repository).await;
    let (shape, values) = numbers(&repository, "/air").await;
    assert_eq!(shape, [6, 6]);
    let mut expected = Vec::new();
    for time in 0..3 {
        for row in 0..2 {
            for x in 0..2 {
                let start = f64::from(time) * 100.0 + f64::from(x) * 10.0;
                expected.extend((0..3).map(|at| start + f64::from(row * 3 + at)));
            }
        }
    }
    assert_eq!(values, expected);
    let counted = |count: u32| -> Vec<f64> { (0..count).map(f64::from).collect() };
    assert_eq!(numbers(&repository, "/time").await.1, counted(6));
    assert_eq!(numbers(&repository, "/x").await.1, counted(6));

    // Two more files, behind what is there.
    let more = [(8.0, "x"), (5.0, "y")].map(|(start, name)| {
        let x = if name == "x" { 0.0 } else { 3.0 };
        (format!("{name}.nc"), file(6.0, x, start))
    });
    let sources = files.sources(&more).await;
    let appended = import(sources)
        .append("time")
        .combine(Combine::ByCoordinates);
    run(appended, &repository).await;
    let (shape, values) = numbers(&repository, "/air").await;
    assert_eq!(
        (shape, &values[36..42]),
        (vec![8, 6], &[8.0, 9.0, 10.0, 5.0, 6.0, 7.0][..])
    );
}

#[tokio::test]
async fn a_grid_with_a_file_missing_or_twice_is_refused() {
    let files = Files::new();
    let by_coordinates = |sources| import(sources).combine(Combine::ByCoordinates);
    let mut some = grid();
    let (missing, _) = some.remove(3);
    assert_eq!(missing, "3.nc");
    let sources = files.sources(&some).await;
    let repository = repository().await;
    let error = refused(by_coordinates(sources), &repository).await;
    let text = chain(&error);
    assert!(
        text.contains("time = 0 … 1") && text.contains("x = 0 … 2"),
        "{text}"
    );

    let mut twice = grid();
    twice.push(("again.nc".to_owned(), file(0.0, 0.0, 7.0)));
    let sources = files.sources(&twice).await;
    let text = chain(&refused(by_coordinates(sources), &repository).await);
    assert!(text.contains("3.nc and again.nc"), "{text}");

    let same = [("a.nc", 0.0), ("b.nc", 1.0)];
    let same = same.map(|(name, start)| (name.to_owned(), file(0.0, 0.0, start)));
    let sources = files.sources(&same).await;
    let text = chain(&refused(by_coordinates(sources), &repository).await);
    assert!(text.contains("--concat-new"), "{text}");
}

#[tokio::test]
async fn what_is_there_is_left_out_by_value() {
    let files = Files::new();
    let name = |time: u32| format!("t{time}.nc");
    let at = |time: u32| {
        (
            name(time),
            file(f64::from(time), 0.0, f64::from(time) * 10.0),
        )
    };
    let repository = repository().await;
    let nightly = |sources| import(sources).append("time").skip_existing();
    // The first night creates.
    let sources = files.sources(&[at(0), at(2)]).await;
    let report = run(nightly(sources), &repository).await;
    assert_eq!((report.new_arrays, report.skipped.len()), (3, 0));
    // Again: nothing is new.
    let sources = files.sources(&[at(0), at(2)]).await;
    let again = nightly(sources)
        .run(&repository, BranchName::main(), "again")
        .await;
    match again {
        Err(ImportError::NothingToDo { skipped, dimension }) => {
            assert_eq!(
                (skipped, dimension),
                (vec![name(0), name(2)], "time".to_owned())
            );
        }
        other => panic!("{other:?}"),
    }
    // One is new.
    let sources = files.sources(&[at(0), at(2), at(4)]).await;
    let report = run(nightly(sources), &repository).await;
    assert_eq!(report.skipped, [name(0), name(2)]);
    assert_eq!(report.extended_arrays.len(), 2);
    let (shape, values) = numbers(&repository, "/air").await;
    assert_eq!((shape, values), (vec![6, 3], counted(&[0.0, 20.0, 40.0])));
    // Of one, a part is there.
    let sources = files.sources(&[at(5)]).await;
    let error = refused(nightly(sources), &repository).await;
    assert!(matches!(error, ImportError::Labels { .. }), "{error:?}");
}
