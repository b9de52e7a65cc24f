//! Processes that race on one local directory.

use std::collections::HashMap;
use std::path::Path;

use icefield::Location;
use icefield_core::{Repository, SnapshotId};
use icefield_harness::history;

use crate::worker::{Worker, acknowledged, prepare};

/// Opens the repository in a directory.
pub(crate) async fn open(repository: &Path) -> Repository {
    let opened = icefield_harness::open(&Location::of_path(repository)).await;
    opened.expect("it opens")
}

/// The history of `main`, newest first.
pub(crate) async fn history(repository: &Repository) -> Vec<SnapshotId> {
    let history = history::of_main(repository).await.expect("sound");
    history.into_iter().map(|info| info.id).collect()
}

/// Checks that every acknowledged commit is in the history of a directory exactly once. Returns how many there
/// are.
pub(crate) async fn check_acknowledged(repository: &Path, workers: u32) -> usize {
    check_logs(&history(&open(repository).await).await, repository, workers)
}

/// Checks that every commit in the logs of workers, which are beside `logs`, is in a history exactly once. Returns
/// how many there are.
pub(crate) fn check_logs(history: &[SnapshotId], logs: &Path, workers: u32) -> usize {
    let ids: Vec<SnapshotId> = (0..workers)
        .flat_map(|number| acknowledged(logs, number))
        .collect();
    let lost = history::lost(history, &ids);
    assert!(lost.is_empty(), "{lost:?} were acknowledged");
    ids.len()
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
    assert_eq!(history(&open(&repository).await).await.len(), 402);
    println!("400 commits acknowledged, {refused} refused on the way");
}

#[tokio::test]
async fn b20_of_16_processes_that_create_one_location_one_wins() {
    let folder = tempfile::tempdir().expect("writable");
    for round in 0..5 {
        let repository = folder.path().join(format!("created-{round}"));
        let answers = race(&repository.to_string_lossy(), "create", 16, &[]);
        assert_eq!(answers.get("created"), Some(&1), "{answers:?}");
        assert_eq!(answers.get("exists"), Some(&15), "{answers:?}");
        assert_eq!(
            history(&open(&repository).await).await,
            [SnapshotId::INITIAL]
        );

        let repository = folder.path().join(format!("opened-{round}"));
        let answers = race(&repository.to_string_lossy(), "open-or-create", 16, &[]);
        assert_eq!(answers.get("opened"), Some(&16), "{answers:?}");
        assert_eq!(
            history(&open(&repository).await).await,
            [SnapshotId::INITIAL]
        );
    }
}

/// Has so many processes create one repository at once. Returns how often each answer was given.
pub(crate) fn race(
    location: &str,
    verb: &str,
    processes: usize,
    environment: &[(&str, &str)],
) -> HashMap<String, usize> {
    let mut workers: Vec<Worker> = (0..processes)
        .map(|_| Worker::start(&[verb, location], environment))
        .collect();
    workers.iter_mut().for_each(Worker::wait_ready);
    workers.iter_mut().for_each(Worker::go);
    let mut answers = HashMap::new();
    for worker in workers {
        *answers.entry(worker.finish()).or_default() += 1;
    }
    answers
}
