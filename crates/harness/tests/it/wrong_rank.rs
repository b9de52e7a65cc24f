//! Chunks that the reference implementation accepted under coordinates of a wrong rank: absent for a reader,
//! and no obstacle to all else.

use std::path::{Path, PathBuf};

use icefield::Location;
use icefield_core::{BranchName, ByteRange, CommitOutcome, NodePath, Session, WriteMode};

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("writable");
    for entry in std::fs::read_dir(from).expect("readable") {
        let entry = entry.expect("readable");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("known").is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("writable");
        }
    }
}

async fn check(session: &Session) {
    let path = |text: &str| NodePath::parse(text).expect("valid");
    for index in [[0, 0], [0, 1], [1, 0], [1, 1]] {
        let chunk = session.chunk(&path("/a"), &index, ByteRange::All).await;
        assert!(chunk.expect("readable").is_some(), "{index:?}");
    }
    for (array, index) in [
        ("/a", &[0][..]),
        ("/a", &[1, 1, 1]),
        ("/b", &[0]),
        ("/z", &[0]),
    ] {
        let chunk = session.chunk(&path(array), index, ByteRange::All).await;
        assert_eq!(chunk.expect("absent, not wrong"), None, "{array} {index:?}");
    }
}

#[tokio::test]
async fn chunks_of_a_wrong_rank_are_absent_and_hinder_nothing() {
    let fixture = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/wrong-rank/repo");
    let folder = tempfile::tempdir().expect("writable");
    copy(&fixture, folder.path());
    let repository = icefield_harness::open(&Location::of_path(folder.path()))
        .await
        .expect("it opens");
    check(
        &repository
            .read_session(BranchName::main())
            .await
            .expect("main"),
    )
    .await;
    // One commit that carries the odd manifest over, one that rewrites it.
    for array in ["/new", "/a"] {
        let session = repository
            .write_session(BranchName::main())
            .await
            .expect("main");
        let path = NodePath::parse(array).expect("valid");
        if array == "/new" {
            let group = r#"{"zarr_format":3,"node_type":"group"}"#;
            session
                .set_metadata(&path, group.into(), WriteMode::Overwrite)
                .await
                .expect("valid");
        } else {
            session
                .set_chunk(&path, &[0, 0], vec![7; 20].into(), WriteMode::Overwrite)
                .await
                .expect("in the grid");
        }
        let outcome = session.commit(array).await.expect("valid");
        assert!(
            matches!(outcome, CommitOutcome::Committed(_)),
            "{outcome:?}"
        );
        check(
            &repository
                .read_session(BranchName::main())
                .await
                .expect("main"),
        )
        .await;
    }
}
