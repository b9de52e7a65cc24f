//! Exporting: whole or not at all.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::sync::{Arc, Mutex};

use common::{Tree, array, files, group, path, repository, run};
use icefield_core::{BranchName, NodePath, Session, WriteMode};
use icefield_ingest::{Export, ExportError, Progress};
use serde_json::json;

async fn session() -> Session {
    let tree = Tree::new();
    tree.json("zarr.json", &group(json!({})))
        .json("x/zarr.json", &array(&[2], &[1], &["t"]))
        .file("x/c/0", [1])
        .file("x/c/1", vec![2; 1000]);
    let repository = repository().await;
    run(tree.import(), &repository).await;
    repository.write_session(BranchName::main()).await.unwrap()
}

#[tokio::test]
async fn a_new_or_an_empty_directory_is_filled() {
    let (session, place) = (session().await, Tree::new());
    let new = place.path().join("new");
    let report = Export::new(session.clone()).run(&new).await.unwrap();
    assert_eq!(
        (report.groups, report.arrays, report.chunks, report.bytes),
        (1, 1, 2, 1001)
    );
    let empty = place.path().join("empty");
    fs::create_dir(&empty).unwrap();
    Export::new(session).run(&empty).await.unwrap();
    assert_eq!(files(&new), files(&empty));
    assert_eq!(files(&new).len(), 4);
}

#[tokio::test]
async fn nothing_that_is_there_is_touched() {
    let (session, place) = (session().await, Tree::new());
    place.file("full/x", "mine").file("file", "mine");
    for taken in ["full", "file"] {
        let error = Export::new(session.clone())
            .run(place.path().join(taken))
            .await
            .unwrap_err();
        assert!(
            matches!(error, ExportError::AlreadyExists { .. }),
            "{error}"
        );
    }
    let nowhere = place.path().join("no/such/place");
    let error = Export::new(session).run(nowhere).await.unwrap_err();
    assert!(matches!(error, ExportError::NoParent { .. }), "{error}");
    assert_eq!(files(place.path()).len(), 2);
}

#[tokio::test]
async fn an_export_that_fails_leaves_nothing_behind() {
    let (session, place) = (session().await, Tree::new());
    // A node with the name of the document cannot stand in a directory.
    session
        .set_metadata(
            &path("/deep/zarr.json"),
            group(json!({})).to_string().into(),
            WriteMode::Overwrite,
        )
        .await
        .unwrap();
    let error = Export::new(session)
        .run(place.path().join("new"))
        .await
        .unwrap_err();
    assert!(matches!(error, ExportError::NodeName { .. }), "{error}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn an_empty_repository_has_nothing_to_export() {
    let session = repository()
        .await
        .read_session(BranchName::main())
        .await
        .unwrap();
    let place = Tree::new();
    let error = Export::new(session)
        .run(place.path().join("new"))
        .await
        .unwrap_err();
    assert!(matches!(error, ExportError::Empty), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn the_directory_gets_ordinary_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let (session, place) = (session().await, Tree::new());
    let (new, plain) = (place.path().join("new"), place.path().join("plain"));
    Export::new(session).run(&new).await.unwrap();
    fs::create_dir(&plain).unwrap();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&new), mode(&plain));
}

#[derive(Default)]
struct Events(Mutex<Vec<String>>);

impl Events {
    fn note(&self, event: String) {
        self.0.lock().unwrap().push(event);
    }
}

impl Progress for Events {
    fn expected(&self, chunks: u64) {
        self.note(format!("expected {chunks}"));
    }

    fn array(&self, path: &NodePath) {
        self.note(format!("array {path}"));
    }

    fn chunk(&self, bytes: u64) {
        self.note(format!("chunk {bytes}"));
    }

    fn absent(&self, chunks: u64) {
        self.note(format!("absent {chunks}"));
    }

    fn finishing(&self) {
        self.note("finishing".to_owned());
    }
}

#[tokio::test]
async fn progress_is_told() {
    let tree = Tree::new();
    tree.json("x/zarr.json", &array(&[3], &[1], &["t"]))
        .file("x/c/0", [1])
        .file("x/c/2", [2]);
    let events = Arc::new(Events::default());
    let repository = repository().await;
    run(
        tree.import().progress(Arc::<Events>::clone(&events)),
        &repository,
    )
    .await;
    let mut found = std::mem::take(&mut *events.0.lock().unwrap());
    assert_eq!(found[0], "expected 3");
    assert_eq!(found.last().map(String::as_str), Some("finishing"));
    found.sort();
    assert_eq!(
        found,
        [
            "absent 1",
            "array /x",
            "chunk 1",
            "chunk 1",
            "expected 3",
            "finishing"
        ]
    );
}
