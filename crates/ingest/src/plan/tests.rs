use std::collections::BTreeSet;

use bytes::Bytes;
use icefield_core::{NodeKind, NodePath};
use serde_json::{Value, json};

use super::*;
use crate::{Hierarchy, ImportError, PlanError, SourceNode};

fn path(text: &str) -> NodePath {
    NodePath::parse(text).expect("a path")
}

fn group_with(attributes: Value) -> Value {
    json!({"zarr_format": 3, "node_type": "group", "attributes": attributes})
}

fn array(shape: &[u64], chunks: &[u64], names: &[&str]) -> Value {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "int8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}],
        "dimension_names": names,
    })
}

fn bytes(document: &Value) -> Bytes {
    serde_json::to_vec(document).expect("JSON").into()
}

fn hierarchy(nodes: &[(&str, Value)]) -> Hierarchy {
    let nodes = nodes.iter().map(|(at, document)| {
        let node = SourceNode::parse(bytes(document), 1 << 20).expect("valid");
        (path(at), node)
    });
    Hierarchy {
        nodes: nodes.collect(),
        ..Hierarchy::default()
    }
}

fn existing(nodes: &[(&str, Value)]) -> Existing {
    let mut existing = Existing::default();
    for (at, document) in nodes {
        let kind = match document["node_type"].as_str() {
            Some("array") => NodeKind::Array,
            _ => NodeKind::Group,
        };
        existing.kinds.insert(path(at), kind);
        existing.documents.insert(path(at), bytes(document));
    }
    existing
}

fn refused(result: Result<Plan, ImportError>) -> PlanError {
    match result {
        Err(ImportError::Plan(error)) => error,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn missing_groups_are_made_plain() {
    let source = hierarchy(&[("/deep/down/x", array(&[4], &[2], &["t"]))]);
    let plan = create(&source, &path("/a/b"), None, &Existing::default()).expect("plans");
    let paths: Vec<&str> = plan.documents.keys().map(NodePath::as_str).collect();
    assert_eq!(
        paths,
        [
            "/",
            "/a",
            "/a/b",
            "/a/b/deep",
            "/a/b/deep/down",
            "/a/b/deep/down/x"
        ]
    );
    assert_eq!((plan.new_groups, plan.new_arrays), (5, 1));
    assert_eq!(plan.transfers[0].to, path("/a/b/deep/down/x"));
}

#[test]
fn no_node_is_called_like_a_document() {
    for at in ["/zarr.json", "/a/zarr.json/x"] {
        let source = hierarchy(&[(at, array(&[4], &[2], &["t"]))]);
        let error = refused(create(
            &source,
            &NodePath::root(),
            None,
            &Existing::default(),
        ));
        assert!(matches!(error, PlanError::NameOfDocument { .. }), "{error}");
    }
}

#[test]
fn an_array_is_never_replaced() {
    let source = hierarchy(&[
        ("/", group_with(json!({}))),
        ("/x", array(&[4], &[2], &["t"])),
    ]);
    let root = path("/");
    let array_there = existing(&[("/x", array(&[9], &[2], &["t"]))]);
    let error = refused(create(&source, &root, None, &array_there));
    assert_eq!(error, PlanError::AlreadyExists { path: path("/x") });
    let group_there = existing(&[("/x", group_with(json!({})))]);
    let error = refused(create(&source, &root, None, &group_there));
    assert!(matches!(error, PlanError::KindDiffers { .. }), "{error}");
    let below = existing(&[("/a", array(&[9], &[2], &["t"]))]);
    let error = refused(create(&source, &path("/a/b"), None, &below));
    assert!(matches!(error, PlanError::BelowArray { .. }), "{error}");
}

#[test]
fn of_two_groups_the_one_that_says_something_stays() {
    let titled = || group_with(json!({"title": "one"}));
    let source = |attributes: Value| hierarchy(&[("/", group_with(attributes))]);
    let root = path("/");

    let taken = create(
        &source(json!({"title": "one"})),
        &root,
        None,
        &existing(&[("/", group_with(json!({})))]),
    );
    assert_eq!(taken.expect("plans").documents.len(), 1);
    let kept = create(
        &source(json!({})),
        &root,
        None,
        &existing(&[("/", titled())]),
    )
    .expect("plans");
    assert!(kept.documents.is_empty() && kept.kept_groups == [path("/")]);
    let same = create(
        &source(json!({"title": "one"})),
        &root,
        None,
        &existing(&[("/", titled())]),
    );
    assert_eq!(same.expect("plans"), Plan::default());
    let error = refused(create(
        &source(json!({"title": "two"})),
        &root,
        None,
        &existing(&[("/", titled())]),
    ));
    assert!(error.to_string().contains("attributes.title"), "{error}");
}

#[test]
fn an_append_grows_what_has_the_dimension_and_compares_the_rest() {
    let nodes = |attributes: Value| {
        [
            ("/", group_with(attributes)),
            ("/x", array(&[4, 3], &[2, 2], &["t", "y"])),
            ("/y", array(&[3], &[3], &["y"])),
        ]
    };
    let plan = append(
        &hierarchy(&nodes(json!({"n": 2}))),
        &path("/"),
        &Along::all("t"),
        &existing(&nodes(json!({"n": 1}))),
    )
    .expect("plans");
    assert_eq!(plan.extended_arrays, [path("/x")]);
    assert_eq!(plan.kept_groups, [path("/")]);
    let document: Value = serde_json::from_slice(&plan.documents[&path("/x")]).expect("JSON");
    assert_eq!(document["shape"], json!([8, 3]));
    assert_eq!(plan.documents.len(), 1);
    let actions = plan.transfers.iter().map(|it| (it.to.as_str(), &it.action));
    assert!(actions.eq([("/y", &Action::Compare)]));
    let [growth] = &plan.growths[..] else {
        panic!("{plan:?}");
    };
    assert_eq!((growth.to.as_str(), growth.axis), ("/x", 0));
    assert_eq!((growth.at, growth.kept.clone()), (4, 0..4));
    assert_eq!(growth.recoded, None);
}

#[test]
fn elements_of_other_chunks_and_codecs_are_put_behind_one_another() {
    let here = ("/x", array(&[3, 2], &[2, 2], &["t", "y"]));
    for edit in [
        |it: &mut Value| it["codecs"] = json!([{ "name": "bytes" }, { "name": "zstd" }]),
        |it: &mut Value| it["chunk_grid"]["configuration"]["chunk_shape"] = json!([4, 1]),
        |it: &mut Value| it["fill_value"] = json!(1),
    ] {
        let mut other = array(&[4, 2], &[2, 2], &["t", "y"]);
        edit(&mut other);
        let there = existing(std::slice::from_ref(&here));
        let plan = append(
            &hierarchy(&[("/x", other)]),
            &path("/"),
            &Along::all("t"),
            &there,
        );
        let plan = plan.expect("the elements fit");
        assert!(plan.growths[0].recoded.is_some(), "{plan:?}");
        assert_eq!(plan.growths[0].at, 3);
    }
}

#[test]
fn what_is_left_out_shortens_what_is_made() {
    let nodes = [
        ("/x", array(&[4, 3], &[2, 2], &["y", "t"])),
        ("/z", array(&[5], &[2], &["t"])),
    ];
    let along = |of| Along {
        dimension: "t",
        kept: Some((1..3, of)),
    };
    let source = hierarchy(&nodes[..1]);
    let plan = create(&source, &path("/"), Some(&along(3)), &Existing::default());
    let plan = plan.expect("plans");
    let document: Value = serde_json::from_slice(&plan.documents[&path("/x")]).expect("JSON");
    assert_eq!(document["shape"], json!([4, 2]));
    assert_eq!(
        (plan.growths[0].kept.clone(), plan.transfers.len()),
        (1..3, 0)
    );
    let longer = hierarchy(&nodes);
    let error = refused(create(
        &longer,
        &path("/"),
        Some(&along(3)),
        &Existing::default(),
    ));
    assert!(matches!(error, PlanError::LengthDiffers { .. }), "{error}");
}

#[test]
fn arrays_of_others_do_not_grow() {
    let mut existing = existing(&[
        ("/g/a", array(&[1], &[1], &["t"])),
        ("/g/old", array(&[1], &[1], &["t"])),
        ("/g/other", group_with(json!({}))),
    ]);
    existing.narrow(&BTreeSet::from([path("/g/a")]));
    let kinds: Vec<&str> = existing.kinds.keys().map(NodePath::as_str).collect();
    assert_eq!(kinds, ["/g/a", "/g/other"]);
    assert_eq!(existing.documents.len(), 2);
}

#[test]
fn an_append_that_does_not_fit_is_refused_by_name() {
    let root = path("/");
    let try_append = |here: &[(&str, Value)], added: &[(&str, Value)]| {
        refused(append(
            &hierarchy(added),
            &root,
            &Along::all("t"),
            &existing(here),
        ))
    };
    let x = |shape: &[u64], chunks: &[u64]| ("/x", array(shape, chunks, &["t"]));

    let flat = |names: &str| ("/x", array(&[2, 1], &[2, 1], &["t", names]));
    let error = try_append(&[flat("y")], &[flat("z")]);
    assert!(error.to_string().contains("dimension_names[1]"), "{error}");
    let error = try_append(&[], &[x(&[2], &[2])]);
    assert_eq!(error, PlanError::NotInTarget { path: path("/x") });
    let error = try_append(
        &[x(&[2], &[2]), ("/z", array(&[1], &[1], &["t"]))],
        &[x(&[2], &[2])],
    );
    assert_eq!(error, PlanError::NotInSource { path: path("/z") });
    let other = || ("/x", array(&[2], &[2], &["y"]));
    let error = try_append(&[other()], &[other()]);
    assert!(
        matches!(error, PlanError::NoSuchDimension { .. }),
        "{error}"
    );
    let twice = || ("/x", array(&[2, 2], &[2, 2], &["t", "t"]));
    let error = try_append(&[twice()], &[twice()]);
    assert!(matches!(error, PlanError::DimensionTwice { .. }), "{error}");
    let error = try_append(&[x(&[1 << 31], &[1])], &[x(&[1 << 31], &[1])]);
    assert!(matches!(error, PlanError::TooLong { .. }), "{error}");
    let error = try_append(&[("/x", group_with(json!({})))], &[x(&[2], &[2])]);
    assert!(matches!(error, PlanError::KindDiffers { .. }), "{error}");
}
