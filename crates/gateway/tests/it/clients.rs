//! The request patterns of clients, as they were recorded against a server that only writes down what it is asked.

use crate::world::{Store, World, bytes};

/// zarr-python with fsspec opens a group with four requests at once, of which three find nothing.
#[tokio::test]
async fn zarr_python_opens_a_group() {
    let (store, _) = Store::small().await;
    let world = World::serving(&store).await;
    let headers = [
        ("Accept", "*/*"),
        ("Accept-Encoding", "gzip, deflate"),
        ("User-Agent", "Python/3.12 aiohttp/3.14.5"),
    ];
    for (key, status) in [
        ("zarr.json", 200),
        (".zgroup", 404),
        (".zattrs", 404),
        (".zmetadata", 404),
        ("g/a/zarr.json", 200),
        ("g/a/.zarray", 404),
        ("g/a/c/0", 200),
        ("g/a/c/3", 404),
    ] {
        let reply = world.with_headers(&format!("/main/{key}"), &headers).await;
        assert_eq!(reply.status, status, "{key}");
        assert!(reply.status != 404 || reply.body.len() < 32, "a few bytes");
    }
}

/// obstore joins the base, which ends with a slash, and the key with another one.
#[tokio::test]
async fn obstore_doubles_a_slash() {
    let (store, _) = Store::small().await;
    let world = World::serving(&store).await;
    assert_eq!(world.get("/main//zarr.json").await.status, 200);
    assert_eq!(world.get("/main//g/a/c/1").await.body, bytes(1, 3000));
    assert_eq!(
        world
            .ask("PROPFIND", "/main/", &[("Depth", "1")])
            .await
            .status,
        405
    );
}

/// tensorstore finds the driver by five HEADs, asks again with the tag, and reads parts under it.
#[tokio::test]
async fn tensorstore_detects_the_format_and_revalidates() {
    let (store, _) = Store::small().await;
    let world = World::serving(&store).await;
    for (key, status) in [
        ("info", 404),
        ("manifest.ocdbt", 404),
        ("attributes.json", 404),
        ("zarr.json", 200),
        (".zarray", 404),
    ] {
        let reply = world.head(&format!("/main/g/a/{key}")).await;
        assert_eq!(reply.status, status, "{key}");
        assert!(
            reply.header("date").unwrap().ends_with(" GMT"),
            "a date that it can read"
        );
    }
    let first = world
        .with_headers("/main/g/a/c/0", &[("Cache-Control", "no-cache")])
        .await;
    let tag = first.header("etag").unwrap();
    let again = [("Cache-Control", "no-cache"), ("If-None-Match", tag)];
    assert_eq!(
        world.with_headers("/main/g/a/c/0", &again).await.status,
        304
    );
    let part = [
        ("Range", "bytes=100-199"),
        ("If-Match", tag),
        ("Cache-Control", "no-cache"),
    ];
    let part = world.with_headers("/main/g/a/c/0", &part).await;
    assert_eq!(
        (part.status, part.body),
        (206, bytes(0, 2000)[100..200].to_vec())
    );
}

/// GDAL lists, asks for the length, and reads a range of exactly that.
#[tokio::test]
async fn gdal_reads_documents_by_their_length() {
    let (store, _) = Store::small().await;
    let world = World::serving(&store).await;
    let agent = ("User-Agent", "GDAL/3.12.2");
    assert_eq!(world.with_headers("/main/", &[agent]).await.status, 200);
    for key in [
        ".zmetadata",
        ".zarray",
        ".zgroup",
        "g/a/zarr.json.gmac",
        "g/a/zarr.json.aux.xml",
    ] {
        assert_eq!(
            world
                .ask("HEAD", &format!("/main/{key}"), &[agent])
                .await
                .status,
            404,
            "{key}"
        );
    }
    let head = world.ask("HEAD", "/main/zarr.json", &[agent]).await;
    let length: usize = head.header("content-length").unwrap().parse().unwrap();
    let range = format!("bytes=0-{}", length - 1);
    let reply = world
        .with_headers("/main/zarr.json", &[agent, ("Range", &range)])
        .await;
    assert_eq!((reply.status, reply.body.len()), (206, length));
    let reply = world
        .with_headers("/main/g/a/c/0", &[agent, ("Accept-Encoding", "gzip")])
        .await;
    assert_eq!(
        (reply.status, reply.header("content-encoding")),
        (200, None)
    );
}

/// zarrita reads the index of a shard from its end, and neuroglancer asks for one byte to learn a length.
#[tokio::test]
async fn viewers_read_parts() {
    let (store, _) = Store::small().await;
    let world = World::serving(&store).await;
    let reply = world
        .with_headers("/main/g/a/c/0", &[("Range", "bytes=0-0")])
        .await;
    assert_eq!(reply.header("content-range"), Some("bytes 0-0/2000"));
    let reply = world
        .with_headers("/main/g/a/c/0", &[("Range", "bytes=-260")])
        .await;
    assert_eq!((reply.status, reply.body.len()), (206, 260));
    assert_eq!(
        world.head("/main/g/a").await.status,
        404,
        "a directory is no file"
    );
}
