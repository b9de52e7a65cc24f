//! Rechunkings in parts, each in a fork: all together are the whole.

use std::collections::BTreeMap;

use crate::common::{Tree, array, exported, group, path, repository, run};
use icefield_core::{BranchName, CommitOutcome, MergeOutcome, Repository, VersionSelection};
use icefield_ingest::{ChunkLayout, ChunkLength, Limits, Rechunk, RechunkReport};
use serde_json::json;

/// A repository with bytes in two dimensions, of which some chunks were never written.
async fn plane(shape: [u64; 2], chunk: [u64; 2]) -> Repository {
    let tree = Tree::new();
    tree.json("zarr.json", &group(json!({})))
        .json("a/zarr.json", &array(&shape, &chunk, &["t", "x"]));
    for row in 0..shape[0].div_ceil(chunk[0]) {
        for column in (0..shape[1].div_ceil(chunk[1])).filter(|column| (row + column) % 5 != 3) {
            let places = (0..chunk[0]).flat_map(|t| (0..chunk[1]).map(move |x| (t, x)));
            let elements = places.map(|(t, x)| {
                let (t, x) = (row * chunk[0] + t, column * chunk[1] + x);
                match t < shape[0] && x < shape[1] {
                    true => ((t * shape[1] + x) % 251 + 1) as u8,
                    false => 0,
                }
            });
            let name = format!("a/c/{row}/{column}");
            tree.file(&name, elements.collect::<Vec<u8>>());
        }
    }
    let repository = repository().await;
    run(tree.import(), &repository).await;
    repository
}

/// Little memory, so that there are several blocks even here.
fn rechunk(chunk: [u64; 2]) -> Rechunk {
    let lengths = [("t", chunk[0]), ("x", chunk[1])].map(|(dimension, length)| {
        let length = ChunkLength::parse(&length.to_string()).unwrap();
        (dimension.to_owned(), length)
    });
    let layout = ChunkLayout::kept().with_chunks(BTreeMap::from(lengths));
    Rechunk::new(path("/a"), layout).limits(Limits::default().with_elements(1024))
}

/// Does it in so many parts, each twice, and returns the report and how many of them had something to do.
async fn in_parts(repository: &Repository, chunk: [u64; 2], of: u32) -> (RechunkReport, usize) {
    let session = repository.write_session(BranchName::main()).await.unwrap();
    let before = session.fork().unwrap().to_bytes().await.unwrap();
    let mut report = rechunk(chunk).begin(&session).await.unwrap();
    let fork = session.fork().unwrap().to_bytes().await.unwrap();
    let (mut answers, mut busy) = (Vec::new(), 0);
    for number in (0..of).rev() {
        let mut twice = Vec::new();
        for _ in 0..2 {
            let before = repository.open_fork(&before).await.unwrap();
            let fork = repository.open_fork(&fork).await.unwrap();
            let rechunk = rechunk(chunk);
            let done = rechunk.run_part(&before, &fork, (number, of)).await;
            twice.push(done.unwrap());
            answers.push(fork.to_answer().await.unwrap());
        }
        assert_eq!(twice[0].chunks, twice[1].chunks);
        busy += usize::from(twice[0].chunks > 0);
        report.add(twice.remove(0));
    }
    let merged = session.merge_forks(&answers, VersionSelection::Fail).await;
    assert_eq!(merged.unwrap(), MergeOutcome::Merged);
    let committed = session.commit("in parts").await.unwrap();
    assert!(matches!(committed, CommitOutcome::Committed(_)));
    (report, busy)
}

#[tokio::test]
async fn all_parts_come_to_the_whole() {
    for (shape, from, to) in [
        ([40, 24], [4, 5], [6, 4]),
        ([40, 24], [1, 24], [40, 2]),
        ([40, 24], [40, 2], [1, 24]),
        ([7, 300], [7, 10], [3, 10]),
        ([9, 9], [9, 9], [2, 3]),
    ] {
        let whole = plane(shape, from).await;
        let all = rechunk(to);
        let done = all.run(&whole, BranchName::main(), "whole").await;
        let (expected, _) = done.unwrap();
        let files = exported(&whole).await;
        for of in [1, 2, 3, 50] {
            let repository = plane(shape, from).await;
            let (report, busy) = in_parts(&repository, to, of).await;
            assert_eq!(
                exported(&repository).await,
                files,
                "{shape:?} {from:?} {to:?} {of}"
            );
            // Nothing is decoded for two parts.
            assert_eq!(
                (report.chunks, report.bytes, report.decoded),
                (expected.chunks, expected.bytes, expected.decoded)
            );
            // One chunk is decoded once, and so by one.
            let least = if from == [9, 9] {
                1
            } else {
                of.min(2) as usize
            };
            assert!((least..=of as usize).contains(&busy), "{busy} of {of}");
        }
    }
}

#[tokio::test]
async fn what_has_the_layout_already_has_nothing_to_do() {
    let repository = plane([8, 8], [4, 4]).await;
    let session = repository.write_session(BranchName::main()).await.unwrap();
    let before = session.fork().unwrap();
    let report = rechunk([4, 4]).begin(&session).await.unwrap();
    assert!(!report.was_needed);
    assert!(!session.has_changes().unwrap());
    let fork = session.fork().unwrap();
    let report = rechunk([4, 4])
        .run_part(&before, &fork, (0, 2))
        .await
        .unwrap();
    assert_eq!((report.was_needed, report.chunks), (false, 0));
}
