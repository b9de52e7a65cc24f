//! The contents that exports to NCZarr and to plain Zarr format 2 keep and refuse.

use std::fs;

use serde_json::{Value, json};

use crate::netcdf::{features, fixtures, name_of};
use crate::world::{World, array, group};

#[test]
fn every_feature_comes_back_from_an_export_to_nczarr() {
    let world = World::new();
    for feature in features() {
        let name = feature.file_name().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(feature.join("ncdump.cdl")).unwrap();
        let title = name_of(&text);
        let (imported, out, again) = (
            format!("{name}-in"),
            format!("{name}-out"),
            format!("{name}-again"),
        );
        world.ok(&["init", &imported]);
        world.ok(&["import", feature.join("data").to_str().unwrap(), &imported]);
        world.ok(&["export", &imported, &out, "--format", "nczarr"]);
        world.ok(&["init", &again]);
        world.ok(&["import", &out, &again]);
        assert_eq!(world.ok(&["ncdump", "-n", title, &again]), text, "{name}");
    }
}

/// Imports a tree with the array `v`, with chunks by index, into a repository of the same name with `-r` behind it.
fn imported(world: &World, name: &str, document: &Value, chunks: &[(u32, &[u8])]) -> String {
    world.json(&format!("{name}/zarr.json"), &group(json!({})));
    world.json(&format!("{name}/v/zarr.json"), document);
    for (index, bytes) in chunks {
        world.file(&format!("{name}/v/c/{index}"), bytes);
    }
    let repository = format!("{name}-r");
    world.ok(&["init", &repository]);
    world.ok(&["import", name, &repository]);
    repository
}

fn document_of(world: &World, path: &str) -> Value {
    serde_json::from_slice(&fs::read(world.path(path)).unwrap()).unwrap()
}

#[test]
fn a_value_that_masks_and_one_that_fills_are_kept_apart_where_format_2_has_one_for_both() {
    let world = World::new();
    let mut masked = array(&[4], &[2], &["x"]);
    masked["attributes"] = json!({ "_FillValue": 9 });
    let holes = imported(&world, "holes", &masked, &[(1, &[1, 9])]);
    let message = world.fails(1, &["export", &holes, "holes-2", "--format", "zarr2"]);
    assert!(
        message.contains("/v") && message.contains("9 is masked"),
        "{message}"
    );
    assert!(!world.path("holes-2").exists());

    // Nothing is filled where every chunk is there.
    let whole = imported(&world, "whole", &masked, &[(0, &[0, 1]), (1, &[1, 9])]);
    world.ok(&["export", &whole, "whole-2", "--format", "zarr2"]);
    assert_eq!(document_of(&world, "whole-2/v/.zarray")["fill_value"], 9);
    let attributes = document_of(&world, "whole-2/v/.zattrs");
    assert!(attributes.get("_FillValue").is_none(), "{attributes}");

    // xarray would mask by a fill value of format 2 that masks nothing here.
    let bare = array(&[4], &[2], &["x"]);
    let plain = imported(&world, "plain", &bare, &[(0, &[0, 1]), (1, &[1, 9])]);
    world.ok(&["export", &plain, "plain-2", "--format", "zarr2"]);
    assert_eq!(
        document_of(&world, "plain-2/v/.zarray")["fill_value"],
        Value::Null
    );
    let filled = imported(&world, "filled", &bare, &[(0, &[0, 1])]);
    world.ok(&["export", &filled, "filled-2", "--format", "zarr2"]);
    assert_eq!(document_of(&world, "filled-2/v/.zarray")["fill_value"], 0);

    // No element can have the value: it masks nothing, and is an ordinary attribute.
    let mut other = bare.clone();
    other["attributes"] = json!({ "_FillValue": -1 });
    let other = imported(&world, "other", &other, &[]);
    world.ok(&["export", &other, "other-2", "--format", "zarr2"]);
    assert_eq!(document_of(&world, "other-2/v/.zarray")["fill_value"], 0);
    assert_eq!(document_of(&world, "other-2/v/.zattrs")["_FillValue"], -1);

    // Both are the same value.
    let mut same = masked.clone();
    same["fill_value"] = json!(9);
    let same = imported(&world, "same", &same, &[]);
    world.ok(&["export", &same, "same-2", "--format", "zarr2"]);
    assert_eq!(document_of(&world, "same-2/v/.zarray")["fill_value"], 9);
}

#[test]
fn texts_have_room_for_the_one_that_fills() {
    let world = World::new();
    let mut text = array(&[4], &[2], &["x"]);
    text["data_type"] = json!("string");
    text["fill_value"] = json!("nothing yet");
    text["codecs"] = json!([{ "name": "vlen-utf8" }]);
    let chunk = [2, 0, 0, 0, 1, 0, 0, 0, b'a', 2, 0, 0, 0, b'b', b'c'];
    let repository = imported(&world, "texts", &text, &[(0, &chunk)]);
    let before = world.ok(&["ncdump", "-n", "texts", &repository]);
    assert!(
        before.contains(r#"v = "a", "bc", "nothing yet", "nothing yet" ;"#),
        "{before}"
    );
    world.ok(&["export", &repository, "out", "--format", "nczarr"]);
    assert_eq!(document_of(&world, "out/v/.zarray")["dtype"], "|S11");
    world.ok(&["init", "again"]);
    world.ok(&["import", "out", "again"]);
    assert_eq!(world.ok(&["ncdump", "-n", "texts", "again"]), before);
}

#[test]
fn chunks_that_no_memory_holds_are_not_encoded_anew() {
    let world = World::new();
    let mut large = array(&[1 << 40], &[1 << 33], &["x"]);
    large["codecs"] = json!([{ "name": "bytes" }, { "name": "crc32c" }]);
    let repository = imported(&world, "large", &large, &[]);
    let message = world.fails(1, &["export", &repository, "out", "--format", "nczarr"]);
    assert!(
        message.contains("/v") && message.contains("more than 4 GiB"),
        "{message}"
    );
    assert!(!world.path("out").exists());
    // Its header is as short as any.
    let header = world.ok(&["ncdump", "-h", &repository]);
    assert!(header.contains("x = 1099511627776 ;"), "{header}");
}

#[test]
fn names_of_xarray_are_not_looked_at_where_the_url_says_so() {
    let world = World::new();
    let data = fixtures().join("vectors/xarray-v2-default/data");
    let url = format!("file://{}", data.display());
    for (repository, fragment) in [
        ("with", "#mode=zarr,file"),
        ("without", "#mode=noxarray,file"),
    ] {
        world.ok(&["init", repository]);
        world.ok(&["import", &format!("{url}{fragment}"), repository]);
    }
    let (with, without) = (
        world.ok(&["ncdump", "-h", "with"]),
        world.ok(&["ncdump", "-h", "without"]),
    );
    assert!(
        !with.contains("_Anonymous_Dim_") && without.contains("_Anonymous_Dim_"),
        "{with}\n{without}"
    );
}

#[test]
fn an_attribute_with_the_name_of_our_record_is_an_attribute() {
    let world = World::new();
    let mut named = array(&[2], &[2], &["x"]);
    named["attributes"] = json!({ "_netcdf": "a user wrote this" });
    let repository = imported(&world, "named", &named, &[(0, &[1, 2])]);
    let header = world.ok(&["ncdump", "-h", &repository]);
    assert!(
        header.contains(r#"v:_netcdf = "a user wrote this" ;"#),
        "{header}"
    );
    world.ok(&["export", &repository, "out", "--format", "nczarr"]);
    let attributes = document_of(&world, "out/v/.zattrs");
    assert_eq!(attributes["_netcdf"], "a user wrote this");
    world.ok(&["export", &repository, "plain", "--format", "zarr2"]);
    let attributes = document_of(&world, "plain/v/.zattrs");
    assert_eq!(attributes["_netcdf"], "a user wrote this");
    // In a dataset of netCDF it could be taken for a record.
    world.ok(&["init", "again"]);
    let message = world.fails(1, &["import", "out", "again"]);
    assert!(
        message.contains("/v") && message.contains("_netcdf"),
        "{message}"
    );
}
