//! Requests and bytes, in all and by prefix.

use std::sync::Arc;

use futures::stream::{self, StreamExt};
use icefield_storage::wrap::CountingStorage;
use icefield_storage::{
    Bytes, Compared, GetRange, Payload, Prefix, PutOptions, PutOutcome, Storage, StorageExt,
};

use super::{key, memory, store};

#[tokio::test]
async fn an_object_of_another_length_is_not_read_to_be_compared() {
    let counting = CountingStorage::new(memory());
    let storage: Arc<dyn Storage> = Arc::new(counting.clone());
    store(&*storage, "manifests/1", "0123456789").await;
    let at = key("manifests/1");
    let put = async |text: &'static str| {
        let put = storage.put_immutable(&at, text.into(), PutOptions::default());
        put.await.expect("decided")
    };
    assert!(matches!(put("012345678").await, PutOutcome::Refused));
    assert!(matches!(put("").await, PutOutcome::Refused));
    assert_eq!(counting.snapshot().total.bytes_read, 0);
    assert!(matches!(put("012345678x").await, PutOutcome::Refused));
    assert!(matches!(put("0123456789x").await, PutOutcome::Refused));
    assert!(matches!(put("0123456789").await, PutOutcome::Written(_)));
    let compare = async |at: &str, text: &str| {
        let compared = storage.compare(&key(at), text.as_bytes()).await;
        compared.expect("compared")
    };
    assert!(matches!(
        compare("manifests/1", "0123456789").await,
        Compared::Same(_)
    ));
    assert_eq!(compare("manifests/1", "0").await, Compared::Other);
    assert_eq!(compare("manifests/2", "0").await, Compared::Absent);
}

#[tokio::test]
async fn every_verb_is_counted_where_it_goes() {
    let counting = CountingStorage::new(memory());
    let storage: Arc<dyn Storage> = Arc::new(counting.clone());
    store(&*storage, "chunks/1", "0123456789").await;
    store(&*storage, "refs/branch.main/ref.json", "{}").await;
    storage.read(&key("chunks/1")).await.expect("there");
    let range = storage
        .get(&key("chunks/1"), GetRange::Bounded(2..5).into())
        .await
        .expect("there");
    range.bytes().await.expect("there");
    storage
        .try_read(&key("refs/tag.x/ref.json"))
        .await
        .expect("asked");
    storage.head(&key("chunks/1")).await.expect("there");
    let _ = storage
        .copy(&key("chunks/1"), &key("manifests/1"), Default::default())
        .await
        .expect("copied");
    storage.sync().await.expect("nothing to do");
    let _ = storage
        .delete_one(key("chunks/1").into())
        .await
        .expect("deleted");

    let counts = counting.snapshot();
    let chunks = counts.of("chunks");
    assert_eq!(
        (chunks.get, chunks.get_range, chunks.head, chunks.put),
        (2, 1, 1, 1)
    );
    assert_eq!((chunks.delete, chunks.copy), (1, 0));
    assert_eq!((chunks.bytes_read, chunks.bytes_written), (13, 10));
    let refs = counts.of("refs");
    assert_eq!(
        (refs.get, refs.put, refs.bytes_read, refs.bytes_written),
        (1, 1, 0, 2)
    );
    assert_eq!(counts.of("manifests").copy, 1);
    assert_eq!(counts.of("snapshots"), Default::default());
    let total = counts.total;
    assert_eq!((total.get, total.put, total.sync), (3, 2, 1));
    assert_eq!((total.requests(), total.writes()), (8, 4));

    assert_eq!(counting.reset(), counts);
    assert_eq!(counting.snapshot(), Default::default());
}

#[tokio::test]
async fn blocking_reads_count_if_they_answer() {
    let counting = CountingStorage::new(memory());
    store(&counting, "chunks/1", "0123456789").await;
    let object = counting.try_get_blocking(&key("chunks/1"), &GetRange::Suffix(4).into());
    object.expect("memory answers").expect("there");
    let chunks = counting.snapshot().of("chunks");
    assert_eq!((chunks.get, chunks.get_range, chunks.bytes_read), (1, 1, 4));
}

#[tokio::test]
async fn streamed_bytes_count_as_they_flow() {
    let counting = CountingStorage::new(memory());
    let parts = ["one ", "two"].map(|part| Ok(Bytes::from_static(part.as_bytes())));
    let payload = Payload::Stream {
        size: None,
        stream: stream::iter(parts).boxed(),
    };
    let _ = counting
        .put(&key("chunks/1"), payload, Default::default())
        .await
        .expect("stored");
    assert_eq!(counting.snapshot().total.bytes_written, 7);
}

#[tokio::test]
async fn lists_count_their_pages() {
    for (objects, pages) in [
        (0, 1),
        (1, 1),
        (999, 1),
        (1000, 1),
        (1001, 2),
        (2000, 2),
        (2001, 3),
    ] {
        let counting = CountingStorage::new(memory());
        for i in 0..objects {
            store(&counting, &format!("chunks/{i}"), "x").await;
        }
        counting.reset();
        let listed = counting
            .list_all(&Prefix::parse("chunks").expect("valid"))
            .await;
        assert_eq!(listed.expect("listed").len(), objects);
        let chunks = counting.snapshot().of("chunks");
        assert_eq!(
            (chunks.list, chunks.list_pages),
            (1, pages),
            "{objects} objects"
        );
    }
}
