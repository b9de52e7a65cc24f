//! The view in Zarr v2: documents of that format beside the same chunks.

use serde_json::Value;

use crate::world::{GROUP, Store, World, array, bytes, chunk, commit, put};

#[tokio::test]
async fn documents_are_those_of_format_2_and_chunks_the_same() {
    let (store, id) = Store::small().await;
    let world = World::serving(&store).await;
    let group = world.get(&format!("/-/v2/{id}/.zgroup")).await.json();
    assert_eq!(group["zarr_format"], 2);
    let document = world.get("/-/v2/main/g/a/.zarray").await.json();
    assert_eq!(
        (&document["shape"][0], &document["dtype"]),
        (&4.into(), &"|u1".into())
    );
    for (v2, v3) in [("0", "c/0"), ("1", "c/1"), ("2", "c/2")] {
        let old = world.get(&format!("/-/v2/main/g/a/{v2}")).await;
        let new = world.get(&format!("/main/g/a/{v3}")).await;
        assert_eq!(old.body, new.body);
        assert_eq!(old.header("etag"), new.header("etag"));
    }
    for key in [
        "g/a/3",
        "g/a/c/0",
        "zarr.json",
        "g/a/zarr.json",
        "g/a/0.0",
        "g/a/00",
        "g/a/.zgroup",
        "g/.zarray",
        "x/.zgroup",
    ] {
        assert_eq!(
            world.get(&format!("/-/v2/main/{key}")).await.status,
            404,
            "{key}"
        );
    }
    let part = world
        .with_headers("/-/v2/main/g/a/0", &[("Range", "bytes=-9")])
        .await;
    assert_eq!(part.body, bytes(0, 2000)[1991..]);
}

#[tokio::test]
async fn each_group_has_its_consolidated_metadata() {
    let (store, _) = Store::small().await;
    let world = World::serving(&store).await;
    let keys = |document: &Value| -> Vec<String> {
        document["metadata"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    };
    let root = world.get("/-/v2/main/.zmetadata").await.json();
    assert_eq!(root["zarr_consolidated_format"], 1);
    assert_eq!(
        keys(&root),
        [
            ".zattrs",
            ".zgroup",
            "g/.zattrs",
            "g/.zgroup",
            "g/a/.zarray",
            "g/a/.zattrs"
        ]
    );
    let group = world.get("/-/v2/main/g/.zmetadata").await.json();
    assert_eq!(
        keys(&group),
        [".zattrs", ".zgroup", "a/.zarray", "a/.zattrs"]
    );
    assert_eq!(world.get("/-/v2/main/g/a/.zmetadata").await.status, 404);
}

#[tokio::test]
async fn an_array_that_format_2_cannot_spell_is_absent_and_listed() {
    let store = Store::new().await;
    let session = store.session().await;
    put(&session, "/", GROUP).await;
    put(&session, "/fine", &array(1)).await;
    put(
        &session,
        "/odd",
        &array(1).replace(
            r#"{"name": "bytes"}"#,
            r#"{"name": "bytes"}, {"name": "my.codec"}"#,
        ),
    )
    .await;
    commit(&session, "odd").await;
    let world = World::serving(&store).await;
    assert_eq!(world.get("/-/v2/main/fine/.zarray").await.status, 200);
    assert_eq!(world.get("/-/v2/main/odd/.zarray").await.status, 404);
    let root = world.get("/-/v2/main/.zmetadata").await;
    assert!(!root.text().contains("odd"));
    let absent = world.get("/-/api/ocean/v2/main").await.json();
    assert_eq!(absent["absent"][0]["path"], "/odd", "{absent}");
    assert!(
        absent["absent"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("codec"),
        "{absent}"
    );
}

#[tokio::test]
async fn shards_are_cut_into_their_inner_chunks() {
    let store = Store::new().await;
    let session = store.session().await;
    let sharded = r#"{
        "zarr_format": 3, "node_type": "array", "shape": [8], "data_type": "uint8", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
        "chunk_key_encoding": {"name": "default"},
        "codecs": [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [1], "codecs": [{"name": "bytes"}], "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            "index_location": "end"}}]}"#;
    put(&session, "/", GROUP).await;
    put(&session, "/s", sharded).await;
    let mut shard = bytes(3, 1000);
    for (offset, length) in [
        (0_u64, 400_u64),
        (u64::MAX, u64::MAX),
        (400, 500),
        (900, 100),
    ] {
        shard.extend(offset.to_le_bytes());
        shard.extend(length.to_le_bytes());
    }
    chunk(&session, "/s", &[1], shard).await;
    commit(&session, "shards").await;
    let world = World::serving(&store).await;
    let document = world.get("/-/v2/main/s/.zarray").await.json();
    assert_eq!(document["chunks"][0], 1);
    let whole = bytes(3, 1000);
    assert_eq!(world.get("/-/v2/main/s/4").await.body, whole[..400]);
    assert_eq!(world.get("/-/v2/main/s/6").await.body, whole[400..900]);
    assert_eq!(world.get("/-/v2/main/s/7").await.body, whole[900..]);
    for missing in ["0", "5", "8"] {
        assert_eq!(
            world.get(&format!("/-/v2/main/s/{missing}")).await.status,
            404,
            "{missing}"
        );
    }
    world.reads();
    let part = world
        .with_headers("/-/v2/main/s/6", &[("Range", "bytes=0-9")])
        .await;
    assert_eq!((part.status, &part.body[..]), (206, &whole[400..410]));
    assert_eq!(part.header("content-range"), Some("bytes 0-9/500"));
    // The index is known: one read of just these bytes.
    let reads = world.reads().total;
    assert_eq!((reads.requests(), reads.bytes_read), (1, 10));
    assert_eq!(
        world.head("/-/v2/main/s/7").await.header("content-length"),
        Some("100")
    );
    assert_eq!(world.reads().total.requests(), 0);
}
