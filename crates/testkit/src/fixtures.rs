//! The repositories under `fixtures/vectors`, which the reference implementation wrote.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use icefield_storage::Storage;
use serde_json::Value;

use crate::stores;

/// Returns the folder of all vectors.
pub fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vectors")
}

/// Returns the names of the vectors that begin with a text, sorted.
///
/// # Panics
/// If the folder cannot be read.
pub fn names(start: &str) -> Vec<String> {
    let entries = fs::read_dir(vectors()).expect("the fixtures are part of the repository");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("a readable folder").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name.starts_with(start))
        .collect();
    names.sort_unstable();
    names
}

/// Puts a vector into a store, and returns what its `expected.json` says.
///
/// # Panics
/// If there is no such vector, or the store fails.
pub async fn load(name: &str, storage: &Arc<dyn Storage>) -> Value {
    let vector = vectors().join(name);
    let root = vector.join("repo");
    for file in files(&root) {
        let at = file.strip_prefix(&root).expect("it is below");
        let at = at.to_str().expect("the names of the fixtures are UTF-8");
        let bytes = fs::read(&file).expect("a readable file");
        stores::put(storage, at, bytes).await;
    }
    let expected = fs::read(vector.join("expected.json"));
    let expected = expected.unwrap_or_else(|error| panic!("{name} has no expected.json: {error}"));
    serde_json::from_slice(&expected).expect("expected.json is JSON")
}

/// Lists the files in and below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder);
    let entries = entries.unwrap_or_else(|error| panic!("no {}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort_unstable();
    found
}
