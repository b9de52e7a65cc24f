//! Values: bytes, ranges, tags, conditions, and the reads that they cost.

use crate::world::{Store, World, bytes};

/// A server that has served both documents and every chunk once.
async fn warm() -> (Store, World, String) {
    let (store, id) = Store::small().await;
    let world = World::serving(&store).await;
    for key in [
        "zarr.json",
        "g/a/zarr.json",
        "g/a/c/0",
        "g/a/c/1",
        "g/a/c/2",
    ] {
        assert_eq!(
            world.get(&format!("/{id}/{key}")).await.status,
            200,
            "{key}"
        );
        assert_eq!(
            world.get(&format!("/main/{key}")).await.status,
            200,
            "{key}"
        );
    }
    world.reads();
    (store, world, id.to_string())
}

#[tokio::test]
async fn a_warm_chunk_is_one_read_and_what_needs_no_bytes_none() {
    let (_store, world, id) = warm().await;
    for version in [id.as_str(), "main"] {
        let chunk = format!("/{version}/g/a/c/0");
        let reply = world.get(&chunk).await;
        assert_eq!((reply.status, reply.body), (200, bytes(0, 2000)));
        let reads = world.reads();
        assert_eq!(
            (reads.total.requests(), reads.of("chunks").get),
            (1, 1),
            "{version}"
        );

        let tag = world.head(&chunk).await.header("etag").unwrap().to_owned();
        let reply = world.with_headers(&chunk, &[("If-None-Match", &tag)]).await;
        assert_eq!((reply.status, reply.body.len()), (304, 0));
        assert_eq!(reply.header("etag"), Some(tag.as_str()));
        let reply = world
            .with_headers(&chunk, &[("If-Match", "\"other\"")])
            .await;
        assert_eq!(reply.status, 412);
        assert_eq!(world.get(&format!("/{version}/g/a/c/3")).await.status, 404);
        assert_eq!(
            world.get(&format!("/{version}/g/a/c/2")).await.body,
            b"inline"
        );
        for key in [
            ".zgroup",
            ".zattrs",
            "g/a/.zarray",
            "g/nothing",
            "g/a/c/0/0",
            "g/a/c/9",
        ] {
            assert_eq!(
                world.get(&format!("/{version}/{key}")).await.status,
                404,
                "{key}"
            );
        }
        let range = [("Range", "bytes=5000-")];
        assert_eq!(world.with_headers(&chunk, &range).await.status, 416);
        assert_eq!(world.reads().total.requests(), 0, "{version}");
    }
}

#[tokio::test]
async fn a_cold_first_chunk_costs_the_rounds_of_opening() {
    let (store, id) = Store::small().await;
    let world = World::serving(&store).await;
    world.reads();
    assert_eq!(world.get(&format!("/{id}/g/a/c/0")).await.status, 200);
    let reads = world.reads();
    let prefixes: Vec<_> = reads.by_prefix.keys().map(String::as_str).collect();
    assert_eq!(prefixes, ["chunks", "manifests", "snapshots"]);
    assert_eq!(reads.total.requests(), 3, "{reads:?}");
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let (_store, world, id) = warm().await;
    for key in [
        "zarr.json",
        "g/a/zarr.json",
        "g/a/c/0",
        "g/a/c/2",
        "g/",
        "g/a/c/3",
        "g",
    ] {
        let target = format!("/{id}/{key}");
        let (get, head) = (world.get(&target).await, world.head(&target).await);
        assert_eq!(get.status, head.status, "{key}");
        for name in [
            "content-length",
            "etag",
            "content-type",
            "cache-control",
            "x-icefield-snapshot",
        ] {
            assert_eq!(get.header(name), head.header(name), "{key}: {name}");
        }
        assert!(head.body.is_empty());
        assert_eq!(
            get.header("content-length").unwrap(),
            get.body.len().to_string()
        );
    }
    // The one chunk that is neither inline nor missing was read for GET alone.
    assert_eq!(world.reads().of("chunks").get, 1);
}

#[tokio::test]
async fn ranges_are_parts_of_the_value() {
    let (_store, world, id) = warm().await;
    let whole = bytes(0, 2000);
    for (range, expected) in [
        ("bytes=0-9", 0..10),
        ("bytes=1990-", 1990..2000),
        ("bytes=-260", 1740..2000),
        ("bytes=-9999", 0..2000),
        ("bytes=1999-5000", 1999..2000),
    ] {
        let reply = world
            .with_headers(&format!("/{id}/g/a/c/0"), &[("Range", range)])
            .await;
        assert_eq!(reply.status, 206, "{range}");
        assert_eq!(reply.body, whole[expected.clone()], "{range}");
        let content = format!("bytes {}-{}/2000", expected.start, expected.end - 1);
        assert_eq!(reply.header("content-range"), Some(content.as_str()));
        assert_eq!(
            world.reads().total.bytes_read,
            expected.len() as u64,
            "{range}"
        );
    }
    let several = [("Range", "bytes=0-1,5-6")];
    let reply = world
        .with_headers(&format!("/{id}/g/a/c/0"), &several)
        .await;
    assert_eq!((reply.status, reply.body), (200, whole));
    let reply = world
        .with_headers(&format!("/{id}/g/a/c/0"), &[("Range", "bytes=2000-")])
        .await;
    assert_eq!(
        (reply.status, reply.header("content-range")),
        (416, Some("bytes */2000"))
    );
    // Documents have ranges, too: GDAL asks for exactly their length.
    let document = world.get(&format!("/{id}/g/a/zarr.json")).await.body;
    let range = format!("bytes=0-{}", document.len() - 1);
    let reply = world
        .with_headers(&format!("/{id}/g/a/zarr.json"), &[("Range", &range)])
        .await;
    assert_eq!((reply.status, reply.body), (206, document));
}

#[tokio::test]
async fn a_range_of_another_value_is_refused() {
    let (_store, world, id) = warm().await;
    let target = format!("/{id}/g/a/c/0");
    let tag = world.head(&target).await.header("etag").unwrap().to_owned();
    assert!(tag.starts_with('"') && tag.ends_with('"'), "strong: {tag}");
    let ask = async |name: &str, value: &str| {
        let headers = [("Range", "bytes=0-9"), (name, value)];
        world.with_headers(&target, &headers).await.status
    };
    assert_eq!(ask("If-Match", &tag).await, 206);
    assert_eq!(ask("If-Match", "\"x\"").await, 412);
    assert_eq!(ask("If-Range", &tag).await, 206);
    assert_eq!(ask("If-Range", "\"x\"").await, 200);
    assert_eq!(ask("If-None-Match", &tag).await, 304);
}

#[tokio::test]
async fn long_chunks_are_read_in_pieces() {
    let store = Store::new().await;
    let session = store.session().await;
    crate::world::put(&session, "/a", &crate::world::array(1)).await;
    let long = bytes(7, 100_000);
    crate::world::chunk(&session, "/a", &[0], long.clone()).await;
    crate::world::commit(&session, "long").await;
    let mut settings = icefield_gateway::Settings::default();
    settings.limits.piece = 30_000;
    let world = World::with(&store, settings).await;
    let reply = world.get("/main/a/c/0").await;
    assert_eq!((reply.status, reply.body.len()), (200, 100_000));
    assert_eq!(reply.body, long);
    assert_eq!(world.reads().of("chunks").get, 4);
    let reply = world
        .with_headers("/main/a/c/0", &[("Range", "bytes=50000-")])
        .await;
    assert_eq!(reply.body, long[50_000..]);
}

#[tokio::test]
async fn paths_are_decoded_once_and_empty_segments_dropped() {
    let store = Store::new().await;
    let session = store.session().await;
    for name in ["a b", "100%", "ü", "x#y?z", "%41", "c:d"] {
        crate::world::put(&session, &format!("/{name}"), &crate::world::array(1)).await;
        crate::world::chunk(
            &session,
            &format!("/{name}"),
            &[0],
            name.as_bytes().to_vec(),
        )
        .await;
    }
    let id = crate::world::commit(&session, "names").await;
    let world = World::serving(&store).await;
    for (encoded, name) in [
        ("a%20b", "a b"),
        ("100%25", "100%"),
        ("%C3%BC", "ü"),
        ("%c3%bc", "ü"),
        ("x%23y%3Fz", "x#y?z"),
        ("%2541", "%41"),
        ("c%3Ad", "c:d"),
        ("c:d", "c:d"),
    ] {
        let reply = world.get(&format!("//main//{encoded}//c/0")).await;
        assert_eq!((reply.status, reply.text()), (200, name), "{encoded}");
    }
    assert_eq!(world.get("/main/A/zarr.json").await.status, 404);
    assert_eq!(world.get("/main/a%2Fzarr.json").await.status, 404);
    assert_eq!(world.get("/main/%zz").await.status, 400);
    let at = format!("/main%40{}/%41/zarr.json", "2999-01-01T00:00:00Z");
    assert_eq!(world.get(&at).await.status, 404);
    let at = "/main@2999-01-01T00:00:00Z/a%20b/c/0";
    assert_eq!(
        world.get(at).await.header("x-icefield-snapshot"),
        Some(id.to_string().as_str())
    );
}
