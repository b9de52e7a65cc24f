//! Imports in shares whose sources take more than their own documents: other encodings, arrays that some lack, new dimensions,
//! and grids of files.

use icefield_core::BranchName;
use icefield_ingest::{
    Combine, Encoding, Import, ImportError, Missing, Overlap, Selection, ValueFrom,
};
use serde_json::{Value, json};

use crate::common::numbers::{along_t, tree, write};
use crate::common::{Tree, array, chain, group, path, repository};
use crate::shares::{assert_as_whole, concat, surveyed, whole};

/// A tree with stored numbers of `/air`, and with `/rain` of the same length where it is said.
fn period(data_type: &str, attributes: Value, values: &[f64], rain: Option<f64>) -> Tree {
    let tree = tree();
    let air = along_t(data_type, values.len(), attributes);
    write(&tree, "air", &air, values);
    if let Some(rain) = rain {
        let mut document = along_t("int16", values.len(), json!({ "_FillValue": -1 }));
        document["fill_value"] = json!(-1);
        write(&tree, "rain", &document, &vec![rain; values.len()]);
    }
    tree
}

fn halves() -> Value {
    json!({ "units": "K", "scale_factor": 0.5, "add_offset": 10.0, "_FillValue": -1 })
}

/// Periods of which each stores equal numbers in a way of its own, with chunks at seams.
fn encodings() -> Vec<Tree> {
    let kelvin = |more: Value| {
        let mut attributes = more;
        attributes["units"] = json!("K");
        attributes
    };
    vec![
        period("int16", halves(), &[0.0, -1.0, 3.0], None),
        period("float32", kelvin(json!({})), &[10.5, f64::NAN], None),
        period(
            "int32",
            kelvin(json!({ "scale_factor": 0.25, "missing_value": [99, 98] })),
            &[40.0, 98.0, 99.0, 42.0, 44.0],
            None,
        ),
        period("int16", halves(), &[7.0], None),
        period("uint8", kelvin(json!({})), &[10.0, 255.0, 12.0], None),
    ]
}

#[tokio::test]
async fn numbers_are_stored_as_by_the_first_source_in_shares() {
    let trees = encodings();
    assert_as_whole(&trees, &|import| import).await;
    assert_as_whole(&trees, &|import| import.encoding(Encoding::Unpacked)).await;
    let (_, report) = whole(&trees, &|import| import).await;
    assert_eq!(report.reencoded_arrays, [path("/air")]);
    // A number that is off by 0.1, and one by 0.2.
    for off in [0.1, 0.2] {
        let celsius = json!({ "units": "K" });
        let mut trees = encodings();
        trees.insert(2, period("float64", celsius, &[11.0, 11.0 + off], None));
        let within = |import: Import| import.encoding(Encoding::Within(0.25));
        assert_as_whole(&trees, &within).await;
        let (_, report) = whole(&trees, &within).await;
        let [rounded] = &report.rounded_arrays[..] else {
            panic!("{:?}", report.rounded_arrays);
        };
        assert!((rounded.largest_error - off).abs() < 1e-9, "{rounded:?}");
    }
}

#[tokio::test]
async fn a_number_that_is_not_exact_is_refused_by_its_share() {
    let mut trees = encodings();
    trees.push(period("float64", json!({ "units": "K" }), &[11.1], None));
    let repository = repository().await;
    let session = repository.write_session(BranchName::main()).await.unwrap();
    let divided = concat(surveyed(&trees, &|it| it).await)
        .shares(&session, trees.len())
        .await
        .unwrap();
    let last = divided.others.last().unwrap();
    let sources = last
        .sources()
        .map(|at| trees[at].source() as std::sync::Arc<dyn icefield_ingest::Source>);
    let fork = session.fork().unwrap();
    let error = concat(sources).run_share(last, &fork).await.unwrap_err();
    let said = chain(&error);
    let name = trees[trees.len() - 1].source().to_string();
    assert!(said.contains(&name) && said.contains("11.1"), "{said}");
}

#[tokio::test]
async fn elements_that_are_cut_off_need_not_be_exact_in_shares() {
    let timed = |start: f64, tree: Tree, length: usize| {
        let hours: Vec<f64> = (0..length).map(|at| start + at as f64).collect();
        write(&tree, "t", &along_t("int32", length, json!({})), &hours);
        tree
    };
    let kelvin = json!({ "units": "K" });
    let trees = [
        timed(0.0, period("int16", halves(), &[0.0, 1.0, 2.0], None), 3),
        // The first element is there already, and is no half.
        timed(2.0, period("float64", kelvin, &[0.1, 11.5, 12.0], None), 3),
    ];
    assert_as_whole(&trees, &|import| import.overlap(Overlap::First)).await;
}

#[tokio::test]
async fn what_a_source_lacks_is_filled_in_shares() {
    let plain = |values: &[f64], rain| period("int8", json!({}), values, rain);
    let mut trees = vec![
        plain(&[1.0, 2.0, 3.0], Some(7.0)),
        plain(&[4.0], None),
        plain(&[5.0, 6.0], None),
        plain(&[7.0, 8.0, 9.0], Some(8.0)),
    ];
    // Without the dimension, and in one source alone.
    let mask = array(&[3], &[2], &["y"]);
    trees[2].json("mask/zarr.json", &mask);
    trees[2].file("mask/c/0", [1, 0]).file("mask/c/1", [1, 0]);
    let fill = |import: Import| import.missing(Missing::Fill);
    assert_as_whole(&trees, &fill).await;
    // The first source lacks it.
    trees.rotate_left(1);
    assert_as_whole(&trees, &fill).await;
    // Together with numbers that are stored otherwise.
    let packed = json!({ "scale_factor": 0.5, "add_offset": 10.0, "_FillValue": -1 });
    trees.push(period("int16", packed, &[0.0, 2.0], Some(9.0)));
    trees.push(period("float32", json!({}), &[10.0], None));
    assert_as_whole(&trees, &|import| fill(import).encoding(Encoding::Unpacked)).await;
}

/// A member of an ensemble, or a tile of a map: `t` times from `first` on, and columns from `west` on.
fn tile(member: u64, first: u64, west: u64, (times, columns): (u64, u64)) -> Tree {
    let tree = Tree::new();
    let place = |from: u64, length: u64, dimension: &str| {
        let mut document = array(&[length], &[length], &[dimension]);
        document["attributes"] = json!({});
        let elements: Vec<u8> = (from..from + length).map(|it| it as u8).collect();
        tree.json(&format!("{dimension}/zarr.json"), &document);
        tree.file(&format!("{dimension}/c/0"), elements);
    };
    tree.json("zarr.json", &group(json!({ "member": member })));
    place(first, times, "t");
    place(west, columns, "x");
    let elements = (0..times).flat_map(|t| {
        (0..columns).map(move |x| (100 * member + 10 * (first + t) + west + x) as u8)
    });
    tree.json(
        "air/zarr.json",
        &array(&[times, columns], &[times, columns], &["t", "x"]),
    )
    .file("air/c/0/0", elements.collect::<Vec<u8>>())
    .json("number/zarr.json", &array(&[], &[], &[]))
    .file("number/c", [member as u8]);
    tree
}

fn stacked(from: &str) -> impl Fn(Import) -> Import {
    let from = ValueFrom::parse(from).unwrap();
    move |import| import.stack("member", from.clone())
}

#[tokio::test]
async fn members_of_a_new_dimension_are_imported_in_shares() {
    let members: Vec<Tree> = [2, 0, 1].map(|it| tile(it, 0, 0, (3, 2))).into();
    for from in ["attribute:member", "variable:number"] {
        let told = stacked(from);
        assert_as_whole(&members, &|import| told(import).concat("member", [])).await;
    }
    // Each member has several files along the time, with chunks at seams.
    let nested: Vec<Tree> = [
        (1, 0, 3),
        (0, 0, 3),
        (0, 3, 2),
        (1, 3, 2),
        (1, 5, 4),
        (0, 5, 4),
    ]
    .map(|(member, first, times)| tile(member, first, 0, (times, 2)))
    .into();
    let told = stacked("attribute:member");
    assert_as_whole(&nested, &told).await;
    let without = |import: Import| {
        let selection = Selection::all().without([path("/number")]);
        told(import).select(selection)
    };
    assert_as_whole(&nested, &without).await;
}

#[tokio::test]
async fn files_that_form_a_grid_are_imported_in_shares() {
    let by_coordinates = |import: Import| import.combine(Combine::ByCoordinates);
    let drop = |import: Import| import.select(Selection::all().without([path("/number")]));
    let mut tiles = Vec::new();
    for (west, columns) in [(5, 2), (0, 3), (3, 2)] {
        for (first, times) in [(4, 3), (0, 4)] {
            tiles.push(tile(0, first, west, (times, columns)));
        }
    }
    assert_as_whole(&tiles, &|import| drop(by_coordinates(import))).await;
    // One of them is missing: the plan says so, of surveys as of files.
    let missing = tiles.split_off(1);
    let told = |import: Import| drop(by_coordinates(import));
    let repository = repository().await;
    let session = repository.write_session(BranchName::main()).await.unwrap();
    let import = told(concat(surveyed(&missing, &told).await));
    let error = import.shares(&session, 3).await.unwrap_err();
    assert!(matches!(error, ImportError::Combine(_)), "{error}");
    assert!(!session.has_changes().unwrap());
}

#[tokio::test]
async fn what_must_be_equal_of_joined_files_is_compared_by_the_share() {
    let files: Vec<Tree> = [(0, 0), (0, 3), (1, 0), (1, 3)]
        .map(|(member, first)| tile(member, first, 0, (3, 2)))
        .into();
    // The columns of one file of the second member.
    files[3].file("x/c/0", [0, 9]);
    let told = stacked("attribute:member");
    let repository = repository().await;
    let session = repository.write_session(BranchName::main()).await.unwrap();
    let import = told(concat(surveyed(&files, &told).await));
    let divided = import.shares(&session, 2).await.unwrap();
    let (mut refused, mut reading) = (0, 0);
    for share in &divided.others {
        reading += usize::from(share.sources().any(|at| at == 3));
        let sources = share
            .sources()
            .map(|at| files[at].source() as std::sync::Arc<dyn icefield_ingest::Source>);
        let fork = session.fork().unwrap();
        if let Err(error) = told(concat(sources)).run_share(share, &fork).await {
            let said = chain(&error);
            assert!(
                said.contains("/x") && said.contains(&files[3].source().to_string()),
                "{said}"
            );
            refused += 1;
        }
    }
    assert!(reading > 0);
    assert_eq!(refused, reading);
}

#[tokio::test]
async fn a_plan_of_surveys_is_that_of_the_files() {
    let fill = |import: Import| import.missing(Missing::Fill);
    let mut filled = encodings();
    filled.push(period("int16", halves(), &[0.0, 2.0], Some(9.0)));
    let nested: Vec<Tree> = [(1, 0, 3), (0, 0, 3), (0, 3, 2), (1, 3, 2)]
        .map(|(member, first, times)| tile(member, first, 0, (times, 2)))
        .into();
    let member = stacked("attribute:member");
    let cases: [(&[Tree], crate::shares::Told<'_>); 3] = [
        (&encodings(), &|import| import),
        (&filled, &fill),
        (&nested, &member),
    ];
    for (trees, told) in cases {
        let repository = repository().await;
        let sources = trees
            .iter()
            .map(|it| it.source() as std::sync::Arc<dyn icefield_ingest::Source>);
        let expected = told(concat(sources))
            .plan(&repository, BranchName::main())
            .await
            .unwrap();
        let mut seen = Vec::new();
        for tree in trees {
            let source = tree.source() as std::sync::Arc<dyn icefield_ingest::Source>;
            let survey = told(concat([source])).survey_chunks().await.unwrap();
            let sent = survey.to_bytes().unwrap();
            seen.extend(
                icefield_ingest::Survey::from_bytes(&sent)
                    .unwrap()
                    .sources(),
            );
        }
        let session = repository.write_session(BranchName::main()).await.unwrap();
        let found = told(concat(seen)).plan_in(&session).await.unwrap();
        assert_eq!(found, expected);
        assert!(
            found
                .arrays
                .iter()
                .any(|array| array.assembled.0 > 0 || array.copied.1 > 0)
        );
        assert!(!session.has_changes().unwrap());
    }
}
