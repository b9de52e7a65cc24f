//! Values, ranges, parts, and erasing.

use std::sync::Arc;

use icefield_storage::Prefix;
use icefield_storage_memory::MemoryStorage;
use icefield_zarr_fs::{GetRange, StorageTree, TreeError, TreePrefix, WriteTree};
use icefield_zarr_fs::{ReadTree, ZipLayout, ZipTree, ZipWriter};

use crate::world::{World, dir, get, key, list, names, prefix, set, world};

/// An offset, and what is put there.
type Part = (u64, &'static str);

/// The kinds of trees that can be written.
fn writable(world: &World) -> Vec<Arc<dyn WriteTree>> {
    let memory = Arc::new(MemoryStorage::new());
    let below = Prefix::parse("some/where").unwrap();
    vec![
        Arc::new(world.tree.clone()),
        Arc::new(StorageTree::new(Arc::clone(&memory) as _, Prefix::all())),
        Arc::new(StorageTree::new(memory, below)),
    ]
}

#[tokio::test]
async fn fs06_empty_values_are_not_absent() {
    let world = world();
    for tree in writable(&world) {
        set(&*tree, "e", "").await;
        set(&*tree, "v", "value").await;
        assert_eq!(get(&*tree, "e").await.as_deref(), Some(&b""[..]));
        assert_eq!(tree.size(&key("e")).await.unwrap(), Some(0));
        for range in [
            GetRange::Bounded(2..2),
            GetRange::Suffix(0),
            GetRange::From(5),
        ] {
            let value = tree.get(&key("v"), range.clone()).await.unwrap();
            assert_eq!(value.as_deref(), Some(&b""[..]), "{range:?}");
        }
        assert_eq!(list(&*tree, "").await, ["e", "v"]);
    }
}

#[tokio::test]
async fn fs07_ranges_are_contained_in_the_value_or_refused() {
    let world = world();
    let path = world.outer.path().join("t.zip");
    let mut zip = ZipWriter::create(&path, ZipLayout::Flat).await.unwrap();
    zip.add(&key("v"), "0123456789".into()).await.unwrap();
    zip.finish().await.unwrap();
    let mut trees: Vec<Arc<dyn ReadTree>> = vec![Arc::new(ZipTree::open(path).unwrap())];
    for tree in writable(&world) {
        set(&*tree, "v", "0123456789").await;
        trees.push(tree);
    }
    let good = [
        (GetRange::All, "0123456789"),
        (GetRange::Bounded(2..5), "234"),
        (GetRange::Bounded(8..10), "89"),
        (GetRange::Bounded(0..10), "0123456789"),
        (GetRange::Bounded(10..10), ""),
        (GetRange::From(7), "789"),
        (GetRange::From(10), ""),
        (GetRange::Suffix(3), "789"),
        (GetRange::Suffix(10), "0123456789"),
    ];
    #[expect(clippy::reversed_empty_ranges, reason = "that is the case")]
    let bad = [
        GetRange::Bounded(8..50),
        GetRange::Bounded(11..12),
        GetRange::Bounded(5..4),
        GetRange::From(11),
        GetRange::Suffix(11),
        GetRange::Bounded(0..u64::MAX),
        GetRange::Bounded(u64::MAX - 1..u64::MAX),
        GetRange::From(u64::MAX),
        GetRange::Suffix(u64::MAX),
    ];
    for tree in trees {
        for (range, expected) in &good {
            let value = tree.get(&key("v"), range.clone()).await.unwrap();
            assert_eq!(value.as_deref(), Some(expected.as_bytes()), "{range:?}");
        }
        for range in &bad {
            let refused = tree.get(&key("v"), range.clone()).await.unwrap_err();
            let TreeError::Range { wanted, size, .. } = refused else {
                panic!("{refused}");
            };
            assert_eq!((&wanted, size), (range, 10));
            assert_eq!(tree.get(&key("absent"), range.clone()).await.unwrap(), None);
        }
    }
}

#[tokio::test]
async fn fs08_partial_values_keep_their_order_and_the_absent_ones() {
    let world = world();
    for tree in writable(&world) {
        set(&*tree, "a", "abc").await;
        set(&*tree, "d/b", "xyz").await;
        let wanted = [
            (key("a"), GetRange::Bounded(0..1)),
            (key("absent"), GetRange::All),
            (key("d/b"), GetRange::Suffix(1)),
            (key("a"), GetRange::From(1)),
            (key("a"), GetRange::Bounded(0..1)),
        ];
        let values = tree.get_partial_values(&wanted).await.unwrap();
        let expected = [Some("a"), None, Some("z"), Some("bc"), Some("a")];
        assert_eq!(values, expected.map(|v| v.map(bytes::Bytes::from)));
        let ranges = [GetRange::Suffix(1), GetRange::Bounded(0..2)];
        let of_one = tree.get_ranges(&key("a"), &ranges).await.unwrap();
        assert_eq!(of_one.unwrap(), ["c", "ab"]);
        assert_eq!(tree.get_ranges(&key("a"), &[]).await.unwrap(), Some(vec![]));
        assert_eq!(tree.get_ranges(&key("x"), &[]).await.unwrap(), None);
    }
}

#[tokio::test]
async fn fs09_parts_are_put_into_values() {
    let world = world();
    for tree in writable(&world) {
        set(&*tree, "v", "0123").await;
        let parts = |list: &[Part]| -> Vec<_> {
            list.iter()
                .map(|(at, part)| (*at, (*part).into()))
                .collect()
        };
        let table: [(&[Part], &[u8]); 6] = [
            (&[(1, "ab")], b"0ab3"),
            (&[(4, "45")], b"0ab345"),
            (&[(8, "8")], b"0ab345\0\08"),
            (&[(2, "")], b"0ab345\0\08"),
            (&[(0, "X"), (6, "YZ")], b"Xab345YZ8"),
            (&[], b"Xab345YZ8"),
        ];
        for (list, expected) in table {
            tree.set_partial(&key("v"), &parts(list)).await.unwrap();
            assert_eq!(get(&*tree, "v").await.as_deref(), Some(expected));
        }
        tree.set_partial(&key("new"), &parts(&[(2, "n")]))
            .await
            .unwrap();
        assert_eq!(get(&*tree, "new").await.as_deref(), Some(&b"\0\0n"[..]));
        let many = [
            (key("v"), 0, "1".into()),
            (key("w"), 0, "2".into()),
            (key("v"), 1, "3".into()),
        ];
        tree.set_partial_values(&many).await.unwrap();
        assert_eq!(get(&*tree, "v").await.as_deref(), Some(&b"13b345YZ8"[..]));
        assert_eq!(get(&*tree, "w").await.as_deref(), Some(&b"2"[..]));
        let far = tree
            .set_partial(&key("v"), &parts(&[(u64::MAX, "x")]))
            .await;
        assert!(matches!(far, Err(TreeError::TooLong { .. })), "{far:?}");
    }
}

#[tokio::test]
async fn fs10_erasing_what_is_absent_is_no_error() {
    let world = world();
    for tree in writable(&world) {
        set(&*tree, "a", "v").await;
        set(&*tree, "d/b", "v").await;
        set(&*tree, "d/e/c", "v").await;
        for _ in 0..2 {
            tree.erase(&key("a")).await.unwrap();
            tree.erase(&key("never/was")).await.unwrap();
            tree.erase_prefix(&prefix("never/was/")).await.unwrap();
        }
        tree.erase_values(&[key("d/b"), key("d/b"), key("x")])
            .await
            .unwrap();
        assert_eq!(list(&*tree, "").await, ["d/e/c"]);
        for _ in 0..2 {
            tree.erase_prefix(&TreePrefix::all()).await.unwrap();
            assert!(list(&*tree, "").await.is_empty());
        }
    }
    assert!(world.base().is_dir(), "the base itself stays");
    assert!(names(world.base()).is_empty());
}

#[tokio::test]
async fn erasing_a_directory_is_for_prefixes() {
    let world = world();
    set(&world.tree, "d/b", "v").await;
    let refused = world.tree.erase(&key("d")).await.unwrap_err();
    assert!(
        matches!(&refused, TreeError::AboveKeys { below, .. } if below == "d/b"),
        "{refused}"
    );
    std::fs::create_dir(world.base().join("empty")).unwrap();
    world.tree.erase(&key("empty")).await.unwrap();
}

#[tokio::test]
async fn fs11_directories_without_keys_are_not_listed() {
    let world = world();
    std::fs::create_dir_all(world.base().join("empty/deeper/still")).unwrap();
    set(&world.tree, "a/b/c", "v").await;
    set(&world.tree, "d", "v").await;
    assert_eq!(
        dir(&world.tree, "").await,
        (vec!["d".into()], vec!["a/".into()])
    );
    world.tree.erase(&key("a/b/c")).await.unwrap();
    assert_eq!(dir(&world.tree, "").await, (vec!["d".into()], vec![]));
    // Those that erasing has emptied are gone; others are left alone.
    assert!(!world.base().join("a").exists());
    assert!(world.base().join("empty/deeper/still").exists());
    assert_eq!(list(&world.tree, "").await, ["d"]);
}

#[tokio::test]
async fn a_value_is_stored_once_unless_it_exists() {
    let world = world();
    for tree in writable(&world) {
        assert!(
            tree.set_if_not_exists(&key("d/a"), "1".into())
                .await
                .unwrap()
        );
        assert!(
            !tree
                .set_if_not_exists(&key("d/a"), "2".into())
                .await
                .unwrap()
        );
        assert_eq!(get(&*tree, "d/a").await.as_deref(), Some(&b"1"[..]));
    }
    assert_eq!(names(world.base()), ["d", "d/a"]);
}
