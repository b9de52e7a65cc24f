//! Parts of sources, and other names.

use std::sync::Arc;

use crate::common::{Tree, array, chain, exported, group, path, refused, repository, run};
use icefield_ingest::{Import, Selection, Source};
use serde_json::{Value, json};

/// Air on a curvilinear grid, whose coordinates have bounds, and soil below, which sees the dimensions of the root.
fn ocean() -> Tree {
    let tree = Tree::new();
    tree.json("zarr.json", &group(json!({})));
    let put = |name: &str, names: &[&str], attributes: Value| {
        let shape = vec![2; names.len()];
        let mut document = array(&shape, &shape, names);
        document["attributes"] = attributes;
        tree.json(&format!("{name}/zarr.json"), &document);
        let chunk = format!("{name}/c{}", "/0".repeat(names.len()));
        tree.file(&chunk, vec![7; 1 << names.len()]);
    };
    put("time", &["time"], json!({ "bounds": "time_bnds" }));
    put("time_bnds", &["time", "bnds"], json!({}));
    put("y", &["y"], json!({}));
    put("lon", &["y", "x"], json!({}));
    put("crs", &[], json!({}));
    put(
        "air",
        &["time", "y", "x"],
        json!({ "coordinates": "lon", "grid_mapping": "crs: lon", "cell_measures": "area: cells" }),
    );
    put("cells", &["y", "x"], json!({}));
    put("wind", &["time"], json!({ "ancillary_variables": "air" }));
    tree.json("soil/zarr.json", &group(json!({})));
    put("soil/depth", &["depth"], json!({}));
    put("soil/moisture", &["time", "depth"], json!({}));
    tree
}

/// The paths of arrays and groups, each with a slash at its end, after an import with a selection.
async fn arrived(tree: &Tree, selection: Selection) -> Vec<String> {
    let repository = repository().await;
    run(tree.import().select(selection), &repository).await;
    let files = exported(&repository).await;
    let documents = files.keys().filter_map(|it| it.strip_suffix("zarr.json"));
    let mut names: Vec<String> = documents.map(str::to_owned).collect();
    names.sort();
    names
}

fn paths(names: &[&str]) -> Vec<icefield_core::NodePath> {
    names.iter().map(|name| path(&format!("/{name}"))).collect()
}

#[tokio::test]
async fn variables_bring_what_places_them() {
    let tree = ocean();
    for (wished, found) in [
        (
            &["air"][..],
            &["", "air/", "crs/", "lon/", "time/", "time_bnds/", "y/"][..],
        ),
        (&["wind"], &["", "time/", "time_bnds/", "wind/"]),
        (&["cells", "crs"], &["", "cells/", "crs/", "y/"]),
        (
            &["soil"],
            &[
                "",
                "soil/",
                "soil/depth/",
                "soil/moisture/",
                "time/",
                "time_bnds/",
            ],
        ),
        (&["soil/depth"], &["", "soil/", "soil/depth/"]),
    ] {
        let selection = Selection::all().variables(paths(wished));
        assert_eq!(arrived(&tree, selection).await, found, "{wished:?}");
    }
}

#[tokio::test]
async fn nodes_are_left_out_with_what_is_below_them() {
    let tree = ocean();
    let selection = Selection::all().without(paths(&["soil", "air", "time_bnds"]));
    let found = ["", "cells/", "crs/", "lon/", "time/", "wind/", "y/"];
    assert_eq!(arrived(&tree, selection).await, found);
    // A selected node can be left out again.
    let selection = Selection::all()
        .variables(paths(&["wind"]))
        .without(paths(&["time"]));
    assert_eq!(arrived(&tree, selection).await, ["", "time_bnds/", "wind/"]);
}

#[tokio::test]
async fn names_change_wherever_they_stand() {
    let repository = repository().await;
    let selection = Selection::all()
        .rename(path("/time"), "t")
        .rename(path("/lon"), "longitude")
        .rename(path("/time_bnds"), "t_bnds")
        .rename(path("/cells"), "area_of_cells")
        .rename(path("/soil"), "ground");
    run(ocean().import().select(selection), &repository).await;
    let files = exported(&repository).await;
    let document = |name: &str| -> Value {
        serde_json::from_slice(&files[&format!("{name}/zarr.json")]).unwrap()
    };
    let air = document("air");
    assert_eq!(air["dimension_names"], json!(["t", "y", "x"]));
    assert_eq!(
        air["attributes"],
        json!({ "coordinates": "longitude", "grid_mapping": "crs: longitude", "cell_measures": "area: area_of_cells" })
    );
    assert_eq!(document("t")["attributes"]["bounds"], "t_bnds");
    assert_eq!(document("t_bnds")["dimension_names"], json!(["t", "bnds"]));
    // A variable that is no coordinate leaves dimensions alone.
    assert_eq!(document("longitude")["dimension_names"], json!(["y", "x"]));
    assert_eq!(
        document("ground/moisture")["dimension_names"],
        json!(["t", "depth"])
    );
    assert_eq!(files["longitude/c/0/0"], [7; 4]);
    assert!(!files.contains_key("time/zarr.json") && !files.contains_key("soil/zarr.json"));
}

/// A term of a formula and a measure are no variables, though variables may be called like them.
#[tokio::test]
async fn words_that_are_no_names_stay() {
    let tree = Tree::new();
    tree.json("zarr.json", &group(json!({})));
    for (name, attributes) in [
        ("ps", json!({})),
        ("mean", json!({})),
        (
            "sigma",
            json!({ "formula_terms": "sigma: sigma  ps: ps\nptop: ptop" }),
        ),
        (
            "air",
            json!({ "cell_methods": "sigma: mean", "cell_measures": "area: area" }),
        ),
        ("area", json!({})),
    ] {
        let mut document = array(&[2], &[2], &["sigma"]);
        document["attributes"] = attributes;
        tree.json(&format!("{name}/zarr.json"), &document);
    }
    let selection = Selection::all()
        .rename(path("/ps"), "surface_pressure")
        .rename(path("/mean"), "average")
        .rename(path("/area"), "cells")
        .rename(path("/sigma"), "level");
    let repository = repository().await;
    run(tree.import().select(selection), &repository).await;
    let files = exported(&repository).await;
    let attributes = |name: &str| -> Value {
        let document: Value = serde_json::from_slice(&files[&format!("{name}/zarr.json")]).unwrap();
        document["attributes"].clone()
    };
    assert_eq!(
        attributes("level")["formula_terms"],
        "sigma: level  ps: surface_pressure\nptop: ptop"
    );
    assert_eq!(
        attributes("air"),
        json!({ "cell_methods": "level: mean", "cell_measures": "area: cells" })
    );
}

#[tokio::test]
async fn a_dimension_of_another_length_is_another_one() {
    let tree = Tree::new();
    tree.json("zarr.json", &group(json!({})))
        .json("x/zarr.json", &array(&[2], &[2], &["x"]))
        .json("below/zarr.json", &group(json!({})))
        .json("below/data/zarr.json", &array(&[3], &[3], &["x"]));
    let repository = repository().await;
    let selection = Selection::all().rename(path("/x"), "column");
    run(tree.import().select(selection), &repository).await;
    let files = exported(&repository).await;
    let document: Value = serde_json::from_slice(&files["below/data/zarr.json"]).unwrap();
    assert_eq!(document["dimension_names"], json!(["x"]));
}

#[tokio::test]
async fn sources_are_put_behind_one_another_by_their_new_names() {
    let (one, other) = (ocean(), ocean());
    let sources = [other.source() as Arc<dyn Source>];
    let selection = Selection::all()
        .variables(paths(&["wind"]))
        .rename(path("/time"), "t");
    let import = Import::new(one.source()).concat("t", sources).unordered();
    let repository = repository().await;
    run(import.select(selection), &repository).await;
    let files = exported(&repository).await;
    let wind: Value = serde_json::from_slice(&files["wind/zarr.json"]).unwrap();
    assert_eq!(wind["shape"], json!([4]));
}

#[tokio::test]
async fn what_no_source_has_is_refused() {
    let all = Selection::all;
    for (selection, said) in [
        (
            all().variables(paths(&["sky"])),
            "/sky is to be selected, and no source has it",
        ),
        (
            all().without(paths(&["air/x"])),
            "/air/x is to be left out, and no source has it",
        ),
        (
            all().rename(path("/sky"), "x"),
            "/sky is to be renamed, and no source has it",
        ),
        (
            all().rename(path("/air"), "wind"),
            "/air and /wind would both be /wind",
        ),
        (all().rename(path("/air"), "a/b"), "a name has no `/`"),
        (
            all().rename(path("/time"), "x"),
            "/time cannot be renamed to \"x\": /air has a dimension of that name",
        ),
        (
            all().rename(path("/wind"), "x"),
            "/wind cannot be renamed to \"x\": /air has a dimension of that name",
        ),
        (
            all().without(paths(&["air"])).rename(path("/air"), "a"),
            "/air is to be renamed, and no source has it",
        ),
        (
            all().rename(path("/air"), ".."),
            "/air cannot be put below /",
        ),
    ] {
        let repository = repository().await;
        let error = refused(ocean().import().select(selection), &repository).await;
        assert!(chain(&error).contains(said), "{}", chain(&error));
    }
}
