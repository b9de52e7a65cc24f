//! The repositories of the reference implementation of both spec versions read exactly as their
//! `expected.json` says.

use std::path::{Path, PathBuf};

use icefield::Location;
use serde_json::Value;

fn vectors(prefix: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vectors");
    let mut found: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the fixtures are part of the repository")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with(prefix))
        })
        .collect();
    found.sort();
    found
}

/// Compares what is expected with what was found, member by member; what only one side can know is named in
/// `skip`.
fn compare(at: &str, expected: &Value, found: &Value, skip: &[&str], problems: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            for (name, value) in expected {
                if skip.contains(&name.as_str()) {
                    continue;
                }
                match found.get(name) {
                    Some(found) => compare(&format!("{at}.{name}"), value, found, skip, problems),
                    None if value.is_null() => {}
                    None => problems.push(format!("{at}.{name} is missing")),
                }
            }
            if let Some(name) = found
                .keys()
                .find(|name| !expected.contains_key(*name) && !skip.contains(&name.as_str()))
            {
                problems.push(format!("{at}.{name} should not be there"));
            }
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            for (number, (expected, found)) in expected.iter().zip(found).enumerate() {
                compare(&format!("{at}[{number}]"), expected, found, skip, problems);
            }
        }
        _ if expected == found => {}
        _ => problems.push(format!("{at}: expected {expected}, found {found}")),
    }
}

/// Bytes of virtual chunks are not read here, and how their locations are stored is no concern of a reader.
fn without_virtual_bytes(mut expected: Value) -> Value {
    fn visit(value: &mut Value) {
        if let Value::Object(map) = value {
            if map.get("kind").is_some_and(|kind| kind == "virtual") {
                map.remove("sha256");
                map.remove("compressed_location");
            }
            if map.get("kind").is_some_and(|kind| kind == "inline") {
                map.remove("offset");
            }
            map.values_mut().for_each(visit);
        }
    }
    visit(&mut expected);
    expected
}

/// Reads every vector of a version, and returns how many there are.
async fn read_all(prefix: &str) -> usize {
    let mut read = 0;
    for vector in vectors(prefix) {
        let name = vector.file_name().expect("named").to_string_lossy();
        let text = std::fs::read(vector.join("expected.json")).expect("present");
        let expected: Value = serde_json::from_slice(&text).expect("valid");
        let expected = without_virtual_bytes(expected);
        let repository = icefield_harness::open(&Location::of_path(vector.join("repo")))
            .await
            .unwrap_or_else(|error| panic!("{name}: {error:#}"));
        let found = icefield_harness::dump::dump(&repository)
            .await
            .unwrap_or_else(|error| panic!("{name}: {error:#}"));
        let mut problems = Vec::new();
        for part in ["branches", "tags", "deleted_tags"] {
            compare(part, &expected[part], &found[part], &[], &mut problems);
        }
        let skip = [
            "manifest_files",
            "file_spec_version",
            "transaction_log",
            "manifests",
            // The documents of arrays say how they are cut; the one of these two follows from it.
            "num_chunks",
            "chunk_shape",
            // Of the graph, which the tests of the ledger look at.
            "pruned_ancestor_tx_logs",
        ];
        let at = "snapshots";
        let mut listed = expected[at].clone();
        if let (Value::Object(listed), "v2-") = (&mut listed, prefix) {
            // The output names the objects that refs reach; version 2 lists unreachable snapshots, too.
            listed.retain(|id, _| found[at].get(id).is_some());
            assert!(!listed.is_empty(), "{name}");
        }
        compare(at, &listed, &found[at], &skip, &mut problems);
        assert!(problems.is_empty(), "{name}: {}", problems.join("\n"));
        read += 1;
    }
    read
}

#[tokio::test]
async fn every_v1_vector_reads_as_expected() {
    assert_eq!(
        read_all("v1-").await,
        18,
        "a vector was added or is missing"
    );
}

#[tokio::test]
async fn every_v2_vector_reads_as_expected() {
    assert_eq!(
        read_all("v2-").await,
        16,
        "a vector was added or is missing"
    );
}
