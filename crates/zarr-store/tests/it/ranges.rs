//! Ranges of values: strict, and cut as zarr-python cuts them.

use bytes::Bytes;
use icefield_core::ByteRange;

use super::*;

const VALUE: &str = "0123456789";

fn from(offset: u64) -> ByteRange {
    ByteRange::From { offset }
}

fn range(start: u64, end: u64) -> ByteRange {
    ByteRange::Range { start, end }
}

fn suffix(length: u64) -> ByteRange {
    ByteRange::Suffix { length }
}

/// A store with the same ten bytes as inline chunk and, repeated, as a longer one.
async fn filled() -> (ZarrStore, Vec<(&'static str, String)>) {
    let store = store().await;
    let long = VALUE.repeat(1000);
    let document = format!("{GROUP}          ");
    let values = vec![
        ("x/c/0", VALUE.to_owned()),
        ("x/c/1", long),
        ("g/zarr.json", document),
    ];
    set_all(&store, [("x/zarr.json", array(&[3], SLASH))]).await;
    set_all(&store, values.clone()).await;
    (store, values)
}

#[tokio::test]
async fn a_range_within_the_value_gives_its_bytes() {
    let (store, values) = filled().await;
    for (key, value) in values {
        let size = value.len() as u64;
        for (wanted, start, end) in [
            (ByteRange::All, 0, size),
            (from(0), 0, size),
            (from(3), 3, size),
            (from(size), size, size),
            (range(2, 5), 2, 5),
            (range(4, 4), 4, 4),
            (range(0, size), 0, size),
            (range(size, size), size, size),
            (suffix(0), size, size),
            (suffix(3), size - 3, size),
            (suffix(size), 0, size),
        ] {
            let expected = Some(Bytes::copy_from_slice(
                &value.as_bytes()[start as usize..end as usize],
            ));
            assert_eq!(
                store.get_range(key, wanted).await.unwrap(),
                expected,
                "{key} {wanted:?}"
            );
            assert_eq!(
                store.get_range_clamped(key, wanted).await.unwrap(),
                expected,
                "{key} {wanted:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_range_beyond_the_value_is_an_error_or_is_cut() {
    let (store, values) = filled().await;
    for (key, value) in values {
        let size = value.len() as u64;
        for (wanted, start, end) in [
            (from(size + 1), size, size),
            (from(u64::MAX), size, size),
            (range(8, size + 1), 8, size),
            (range(8, u64::MAX), 8, size),
            (range(size, size + 1), size, size),
            (range(size + 5, size + 9), size, size),
            (suffix(size + 1), 0, size),
            (suffix(u64::MAX), 0, size),
        ] {
            match store.get_range(key, wanted).await {
                Err(ZarrStoreError::RangeOutOfValue {
                    key: named,
                    range,
                    length,
                }) => {
                    assert_eq!((named.as_str(), range, length), (key, wanted, size));
                }
                other => panic!("{key} {wanted:?}: {other:?}"),
            }
            let cut = Some(Bytes::copy_from_slice(
                &value.as_bytes()[start as usize..end as usize],
            ));
            assert_eq!(
                store.get_range_clamped(key, wanted).await.unwrap(),
                cut,
                "{key} {wanted:?}"
            );
        }
        let backwards = store.get_range_clamped(key, range(3, 2)).await;
        assert!(matches!(
            backwards,
            Err(ZarrStoreError::RangeOutOfValue { .. })
        ));
    }
}

#[tokio::test]
async fn a_range_of_an_absent_value_is_none() {
    let (store, _) = filled().await;
    for key in ["x/c/2", "x/c/99", "missing/zarr.json", "nothing", ".zattrs"] {
        for wanted in [ByteRange::All, range(5, 900), suffix(7)] {
            assert_eq!(store.get_range(key, wanted).await.unwrap(), None);
            assert_eq!(store.get_range_clamped(key, wanted).await.unwrap(), None);
        }
    }
}

#[tokio::test]
async fn several_ranges_of_one_value_come_in_order() {
    let (store, _) = filled().await;
    let wanted = [
        range(2, 4),
        suffix(1),
        range(2, 4),
        from(10),
        ByteRange::All,
    ];
    let values = store.get_ranges("x/c/0", &wanted).await.unwrap().unwrap();
    assert_eq!(values, ["23", "9", "23", "", VALUE]);
    assert_eq!(store.get_ranges("x/c/0", &[]).await.unwrap(), Some(vec![]));
    assert_eq!(store.get_ranges("x/c/2", &wanted).await.unwrap(), None);
    assert_eq!(store.get_ranges("x/c/2", &[]).await.unwrap(), None);
    assert!(
        store
            .get_ranges("x/c/0", &[from(0), from(11)])
            .await
            .is_err()
    );
}

#[tokio::test]
async fn the_error_says_which_bytes_of_what() {
    let (store, _) = filled().await;
    for (wanted, text) in [
        (range(1, 11), "1..11"),
        (from(11), "11.."),
        (suffix(11), "-11.."),
    ] {
        assert_eq!(
            story(store.get_range("x/c/0", wanted).await),
            format!("bytes {text} of \"x/c/0\" do not exist: the value has 10 bytes")
        );
    }
}
