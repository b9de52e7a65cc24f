//! The datasets below `fixtures/nczarr`.

use std::fs;
use std::path::{Path, PathBuf};

use icefield_nczarr::{Documents, is_document, parse_json};
use serde_json::Value;

/// A dataset in a directory.
pub(crate) struct Case {
    /// Such as `netcdf-c-4.10.1-nczarr/types`.
    pub(crate) name: String,
    pub(crate) documents: Documents,
    pub(crate) expected: Value,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/nczarr/vectors")
}

/// All datasets of Zarr format 2 that are not in zip files.
pub(crate) fn directories() -> Vec<Case> {
    let mut found = Vec::new();
    for expected in below(&root()) {
        if expected
            .file_name()
            .is_none_or(|name| name != "expected.json")
        {
            continue;
        }
        let directory = expected.parent().expect("a directory");
        let data = directory.join("data");
        if !data.is_dir() || data.join("zarr.json").exists() {
            continue;
        }
        let name = directory.strip_prefix(root()).expect("below");
        found.push(Case {
            name: name.to_string_lossy().into_owned(),
            documents: documents(&data),
            expected: json(&expected),
        });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    assert!(found.len() >= 50, "{} datasets", found.len());
    found
}

fn documents(data: &Path) -> Documents {
    let mut documents = Documents::new();
    for file in below(data) {
        let key = file.strip_prefix(data).expect("below");
        let key = key.to_string_lossy().into_owned();
        if is_document(&key) {
            documents.insert(key, json(&file));
        }
    }
    documents
}

fn json(file: &Path) -> Value {
    let bytes = fs::read(file).expect("readable");
    parse_json(&bytes).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files.extend(below(&path)),
            false => files.push(path),
        }
    }
    files
}
