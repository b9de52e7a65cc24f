//! Erasing values, one by one and by prefix.

use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use icefield_storage::wrap::FaultyStorage;
use icefield_storage::wrap::fault::{Decision, Matcher, Plan, Verb};
use icefield_storage::{Clock, Storage};

use super::*;

/// Nodes and chunks whose names are easy to mix up.
async fn filled() -> ZarrStore {
    let store = store().await;
    set_all(
        &store,
        [
            ("zarr.json", GROUP.to_owned()),
            ("a/zarr.json", GROUP.into()),
            ("a/x/zarr.json", array(&[12, 2], SLASH)),
            ("a/x/c/1/0", "10".into()),
            ("a/x/c/1/1", "11".into()),
            ("a/x/c/10/0", "100".into()),
            ("a.b/zarr.json", array(&[], V2_DOT)),
            ("a.b/0", "scalar".into()),
            ("ab/zarr.json", array(&[3, 3], V2_SLASH)),
            ("ab/1/0", "10".into()),
            ("ab/1/2", "12".into()),
            ("ab/2/0", "20".into()),
            ("implied/d/zarr.json", array(&[3], DOT)),
            ("implied/d/c.1", "1".into()),
        ],
    )
    .await;
    store
}

async fn left(store: &ZarrStore, gone: &[&str]) {
    let before = all_keys(&filled().await).await;
    for key in gone {
        assert!(
            before.iter().any(|other| other == key),
            "{key} was never there"
        );
    }
    let expected: Vec<&String> = before
        .iter()
        .filter(|key| !gone.contains(&key.as_str()))
        .collect();
    assert_eq!(all_keys(store).await.iter().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn erasing_a_chunk_twice_is_erasing_it_once() {
    let store = filled().await;
    for _ in 0..2 {
        store.delete("a/x/c/1/0").await.unwrap();
        assert_eq!(store.get("a/x/c/1/0").await.unwrap(), None);
    }
    left(&store, &["a/x/c/1/0"]).await;
}

#[tokio::test]
async fn erasing_what_is_absent_changes_nothing() {
    let store = filled().await;
    for key in [
        "a/x/c/0/0",
        "a/x/c/99/0",
        "a/y/zarr.json",
        "implied/zarr.json",
        "nothing",
        ".zgroup",
    ] {
        store.delete(key).await.unwrap();
    }
    left(&store, &[]).await;
}

#[tokio::test]
async fn erasing_metadata_deletes_the_node_and_what_is_below_it() {
    let store = filled().await;
    store.delete("ab/zarr.json").await.unwrap();
    left(&store, &["ab/zarr.json", "ab/1/0", "ab/1/2", "ab/2/0"]).await;
    let store = filled().await;
    store.delete("a/zarr.json").await.unwrap();
    left(
        &store,
        &[
            "a/zarr.json",
            "a/x/zarr.json",
            "a/x/c/1/0",
            "a/x/c/1/1",
            "a/x/c/10/0",
        ],
    )
    .await;
}

#[tokio::test]
async fn a_prefix_is_whole_segments() {
    for erased in ["a/", "a"] {
        let store = filled().await;
        store.delete_dir(erased).await.unwrap();
        left(
            &store,
            &[
                "a/zarr.json",
                "a/x/zarr.json",
                "a/x/c/1/0",
                "a/x/c/1/1",
                "a/x/c/10/0",
            ],
        )
        .await;
    }
    let store = filled().await;
    store.erase_prefix("a/").await.unwrap();
    assert!(store.exists("ab/zarr.json").await.unwrap() && store.exists("a.b/0").await.unwrap());
    assert!(matches!(
        store.erase_prefix("ab").await,
        Err(ZarrStoreError::InvalidPrefix { .. })
    ));
    assert!(matches!(
        store.delete_dir("a//").await,
        Err(ZarrStoreError::InvalidPrefix { .. })
    ));
}

#[tokio::test]
async fn a_prefix_inside_an_array_erases_chunks() {
    for (prefix, gone) in [
        ("a/x/c/", &["a/x/c/1/0", "a/x/c/1/1", "a/x/c/10/0"][..]),
        ("a/x/c/1/", &["a/x/c/1/0", "a/x/c/1/1"]),
        ("a/x/c/10/", &["a/x/c/10/0"]),
        ("ab/1/", &["ab/1/0", "ab/1/2"]),
        ("implied/", &["implied/d/zarr.json", "implied/d/c.1"]),
    ] {
        let store = filled().await;
        store.erase_prefix(prefix).await.unwrap();
        left(&store, gone).await;
        store.erase_prefix(prefix).await.unwrap();
        left(&store, gone).await;
    }
}

#[tokio::test]
async fn what_others_write_where_a_key_or_prefix_was_erased_is_a_conflict() {
    for (erased, is_prefix, conflicts) in [
        ("a/x/c/0/1", false, true),
        ("a/x/c/0/", true, true),
        ("a/x/c/", true, true),
        ("a/x/c/2/", true, false),
        ("a/x/c/0/0", false, false),
    ] {
        let repository = repository().await;
        let store = writable(&repository).await;
        let array = array(&[12, 2], SLASH);
        set_all(
            &store,
            [("a/x/zarr.json", array), ("a/x/c/1/0", "10".into())],
        )
        .await;
        committed(&store).await;
        let (ours, theirs) = (writable(&repository).await, writable(&repository).await);
        match is_prefix {
            true => ours.erase_prefix(erased).await.unwrap(),
            false => ours.delete(erased).await.unwrap(),
        }
        set_all(&theirs, [("a/x/c/0/1", "01")]).await;
        committed(&theirs).await;
        let commit = ours.session().commit("erased");
        let outcome = commit
            .rebase_with(icefield_core::Detector::Strict)
            .await
            .unwrap();
        let found = matches!(outcome, CommitOutcome::Conflicts { .. });
        assert_eq!(found, conflicts, "{erased}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_prefix_that_no_key_has_erases_nothing() {
    let store = filled().await;
    for prefix in [
        "nothing/",
        "a/x/c/0/",
        "a/x/c/1/0/",
        "a/x/c/01/",
        "a/x/1/",
        "a/x/d/",
        "ab/c/",
        "ab/1/0/",
        "implied/d/c/",
        "a.b/0/",
        "c/",
        "a/x/c/99/",
    ] {
        store.erase_prefix(prefix).await.unwrap();
    }
    left(&store, &[]).await;
}

#[tokio::test]
async fn the_empty_prefix_empties_the_store() {
    let store = filled().await;
    store.erase_prefix("").await.unwrap();
    assert!(all_keys(&store).await.is_empty());
    assert!(store.is_empty("").await.unwrap());
    store.erase_prefix("").await.unwrap();
}

#[tokio::test]
async fn erased_chunks_stay_erased_after_the_commit() {
    let repository = repository().await;
    let store = writable(&repository).await;
    set_all(&store, [("x/zarr.json", array(&[2, 2], SLASH))]).await;
    let chunks = ["x/c/0/0", "x/c/0/1", "x/c/1/0", "x/c/1/1"];
    set_all(&store, chunks.map(|key| (key, key))).await;
    committed(&store).await;

    let store = writable(&repository).await;
    store.erase_prefix("x/c/0/").await.unwrap();
    store.delete("x/c/1/1").await.unwrap();
    assert_eq!(all_keys(&store).await, ["x/c/1/0", "x/zarr.json"]);
    committed(&store).await;
    let store = writable(&repository).await;
    assert_eq!(all_keys(&store).await, ["x/c/1/0", "x/zarr.json"]);
}

/// A clock whose sleepers let other tasks go first, once.
#[derive(Debug)]
struct Yielding;

impl Clock for Yielding {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::task::yield_now())
    }
}

#[tokio::test]
async fn a_prefix_is_erased_though_its_array_is_resized_meanwhile() {
    let inner: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let created = Repository::create(Arc::clone(&inner)).await.unwrap();
    let first = writable(&created).await;
    set_all(
        &first,
        [
            ("a/zarr.json", array(&[2], SLASH)),
            ("a/c/0", "0".into()),
            ("a/c/1", "1".into()),
        ],
    )
    .await;
    committed(&first).await;
    let reads = Matcher::verb(Verb::Get).below("manifests/");
    let plan = Plan::none().on(reads, 0, Decision::Delay(Duration::from_secs(1)));
    let slow = FaultyStorage::new(inner, plan).with_clock(Arc::new(Yielding));
    let store = writable(&Repository::open(Arc::new(slow)).await.unwrap()).await;
    let mut erasing = std::pin::pin!(store.erase_prefix("a/c/"));
    assert!(futures::poll!(erasing.as_mut()).is_pending());
    set_all(&store, [("a/zarr.json", array(&[3], SLASH))]).await;
    erasing.await.unwrap();
    assert!(keys_below(&store, "a/c/").await.is_empty());
}
