//! Forks that go to other processes and come back.

use std::path::Path;
use std::process::Command;

use icefield::Location;
use icefield_core::{
    BranchName, ByteRange, CommitOutcome, MergeOutcome, NodePath, Session, VersionSelection,
    WriteMode,
};

const PROBE: &str = env!("CARGO_BIN_EXE_icefield-probe");

fn write_elsewhere(repository: &Path, fork: &Path, index: u32, byte: u8) -> bool {
    let mut command = Command::new(PROBE);
    command.arg("fork").args([repository, fork]);
    command.args([index.to_string(), byte.to_string()]);
    let output = command.output().expect("the probe was built");
    output.status.success()
}

#[tokio::test]
async fn b27_workers_in_other_processes_write_into_one_commit() {
    const WORKERS: u32 = 4;
    let folder = tempfile::tempdir().expect("writable");
    let path = folder.path().join("repository");
    let storage = icefield_harness::storage(&Location::of_path(&path)).await;
    let storage = storage.expect("a directory");
    let repository = icefield_core::Repository::create(storage)
        .await
        .expect("new");
    let session = repository
        .write_session(BranchName::main())
        .await
        .expect("main exists");
    let x = NodePath::parse("/x").expect("valid");
    let document = r#"{"zarr_format":3,"node_type":"array","shape":[9],"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1]}},"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}]}"#;
    let wrote = session
        .set_metadata(&x, document.into(), WriteMode::Overwrite)
        .await;
    assert!(wrote.expect("valid"));
    let mut forks: Vec<Session> = Vec::new();
    for number in 0..WORKERS {
        let file = folder.path().join(format!("fork-{number}"));
        let bytes = session
            .fork()
            .expect("open")
            .to_bytes()
            .await
            .expect("a fork");
        std::fs::write(&file, bytes).expect("writable");
        assert!(write_elsewhere(&path, &file, number, number as u8 + 1));
        // Damaged on the way, it is refused there.
        let whole = std::fs::read(&file).expect("written");
        let cut = folder.path().join("cut");
        std::fs::write(&cut, &whole[..whole.len() / 2]).expect("writable");
        assert!(!write_elsewhere(&path, &cut, number, 9));
        forks.push(repository.open_fork(&whole).await.expect("whole"));
    }
    let outcome = session
        .merge_forks(forks.iter().rev(), VersionSelection::Fail)
        .await;
    assert_eq!(outcome.expect("mergeable"), MergeOutcome::Merged);
    let outcome = session.commit("four workers").await;
    assert!(
        matches!(outcome, Ok(CommitOutcome::Committed(_))),
        "{outcome:?}"
    );
    let reader = repository
        .read_session(BranchName::main())
        .await
        .expect("main exists");
    for number in 0..WORKERS {
        let chunk = reader
            .chunk(&x, &[number], ByteRange::All)
            .await
            .expect("readable");
        assert_eq!(chunk.as_deref(), Some(&[number as u8 + 1; 700][..]));
    }
}
