//! Virtual distance, and the rounds that it measures.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::future::join_all;
use futures::stream::{self, StreamExt};
use icefield_storage::wrap::{LatencyStorage, Meter};
use icefield_storage::{Clock, Deletion, ManualClock, Prefix, PutMode, Storage, StorageExt};

use super::{key, memory, store};

#[tokio::test(start_paused = true)]
async fn independent_requests_are_one_round() {
    let meter = Meter::new(memory());
    let storage = meter.storage();
    let puts = (0..50).map(|i| {
        let storage = Arc::clone(&storage);
        async move { store(&*storage, &format!("chunks/{i}"), "x").await }
    });
    let (_, cost) = meter.measure(join_all(puts)).await;
    assert_eq!((cost.rounds, cost.counts.total.put), (1, 50));
}

#[tokio::test(start_paused = true)]
async fn dependent_requests_are_rounds_each() {
    let meter = Meter::new(memory());
    let storage = meter.storage();
    // The shape of a commit: objects together, then the ref that depends on them.
    let work = async {
        let _ = tokio::join!(
            store(&*storage, "snapshots/1", "x"),
            store(&*storage, "manifests/1", "x"),
            store(&*storage, "transactions/1", "x"),
        );
        let branch = key("refs/branch.main/ref.json");
        let put = storage.put(&branch, "x".into(), PutMode::Create.into());
        let _ = put.await.expect("stored");
        storage.sync().await.expect("costs nothing");
    };
    let ((), cost) = meter.measure(work).await;
    assert_eq!((cost.rounds, cost.counts.total.put), (2, 4));

    let ((), idle) = meter.measure(async {}).await;
    assert_eq!((idle.rounds, idle.counts), (0, Default::default()));
}

#[tokio::test(start_paused = true)]
async fn spawned_tasks_are_measured_too() {
    let meter = Meter::new(memory());
    let storage = meter.storage();
    let work = async {
        let tasks = (0..8).map(|i| {
            let storage = Arc::clone(&storage);
            tokio::spawn(async move {
                store(&*storage, &format!("chunks/{i}"), "x").await;
                storage
                    .read(&key(&format!("chunks/{i}")))
                    .await
                    .expect("there");
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.expect("no panic");
        }
    };
    let (_, cost) = meter.measure(work).await;
    assert_eq!((cost.rounds, cost.counts.total.requests()), (2, 16));
}

#[tokio::test(start_paused = true)]
async fn lists_and_deletes_pay_by_the_page() {
    let inner = memory();
    for i in 0..2001 {
        store(&*inner, &format!("chunks/{i}"), "x").await;
    }
    let meter = Meter::new(inner);
    let storage = meter.storage();
    let (list, cost) = meter.measure(storage.list_all(&Prefix::all())).await;
    assert_eq!(
        (list.as_ref().expect("listed").len(), cost.rounds),
        (2001, 3)
    );
    let all = list
        .expect("listed")
        .into_iter()
        .map(|meta| Deletion::from(meta.key));
    let (deleted, cost) = meter
        .measure(storage.delete(stream::iter(all).boxed()).count())
        .await;
    assert_eq!((deleted, cost.rounds), (2001, 3));
    let (_, cost) = meter.measure(storage.list_all(&Prefix::all())).await;
    assert_eq!(cost.rounds, 1, "an empty list is a request too");
    let (_, cost) = meter
        .measure(storage.delete(stream::iter([]).boxed()).count())
        .await;
    assert_eq!(cost.rounds, 0, "deleting nothing is none");
}

#[tokio::test]
async fn latency_waits_by_the_given_clock() {
    let clock = ManualClock::new(SystemTime::UNIX_EPOCH);
    let far = LatencyStorage::new(memory(), Duration::from_secs(3600));
    let storage = far.with_clock(Arc::new(clock.clone()));
    store(&storage, "a", "x").await;
    storage.read(&key("a")).await.expect("there");
    assert_eq!(clock.monotonic(), Duration::from_secs(7200));
    assert!(
        storage
            .try_get_blocking(&key("a"), &Default::default())
            .is_none(),
        "it must wait"
    );
}
