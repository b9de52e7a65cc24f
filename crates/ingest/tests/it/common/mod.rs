//! Trees of files, and repositories in memory.
#![allow(dead_code, reason = "what some features need")]

pub(crate) mod classic;
pub(crate) mod damage;
pub(crate) mod dump;
#[cfg(unix)]
pub(crate) mod numbers;
pub(crate) mod said;
#[cfg(feature = "codecs")]
pub(crate) mod values;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use icefield_core::{BranchName, Interrupt, NodePath, Repository};
use icefield_ingest::{
    Export, Import, ImportError, ImportReport, Imported, Progress, ZarrDirectory,
};
use icefield_storage_memory::MemoryStorage;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A directory that is filled file by file.
pub(crate) struct Tree(TempDir);

impl Tree {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    pub(crate) fn json(&self, name: &str, value: &Value) -> &Self {
        self.file(name, serde_json::to_vec_pretty(value).unwrap())
    }

    pub(crate) fn source(&self) -> Arc<ZarrDirectory> {
        Arc::new(ZarrDirectory::open(self.path()).unwrap())
    }

    pub(crate) fn import(&self) -> Import {
        Import::new(self.source())
    }
}

/// Raises an interrupt after so many calls.
pub(crate) struct After {
    interrupt: Interrupt,
    calls: AtomicUsize,
    last: usize,
}

impl After {
    pub(crate) fn calls(last: usize, interrupt: &Interrupt) -> Arc<Self> {
        Arc::new(Self {
            interrupt: interrupt.clone(),
            calls: AtomicUsize::new(0),
            last,
        })
    }

    fn call(&self) {
        if self.calls.fetch_add(1, Ordering::SeqCst) == self.last {
            self.interrupt.raise();
        }
    }
}

impl Progress for After {
    fn expected(&self, _: u64) {
        self.call();
    }

    fn array(&self, _: &NodePath) {
        self.call();
    }

    fn chunk(&self, _: u64) {
        self.call();
    }

    fn absent(&self, _: u64) {
        self.call();
    }
}

pub(crate) fn group(attributes: Value) -> Value {
    json!({"zarr_format": 3, "node_type": "group", "attributes": attributes})
}

pub(crate) fn array(shape: &[u64], chunks: &[u64], names: &[&str]) -> Value {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0, "codecs": [{"name": "bytes"}], "dimension_names": names,
    })
}

/// All files below a directory with their bytes.
pub(crate) fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut pending: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let name = path
                    .strip_prefix(root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

pub(crate) async fn repository() -> Repository {
    Repository::create(Arc::new(MemoryStorage::new()))
        .await
        .unwrap()
}

pub(crate) async fn run(import: Import, repository: &Repository) -> ImportReport {
    let imported: Imported = import
        .run(repository, BranchName::main(), "test")
        .await
        .unwrap();
    assert!(matches!(
        imported.commit,
        icefield_core::CommitOutcome::Committed(_)
    ));
    imported.report
}

/// Runs an import that must fail, and checks that nothing was committed.
pub(crate) async fn refused(import: Import, repository: &Repository) -> ImportError {
    let before = repository
        .resolve(&BranchName::main().into())
        .await
        .unwrap();
    let error = match import.run(repository, BranchName::main(), "test").await {
        Err(error) => error,
        Ok(imported) => panic!("not refused: {imported:?}"),
    };
    let after = repository
        .resolve(&BranchName::main().into())
        .await
        .unwrap();
    assert_eq!(before, after, "an import that failed moved the branch");
    error
}

/// The whole hierarchy at the tip of main as files.
pub(crate) async fn exported(repository: &Repository) -> BTreeMap<String, Vec<u8>> {
    let session = repository.read_session(BranchName::main()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    Export::new(session).run(directory.path()).await.unwrap();
    files(directory.path())
}

pub(crate) fn path(text: &str) -> NodePath {
    NodePath::parse(text).unwrap()
}

/// An error and its causes in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
