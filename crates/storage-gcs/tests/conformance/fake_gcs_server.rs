//! A second opinion: what can be tried of this backend on fake-gcs-server, a server that others wrote.
//!
//! It speaks the JSON interface alone, and this backend asks over gRPC what an object is, what there is, and for
//! deletions. So there it cannot list, delete, read what another handle wrote, or look whose write it was that came
//! first: who loses a race is told *unknown*, never *refused*. Uploads in sessions do not look at conditions there.
//! Left over are small writes with conditions, which must have one winner, and reads of what this handle wrote.

use std::sync::Arc;
use std::time::Duration;

use icefield_storage::remote::{RemoteSettings, RetrySettings};
use icefield_storage::{
    GetOptions, GetRange, Key, Prefix, PutMode, PutOutcome, Storage, StorageError, Version,
};
use icefield_storage_gcs::GcsStorage;
use icefield_testservers::Outside;
use icefield_testservers::outside::{GCS, fresh_prefix, is_there};
use tokio::sync::Barrier;

const RACERS: usize = 32;
const ROUNDS: usize = 50;

async fn open(case: &str) -> Option<GcsStorage> {
    if !is_there(GCS, case) {
        return None;
    }
    let server = Outside::gcs();
    // Nothing that fails here gets better.
    let retry = RetrySettings::default()
        .with_attempts(1)
        .with_pauses(Duration::ZERO, Duration::ZERO);
    // The probe of conditions reads back, too.
    let settings = RemoteSettings::default()
        .with_retry(retry)
        .trusting_conditions();
    let storage = GcsStorage::builder(server.bucket)
        .endpoint(server.endpoint)
        .prefix(Prefix::parse(&fresh_prefix(case)).expect("a prefix"))
        .settings(settings)
        .open();
    Some(storage.await.expect("opened"))
}

fn key(text: &str) -> Key {
    Key::parse(text).expect("a key")
}

/// Writes, and returns the version if that was done.
async fn wrote(storage: &GcsStorage, at: &str, bytes: String, mode: PutMode) -> Option<Version> {
    match storage.put(&key(at), bytes.into(), mode.into()).await {
        Ok(PutOutcome::Written(written)) => Some(written.version),
        Ok(PutOutcome::Unknown(_)) => None,
        other => panic!("that cannot be known here: {other:?}"),
    }
}

/// Lets all write at once; returns the number and the version of the only one whose write was done.
async fn race(storage: &GcsStorage, at: &str, round: usize, mode: PutMode) -> (usize, Version) {
    let start = Arc::new(Barrier::new(RACERS));
    let racers: Vec<_> = (0..RACERS)
        .map(|racer| {
            let (storage, start) = (storage.clone(), Arc::clone(&start));
            let (at, mode) = (at.to_owned(), mode.clone());
            tokio::spawn(async move {
                start.wait().await;
                wrote(&storage, &at, text(round, racer), mode).await
            })
        })
        .collect();
    let mut winner = None;
    for (number, racer) in racers.into_iter().enumerate() {
        if let Some(version) = racer.await.expect("no panic") {
            assert!(winner.is_none(), "a second winner in round {round}");
            winner = Some((number, version));
        }
    }
    winner.expect("somebody wins")
}

fn text(round: usize, racer: usize) -> String {
    format!("{round:08} {racer:08}")
}

async fn holds(storage: &GcsStorage, at: &str, version: Version, bytes: &str) {
    let options = GetOptions::default().with_if_match(version);
    let read = storage.get(&key(at), options).await.expect("read");
    assert_eq!(read.bytes().await.expect("whole"), bytes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_creates_have_one_winner() {
    let Some(storage) = open("racing_creates_have_one_winner").await else {
        return;
    };
    for round in 0..ROUNDS {
        let at = format!("refs/tag.{round}/ref.json");
        let (winner, version) = race(&storage, &at, round, PutMode::Create).await;
        holds(&storage, &at, version, &text(round, winner)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_updates_have_one_winner() {
    let Some(storage) = open("racing_updates_have_one_winner").await else {
        return;
    };
    let at = "refs/branch.main/ref.json";
    let begin = wrote(&storage, at, "begin".to_owned(), PutMode::Create).await;
    let mut version = begin.expect("nothing was there");
    for round in 0..ROUNDS {
        let (winner, next) = race(&storage, at, round, PutMode::Update(version)).await;
        holds(&storage, at, next.clone(), &text(round, winner)).await;
        version = next;
    }
}

#[tokio::test]
async fn ranges_of_what_was_written_are_read() {
    let Some(storage) = open("ranges_of_what_was_written_are_read").await else {
        return;
    };
    let at = "a b/%20+ß/c";
    let written = wrote(&storage, at, "0123456789".to_owned(), PutMode::Create).await;
    let version = written.expect("nothing was there");
    for (range, wanted) in [
        (GetRange::All, "0123456789"),
        (GetRange::Bounded(2..5), "234"),
        (GetRange::From(8), "89"),
        (GetRange::Suffix(3), "789"),
    ] {
        let options = GetOptions::range(range.clone()).with_if_match(version.clone());
        let read = storage.get(&key(at), options).await.expect("read");
        assert_eq!(read.bytes().await.expect("bytes"), wanted, "{range:?}");
    }
}

#[tokio::test]
async fn what_it_cannot_answer_is_an_error_and_no_lie() {
    let Some(storage) = open("what_it_cannot_answer_is_an_error_and_no_lie").await else {
        return;
    };
    let first = wrote(&storage, "a", "one".to_owned(), PutMode::Create).await;
    let first = first.expect("nothing was there");
    let error = storage.head(&key("a")).await.expect_err("it has no gRPC");
    assert!(
        !matches!(error, StorageError::NotFound { .. }),
        "the object is there: {error:?}"
    );
    let second = wrote(
        &storage,
        "a",
        "two".to_owned(),
        PutMode::Update(first.clone()),
    )
    .await;
    assert!(second.is_some());
    // Whose write it met, nobody can say there.
    let stale = wrote(&storage, "a", "three".to_owned(), PutMode::Update(first)).await;
    assert_eq!(stale, None);
    holds(&storage, "a", second.expect("written"), "two").await;
}
