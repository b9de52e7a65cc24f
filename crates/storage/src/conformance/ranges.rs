//! Ranges: exact, or an error.

use super::trial::{Trial, pattern};
use crate::{GetRange, StorageError};

const TEN: &[u8] = b"0123456789";

async fn expect(t: &Trial, range: GetRange, bytes: &[u8]) {
    let found = t.get("a/b", range.clone()).await;
    match found {
        Ok(found) if bytes.len() < 100 => assert_eq!(found, bytes, "{range:?}"),
        Ok(found) => assert!(found == bytes, "{range:?}: {} other bytes", found.len()),
        Err(error) => panic!("{range:?} must be {} bytes, is {error:?}", bytes.len()),
    }
}

async fn expect_error(t: &Trial, range: GetRange, size: u64) {
    match t.get("a/b", range.clone()).await {
        Err(StorageError::RangeNotSatisfiable { size: found, .. }) => assert_eq!(found, size),
        other => panic!("{range:?} is not contained in {size} bytes, got {other:?}"),
    }
}

pub(super) async fn range_reaches_both_ends(t: Trial) {
    t.store("a/b", TEN).await;
    expect(&t, GetRange::Bounded(0..10), TEN).await;
    expect(&t, GetRange::Bounded(0..1), b"0").await;
    expect(&t, GetRange::Bounded(9..10), b"9").await;
    expect(&t, GetRange::Bounded(3..7), b"3456").await;
    expect(&t, GetRange::All, TEN).await;
}

pub(super) async fn empty_range_is_empty(t: Trial) {
    t.store("a/b", TEN).await;
    for at in [0, 3, 10] {
        expect(&t, GetRange::Bounded(at..at), b"").await;
    }
    expect(&t, GetRange::Suffix(0), b"").await;
    expect_error(&t, GetRange::Bounded(11..11), 10).await;
}

pub(super) async fn range_past_the_end_is_an_error(t: Trial) {
    t.store("a/b", TEN).await;
    for range in [
        0..11,
        9..11,
        10..11,
        11..12,
        0..u64::MAX,
        u64::MAX - 1..u64::MAX,
    ] {
        expect_error(&t, GetRange::Bounded(range), 10).await;
    }
}

#[expect(
    clippy::reversed_empty_ranges,
    reason = "this is what the case is about"
)]
pub(super) async fn range_backwards_is_an_error(t: Trial) {
    t.store("a/b", TEN).await;
    for range in [5..4, 10..0, u64::MAX..0] {
        expect_error(&t, GetRange::Bounded(range), 10).await;
    }
}

pub(super) async fn open_range_reads_to_the_end(t: Trial) {
    t.store("a/b", TEN).await;
    expect(&t, GetRange::From(0), TEN).await;
    expect(&t, GetRange::From(9), b"9").await;
    expect(&t, GetRange::From(10), b"").await;
    expect_error(&t, GetRange::From(11), 10).await;
    expect_error(&t, GetRange::From(u64::MAX), 10).await;
}

pub(super) async fn suffix_reads_the_last_bytes(t: Trial) {
    t.store("a/b", TEN).await;
    expect(&t, GetRange::Suffix(1), b"9").await;
    expect(&t, GetRange::Suffix(10), TEN).await;
    expect_error(&t, GetRange::Suffix(11), 10).await;
    expect_error(&t, GetRange::Suffix(u64::MAX), 10).await;
}

pub(super) async fn ranges_of_an_empty_object(t: Trial) {
    t.store("a/b", "").await;
    for range in [
        GetRange::All,
        GetRange::Bounded(0..0),
        GetRange::From(0),
        GetRange::Suffix(0),
    ] {
        expect(&t, range, b"").await;
    }
    for range in [
        GetRange::Bounded(0..1),
        GetRange::From(1),
        GetRange::Suffix(1),
    ] {
        expect_error(&t, range, 0).await;
    }
}

pub(super) async fn ranges_across_the_parts_of_a_large_object(t: Trial) {
    let bytes = pattern(5, t.effort.large + 1);
    let size = bytes.len();
    t.store("a/b", bytes.clone()).await;
    // Where parts, pages and buffers of every size end.
    let edges = (16..40).map(|power| 1 << power).filter(|edge| *edge < size);
    let edges: Vec<usize> = edges.chain([5 << 20, size - 1]).collect();
    for edge in edges.into_iter().filter(|edge| *edge < size) {
        for range in [edge - 1..edge, edge..edge + 1, edge - 1..edge + 1, 1..edge] {
            let wanted = GetRange::Bounded(range.start as u64..range.end as u64);
            expect(&t, wanted, &bytes.slice(range)).await;
        }
        let (at, left) = (edge as u64, (size - edge) as u64);
        expect(&t, GetRange::From(at), &bytes.slice(edge..)).await;
        expect(&t, GetRange::Suffix(left), &bytes.slice(edge..)).await;
    }
    expect_error(&t, GetRange::From(size as u64 + 1), size as u64).await;
}
