//! Names that are no keys, and things that are no objects: a list drops none of them, and goes on.
//!
//! Other programs leave them: consoles, file gateways, `cp`. Of a store that can hold none of them these cases ask the rest.

use futures::stream::{self, StreamExt};

use super::trial::{Trial, key, prefix};
use crate::{ListOptions, ObjectMeta, StorageError, StorageExt, UnreadableName};

/// An item of a list: the name, and whether it is an object.
type Item = (String, bool);

/// Names of every kind below `folder`.
fn names(folder: &str) -> Vec<Vec<u8>> {
    let below = |rest: &[u8]| [folder.as_bytes(), rest].concat();
    let mut names = vec![
        // Directory markers.
        below(b"/"),
        below(b"/sub/"),
        below(b"//x"),
        below(b"/./x"),
        below(b"/../x"),
        below(b"/a\0b"),
        below(b"/not \xff\xfe utf-8"),
        below(format!("/{}", "l".repeat(256)).as_bytes()),
        below(format!("/{}/x", "l".repeat(300)).as_bytes()),
        // A key, under which something is that is no object.
        below(b"/link"),
    ];
    names.push(below(
        format!("/{}", vec!["m".repeat(200); 6].join("/")).as_bytes(),
    ));
    names
}

/// Plants all names that the store can hold and returns them as a list has to yield them.
async fn planted(t: &Trial, names: &[Vec<u8>]) -> Vec<(Vec<u8>, Item)> {
    let mut planted = Vec::new();
    for name in names {
        if t.plant(name).await {
            planted.push((name.clone(), (raw(name), false)));
        }
    }
    planted
}

fn raw(name: &[u8]) -> String {
    match StorageError::from(UnreadableName::new(name, "")) {
        StorageError::UnreadableKey { raw, .. } => raw,
        other => panic!("a name that cannot be read is {other:?}"),
    }
}

/// Stores objects and returns them as a list has to yield them.
async fn stored(t: &Trial, keys: &[String]) -> Vec<(Vec<u8>, Item)> {
    for at in keys {
        t.store(at, "x").await;
    }
    keys.iter()
        .map(|at| (at.clone().into_bytes(), (at.clone(), true)))
        .collect()
}

/// Lists to the end.
async fn list(t: &Trial, options: ListOptions) -> Vec<Item> {
    let items: Vec<_> = t.store.list(options).collect().await;
    let item = |item| match item {
        Ok(ObjectMeta { key, .. }) => (key.to_string(), true),
        Err(StorageError::UnreadableKey { raw, problem }) => {
            assert!(!problem.is_empty(), "{raw:?} has no problem");
            (raw, false)
        }
        Err(error) => panic!("list must not fail: {error:?}"),
    };
    items.into_iter().map(item).collect()
}

/// Returns the items in byte order of their names.
fn in_order(mut items: Vec<(Vec<u8>, Item)>) -> Vec<Item> {
    items.sort();
    items.into_iter().map(|(_, item)| item).collect()
}

fn keys(folder: &str) -> Vec<String> {
    // Before, between and behind all that is planted.
    ["!", "a", "lz", "m", "sub0", "~", "é"]
        .iter()
        .map(|name| format!("{folder}/{name}"))
        .collect()
}

pub(super) async fn list_names_what_is_no_object_and_goes_on(t: Trial) {
    let mut all = stored(&t, &keys("f")).await;
    all.extend(stored(&t, &["e".to_owned(), "g/x".to_owned()]).await);
    all.extend(planted(&t, &names("f")).await);
    // At the root.
    all.extend(planted(&t, &[b"/x".to_vec(), b"\xff".to_vec(), b"z//".to_vec()]).await);
    assert_eq!(list(&t, ListOptions::default()).await, in_order(all));
}

pub(super) async fn list_names_what_is_no_object_below_a_prefix(t: Trial) {
    let mut below = stored(&t, &keys("f/g")).await;
    below.extend(planted(&t, &names("f/g")).await);
    let _ = stored(&t, &keys("f/g-")).await;
    for beside in ["f", "f/ga", "f/g0", "f/g-", "x"] {
        let _ = planted(&t, &names(beside)).await;
    }
    let options = ListOptions::prefix(prefix("f/g"));
    assert_eq!(list(&t, options).await, in_order(below));
    let none = list(&t, ListOptions::prefix(prefix("f/g/nothing"))).await;
    assert_eq!(none, []);
}

pub(super) async fn list_names_what_is_no_object_after_a_key(t: Trial) {
    let mut all = stored(&t, &keys("f")).await;
    all.extend(stored(&t, &["e".to_owned(), "g/x".to_owned()]).await);
    all.extend(planted(&t, &names("f")).await);
    let starts = [
        "e", "f", "f/!", "f/a", "f/link", "f/lz", "f/m", "f/sub", "f/é", "g",
    ];
    for start in starts {
        for below in ["", "f"] {
            let after = all.iter().filter(|(name, _)| **name > *start.as_bytes());
            let after = after.filter(|(name, _)| below.is_empty() || name.starts_with(b"f/"));
            let after: Vec<_> = after.cloned().collect();
            let options = ListOptions::prefix(prefix(below)).with_start_after(key(start));
            assert_eq!(
                list(&t, options).await,
                in_order(after),
                "after {start:?} below {below:?}"
            );
        }
    }
}

pub(super) async fn list_names_what_is_no_object_beyond_a_page(t: Trial) {
    let (many, t) = (t.effort.many, &t);
    let width = many.to_string().len();
    // Whole pages of either kind, and pages that end with either.
    let items = stream::iter(0..many).map(|i| async move {
        let at = format!("f/{i:0width$}");
        if i < many / 2 || i % 10 == 0 {
            for name in [format!("{at}/"), format!("{at}-")] {
                if t.plant(name.as_bytes()).await {
                    return (name.clone().into_bytes(), (name, false));
                }
            }
        }
        t.store(&at, "x").await;
        (at.clone().into_bytes(), (at, true))
    });
    let expected = in_order(items.buffer_unordered(32).collect().await);
    assert_eq!(list(t, ListOptions::default()).await, expected);
    let listed = list(t, ListOptions::prefix(prefix("f"))).await;
    assert_eq!(listed, expected);
}

pub(super) async fn what_is_no_object_outlives_the_objects_around_it(t: Trial) {
    let _ = stored(&t, &keys("f")).await;
    let odd = planted(&t, &names("f")).await;
    for at in keys("f") {
        t.expect(&at, b"x").await;
        let _ = t.store.delete_one(key(&at).into()).await.expect("deleted");
    }
    assert_eq!(list(&t, ListOptions::default()).await, in_order(odd));
}
