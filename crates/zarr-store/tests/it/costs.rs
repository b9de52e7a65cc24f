//! The costs of operations for the storage below: requests, and rounds of requests that depend on each other.

use std::future::Future;

use icefield_core::ByteRange;
use icefield_storage::wrap::{Cost, Meter};

use super::*;

const CHUNKS: u32 = 16;

/// A committed array of chunks too long to be inline, in a store that is far away, opened anew.
async fn far_away() -> (Meter, ZarrStore) {
    let near = MemoryStorage::new();
    let repository = Repository::create(Arc::new(near.clone())).await.unwrap();
    let store = writable(&repository).await;
    for name in ["a", "b", "d"] {
        set_all(
            &store,
            [(
                format!("{name}/zarr.json"),
                array(&[u64::from(CHUNKS)], SLASH),
            )],
        )
        .await;
        for i in 0..CHUNKS {
            store
                .set(&format!("{name}/c/{i}"), vec![1; 1000].into())
                .await
                .unwrap();
        }
    }
    committed(&store).await;
    let meter = Meter::new(Arc::new(near));
    let repository = Repository::open(meter.storage()).await.unwrap();
    let session = repository.read_session(BranchName::main()).await.unwrap();
    (meter, ZarrStore::new(session))
}

async fn cost<T>(
    meter: &Meter,
    work: impl Future<Output = Result<T, ZarrStoreError>>,
) -> (T, Cost) {
    let (result, cost) = meter.measure(work).await;
    (result.unwrap(), cost)
}

#[tokio::test(start_paused = true)]
async fn a_chunk_takes_its_manifest_once_and_itself() {
    let (meter, store) = far_away().await;
    let (value, first) = cost(&meter, store.get("a/c/3")).await;
    assert_eq!(value.unwrap().len(), 1000);
    assert_eq!((first.rounds, first.counts.total.get), (2, 2));
    let (_, second) = cost(
        &meter,
        store.get_range("a/c/4", ByteRange::Suffix { length: 10 }),
    )
    .await;
    assert_eq!(
        (
            second.rounds,
            second.counts.total.get,
            second.counts.total.bytes_read
        ),
        (1, 1, 10)
    );
}

#[tokio::test(start_paused = true)]
async fn absence_existence_and_size_read_no_chunk() {
    let (meter, store) = far_away().await;
    for key in [
        "zarr.json",
        "a/zarr.json",
        ".zgroup",
        "nothing",
        "a/c/99",
        "a/0.0",
    ] {
        let (_, cost) = cost(&meter, store.get(key)).await;
        assert_eq!(cost.counts.total.requests(), 0, "{key}");
    }
    let (size, first) = cost(&meter, store.size("a/c/3")).await;
    assert_eq!(
        (size, first.counts.of("chunks").requests()),
        (Some(1000), 0)
    );
    let (exists, second) = cost(&meter, store.exists("a/c/4")).await;
    assert!(exists);
    assert_eq!(second.counts.total.requests(), 0);
}

#[tokio::test(start_paused = true)]
async fn several_values_are_read_at_once_within_the_bound() {
    let (meter, store) = far_away().await;
    store.exists("a/c/0").await.unwrap();
    let requests: Vec<_> = (0..CHUNKS)
        .map(|i| (format!("a/c/{i}"), ByteRange::All))
        .collect();
    for (bound, rounds) in [(1, 16), (4, 4), (16, 1), (100, 1)] {
        let store = store.clone().with_concurrency(bound);
        let (values, cost) = cost(&meter, store.get_partial_values(&requests)).await;
        assert!(values.iter().all(Option::is_some));
        assert_eq!(
            (cost.rounds, cost.counts.total.get),
            (rounds, 16),
            "{bound}"
        );
    }
    let ranges: Vec<_> = (0..8)
        .map(|i| ByteRange::Range {
            start: i,
            end: i + 1,
        })
        .collect();
    let (_, cost) = cost(&meter, store.get_ranges("a/c/0", &ranges)).await;
    assert_eq!((cost.rounds, cost.counts.total.bytes_read), (1, 8));
}

#[tokio::test(start_paused = true)]
async fn listing_loads_the_manifests_of_several_arrays_at_once() {
    let (meter, store) = far_away().await;
    let (keys, cost) = cost(&meter, async { store.list().try_collect::<Vec<_>>().await }).await;
    assert_eq!(keys.len(), 3 * 17);
    assert_eq!((cost.rounds, cost.counts.of("chunks").requests()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn what_needs_the_network_is_not_read_on_the_spot() {
    let (_, store) = far_away().await;
    assert!(store.try_get_range("a/c/0", ByteRange::All).is_none());
    assert!(
        store
            .try_get_range("a/zarr.json", ByteRange::All)
            .unwrap()
            .unwrap()
            .is_some()
    );
    assert!(
        store
            .try_get_range("nothing", ByteRange::All)
            .unwrap()
            .unwrap()
            .is_none()
    );
}
