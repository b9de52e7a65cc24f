//! The reads of storage that a request costs, in the views and in the protocol of S3.

use std::time::Duration;

use icefield_gateway::Settings;

use crate::v2::put_sharded;
use crate::world::{Store, World, commit};

/// Reads of a branch that was read already do not ask again whether it has moved.
fn settings() -> Settings {
    Settings {
        recency: Duration::from_secs(600),
        ..Settings::default()
    }
}

/// A repository with native chunks and a shard, and the versions to read: the snapshot and its branch.
async fn versions() -> (Store, [String; 2]) {
    let (store, _) = Store::small().await;
    let session = store.session().await;
    put_sharded(&session).await;
    let id = commit(&session, "shards").await;
    (store, [id.to_string(), "main".to_owned()])
}

/// Requires that a chunk that was read before is one read, and that no other answer takes one.
async fn require_bounds(world: &World, version: &str, chunk: &str, absent: &[&str]) {
    let chunk = format!("{version}/{chunk}");
    let first = world.get(&chunk).await;
    assert_eq!(first.status, 200, "{chunk}");
    world.reads();
    let again = world.get(&chunk).await;
    assert_eq!(
        (again.status, &again.body),
        (200, &first.body),
        "{chunk}, again"
    );
    let reads = world.reads();
    let counted = (reads.total.requests(), reads.of("chunks").get);
    assert_eq!(counted, (1, 1), "{chunk}: {reads:?}");
    let sent = first.body.len() as u64;
    assert_eq!(reads.total.bytes_read, sent, "{chunk}: {reads:?}");

    let head = world.head(&chunk).await;
    let length = sent.to_string();
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some(length.as_str())),
        "{chunk}"
    );
    let tag = [("If-None-Match", head.header("etag").unwrap())];
    let reply = world.with_headers(&chunk, &tag).await;
    assert_eq!((reply.status, reply.body.len()), (304, 0), "{chunk}");
    for key in absent {
        let target = format!("{version}/{key}");
        assert_eq!(world.get(&target).await.status, 404, "{target}");
        assert_eq!(world.head(&target).await.status, 404, "{target}");
    }
    let reads = world.reads();
    assert_eq!(reads.total.requests(), 0, "{chunk}: {reads:?}");
}

#[tokio::test]
async fn a_warm_chunk_of_a_view_is_one_read_and_what_needs_no_bytes_none() {
    let (store, versions) = versions().await;
    let world = World::with(&store, settings()).await;
    let absent = [
        "g/a/c/3",
        "g/a/c/9",
        "g/a/c/0/0",
        "g/nothing",
        ".zgroup",
        "g/a/.zarray",
    ];
    let absent_in_v2 = [
        "g/a/3",
        "g/a/9",
        "g/a/0.0",
        "g/a/c/0",
        "g/nothing",
        "zarr.json",
    ];
    for version in &versions {
        let raw = format!("/-/raw/{version}");
        require_bounds(&world, &raw, "g/a/c/0", &absent).await;
        let v2 = format!("/-/v2/{version}");
        require_bounds(&world, &v2, "g/a/0", &absent_in_v2).await;
        // An inner chunk is cut out of its shard, whose index is known by now.
        require_bounds(&world, &v2, "s/6", &["s/0", "s/5", "s/8"]).await;
    }
}

#[tokio::test]
async fn a_warm_object_of_s3_is_one_read_and_what_needs_no_bytes_none() {
    let (store, versions) = versions().await;
    let world = World::s3(&store, settings()).await;
    let absent = ["g/a/c/3", "g/a/c/9", "g/a", "g/nothing", ".zgroup"];
    for version in &versions {
        let bucket = format!("/ocean/{version}");
        require_bounds(&world, &bucket, "g/a/c/0", &absent).await;
        let bucket = format!("/ocean-v2/{version}");
        require_bounds(&world, &bucket, "g/a/0", &["g/a/3", "g/a/c/0", "zarr.json"]).await;
        require_bounds(&world, &bucket, "s/6", &["s/0", "s/5", "s/8"]).await;
    }
}
