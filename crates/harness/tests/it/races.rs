//! Processes that race on one local directory.

use std::collections::HashMap;
use std::path::Path;

use futures::TryStreamExt;
use icefield_core::{BranchName, Revision, SnapshotId};

use crate::worker::{Worker, acknowledged, prepare};

/// The history of `main`, newest first.
pub(crate) async fn history(repository: &Path) -> Vec<SnapshotId> {
    let opened = icefield_harness::open(repository).await.expect("it opens");
    let tip = opened
        .resolve(&Revision::from(BranchName::main()))
        .await
        .expect("main exists");
    let history: Vec<_> = opened.ancestry(tip).try_collect().await.expect("sound");
    assert!(
        history.is_sorted_by(|newer, older| newer.written_at > older.written_at),
        "times rise strictly along a branch"
    );
    history.into_iter().map(|info| info.id).collect()
}

/// Checks that every acknowledged commit is in the history exactly once. Returns how many there are.
pub(crate) async fn check_acknowledged(repository: &Path, workers: u32) -> usize {
    let mut counts: HashMap<SnapshotId, usize> = HashMap::new();
    for id in history(repository).await {
        *counts.entry(id).or_default() += 1;
    }
    let mut total = 0;
    for number in 0..workers {
        for id in acknowledged(repository, number) {
            assert_eq!(counts.get(&id), Some(&1), "commit {id} was acknowledged");
            total += 1;
        }
    }
    total
}

#[tokio::test]
async fn two_processes_lose_none_of_400_commits() {
    let folder = tempfile::tempdir().expect("writable");
    let repository = folder.path().join("repository");
    prepare(&repository);
    let mut workers: Vec<Worker> = (0..2)
        .map(|number| Worker::committer(&repository, number, 200, false))
        .collect();
    workers.iter_mut().for_each(Worker::wait_ready);
    workers.iter_mut().for_each(Worker::go);
    let refused: usize = workers
        .into_iter()
        .map(|worker| worker.finish().parse::<usize>().expect("a number"))
        .sum();
    assert_eq!(check_acknowledged(&repository, 2).await, 400);
    // The first snapshot, the preparation, and each acknowledged commit; a refused one leaves no trace.
    assert_eq!(history(&repository).await.len(), 402);
    println!("400 commits acknowledged, {refused} refused on the way");
}

#[tokio::test]
async fn b20_of_16_processes_that_create_one_location_one_wins() {
    let folder = tempfile::tempdir().expect("writable");
    for round in 0..5 {
        let repository = folder.path().join(format!("created-{round}"));
        let answers = race("create", &repository);
        assert_eq!(answers.get("created"), Some(&1), "{answers:?}");
        assert_eq!(answers.get("exists"), Some(&15), "{answers:?}");
        assert_eq!(history(&repository).await, [SnapshotId::INITIAL]);

        let repository = folder.path().join(format!("opened-{round}"));
        let answers = race("open-or-create", &repository);
        assert_eq!(answers.get("opened"), Some(&16), "{answers:?}");
        assert_eq!(history(&repository).await, [SnapshotId::INITIAL]);
    }
}

fn race(verb: &str, repository: &Path) -> HashMap<String, usize> {
    let location = repository.to_string_lossy();
    let mut workers: Vec<Worker> = (0..16)
        .map(|_| Worker::start(&[verb, &location], false))
        .collect();
    workers.iter_mut().for_each(Worker::wait_ready);
    workers.iter_mut().for_each(Worker::go);
    let mut answers = HashMap::new();
    for worker in workers {
        *answers.entry(worker.finish()).or_default() += 1;
    }
    answers
}
