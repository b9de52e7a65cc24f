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

#[cfg(unix)]
#[tokio::test]
async fn an_empty_directory_stays_the_one_it_is() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    let (session, place) = (session().await, Tree::new());
    let empty = place.path().join("empty");
    fs::create_dir(&empty).unwrap();
    fs::set_permissions(&empty, fs::Permissions::from_mode(0o710)).unwrap();
    let identity = || {
        let metadata = fs::metadata(&empty).unwrap();
        (metadata.ino(), metadata.mode())
    };
    let before = identity();
    // Also by another name.
    let link = place.path().join("link");
    symlink(&empty, &link).unwrap();
    Export::new(session).run(&link).await.unwrap();
    assert_eq!(identity(), before);
    assert_eq!(files(&empty).len(), 4);
    assert_eq!(
        fs::read_dir(&empty).unwrap().count(),
        2,
        "only zarr.json and x"
    );
}

#[tokio::test]
async fn an_export_into_an_empty_directory_that_fails_leaves_it_empty() {
    let (session, place) = (session().await, Tree::new());
    session
        .set_metadata(
            &path("/deep/zarr.json"),
            group(json!({})).to_string().into(),
            WriteMode::Overwrite,
        )
        .await
        .unwrap();
    Export::new(session).run(place.path()).await.unwrap_err();
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_name_may_be_as_long_as_names_can_be() {
    let (session, place) = (session().await, Tree::new());
    let new = place.path().join("n".repeat(255));
    Export::new(session).run(&new).await.unwrap();
    assert_eq!(files(&new).len(), 4);
}

#[tokio::test]
async fn the_repository_itself_is_no_destination() {
    let (session, place) = (session().await, Tree::new());
    let repository = place.path().join("r");
    fs::create_dir_all(repository.join("refs/empty")).unwrap();
    for inside in ["r/refs/x", "r/x", "r/refs/empty", "r/refs/../new"] {
        let error = Export::new(session.clone())
            .outside(&repository)
            .run(place.path().join(inside))
            .await
            .unwrap_err();
        assert!(
            matches!(&error, ExportError::InsideRepository { repository: it, .. } if *it == repository),
            "{inside}: {error}"
        );
    }
    assert!(files(place.path()).is_empty());
    // A name that only begins with the same letters is another place.
    for beside in ["r2", "new"] {
        Export::new(session.clone())
            .outside(&repository)
            .run(place.path().join(beside))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn consolidated_metadata_stays_behind() {
    let session = session().await;
    let document = br#"{"zarr_format": 3, "node_type": "group", "consolidated_metadata": {"metadata": {"gone": {}}}, "attributes": {"a": 1.0}}"#;
    session
        .set_metadata(&path("/g"), document[..].into(), WriteMode::Overwrite)
        .await
        .unwrap();
    let place = Tree::new();
    Export::new(session).run(place.path()).await.unwrap();
    assert_eq!(
        files(place.path())["g/zarr.json"],
        br#"{"zarr_format": 3, "node_type": "group", "attributes": {"a": 1.0}}"#
    );
}

#[tokio::test]
async fn progress_of_an_export_adds_up() {
    let tree = Tree::new();
    tree.json("x/zarr.json", &array(&[3], &[1], &["t"]))
        .file("x/c/0", [1])
        .file("x/c/2", [2]);
    let repository = repository().await;
    run(tree.import(), &repository).await;
    let session = repository.read_session(BranchName::main()).await.unwrap();
    let (events, place) = (Arc::new(Events::default()), Tree::new());
    Export::new(session)
        .progress(Arc::<Events>::clone(&events))
        .run(place.path())
        .await
        .unwrap();
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
