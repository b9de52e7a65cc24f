//! Numbers that are stored otherwise from source to source.

use std::sync::Arc;

use icefield_core::{BranchName, Repository};
use icefield_ingest::{Encoding, Import, Order, Overlap, Source};
use serde_json::{Value, json};

use crate::common::numbers::{along_t, chunks, stored, texts, tree, write};
use crate::common::{Tree, array, chain, path, refused, repository, run};

/// A tree with stored numbers of `/air`.
fn period(data_type: &str, attributes: Value, values: &[f64]) -> Tree {
    let tree = tree();
    write(
        &tree,
        "air",
        &along_t(data_type, values.len(), attributes),
        values,
    );
    tree
}

fn concat(trees: &[&Tree]) -> Import {
    let mut sources = trees.iter().map(|tree| tree.source() as Arc<dyn Source>);
    let first = sources.next().unwrap();
    Import::new(first).concat("t", sources)
}

fn halves(values: &[f64]) -> Tree {
    let attributes =
        json!({ "units": "K", "scale_factor": 0.5, "add_offset": 10.0, "_FillValue": -1 });
    period("int16", attributes, values)
}

/// The stored values at the tip of main, and the attributes.
async fn air(repository: &Repository) -> (Value, Value, Vec<String>) {
    let (document, values) = stored(repository, "/air").await;
    (
        document["data_type"].clone(),
        document["attributes"].clone(),
        texts(&values),
    )
}

#[tokio::test]
async fn equal_numbers_are_stored_as_the_first_source_does() {
    let first = halves(&[0.0, -1.0, 3.0]);
    let quarters = json!({ "units": "K", "scale_factor": 0.25, "missing_value": [99, 98] });
    for (other, expected) in [
        (
            period("int32", quarters, &[40.0, 98.0, 99.0, 42.0]),
            vec![0.0, -1.0, -1.0, 1.0],
        ),
        (
            period("float32", json!({ "units": "K" }), &[10.5, f64::NAN]),
            vec![1.0, -1.0],
        ),
        (
            period(
                "float64",
                json!({ "units": "K", "_FillValue": 7.0 }),
                &[7.0, -4.5],
            ),
            vec![-1.0, -29.0],
        ),
        (
            period("uint8", json!({ "units": "K" }), &[10.0, 255.0]),
            vec![0.0, 490.0],
        ),
        (
            period(
                "int16",
                json!({ "units": "K", "scale_factor": 0.5, "add_offset": 10.0, "_FillValue": 5 }),
                &[5.0, 6.0],
            ),
            vec![-1.0, 6.0],
        ),
    ] {
        let joined = repository().await;
        let report = run(concat(&[&first, &other]), &joined).await;
        assert_eq!(report.reencoded_arrays, [path("/air")]);
        assert!(report.rounded_arrays.is_empty());
        let (data_type, attributes, values) = air(&joined).await;
        assert_eq!(data_type, "int16");
        assert_eq!(attributes["scale_factor"], 0.5);
        let all = [&[0.0, -1.0, 3.0], &expected[..]].concat();
        assert_eq!(values, texts(&all));
        // An append goes by what is there.
        let appended = repository().await;
        run(first.import(), &appended).await;
        run(other.import().append("t"), &appended).await;
        assert_eq!(air(&appended).await, air(&joined).await);
        // And whole chunks behind whole ones.
        let whole = halves(&[0.0, 1.0]);
        let aligned = repository().await;
        run(concat(&[&whole, &other]), &aligned).await;
        assert_eq!(air(&aligned).await.2[2..], texts(&expected));
    }
}

#[tokio::test]
async fn the_first_number_that_is_lost_is_named_and_nothing_is_committed() {
    let first = halves(&[0.0, -1.0, 3.0]);
    for (other, words) in [
        (
            period(
                "float64",
                json!({ "units": "K" }),
                &[10.5, 11.0, 10.3, 10.1],
            ),
            vec!["at [2]", "10.3", "10.5", "--repack", "--unpack"],
        ),
        (
            period("float64", json!({ "units": "K" }), &[10.5, 9.5]),
            vec!["at [1]", "9.5", "missing"],
        ),
        (
            period("float64", json!({ "units": "K" }), &[1e6]),
            vec![
                "at [0]",
                "1000000",
                "int16 with scale_factor 0.5 and add_offset 10",
            ],
        ),
        (
            period(
                "int16",
                json!({ "units": "K", "scale_factor": 0.0 }),
                &[1.0],
            ),
            vec!["scale_factor is 0"],
        ),
    ] {
        let repository = repository().await;
        let name = other.source().to_string();
        let said = chain(&refused(concat(&[&first, &other]), &repository).await);
        for word in words.into_iter().chain(["/air", &name]) {
            assert!(said.contains(word), "{word} is not said: {said}");
        }
    }
    let plain = period("int8", json!({}), &[1.0]);
    let missing = period("float32", json!({}), &[2.0, f64::NAN]);
    let repository = repository().await;
    let said = chain(&refused(concat(&[&plain, &missing]), &repository).await);
    assert!(
        said.contains("at [1]") && said.contains("no `_FillValue`"),
        "{said}"
    );
    let said = chain(
        &refused(
            concat(&[&plain, &missing]).encoding(Encoding::Within(-1.0)),
            &repository,
        )
        .await,
    );
    assert!(said.contains("-1"), "{said}");
}

#[tokio::test]
async fn numbers_are_rounded_within_a_tolerance() {
    let first = halves(&[0.0]);
    let other = period("float64", json!({ "units": "K" }), &[10.5, 10.3, 10.0]);
    let repository = repository().await;
    let import = concat(&[&first, &other]).encoding(Encoding::Within(0.1));
    let said = chain(&refused(import, &repository).await);
    assert!(said.contains("10.3"), "{said}");
    let import = concat(&[&first, &other]).encoding(Encoding::Within(0.25));
    let report = run(import, &repository).await;
    let [rounded] = &report.rounded_arrays[..] else {
        panic!("{:?}", report.rounded_arrays);
    };
    assert_eq!(rounded.path, path("/air"));
    assert!((rounded.largest_error - 0.2).abs() < 1e-12, "{rounded:?}");
    assert_eq!(air(&repository).await.2, texts(&[0.0, 1.0, 1.0, 0.0]));
}

#[tokio::test]
async fn decoded_numbers_are_stored_if_that_is_wished() {
    let first = || halves(&[0.0, -1.0, 3.0]);
    let decoded = [10.0, f64::NAN, 11.5];
    let single = || period("float32", json!({ "units": "K" }), &[0.5, f64::NAN]);
    let packed = || {
        period(
            "int8",
            json!({ "units": "K", "add_offset": 0.1 }),
            &[1.0, 2.0],
        )
    };
    let fill = json!({ "units": "K", "_FillValue": "AAAAAAAA+H8=" });
    for (trees, attributes, expected) in [
        (vec![first()], fill.clone(), decoded.to_vec()),
        (
            vec![first(), single()],
            fill.clone(),
            [&decoded[..], &[0.5, f64::NAN]].concat(),
        ),
        (
            vec![single(), first()],
            json!({ "units": "K" }),
            [&[0.5, f64::NAN], &decoded[..]].concat(),
        ),
        (
            vec![packed(), first()],
            json!({ "units": "K" }),
            [&[1.1, 2.1], &decoded[..]].concat(),
        ),
    ] {
        let repository = repository().await;
        let import = concat(&trees.iter().collect::<Vec<_>>()).encoding(Encoding::Unpacked);
        run(import, &repository).await;
        assert_eq!(
            air(&repository).await,
            (json!("float64"), attributes, texts(&expected))
        );
    }
    // Types alone, and nothing that is packed.
    for (one, other, expected) in [
        ("int8", "float32", "float32"),
        ("int32", "float32", "float64"),
        ("int8", "int32", "int32"),
        ("float32", "float64", "float64"),
    ] {
        let trees = [
            period(one, json!({}), &[1.0, 2.0]),
            period(other, json!({}), &[3.0]),
        ];
        let repository = repository().await;
        let import = concat(&trees.each_ref()).encoding(Encoding::Unpacked);
        run(import, &repository).await;
        let (data_type, _, values) = air(&repository).await;
        assert_eq!(
            (data_type, values),
            (json!(expected), texts(&[1.0, 2.0, 3.0]))
        );
    }
    let (repository, first) = (repository().await, first());
    run(first.import(), &repository).await;
    let import = first.import().append("t").encoding(Encoding::Unpacked);
    let said = chain(&refused(import, &repository).await);
    assert!(said.contains("an append keeps"), "{said}");
}

#[tokio::test]
async fn chunks_that_are_not_there_read_as_they_did() {
    let absent = |data_type: &str, fill: Value, attributes: Value, length: usize| {
        let tree = tree();
        let mut document = along_t(data_type, length, attributes);
        document["fill_value"] = fill;
        write(&tree, "air", &document, &vec![2.0; length]);
        std::fs::remove_file(tree.path().join("air/c/1")).unwrap();
        tree
    };
    let missing = json!({ "_FillValue": -1 });
    let first = absent("int8", json!(-1), missing.clone(), 4);
    for (other, expected, count) in [
        // Missing values stay absent.
        (
            absent("int16", json!(9), json!({ "_FillValue": 9 }), 4),
            -1.0,
            2,
        ),
        (
            absent("int16", json!(9), json!({ "missing_value": 8 }), 4),
            9.0,
            3,
        ),
        (absent("float32", json!("NaN"), json!({}), 4), -1.0, 2),
    ] {
        let repository = repository().await;
        run(concat(&[&first, &other]), &repository).await;
        let (_, _, values) = air(&repository).await;
        let all = [2.0, 2.0, -1.0, -1.0, 2.0, 2.0, expected, expected];
        assert_eq!(values, texts(&all));
        assert_eq!(chunks(&repository, "/air").await, count);
    }
    let lost = absent("float32", json!(0.5), json!({}), 4);
    let repository = repository().await;
    let said = chain(&refused(concat(&[&first, &lost]), &repository).await);
    assert!(said.contains("at [2]") && said.contains("0.5"), "{said}");
}

#[tokio::test]
async fn arrays_that_do_not_grow_are_compared_as_numbers() {
    let with_level = |data_type: &str, attributes: Value, values: &[f64]| {
        let tree = period("int8", json!({}), &[1.0]);
        let mut document = along_t(data_type, values.len(), attributes);
        document["dimension_names"] = json!(["z"]);
        write(&tree, "level", &document, values);
        tree
    };
    let first = with_level("float32", json!({}), &[0.5, 1.0, 1.5]);
    let same = with_level("int16", json!({ "scale_factor": 0.5 }), &[1.0, 2.0, 3.0]);
    let other = with_level("int16", json!({ "scale_factor": 0.5 }), &[1.0, 2.0, 4.0]);
    let repository = repository().await;
    let report = run(concat(&[&first, &same]), &repository).await;
    assert_eq!(report.reencoded_arrays, [path("/level")]);
    // Also where it is stored otherwise than in any source; the third is stored as the result.
    let double = with_level("float64", json!({}), &[0.5, 1.0, 1.5]);
    let wrong = with_level("float64", json!({}), &[0.5, 1.0, 2.0]);
    let decoded = || path("/decoded");
    let import = concat(&[&same, &first, &double]).encoding(Encoding::Unpacked);
    run(import.into_group(decoded()), &repository).await;
    let (document, levels) = stored(&repository, "/decoded/level").await;
    assert_eq!(
        (&document["data_type"], &levels[..]),
        (&json!("float64"), &[0.5, 1.0, 1.5][..])
    );
    let import = concat(&[&same, &first, &wrong]).encoding(Encoding::Unpacked);
    let error = refused(import.into_group(path("/wrong")), &repository).await;
    assert!(chain(&error).contains("/wrong/level"), "{error}");
    let error = refused(
        concat(&[&first, &other]).into_group(path("/g")),
        &repository,
    )
    .await;
    assert!(chain(&error).contains("/g/level"), "{error}");
    assert!(chain(&error).contains("differs"), "{error}");
}

#[tokio::test]
async fn attributes_of_stored_numbers_follow_them() {
    let packed = json!({ "scale_factor": 0.5, "valid_range": [0, 10] });
    let first = period("int16", packed, &[1.0]);
    let other = json!({ "scale_factor": 0.25, "valid_range": [0, 20] });
    let other = period("int16", other, &[2.0]);
    let repository = repository().await;
    run(concat(&[&first, &other]), &repository).await;
    assert_eq!(air(&repository).await.2, texts(&[1.0, 1.0]));
    let import = concat(&[&first, &other]).encoding(Encoding::Unpacked);
    run(import.into_group(path("/decoded")), &repository).await;
    let (document, _) = stored(&repository, "/decoded/air").await;
    assert_eq!(document["attributes"], json!({ "valid_range": [0.0, 5.0] }));
}

#[tokio::test]
async fn a_plan_says_what_is_encoded_anew_and_why() {
    let (first, other) = (
        halves(&[0.0, 1.0]),
        period("float32", json!({ "units": "K" }), &[10.0, 11.0]),
    );
    let repository = repository().await;
    let plan = concat(&[&first, &other])
        .plan(&repository, BranchName::main())
        .await
        .unwrap();
    assert_eq!(plan.sources[1].reencoded, [path("/air")]);
    let air = &plan.arrays[0];
    assert_eq!((air.copied.0, air.assembled.0), (1, 1));
    assert!(
        air.reasons[0].contains("its `data_type` is \"int16\" here and \"float32\""),
        "{air:?}"
    );
}

#[tokio::test]
async fn packed_times_are_not_taken_for_counts() {
    let of = |units: &str, attributes: Value| {
        let tree = tree();
        let mut document = along_t("int32", 2, attributes);
        document["attributes"]["units"] = json!(units);
        write(&tree, "t", &document, &[1.0, 2.0]);
        tree
    };
    let first = of("hours since 2000-01-01", json!({}));
    let packed = of("hours since 2000-02-01", json!({ "scale_factor": 6.0 }));
    let repository = repository().await;
    let said = chain(&refused(concat(&[&first, &packed]), &repository).await);
    assert!(said.contains("scale_factor"), "{said}");
}

/// Labels of any encoding are put in order as numbers.
#[tokio::test]
async fn packed_coordinates_are_put_in_order() {
    let of = |data_type: &str, attributes: Value, values: &[f64]| {
        let tree = tree();
        write(
            &tree,
            "t",
            &along_t(data_type, values.len(), attributes),
            values,
        );
        tree
    };
    let high = of("float64", json!({}), &[4.0, 5.0]);
    let low = of("int8", json!({ "scale_factor": 0.5 }), &[2.0, 4.0]);
    let repository = repository().await;
    let import = concat(&[&high, &low]).order(Order::Coordinate);
    let import = import.encoding(Encoding::Unpacked);
    run(import, &repository).await;
    assert_eq!(stored(&repository, "/t").await.1, [1.0, 2.0, 4.0, 5.0]);
}

#[tokio::test]
async fn arrays_without_dimensions_stay_as_they_are() {
    let with_scalar = |attributes: Value, stored: u8| {
        let tree = halves(&[0.0]);
        let mut document = array(&[], &[], &[]);
        document["attributes"] = attributes;
        tree.json("height/zarr.json", &document)
            .file("height/c", [stored]);
        tree
    };
    let first = with_scalar(json!({ "scale_factor": 0.5 }), 4);
    let same = with_scalar(json!({}), 2);
    let other = with_scalar(json!({}), 3);
    for encoding in [Encoding::Exact, Encoding::Unpacked] {
        let repository = repository().await;
        run(concat(&[&first, &same]).encoding(encoding), &repository).await;
        let import = concat(&[&first, &other]).encoding(encoding);
        let said = chain(&refused(import.into_group(path("/g")), &repository).await);
        assert!(said.contains("/g/height"), "{said}");
    }
}

/// Elements that are left out because they overlap may be lost.
#[tokio::test]
async fn only_numbers_that_are_taken_must_be_exact() {
    let with_labels = |tree: Tree, labels: &[f64]| {
        write(
            &tree,
            "t",
            &along_t("int8", labels.len(), json!({})),
            labels,
        );
        tree
    };
    let first = with_labels(halves(&[0.0, 1.0, 2.0]), &[0.0, 1.0, 2.0]);
    let other = period("float64", json!({ "units": "K" }), &[10.3, 10.5, 11.0]);
    let other = with_labels(other, &[2.0, 3.0, 4.0]);
    let repository = repository().await;
    let import = concat(&[&first, &other]).overlap(Overlap::First);
    run(import, &repository).await;
    assert_eq!(air(&repository).await.2, texts(&[0.0, 1.0, 2.0, 1.0, 2.0]));
}

#[tokio::test]
async fn sources_that_are_there_are_left_out_by_their_packed_coordinates() {
    let packed = |stored: &[f64]| {
        let tree = tree();
        let halves = json!({ "scale_factor": 0.5, "add_offset": 10.0 });
        write(&tree, "t", &along_t("int16", stored.len(), halves), stored);
        tree
    };
    let plain = |values: &[f64]| {
        let tree = tree();
        let document = along_t("float64", values.len(), json!({}));
        write(&tree, "t", &document, values);
        tree
    };
    let repository = repository().await;
    let nightly = |trees: &[&Tree]| concat(trees).append("t").skip_existing();
    let first = packed(&[0.0, 1.0]);
    let report = run(nightly(&[&first]), &repository).await;
    assert_eq!((report.new_arrays, report.skipped.len()), (1, 0));
    // The same moments, stored otherwise, and new ones; whose stored numbers are those that others stand for.
    let again = plain(&[10.0, 10.5]);
    let (new, later) = (plain(&[11.0, 11.5]), plain(&[12.0]));
    let report = run(nightly(&[&first, &again, &new]), &repository).await;
    assert_eq!(
        report.skipped,
        [first.source().to_string(), again.source().to_string()]
    );
    let (_, stored_there) = stored(&repository, "/t").await;
    assert_eq!(stored_there, [0.0, 1.0, 2.0, 3.0]);
    let report = run(nightly(&[&new, &later]), &repository).await;
    assert_eq!(report.skipped, [new.source().to_string()]);
    let (_, stored_there) = stored(&repository, "/t").await;
    assert_eq!(stored_there, [0.0, 1.0, 2.0, 3.0, 4.0]);
    // Packed by another scale.
    let tree = {
        let tree = tree();
        let tenths = json!({ "scale_factor": 0.25 });
        write(&tree, "t", &along_t("int32", 2, tenths), &[46.0, 48.0]);
        tree
    };
    let error = refused(nightly(&[&tree]), &repository).await;
    assert!(
        matches!(error, icefield_ingest::ImportError::NothingToDo { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn what_cannot_be_unpacked_is_not_said_to_be() {
    let units = |more: Value| {
        let mut attributes = more;
        attributes["units"] = json!("hours since 2000-01-01");
        attributes
    };
    let timed = |attributes: Value, values: &[f64]| {
        let tree = tree();
        write(
            &tree,
            "t",
            &along_t("int32", values.len(), attributes),
            values,
        );
        tree
    };
    let first = timed(units(json!({})), &[0.0, 1.0]);
    let second = timed(units(json!({ "_FillValue": -1 })), &[2.0, -1.0, 4.0]);
    let joined = repository().await;
    let said = chain(&refused(concat(&[&first, &second]), &joined).await);
    assert!(
        said.contains("/t of ") && said.contains("missing"),
        "{said}"
    );
    assert!(said.contains(&second.source().to_string()), "{said}");
    assert!(!said.contains("--unpack"), "{said}");
    // Others are.
    let (first, second) = (
        period("int16", json!({}), &[1.0]),
        period("int16", json!({ "_FillValue": -1 }), &[-1.0]),
    );
    let said = chain(&refused(concat(&[&first, &second]), &joined).await);
    assert!(said.contains("--unpack"), "{said}");
    // But for an append.
    run(concat(&[&first]), &joined).await;
    let said = chain(&refused(second.import().append("t"), &joined).await);
    assert!(
        said.contains("missing") && !said.contains("--unpack"),
        "{said}"
    );
}
