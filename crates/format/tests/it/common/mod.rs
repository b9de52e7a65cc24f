//! Common parts of the integration tests: the fixtures, and encoding decoded values again.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]

pub mod roundtrip;

use std::fs;
use std::path::{Path, PathBuf};

use icefield_format::layout::{IdKey, parse_id_key};
use icefield_format::{DecodeLimits, FormatError, Manifest, Snapshot, SpecVersion, TransactionLog};

/// A binary file of a fixture.
pub struct Sample {
    pub path: PathBuf,
    pub key: IdKey,
    pub bytes: Vec<u8>,
}

/// A file decoded as what its key says.
pub enum Decoded {
    Snapshot(Snapshot),
    Manifest(Manifest),
    Log(TransactionLog),
}

pub fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vectors")
}

/// Returns the roots of the repositories of spec 1, each with its expectations.
pub fn v1_repositories() -> Vec<(PathBuf, PathBuf)> {
    let mut found: Vec<_> = directories(&vectors(), "v1-")
        .into_iter()
        .map(|vector| (vector.join("repo"), vector.join("expected.json")))
        .collect();
    let upgraded = vectors().join("v2-upgraded");
    found.push((
        upgraded.join("before"),
        upgraded.join("expected-before.json"),
    ));
    assert!(found.len() > 16, "the fixtures are missing");
    found
}

/// Returns the roots of the repositories of spec 2, each with its expectations.
pub fn v2_repositories() -> Vec<(PathBuf, PathBuf)> {
    let found: Vec<_> = directories(&vectors(), "v2-")
        .into_iter()
        .map(|vector| (vector.join("repo"), vector.join("expected.json")))
        .collect();
    assert!(found.len() > 14, "the fixtures are missing");
    found
}

/// Returns the roots of the repositories of spec 2 that the reference implementation wrote from Rust.
pub fn v2_rust_repositories() -> Vec<(PathBuf, PathBuf)> {
    let parent = vectors().with_file_name("vectors-v2");
    let vectors = directories(&parent, "");
    let vectors = vectors.into_iter().filter(|vector| vector.is_dir());
    vectors
        .map(|vector| (vector.join("repo"), vector.join("expected.json")))
        .collect()
}

/// Returns the snapshots, manifests and transaction logs of spec 2 in all repositories.
pub fn v2_samples() -> Vec<Sample> {
    let repositories = v2_repositories().into_iter().chain(v2_rust_repositories());
    let samples = repositories.flat_map(|(repository, _)| samples(&repository));
    // An upgraded repository keeps its files of spec 1.
    samples.filter(|sample| sample.bytes[36] == 2).collect()
}

/// Returns all versions of `repo` in all repositories of spec 2.
pub fn repo_objects() -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for (repository, _) in v2_repositories().into_iter().chain(v2_rust_repositories()) {
        let mut paths = vec![repository.join("repo")];
        if repository.join("overwritten").is_dir() {
            paths.extend(directories(&repository.join("overwritten"), "repo."));
        }
        found.extend(paths.into_iter().map(|path| {
            let bytes = fs::read(&path).unwrap();
            (path, bytes)
        }));
    }
    assert!(found.len() > 100, "{}", found.len());
    found
}

pub fn directories(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = entries
        .filter(|path| file_name(path).starts_with(prefix))
        .collect();
    found.sort();
    found
}

pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Returns the snapshots, manifests and transaction logs of a repository.
pub fn samples(repository: &Path) -> Vec<Sample> {
    let mut found = Vec::new();
    for kind in ["snapshots", "manifests", "transactions"] {
        let Ok(entries) = fs::read_dir(repository.join(kind)) else {
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            let key = parse_id_key(&format!("{kind}/{}", file_name(&path))).unwrap();
            let bytes = fs::read(&path).unwrap();
            found.push(Sample { path, key, bytes });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Returns all of them in all repositories of spec 1.
pub fn v1_samples() -> Vec<Sample> {
    v1_repositories()
        .iter()
        .flat_map(|(repository, _)| samples(repository))
        .collect()
}

pub fn decode(key: IdKey, bytes: &[u8]) -> Result<Decoded, FormatError> {
    let limits = DecodeLimits::up_to(SpecVersion::V2);
    match key {
        IdKey::Snapshot(id) => Snapshot::decode(bytes, id, &limits).map(Decoded::Snapshot),
        IdKey::Manifest(id) => Manifest::decode(bytes, id, &limits).map(Decoded::Manifest),
        IdKey::TransactionLog(id) => TransactionLog::decode(bytes, id, &limits).map(Decoded::Log),
        IdKey::Chunk(_) => panic!("chunks are not decoded"),
    }
}

impl Decoded {
    /// Returns everything in the file, as text that can be compared.
    pub fn content(&self) -> String {
        match self {
            Self::Snapshot(snapshot) => roundtrip::snapshot_content(snapshot),
            Self::Manifest(manifest) => roundtrip::manifest_content(manifest),
            Self::Log(log) => roundtrip::log_content(log),
        }
    }

    /// Returns a new file of the same content.
    pub fn encode(&self) -> Result<Vec<u8>, FormatError> {
        let bytes = match self {
            Self::Snapshot(snapshot) => roundtrip::encode_snapshot(snapshot)?,
            Self::Manifest(manifest) => roundtrip::encode_manifest(manifest)?,
            Self::Log(log) => roundtrip::encode_log(log)?,
        };
        Ok(bytes.to_vec())
    }
}
