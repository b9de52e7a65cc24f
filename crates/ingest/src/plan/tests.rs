use bytes::Bytes;
use icefield_core::NodePath;
use serde_json::{Value, json};

use super::*;

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
    let plan = create(&source, &path("/a/b"), &Existing::default()).expect("plans");
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
fn an_array_is_never_replaced() {
    let source = hierarchy(&[
        ("/", group_with(json!({}))),
        ("/x", array(&[4], &[2], &["t"])),
    ]);
    let root = path("/");
    let array_there = existing(&[("/x", array(&[9], &[2], &["t"]))]);
    let error = refused(create(&source, &root, &array_there));
    assert_eq!(error, PlanError::AlreadyExists { path: path("/x") });
    let group_there = existing(&[("/x", group_with(json!({})))]);
    let error = refused(create(&source, &root, &group_there));
    assert!(matches!(error, PlanError::KindDiffers { .. }), "{error}");
    let below = existing(&[("/a", array(&[9], &[2], &["t"]))]);
    let error = refused(create(&source, &path("/a/b"), &below));
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
        &existing(&[("/", group_with(json!({})))]),
    );
    assert_eq!(taken.expect("plans").documents.len(), 1);
    let kept = create(&source(json!({})), &root, &existing(&[("/", titled())])).expect("plans");
    assert!(kept.documents.is_empty() && kept.kept_groups == [path("/")]);
    let same = create(
        &source(json!({"title": "one"})),
        &root,
        &existing(&[("/", titled())]),
    );
    assert_eq!(same.expect("plans"), Plan::default());
    let error = refused(create(
        &source(json!({"title": "two"})),
        &root,
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
        "t",
        &existing(&nodes(json!({"n": 1}))),
    )
    .expect("plans");
    assert_eq!(plan.extended_arrays, [path("/x")]);
    assert_eq!(plan.kept_groups, [path("/")]);
    let document: Value = serde_json::from_slice(&plan.documents[&path("/x")]).expect("JSON");
    assert_eq!(document["shape"], json!([8, 3]));
    assert_eq!(plan.documents.len(), 1);
    let actions: Vec<_> = plan
        .transfers
        .iter()
        .map(|it| (it.to.as_str(), &it.action))
        .collect();
    assert_eq!(
        actions,
        [
            ("/y", &Action::Compare),
            ("/x", &Action::Copy { offset: vec![2, 0] })
        ]
    );
}

#[test]
fn what_has_one_dimension_is_joined_within_a_chunk() {
    let numbers = |length: u64, codec: &str| {
        let mut document = array(&[length], &[2], &["t"]);
        document["data_type"] = json!("int16");
        document["codecs"] = json!([{ "name": "bytes", "configuration": { "endian": "little" } }, { "name": codec }]);
        ("/x", document)
    };
    let (here, added) = (numbers(3, "zstd"), numbers(4, "zstd"));
    let plan = append(&hierarchy(&[added]), &path("/"), "t", &existing(&[here])).expect("it fits");
    assert_eq!(plan.transfers, []);
    let [join] = &plan.joins[..] else {
        panic!("{plan:?}");
    };
    assert_eq!(
        (join.length, join.chunk, &join.array.shape[..]),
        (3, 2, &[4][..])
    );
    let (here, added) = (numbers(3, "blosc"), numbers(4, "blosc"));
    let error = refused(append(
        &hierarchy(&[added]),
        &path("/"),
        "t",
        &existing(&[here]),
    ));
    assert!(matches!(error, PlanError::PartialChunk { .. }), "{error}");
}

#[test]
fn an_append_that_does_not_fit_is_refused_by_name() {
    let root = path("/");
    let try_append = |here: &[(&str, Value)], added: &[(&str, Value)]| {
        refused(append(&hierarchy(added), &root, "t", &existing(here)))
    };
    let x = |shape: &[u64], chunks: &[u64]| ("/x", array(shape, chunks, &["t"]));

    let flat = |length: u64| ("/x", array(&[length, 1], &[2, 1], &["t", "y"]));
    let error = try_append(&[flat(3)], &[flat(2)]);
    assert!(
        matches!(&error, PlanError::PartialChunk { path, length: 3, chunk: 2, .. } if path.as_str() == "/x"),
        "{error}"
    );
    let error = try_append(&[x(&[2], &[2])], &[x(&[2], &[1])]);
    assert!(
        error
            .to_string()
            .contains("chunk_grid.configuration.chunk_shape[0]"),
        "{error}"
    );
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
