//! Attributes that differ from source to source.

use std::sync::Arc;

use icefield_core::Repository;
use icefield_ingest::{Attributes, Import, Source};
use serde_json::{Value, json};

use crate::common::numbers::{along_t, tree, write};
use crate::common::{Tree, array, chain, exported, group, path, refused, repository, run};

fn period(of_group: Value, of_array: Value, of_static: Value) -> Tree {
    let tree = tree();
    tree.json("zarr.json", &group(of_group));
    write(&tree, "air", &along_t("int8", 2, of_array), &[1.0, 2.0]);
    let mut still = array(&[2], &[2], &["x"]);
    still["attributes"] = of_static;
    tree.json("area/zarr.json", &still).file("area/c/0", [3, 4]);
    tree
}

fn three() -> [Tree; 3] {
    [
        period(
            json!({ "title": "T", "history": "May" }),
            json!({ "units": "K", "cell": [1, 2], "note": "a" }),
            json!({ "units": "m2" }),
        ),
        period(
            json!({ "title": "T", "history": "June", "comment": "checked" }),
            json!({ "cell": [1, 2], "units": "K", "note": "b" }),
            json!({ "units": "m2", "source": "survey" }),
        ),
        period(
            json!({ "title": "T", "history": "May" }),
            json!({ "units": "K", "note": "a" }),
            json!({ "units": "m2" }),
        ),
    ]
}

fn concat(trees: &[Tree]) -> Import {
    let mut sources = trees.iter().map(|tree| tree.source() as Arc<dyn Source>);
    let first = sources.next().unwrap();
    Import::new(first).concat("t", sources)
}

/// The attributes of the group and the two arrays.
async fn found(repository: &Repository) -> [Value; 3] {
    let files = exported(repository).await;
    ["zarr.json", "air/zarr.json", "area/zarr.json"].map(|name| {
        let document: Value = serde_json::from_slice(&files[name]).unwrap();
        document["attributes"].clone()
    })
}

#[tokio::test]
async fn those_of_the_first_stay() {
    let trees = three();
    let repository = repository().await;
    let error = chain(&refused(concat(&trees), &repository).await);
    assert!(error.contains("`attributes"), "as ever: {error}");
    let report = run(concat(&trees).attributes(Attributes::First), &repository).await;
    let expected = [
        json!({ "title": "T", "history": "May" }),
        json!({ "units": "K", "cell": [1, 2], "note": "a" }),
        json!({ "units": "m2" }),
    ];
    assert_eq!(found(&repository).await, expected);
    let named: Vec<_> = report
        .attributes
        .iter()
        .map(|it| (it.path.as_str(), it.name.as_str()))
        .collect();
    let expected = [
        ("/", "comment"),
        ("/", "history"),
        ("/air", "cell"),
        ("/air", "note"),
        ("/area", "source"),
    ];
    assert_eq!(named, expected);
    assert!(report.attributes.iter().all(|it| it.is_kept));
    assert_eq!(report.attributes[2].source, trees[2].source().to_string());
    assert_eq!(report.attributes[3].source, trees[1].source().to_string());
}

#[tokio::test]
async fn those_that_conflict_are_left_out() {
    let trees = three();
    let joined = repository().await;
    let report = run(
        concat(&trees).attributes(Attributes::DropConflicts),
        &joined,
    )
    .await;
    let expected = [
        json!({ "title": "T", "comment": "checked" }),
        json!({ "units": "K", "cell": [1, 2] }),
        json!({ "units": "m2", "source": "survey" }),
    ];
    assert_eq!(found(&joined).await, expected);
    let named: Vec<_> = report
        .attributes
        .iter()
        .map(|it| (it.path.as_str(), it.name.as_str()))
        .collect();
    assert_eq!(named, [("/", "history"), ("/air", "note")]);
    assert!(report.attributes.iter().all(|it| !it.is_kept));

    // Existing attributes change, too, also of arrays that do not grow.
    let appended = repository().await;
    run(trees[0].import(), &appended).await;
    for tree in &trees[1..] {
        let import = tree
            .import()
            .append("t")
            .attributes(Attributes::DropConflicts);
        run(import, &appended).await;
    }
    let [of_group, of_array, of_static] = found(&appended).await;
    assert_eq!(of_group["comment"], "checked");
    assert_eq!(
        of_array,
        json!({ "units": "K", "cell": [1, 2], "note": "a" }),
        "it came back"
    );
    assert_eq!(of_static, expected[2]);
}

#[tokio::test]
async fn equal_ones_are_demanded_of_groups_too() {
    let [one, _, last] = three();
    let plain = || json!({ "units": "K" });
    let titled = period(json!({ "title": "T" }), plain(), json!({}));
    let other = period(json!({ "title": "U" }), plain(), json!({}));
    let repository = repository().await;
    let import = || Import::new(titled.source()).concat("t", [other.source() as Arc<dyn Source>]);
    let said = chain(&refused(import().attributes(Attributes::Equal), &repository).await);
    let name = other.source().to_string();
    for word in [
        "attributes of /",
        "attributes.title",
        "--attributes first",
        &name,
    ] {
        assert!(said.contains(word), "{word} is not said: {said}");
    }
    let report = run(import(), &repository).await;
    assert_eq!(report.kept_groups, [path("/")], "as ever");
    let arrays = Import::new(one.source()).concat("t", [last.source() as Arc<dyn Source>]);
    let arrays = arrays
        .attributes(Attributes::Equal)
        .into_group(path("/other"));
    let said = chain(&refused(arrays, &repository).await);
    assert!(said.contains("attributes.cell"), "{said}");
}

#[tokio::test]
async fn what_says_how_numbers_are_stored_is_no_choice() {
    let with = |attributes: Value| period(json!({}), attributes, json!({}));
    for (here, there) in [
        (
            json!({ "scale_factor": "two" }),
            json!({ "scale_factor": "three" }),
        ),
        (
            json!({ "units": "days since 2000-01-01" }),
            json!({ "units": "K" }),
        ),
    ] {
        for wish in [Attributes::First, Attributes::DropConflicts] {
            let trees = [with(here.clone()), with(there.clone())];
            let repository = repository().await;
            let said = chain(&refused(concat(&trees).attributes(wish), &repository).await);
            assert!(said.contains("`attributes."), "{said}");
        }
    }
}
