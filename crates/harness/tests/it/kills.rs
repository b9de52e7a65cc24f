//! H105: processes that are killed with SIGKILL at any point of their work.

use std::fs;
use std::path::{Path, PathBuf};

use futures::TryStreamExt;
use icefield_core::{BranchName, ByteRange};
use icefield_storage::SeededEntropy;

use crate::races::{check_acknowledged, open};
use crate::worker::{Worker, acknowledged, prepare};

const REPOSITORIES: usize = 10;
const KILLS_PER_REPOSITORY: usize = 20;

/// Copies a repository as it is at this moment. Objects are never changed in place, so links will do.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("writable");
    for entry in fs::read_dir(from).expect("readable") {
        let entry = entry.expect("readable");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("known").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::hard_link(entry.path(), target).expect("same file system");
        }
    }
}

/// Where the copies are left for the reference implementation, if a later stage looks at them.
fn copies(folder: &Path) -> PathBuf {
    match std::env::var_os("ICEFIELD_KILL_COPIES") {
        Some(kept) => {
            let kept = PathBuf::from(kept);
            let _ = fs::remove_dir_all(&kept);
            fs::create_dir_all(&kept).expect("writable");
            kept
        }
        None => folder.join("copies"),
    }
}

async fn every_chunk_reads(repository: &Path) {
    let opened = open(repository).await;
    let session = opened
        .read_session(BranchName::main())
        .await
        .expect("main is whole");
    let path = icefield_harness::work::array_path();
    let chunks: Vec<_> = session
        .chunks(&path)
        .expect("the array is there")
        .try_collect()
        .await
        .expect("its manifests are there");
    for chunk in chunks {
        let bytes = session.chunk(&path, &chunk.index, ByteRange::All).await;
        assert!(bytes.expect("stored").is_some());
    }
    let refs = opened.refs().await.expect("listable");
    assert_eq!(refs.strays, [], "nothing but refs among the refs");
}

#[tokio::test]
async fn h105_kill_9_at_any_operation_loses_no_acknowledged_commit() {
    let seed: u64 = 20_261_121;
    println!("seed {seed}");
    let random = SeededEntropy::new(seed);
    let folder = tempfile::Builder::new()
        .prefix("icefield-kills")
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .expect("writable");
    let copies = copies(folder.path());
    let mut killed = 0;
    for number in 0..REPOSITORIES {
        let repository = folder.path().join(format!("repository-{number}"));
        prepare(&repository);
        for _ in 0..KILLS_PER_REPOSITORY {
            let mut victim = Worker::committer(&repository, 1, usize::MAX, true);
            let mut other = Worker::committer(&repository, 0, 3, false);
            victim.wait_ready();
            other.wait_ready();
            victim.go();
            other.go();
            // The operation is announced before it begins, so that the kill falls into it or close behind.
            for _ in 0..random.below(60) {
                victim.line().expect("the victim works until it is killed");
            }
            victim.kill();
            other.finish();
            killed += 1;
            check_acknowledged(&repository, 2).await;
            every_chunk_reads(&repository).await;
            let kept = copies.join(format!("copy-{killed:03}"));
            copy(&repository, &kept.join("repo"));
            let log: Vec<String> = (0..2)
                .flat_map(|worker| acknowledged(&repository, worker))
                .map(|id| id.to_string())
                .collect();
            fs::write(kept.join("acknowledged.txt"), log.join("\n") + "\n").expect("writable");
        }
        assert!(acknowledged(&repository, 0).len() >= 3 * KILLS_PER_REPOSITORY);
    }
    assert_eq!(killed, REPOSITORIES * KILLS_PER_REPOSITORY);
    println!("{killed} kills");
}
