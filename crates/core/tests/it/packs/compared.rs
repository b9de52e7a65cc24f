//! The bytes of chunks that lie elsewhere than they did, compared.

use icefield_core::repair::{MovedBytes, MovedChunk, compare_moved};
use icefield_format::{ChunkRef, layout};
use icefield_storage::StorageError;

use super::*;

const SAME: MovedBytes = MovedBytes::Same;
const OTHER: MovedBytes = MovedBytes::Other;
const UNKNOWN: MovedBytes = MovedBytes::Unknown;

fn id(seed: u8) -> ChunkId {
    ChunkId::from_bytes([seed; 12])
}

fn key(seed: u8) -> String {
    layout::chunk_key(id(seed))
}

fn native(seed: u8, offset: u64, length: u64) -> Option<ChunkRef<'static>> {
    let id = id(seed);
    Some(ChunkRef::Native { id, offset, length })
}

/// A chunk that was at a byte of object 1 and is at a byte of object 2.
fn moved(from: u64, to: u64, length: u64) -> MovedChunk {
    let moved = MovedChunk::of(native(1, from, length), native(2, to, length));
    moved.expect("it lies elsewhere")
}

#[test]
fn references_that_lead_elsewhere_in_as_many_bytes_may_be_the_same() {
    let inline = Some(ChunkRef::Inline(b"ten bytes."));
    assert!(MovedChunk::of(native(1, 0, 10), native(1, 5, 10)).is_some());
    for (was, is) in [
        (native(1, 0, 10), native(1, 0, 10)),
        (native(1, 0, 10), native(2, 0, 11)),
        (native(1, 0, 10), inline),
        (inline, native(1, 0, 10)),
        (native(1, 0, 10), None),
        (None, native(1, 0, 10)),
    ] {
        assert!(MovedChunk::of(was, is).is_none(), "{was:?} {is:?}");
    }
}

#[tokio::test]
async fn a_thousand_chunks_are_compared_by_few_requests_in_whatever_order() {
    let counting = CountingStorage::new(memory());
    let storage: Arc<dyn Storage> = Arc::new(counting.clone());
    let chunk = |i: u64| pattern(i, 4096);
    let all = |order: &dyn Fn(u64) -> u64| -> Vec<u8> {
        (0..1000).flat_map(|i| chunk(order(i)).to_vec()).collect()
    };
    // Chunk 7 * i is the chunk at place i of the new object; one of them is not as it was.
    let mut new = all(&|i| i * 7 % 1000);
    new[500 * 4096 + 1] ^= 1;
    stores::put(&storage, &key(1), all(&|i| i)).await;
    stores::put(&storage, &key(2), new).await;
    let chunks: Vec<MovedChunk> = (0..1000)
        .map(|i| moved((i * 7 % 1000) * 4096, i * 4096, 4096))
        .collect();
    let before = counting.snapshot();
    let compared = compare_moved(&*storage, &chunks).await.expect("readable");
    let after = counting.snapshot();
    for (i, found) in compared.bytes.into_iter().enumerate() {
        assert_eq!(found, if i == 500 { OTHER } else { SAME }, "{i}");
    }
    assert!(compared.refused.is_empty());
    assert_eq!(after.of("chunks").get - before.of("chunks").get, 4);
}

#[tokio::test]
async fn what_is_lost_is_unknown_and_not_the_chunks_beside_it() {
    let storage = memory();
    let bytes = pattern(3, 3000);
    stores::put(&storage, &key(1), bytes.clone()).await;
    let chunks = [
        moved(0, 0, 1000),
        moved(1000, 1000, 1000),
        moved(2000, 2000, 1000),
        // No object has such a range.
        moved(u64::MAX, 0, 2),
        moved(0, u64::MAX, 2),
    ];
    let compare = async || {
        let compared = compare_moved(&*storage, &chunks).await.expect("readable");
        assert!(compared.refused.is_empty());
        compared.bytes
    };
    assert_eq!(compare().await, [UNKNOWN; 5]);
    stores::put(&storage, &key(2), bytes[..2500].to_vec()).await;
    assert_eq!(compare().await, [SAME, SAME, UNKNOWN, UNKNOWN, UNKNOWN]);
    stores::put(&storage, &key(1), bytes[..1500].to_vec()).await;
    assert_eq!(compare().await, [SAME, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN]);
}

#[tokio::test]
async fn a_long_chunk_is_read_in_pieces() {
    let counting = CountingStorage::new(memory());
    let storage: Arc<dyn Storage> = Arc::new(counting.clone());
    let length = 5 << 20;
    let bytes = pattern(4, length + 1);
    stores::put(&storage, &key(1), bytes.clone()).await;
    stores::put(&storage, &key(2), bytes[1..].to_vec()).await;
    let chunks = [
        moved(1, 0, length as u64),
        moved(0, 0, length as u64),
        moved(9, 8, 70),
    ];
    let compared = compare_moved(&*storage, &chunks).await.expect("readable");
    assert_eq!(compared.bytes, [SAME, OTHER, SAME]);
    let largest = counting.snapshot().of("chunks");
    assert!(largest.get >= 12, "{largest:?}");
}

#[tokio::test]
async fn an_object_that_is_refused_is_named_and_a_failure_ends_the_comparison() {
    let inner = memory();
    for seed in [1, 2] {
        stores::put(&inner, &key(seed), pattern(5, 2000)).await;
    }
    let chunks = [moved(0, 0, 1000), moved(1000, 1000, 1000)];
    let compare = async |decision| {
        let plan = Plan::none().always(Matcher::verb(Verb::Get).below(&key(2)), decision);
        compare_moved(&FaultyStorage::new(Arc::clone(&inner), plan), &chunks).await
    };
    let compared = compare(Decision::Short(1))
        .await
        .expect("the store answers");
    assert_eq!(compared.bytes, [UNKNOWN; 2]);
    let refused = &compared.refused[..];
    assert!(
        matches!(refused, [(of, StorageError::WrongLength { .. })] if *of == id(2)),
        "{refused:?}"
    );
    let failed = compare(Decision::FailBefore).await;
    assert!(failed.is_err_and(|error| error.is_retryable()));
}
