//! The view in Zarr v2: documents of that format beside the same chunks.

use std::sync::Arc;

use icefield::format::SpecVersion;
use icefield::storage::Storage;
use icefield::{MemoryStorage, Repository, Session};
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

/// Puts the array `/s` of two shards with four inner chunks each. The second shard has its first, third and fourth one.
pub(crate) async fn put_sharded(session: &Session) {
    let sharded = r#"{
        "zarr_format": 3, "node_type": "array", "shape": [8], "data_type": "uint8", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
        "chunk_key_encoding": {"name": "default"},
        "codecs": [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [1], "codecs": [{"name": "bytes"}], "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            "index_location": "end"}}]}"#;
    put(session, "/s", sharded).await;
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
    chunk(session, "/s", &[1], shard).await;
}

#[tokio::test]
async fn shards_are_cut_into_their_inner_chunks() {
    let store = Store::new().await;
    let session = store.session().await;
    put(&session, "/", GROUP).await;
    put_sharded(&session).await;
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

const SHARDED: &str = r#"{"name": "sharding_indexed", "configuration": {"chunk_shape": [1], "codecs": [{"name": "bytes"}],
    "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}], "index_location": "end"}}"#;

#[tokio::test]
async fn an_array_whose_chunks_have_several_lengths_is_absent_and_listed() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let writer = Repository::builder(Arc::clone(&storage))
        .spec_version(SpecVersion::V2)
        .create()
        .await
        .unwrap();
    let store = Store { storage, writer };
    let session = store.session().await;
    let grid =
        r#"{"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[2, 1]]}}"#;
    let regular = r#"{"name": "regular", "configuration": {"chunk_shape": [1]}}"#;
    let plain = array(3).replace(regular, grid);
    put(&session, "/", GROUP).await;
    put(&session, "/plain", &plain).await;
    put(
        &session,
        "/sharded",
        &plain.replace(r#"{"name": "bytes"}"#, SHARDED),
    )
    .await;
    for name in ["/plain", "/sharded"] {
        chunk(&session, name, &[0], bytes(0, 2)).await;
        chunk(&session, name, &[1], bytes(1, 1)).await;
    }
    commit(&session, "rectilinear").await;
    let world = World::serving(&store).await;
    for name in ["plain", "sharded"] {
        for key in [".zarray", "0", "1", "2"] {
            let reply = world.get(&format!("/-/v2/main/{name}/{key}")).await;
            assert_eq!(reply.status, 404, "{name}/{key}");
        }
    }
    let absent = world.get("/-/api/ocean/v2/main").await.json();
    for at in 0..2 {
        let reason = absent["absent"][at]["reason"].as_str().unwrap();
        assert!(reason.contains("lengths"), "{absent}");
    }
}

/// A codec may be spelt as its name alone, and Zarr v2 has to know shards however they are spelt.
#[tokio::test]
async fn shards_that_format_2_cannot_cut_are_absent() {
    let store = Store::new().await;
    let session = store.session().await;
    put(&session, "/", GROUP).await;
    let twice = array(2).replace(
        r#"{"name": "bytes"}"#,
        &format!(r#"{SHARDED}, {{"name": "crc32c"}}"#),
    );
    put(&session, "/s", &twice).await;
    chunk(&session, "/s", &[0], bytes(0, 100)).await;
    commit(&session, "shards of shards").await;
    let world = World::serving(&store).await;
    for key in [".zarray", "0"] {
        assert_eq!(
            world.get(&format!("/-/v2/main/s/{key}")).await.status,
            404,
            "{key}"
        );
    }
}

#[tokio::test]
async fn a_damaged_index_of_a_shard_is_damage_and_no_absence() {
    let store = Store::new().await;
    let session = store.session().await;
    put(&session, "/", GROUP).await;
    let shards = array(4).replace(r#""chunk_shape": [1]"#, r#""chunk_shape": [2]"#);
    put(
        &session,
        "/s",
        &shards.replace(r#"{"name": "bytes"}"#, SHARDED),
    )
    .await;
    let index = |entries: [u64; 4]| entries.map(u64::to_le_bytes).concat();
    let good = index([0, 10, 10, 20]);
    let sum = crc32c(&good).to_le_bytes();
    let mut torn = good.clone();
    torn[16..].fill(0xff);
    // The checksum is that of other entries; the entries of the second chunk say that it is not there.
    chunk(
        &session,
        "/s",
        &[0],
        [&bytes(0, 1000)[..], &torn, &sum].concat(),
    )
    .await;
    // Half of an entry says that there is nothing.
    let half = index([0, 10, u64::MAX, 20]);
    let sum = crc32c(&half).to_le_bytes();
    chunk(
        &session,
        "/s",
        &[1],
        [&bytes(0, 1000)[..], &half, &sum].concat(),
    )
    .await;
    commit(&session, "torn").await;
    let world = World::serving(&store).await;
    for (key, shard) in [("0", "0"), ("1", "0"), ("3", "1")] {
        let reply = world.get(&format!("/-/v2/main/s/{key}")).await;
        assert_eq!(reply.status, 500, "{key}");
        let named = format!("chunk [{shard}] of /s");
        assert!(reply.text().contains(&named), "{}", reply.text());
    }
    assert_eq!(world.get("/-/v2/main/s/2").await.body, bytes(0, 1000)[..10]);
}

#[tokio::test]
async fn a_damaged_array_does_not_take_the_others_with_it() {
    let store = Store::new().await;
    let session = store.session().await;
    put(&session, "/", GROUP).await;
    put(&session, "/bad", &array(2)).await;
    put(&session, "/good", &array(2)).await;
    chunk(&session, "/bad", &[0], bytes(0, 2000)).await;
    commit(&session, "two").await;
    crate::damage::delete_below(&store.storage, "manifests/").await;
    let world = World::serving(&store).await;
    for (key, status) in [
        ("good/.zarray", 200),
        (".zgroup", 200),
        ("good/0", 404),
        ("bad/.zarray", 500),
        ("bad/0", 500),
        ("bad/1", 500),
    ] {
        let reply = world.get(&format!("/-/v2/main/{key}")).await;
        assert_eq!(reply.status, status, "{key}: {}", reply.text());
    }
    let root = world.get("/-/v2/main/.zmetadata").await;
    assert!(root.text().contains("good/.zarray") && !root.text().contains("bad"));
    let absent = world.get("/-/api/ocean/v2/main").await.json();
    assert_eq!(absent["absent"][0]["path"], "/bad", "{absent}");
}

/// CRC-32C, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut sum = !0_u32;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ (0x82f6_3b78 & (sum & 1).wrapping_neg());
        }
    }
    !sum
}
