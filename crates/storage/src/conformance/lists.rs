//! Lists: whole segments, byte order, every object once.

use futures::stream::{self, StreamExt, TryStreamExt};

use super::trial::{Trial, key, prefix};
use crate::{DeleteOutcome, Deletion, ListOptions, StorageExt};

async fn store_all(t: &Trial, keys: &[&str]) {
    for at in keys {
        t.store(at, (*at).to_owned()).await;
    }
}

/// Stores numbered objects, not in their order, and returns their keys in order.
async fn store_many(t: &Trial, folder: &str, count: usize) -> Vec<String> {
    let keys: Vec<String> = (0..count).map(|i| format!("{folder}/{i:05}")).collect();
    // 7919 is prime and greater than any count here, so the steps meet every object.
    let shuffled = (0..count).map(|i| keys[i * 7919 % count].clone());
    stream::iter(shuffled)
        .for_each_concurrent(32, |at| async move {
            t.store(&at, "x").await;
        })
        .await;
    keys
}

pub(super) async fn list_compares_whole_segments(t: Trial) {
    store_all(
        &t,
        &["a/b/c", "a/b/d/e", "a/bc", "a/b-/x", "ab/c", "x/a/b/c"],
    )
    .await;
    assert_eq!(t.keys("a/b").await, ["a/b/c", "a/b/d/e"]);
    assert_eq!(t.keys("a").await, ["a/b-/x", "a/b/c", "a/b/d/e", "a/bc"]);
    assert_eq!(t.keys("a/b/d").await, ["a/b/d/e"]);
    assert_eq!(t.keys("ab").await, ["ab/c"]);
    assert_eq!(t.keys("x/a").await, ["x/a/b/c"]);
}

pub(super) async fn list_is_in_byte_order(t: Trial) {
    // A walk by directories would give `a/…` before `a-b/…`, one by UTF-16 would swap the last two.
    let mut keys = vec![
        "a-b/x",
        "a.b/x",
        "a/b/x",
        "ab",
        "a b/x",
        "a!/x",
        "a0/x",
        "a/b-c",
        "a/b.c",
        "a/b c",
        "a/b0",
        "a/bb",
        "a/b/y/z",
        "a/b/y-z",
        "B",
        "Zz/z",
        "_/x",
        "~/x",
        "a/é",
        "a/e",
        "a/z",
        "b/x/1",
        "b/x-1",
        "b/x",
        "b/10",
        "b/9",
        "é/x",
        "a/\u{fffd}",
        "a/\u{10000}",
    ];
    // An object and a folder of one name are another case.
    keys.retain(|at| *at != "b/x");
    store_all(&t, &keys).await;
    keys.sort_unstable();
    assert_eq!(t.keys("").await, keys);
    let below: Vec<&str> = keys
        .iter()
        .copied()
        .filter(|at| at.starts_with("a/"))
        .collect();
    assert_eq!(t.keys("a").await, below);
    for (i, after) in keys.iter().enumerate() {
        let options = ListOptions::default().with_start_after(key(after));
        assert_eq!(t.list(options).await, keys[i + 1..], "after {after:?}");
    }
}

pub(super) async fn list_of_all_keys(t: Trial) {
    assert!(t.keys("").await.is_empty(), "a fresh store is empty");
    store_all(&t, &["z", "a/b/c/d/e", "m/n"]).await;
    assert_eq!(t.keys("").await, ["a/b/c/d/e", "m/n", "z"]);
}

pub(super) async fn list_beyond_one_page(t: Trial) {
    let keys = store_many(&t, "m/n", t.effort.many).await;
    store_all(&t, &["m/a", "m/z"]).await;
    assert_eq!(t.keys("m/n").await, keys);
    assert_eq!(t.keys("").await.len(), keys.len() + 2);
}

pub(super) async fn list_starts_after_a_key(t: Trial) {
    store_all(&t, &["a/1", "a/2", "a/3", "b/1"]).await;
    let list = async |below: &str, after: &str| {
        t.list(ListOptions::prefix(prefix(below)).with_start_after(key(after)))
            .await
    };
    // Existing and missing.
    assert_eq!(list("", "a/2").await, ["a/3", "b/1"]);
    assert_eq!(list("", "a/2x").await, ["a/3", "b/1"]);
    assert_eq!(list("a", "a/2").await, ["a/3"]);
    assert_eq!(list("a", "a/2x").await, ["a/3"]);
    assert!(list("a", "a/3").await.is_empty());
    // Before the prefix, the prefix itself, and close to it.
    for before in ["0", "a", "a-z", "a.", "a/0"] {
        assert_eq!(
            list("a", before).await,
            ["a/1", "a/2", "a/3"],
            "after {before:?}"
        );
    }
    assert_eq!(list("b", "a/3").await, ["b/1"]);
    // Behind it.
    for behind in ["a0", "b", "b/1", "é"] {
        assert!(list("a", behind).await.is_empty(), "after {behind:?}");
    }
    // In the middle of a folder.
    store_all(&t, &["c/d-e", "c/d/x", "c/d/y", "c/d0"]).await;
    assert_eq!(list("c", "c/d").await, ["c/d-e", "c/d/x", "c/d/y", "c/d0"]);
    assert_eq!(list("c", "c/d-e").await, ["c/d/x", "c/d/y", "c/d0"]);
    assert_eq!(list("c", "c/d/x").await, ["c/d/y", "c/d0"]);
    assert_eq!(list("c", "c/d/x/z").await, ["c/d/y", "c/d0"]);
    assert_eq!(list("c/d", "c/d-e").await, ["c/d/x", "c/d/y"]);
}

pub(super) async fn list_that_may_end_has_all_keys_before(t: Trial) {
    let mut keys = vec![
        "a-b/x", "a/b-c", "a/b/x", "a/b/y/z", "a/b0", "a/c", "ab", "b/x", "b.d", "z",
    ];
    store_all(&t, &keys).await;
    keys.sort_unstable();
    // Prefixes with keys and without, an object, before all keys and behind them.
    for end in ["a", "a/b", "a/b/y", "a/b/zz", "a/c", "b", "0", "~"] {
        // `a/b-c` comes before all keys below `a/b`.
        let first_below = format!("{end}/");
        for after in ["a", "a/b/x", "b.d"] {
            let from = keys.iter().filter(|at| **at > after);
            let before: Vec<&str> = from.copied().filter(|at| **at < *first_below).collect();
            let options = ListOptions::default().with_start_after(key(after));
            let whole = t.list(options.clone()).await;
            let found = t.list(options.with_end_at(prefix(end))).await;
            assert!(found.len() >= before.len(), "before {end:?}: {found:?}");
            assert_eq!(found, whole[..found.len()], "up to {end:?}");
        }
        let below = ListOptions::prefix(prefix("a")).with_end_at(prefix(end));
        let found = t.list(below).await;
        let whole = t.keys("a").await;
        let before = whole.iter().filter(|at| **at < first_below).count();
        assert!(found.len() >= before, "below a, before {end:?}: {found:?}");
        assert_eq!(found, whole[..found.len()], "below a, up to {end:?}");
    }
}

pub(super) async fn list_starts_after_beyond_a_page(t: Trial) {
    let keys = store_many(&t, "m", t.effort.many).await;
    for at in [0, t.effort.many / 2, t.effort.many - 2, t.effort.many - 1] {
        let options = ListOptions::prefix(prefix("m")).with_start_after(key(&keys[at]));
        assert_eq!(t.list(options).await, keys[at + 1..]);
    }
}

pub(super) async fn list_of_an_absent_prefix_is_empty(t: Trial) {
    for below in ["", "a", "a/b/c"] {
        assert!(t.keys(below).await.is_empty());
    }
    store_all(&t, &["ab/c", "a-/x"]).await;
    for below in ["a", "ab/c/d", "b", "ab/cc", "A"] {
        assert!(t.keys(below).await.is_empty(), "below {below:?}");
    }
}

pub(super) async fn list_of_an_object_as_a_prefix_is_empty(t: Trial) {
    store_all(&t, &["a/b"]).await;
    assert!(t.keys("a/b").await.is_empty());
    assert!(t.keys("a/b/c").await.is_empty());
}

pub(super) async fn list_describes_like_head(t: Trial) {
    store_all(&t, &["a/b", "a/c/d", "e"]).await;
    t.store("a/b", "written again").await;
    let list = t.store.list_all(&prefix("")).await.expect("listed");
    assert_eq!(list.len(), 3);
    for meta in list {
        t.agrees(&meta, &t.head(meta.key.as_str()).await).await;
    }
}

pub(super) async fn list_without_versions_says_the_rest(t: Trial) {
    store_all(&t, &["a/b", "a/c/d", "e"]).await;
    let options = ListOptions::default().without_versions();
    let list: Vec<_> = t.store.list(options).try_collect().await.expect("listed");
    let expected = t.store.list_all(&prefix("")).await.expect("listed");
    assert_eq!(list.len(), 3);
    for (without, with) in list.into_iter().zip(expected) {
        assert_eq!(
            (&without.key, without.size, without.last_modified),
            (&with.key, with.size, with.last_modified)
        );
        // A version that the caller should not use is either right or never true.
        let exact =
            t.store.capabilities().conditional_delete && t.store.capabilities().exact_versions;
        if exact && without.version != with.version {
            let deletion = Deletion::of(without.key, without.version);
            let outcome = t.store.delete_one(deletion).await.expect("answered");
            assert!(matches!(outcome, DeleteOutcome::Refused), "{outcome:?}");
        }
    }
}

pub(super) async fn list_forgets_the_deleted(t: Trial) {
    store_all(&t, &["a/b/c/d", "a/b/e"]).await;
    let _ = t
        .store
        .delete_one(key("a/b/c/d").into())
        .await
        .expect("deleted");
    assert_eq!(t.keys("").await, ["a/b/e"]);
    assert!(t.keys("a/b/c").await.is_empty());
    let _ = t
        .store
        .delete_one(key("a/b/e").into())
        .await
        .expect("deleted");
    assert!(t.keys("").await.is_empty());
}

pub(super) async fn list_can_be_dropped_midway(t: Trial) {
    store_many(&t, "m", 20).await;
    for n in [0, 1, 7] {
        let list = t.store.list(ListOptions::default()).take(n);
        let list: Vec<_> = list.try_collect().await.expect("listed");
        assert_eq!(list.len(), n);
    }
    assert_eq!(t.keys("m").await.len(), 20);
}
