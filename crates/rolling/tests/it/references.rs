//! Arrays that others name may not stay behind.

use icefield_rolling::{Change, RollingError};
use serde_json::{Value, json};

use crate::world::*;

fn array(shape: &[u64], names: &Value) -> String {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shape}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}],
        "dimension_names": names,
    })
    .to_string()
}

icefield_testkit::both_versions!(what_is_named_and_would_stay_is_refused);
async fn what_is_named_and_would_stay_is_refused() {
    for (at, attribute, text, other, document, words) in [
        (
            "/time",
            "bounds",
            "edges",
            "/edges",
            array(&[8, 2], &json!(["t", "nv"])),
            "bounds have the dimensions of what they bound",
        ),
        (
            "/t",
            "coordinates",
            "y valid",
            "/valid",
            array(&[8], &Value::Null),
            "a dimension of the same length has no name",
        ),
        (
            "/t",
            "ancillary_variables",
            "flag",
            "/flag",
            array(&[3, 8], &json!(["z", null])),
            "a dimension of the same length has no name",
        ),
        (
            "/t",
            "cell_measures",
            "area: cells volume: gone",
            "/cells",
            array(&[8], &json!([null])),
            "a dimension of the same length has no name",
        ),
        (
            "/t",
            "grid_mapping",
            "crs: y",
            "/crs",
            array(&[8], &json!([""])),
            "a dimension of the same length has no name",
        ),
    ] {
        let world = World::new(2).await;
        let session = world.writer().await;
        put(&session, other, document).await;
        set_attributes(&session, at, json!({attribute: text})).await;
        let before = commit(&session, "an attribute").await;
        let error = world
            .rolling()
            .change(&Change::roll(4))
            .await
            .expect_err(words);
        assert!(matches!(&error, RollingError::LeftBehind { .. }), "{error}");
        let said = error.to_string();
        assert!(
            said.starts_with(&format!(
                "{other}, which {at} names in its attribute {attribute:?}"
            )),
            "{said}"
        );
        assert!(said.contains(words), "{said}");
        assert_eq!(world.read().await.snapshot_id().expect("there"), before);
    }
}

icefield_testkit::both_versions!(coordinates_above_the_group_must_move_too);
async fn coordinates_above_the_group_must_move_too() {
    let world = World::new(2).await;
    let session = world.writer().await;
    set_attributes(&session, "/deep/v", json!({"coordinates": "time"})).await;
    commit(&session, "an attribute").await;
    let below = world.rolling().below(path("/deep"));
    let error = below
        .change(&Change::roll(4))
        .await
        .expect_err("the labels would stay");
    let said = error.to_string();
    for part in ["/time, which /deep/v names", "it is not below the group"] {
        assert!(said.contains(part), "{said}");
    }
    world
        .rolling()
        .change(&Change::roll(4))
        .await
        .expect("all of them");
}

icefield_testkit::both_versions!(what_has_nothing_to_do_with_it_may_stay);
async fn what_has_nothing_to_do_with_it_may_stay() {
    let world = World::new(2).await;
    let session = world.writer().await;
    put(&session, "/crs", array(&[], &json!([]))).await;
    put(&session, "/area", array(&[4, 6], &Value::Null)).await;
    put(&session, "/levels", array(&[8], &json!(["z"]))).await;
    let names = json!({
        "grid_mapping": "crs", "cell_measures": "area: area volume: of_another_file",
        "coordinates": "time levels /y", "ancillary_variables": "u", "bounds": 7,
    });
    set_attributes(&session, "/t", names).await;
    commit(&session, "attributes").await;
    world
        .rolling()
        .change(&Change::roll(4))
        .await
        .expect("moved");
}
