//! A second opinion: what can be tried of this backend on fake-gcs-server, a server that others wrote.
//!
//! It speaks the JSON interface alone, and this backend asks over gRPC what an object is, what there is, and for
//! deletions; nor does it say, when it is read, how large an object is. So there it cannot list, delete, read, or look
//! whose write it was that came first: the loser of a race is told *unknown*, never *refused*. Uploads in sessions do
//! not look at conditions there. Left over are small writes with conditions, which must have one winner.

use std::sync::Arc;
use std::time::Duration;

use google_cloud_auth::credentials::anonymous;
use icefield_storage::remote::{RemoteSettings, RemoteStorage, RetrySettings};
use icefield_storage::{Key, Prefix, PutMode, PutOutcome, Storage, StorageError, Version};
use icefield_storage_gcs::GcsBuilder;
use icefield_testservers::Outside;
use icefield_testservers::outside::{GCS, fresh_prefix, is_there};
use tokio::sync::Barrier;

const RACERS: usize = 32;
const ROUNDS: usize = 50;

async fn open(case: &str) -> Option<(RemoteStorage, Prefix)> {
    if !is_there(GCS, case) {
        return None;
    }
    let server = Outside::gcs();
    let prefix = Prefix::parse(&fresh_prefix(case)).expect("a prefix");
    // Nothing that fails here gets better.
    let retry = RetrySettings::default()
        .with_attempts(1)
        .with_pauses(Duration::ZERO, Duration::ZERO);
    // The probe of conditions reads back, too.
    let settings = RemoteSettings::default()
        .with_retry(retry)
        .trusting_conditions();
    let storage = GcsBuilder::new(server.bucket)
        .endpoint(server.endpoint)
        .prefix(prefix.clone())
        .settings(settings)
        .open();
    Some((storage.await.expect("opened"), prefix))
}

fn key(text: &str) -> Key {
    Key::parse(text).expect("a key")
}

/// Writes, and returns the version if that was done.
async fn wrote(storage: &RemoteStorage, at: &str, bytes: String, mode: PutMode) -> Option<Version> {
    match storage.put(&key(at), bytes.into(), mode.into()).await {
        Ok(PutOutcome::Written(written)) => Some(written.version),
        Ok(PutOutcome::Unknown(_)) => None,
        other => panic!("that cannot be known here: {other:?}"),
    }
}

/// Lets all write at once; returns the number and the version of the only one whose write was done.
async fn race(storage: &RemoteStorage, at: &str, round: usize, mode: PutMode) -> (usize, Version) {
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
    winner.expect("one writer wins")
}

fn text(round: usize, racer: usize) -> String {
    format!("{round:08} {racer:08}")
}

/// Reads with Google's own client: this server does not say how large an object is, so that ours would ask it.
async fn holds(at: &str, version: Version, bytes: &str, prefix: &Prefix) {
    let server = Outside::gcs();
    let client = google_cloud_storage::client::Storage::builder()
        .with_endpoint(server.endpoint)
        .with_credentials(anonymous::Builder::new().build());
    let client = client.build().await.expect("sound");
    let bucket = format!("projects/_/buckets/{}", server.bucket);
    let generation: i64 = version.as_str().parse().expect("a generation");
    let read = client
        .read_object(bucket, format!("{prefix}/{at}"))
        .set_if_generation_match(generation);
    let mut read = read.send().await.expect("it is there");
    let mut found = Vec::new();
    while let Some(part) = read.next().await {
        found.extend_from_slice(&part.expect("read"));
    }
    assert_eq!(found, bytes.as_bytes());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_creates_have_one_winner() {
    let Some((storage, prefix)) = open("racing_creates_have_one_winner").await else {
        return;
    };
    for round in 0..ROUNDS {
        let at = format!("refs/tag.{round}/ref.json");
        let (winner, version) = race(&storage, &at, round, PutMode::Create).await;
        holds(&at, version, &text(round, winner), &prefix).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_updates_have_one_winner() {
    let Some((storage, prefix)) = open("racing_updates_have_one_winner").await else {
        return;
    };
    let at = "refs/branch.main/ref.json";
    let begin = wrote(&storage, at, "begin".to_owned(), PutMode::Create).await;
    let mut version = begin.expect("nothing was there");
    for round in 0..ROUNDS {
        let (winner, next) = race(&storage, at, round, PutMode::Update(version)).await;
        holds(at, next.clone(), &text(round, winner), &prefix).await;
        version = next;
    }
}

#[tokio::test]
async fn what_it_cannot_answer_is_an_error_and_no_lie() {
    let Some((storage, prefix)) = open("what_it_cannot_answer_is_an_error_and_no_lie").await else {
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
    // The server cannot say whose write it met.
    let stale = wrote(&storage, "a", "three".to_owned(), PutMode::Update(first)).await;
    assert_eq!(stale, None);
    holds("a", second.expect("written"), "two", &prefix).await;
}
