//! Helpers that the tests share.

use std::path::Path;
use std::sync::{Arc, Mutex};

use futures::TryStreamExt;
use icefield_zarr_fs::{
    Bytes, DirectoryTree, GetRange, ReadTree, Skipped, TreeKey, TreePrefix, WriteTree,
};
use tempfile::TempDir;

/// A directory that is gone at the end of the test; the tree lies in a directory inside it, to see what is beside.
pub(crate) struct World {
    pub(crate) outer: TempDir,
    pub(crate) tree: DirectoryTree,
}

pub(crate) fn world() -> World {
    let outer = tempfile::tempdir().unwrap();
    let base = outer.path().join("base");
    std::fs::create_dir(&base).unwrap();
    let tree = DirectoryTree::open(base).unwrap();
    World { outer, tree }
}

impl World {
    pub(crate) fn base(&self) -> &Path {
        self.tree.path()
    }

    /// Writes behind the tree's back.
    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.base().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

pub(crate) fn key(text: &str) -> TreeKey {
    TreeKey::parse(text).unwrap()
}

pub(crate) fn prefix(text: &str) -> TreePrefix {
    TreePrefix::parse(text).unwrap()
}

pub(crate) async fn get(tree: &dyn ReadTree, name: &str) -> Option<Bytes> {
    tree.get(&key(name), GetRange::All).await.unwrap()
}

pub(crate) async fn set(tree: &dyn WriteTree, name: &str, value: &'static str) {
    tree.set(&key(name), value.into()).await.unwrap();
}

pub(crate) async fn list(tree: &dyn ReadTree, below: &str) -> Vec<String> {
    let entries: Vec<_> = tree.list(&prefix(below)).try_collect().await.unwrap();
    entries.into_iter().map(|e| e.key.to_string()).collect()
}

/// Keys, then prefixes.
pub(crate) async fn dir(tree: &dyn ReadTree, below: &str) -> (Vec<String>, Vec<String>) {
    let children = tree.children(&prefix(below)).await.unwrap();
    (
        children.keys.iter().map(ToString::to_string).collect(),
        children.prefixes.iter().map(ToString::to_string).collect(),
    )
}

/// Every name below a directory, for what a tree does not list.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut left = vec![directory.to_owned()];
    while let Some(at) = left.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                left.push(entry.path());
            }
            let path = entry.path();
            let name = path.strip_prefix(directory).unwrap();
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    names
}

/// A list of what was skipped, and the function that fills it.
#[derive(Clone, Default)]
pub(crate) struct Reports(Arc<Mutex<Vec<Skipped>>>);

impl Reports {
    pub(crate) fn report(&self) -> impl Fn(&Skipped) + Send + Sync + 'static + use<> {
        let reports = Arc::clone(&self.0);
        move |skipped| reports.lock().unwrap().push(skipped.clone())
    }

    pub(crate) fn take(&self) -> Vec<Skipped> {
        let mut reports = std::mem::take(&mut *self.0.lock().unwrap());
        reports.sort_by(|a, b| a.name.cmp(&b.name));
        reports
    }
}

/// An error and its causes.
pub(crate) fn words(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
