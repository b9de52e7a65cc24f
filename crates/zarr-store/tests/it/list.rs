//! Listing keys and adding up sizes.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt;
use icefield_zarr_store::DirListing;

use super::*;

fn listing(keys: &[&str], prefixes: &[&str]) -> DirListing {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    DirListing {
        keys: owned(keys),
        prefixes: owned(prefixes),
    }
}

/// A hierarchy in which the order of keys, of paths and of coordinates all differ.
async fn filled() -> (ZarrStore, Vec<String>) {
    let store = store().await;
    let mut values = vec![
        ("zarr.json".to_owned(), GROUP.to_owned()),
        ("a/zarr.json".to_owned(), GROUP.to_owned()),
        ("a-b/zarr.json".to_owned(), array(&[], SLASH)),
        ("a-b/c".to_owned(), "scalar".to_owned()),
        ("a/x/zarr.json".to_owned(), array(&[12], SLASH)),
        ("a/z/zarr.json".to_owned(), GROUP.to_owned()),
        ("a/zz/zarr.json".to_owned(), array(&[], V2_DOT)),
        ("a/zz/0".to_owned(), "scalar".to_owned()),
        ("aa/deep/er/zarr.json".to_owned(), array(&[3, 12], V2_SLASH)),
        ("ab/zarr.json".to_owned(), array(&[12, 12], DOT)),
        ("empty/zarr.json".to_owned(), array(&[4], SLASH)),
        ("v/zarr.json".to_owned(), array(&[3, 12], V2_DOT)),
    ];
    for i in [0, 1, 2, 9, 10, 11] {
        values.push((format!("a/x/c/{i}"), format!("{i}")));
        values.push((format!("ab/c.{i}.{}", 11 - i), format!("{i}")));
        values.push((format!("aa/deep/er/2/{i}"), format!("{i}")));
        values.push((format!("v/1.{i}"), format!("{i}")));
    }
    values.push(("aa/deep/er/1/7".to_owned(), "7".to_owned()));
    set_all(&store, values.clone()).await;
    let mut keys: Vec<String> = values.into_iter().map(|(key, _)| key).collect();
    keys.sort_unstable();
    (store, keys)
}

#[tokio::test]
async fn all_keys_come_sorted_by_their_bytes() {
    let (store, keys) = filled().await;
    assert_eq!(all_keys(&store).await, keys);
    for key in &keys {
        assert!(store.exists(key).await.unwrap(), "{key}");
    }
}

#[tokio::test]
async fn a_listing_is_the_same_before_and_after_the_commit_and_in_between() {
    let repository = repository().await;
    let store = writable(&repository).await;
    set_all(&store, [("x/zarr.json", array(&[30], SLASH))]).await;
    set_all(&store, (0..20).map(|i| (format!("x/c/{i}"), "old"))).await;
    let before = all_keys(&store).await;
    committed(&store).await;
    let store = writable(&repository).await;
    assert_eq!(all_keys(&store).await, before);
    store.delete("x/c/3").await.unwrap();
    set_all(&store, [("x/c/25", "new"), ("x/c/4", "new")]).await;
    let mut expected: BTreeSet<String> = before.into_iter().collect();
    expected.remove("x/c/3");
    expected.insert("x/c/25".to_owned());
    assert_eq!(
        all_keys(&store).await,
        expected.into_iter().collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn every_prefix_lists_what_begins_with_it() {
    let (store, keys) = filled().await;
    let mut values = BTreeMap::new();
    for key in keys {
        let value = store.get(&key).await.unwrap().unwrap();
        values.insert(key, value.to_vec());
    }
    super::model::check(&store, &values).await;
}

#[tokio::test]
async fn directories_hold_whole_names() {
    let (store, _) = filled().await;
    let dir = async |prefix: &str| store.list_dir(prefix).await.unwrap();
    assert_eq!(
        dir("").await,
        listing(
            &["zarr.json"],
            &["a-b/", "a/", "aa/", "ab/", "empty/", "v/"]
        )
    );
    assert_eq!(
        dir("a/").await,
        listing(&["a/zarr.json"], &["a/x/", "a/z/", "a/zz/"])
    );
    assert_eq!(dir("a/x/").await, listing(&["a/x/zarr.json"], &["a/x/c/"]));
    assert_eq!(dir("a-b/").await, listing(&["a-b/c", "a-b/zarr.json"], &[]));
    assert_eq!(
        dir("aa/deep/er/").await,
        listing(
            &["aa/deep/er/zarr.json"],
            &["aa/deep/er/1/", "aa/deep/er/2/"]
        )
    );
    assert_eq!(
        dir("aa/deep/er/1/").await,
        listing(&["aa/deep/er/1/7"], &[])
    );
    assert_eq!(dir("nothing/").await, DirListing::default());
}

#[tokio::test]
async fn an_array_without_chunks_has_no_chunk_directory() {
    let (store, _) = filled().await;
    let empty = listing(&["empty/zarr.json"], &[]);
    assert_eq!(store.list_dir("empty/").await.unwrap(), empty);
    set_all(&store, [("empty/c/3", "x")]).await;
    assert_eq!(
        store.list_dir("empty/").await.unwrap(),
        listing(&["empty/zarr.json"], &["empty/c/"])
    );
    store.delete("empty/c/3").await.unwrap();
    assert_eq!(store.list_dir("empty/").await.unwrap(), empty);
}

#[tokio::test]
async fn a_group_that_only_its_children_imply_is_listed() {
    let (store, _) = filled().await;
    assert_eq!(
        store.list_dir("aa/").await.unwrap(),
        listing(&[], &["aa/deep/"])
    );
    assert_eq!(
        store.list_dir("aa/deep/").await.unwrap(),
        listing(&[], &["aa/deep/er/"])
    );
    assert!(!store.is_empty("aa/").await.unwrap());
    assert!(!store.exists("aa/zarr.json").await.unwrap());
}

#[tokio::test]
async fn a_prefix_without_its_slash_is_an_error() {
    let (store, _) = filled().await;
    for prefix in ["a", "a/x", "/", "/a/", "a//", "../", "a/./"] {
        let invalid = |error| matches!(error, ZarrStoreError::InvalidPrefix { .. });
        assert!(
            invalid(store.list_dir(prefix).await.unwrap_err()),
            "{prefix}"
        );
        assert!(invalid(store.size_prefix(prefix).await.unwrap_err()));
        assert!(invalid(store.is_empty(prefix).await.unwrap_err()));
        let mut listed = store.list_prefix(prefix);
        assert!(invalid(listed.next().await.unwrap().unwrap_err()));
        assert!(listed.next().await.is_none());
    }
}

#[tokio::test]
async fn an_empty_store_lists_nothing() {
    let store = store().await;
    assert!(all_keys(&store).await.is_empty());
    assert_eq!(store.list_dir("").await.unwrap(), DirListing::default());
    assert!(store.is_empty("").await.unwrap());
    assert_eq!(store.size_prefix("").await.unwrap(), 0);
}

#[tokio::test]
async fn keys_that_are_there_all_the_while_are_listed_while_others_come_and_go() {
    let (store, keys) = filled().await;
    let mut listed = Vec::new();
    let mut stream = store.list();
    let mut i = 0;
    while let Some(key) = stream.next().await {
        let key = key.unwrap();
        if keys.contains(&key) {
            listed.push(key);
        }
        set_all(&store, [(format!("new{i}/zarr.json"), GROUP)]).await;
        store
            .delete(&format!("new{}/zarr.json", i / 2))
            .await
            .unwrap();
        i += 1;
    }
    assert_eq!(listed, keys);
    // An array deleted in the middle of a listing has no chunks any more, and is no error.
    let mut stream = store.list();
    stream.next().await.unwrap().unwrap();
    store.erase_prefix("").await.unwrap();
    while let Some(key) = stream.next().await {
        key.unwrap();
    }
}
