//! Lists: order, siblings, depth and number.

use futures::TryStreamExt;
use icefield_zarr_fs::{ReadTree, TreePrefix, WriteTree};

use crate::world::{dir, get, key, list, prefix, set, world};

#[tokio::test]
async fn fs21_a_prefix_means_whole_segments() {
    let world = world();
    let all = ["a.b", "a/x", "a/y/z", "ab/c", "a0"];
    for name in all {
        set(&world.tree, name, "v").await;
    }
    // By bytes of whole keys: `.` before `/` before `0`.
    assert_eq!(
        list(&world.tree, "").await,
        ["a.b", "a/x", "a/y/z", "a0", "ab/c"]
    );
    assert_eq!(list(&world.tree, "a/").await, ["a/x", "a/y/z"]);
    let (keys, prefixes) = dir(&world.tree, "a/").await;
    assert_eq!(
        (keys, prefixes),
        (vec!["a/x".to_owned()], vec!["a/y/".to_owned()])
    );
    world.tree.erase_prefix(&prefix("a/")).await.unwrap();
    assert_eq!(list(&world.tree, "").await, ["a.b", "a0", "ab/c"]);
    // A value of the name of the prefix is not below it.
    set(&world.tree, "a", "v").await;
    world.tree.erase_prefix(&prefix("a/")).await.unwrap();
    assert_eq!(list(&world.tree, "").await, ["a", "a.b", "a0", "ab/c"]);
}

#[tokio::test]
async fn fs22_three_hundred_levels() {
    let world = world();
    // Longer than a path may be for the system.
    let deep = format!("{}/v", vec!["a-long-name-of-a-level"; 300].join("/"));
    assert!(deep.len() > 4096);
    set(&world.tree, &deep, "v").await;
    assert_eq!(get(&world.tree, &deep).await.as_deref(), Some(&b"v"[..]));
    assert_eq!(list(&world.tree, "").await, [&*deep]);
    assert_eq!(dir(&world.tree, "").await.1, ["a-long-name-of-a-level/"]);
    world.tree.erase(&key(&deep)).await.unwrap();
    assert!(list(&world.tree, "").await.is_empty());
    set(&world.tree, &deep, "v").await;
    world.tree.erase_prefix(&TreePrefix::all()).await.unwrap();
    assert_eq!(std::fs::read_dir(world.base()).unwrap().count(), 0);
}

#[tokio::test]
async fn fs22_a_hundred_thousand_files_in_one_directory() {
    let world = world();
    let directory = world.base().join("c");
    std::fs::create_dir(&directory).unwrap();
    for at in 0..100_000 {
        std::fs::File::create(directory.join(at.to_string())).unwrap();
    }
    let mut listed = world.tree.list_dir(&prefix("c/"));
    let mut count = 0;
    while listed.try_next().await.unwrap().is_some() {
        count += 1;
    }
    assert_eq!(count, 100_000);
    // The first ones come without the rest.
    let first = world
        .tree
        .list(&TreePrefix::all())
        .try_next()
        .await
        .unwrap();
    assert_eq!(first.unwrap().key, key("c/0"));
    // Whether there is one needs a look at one.
    assert_eq!(dir(&world.tree, "").await.1, ["c/"]);
}
