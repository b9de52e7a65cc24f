//! The protocol of S3, as its clients ask.

use std::net::SocketAddr;
use std::sync::Arc;

use icefield::storage::wrap::CountingStorage;
use icefield_gateway::{Access, Gateway, Served, Server, Settings};

use crate::world::{Store, World, array, bytes, chunk, commit, put};

async fn serving(store: &Store) -> World {
    let served = Served {
        name: "ocean".to_owned(),
        location: "memory:".to_owned(),
        repository: store.writer.clone(),
    };
    let gateway = Gateway::new(vec![served], Settings::default()).unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = Server::bind_s3(address, gateway.clone()).await.unwrap();
    World::running(
        server,
        gateway,
        CountingStorage::new(Arc::clone(&store.storage)),
    )
}

/// The texts of all elements of a name.
fn elements(text: &str, name: &str) -> Vec<String> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let parts = text.split(&open).skip(1);
    parts
        .map(|part| part.split(&close).next().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn objects_are_the_values_of_keys() {
    let (store, id) = Store::small().await;
    let world = serving(&store).await;
    let signed = (
        "Authorization",
        "AWS4-HMAC-SHA256 Credential=any/x, SignedHeaders=host, Signature=0",
    );
    let get = world
        .with_headers(
            "/ocean/main/g/a/c/0",
            &[signed, ("x-amz-checksum-mode", "ENABLED")],
        )
        .await;
    assert_eq!((get.status, get.body), (200, bytes(0, 2000)));
    let head = world.head(&format!("/ocean/{id}/g/a/c/0")).await;
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some("2000"))
    );
    assert!(head.header("etag").is_some());
    assert!(head.header("last-modified").unwrap().ends_with(" GMT"));
    let part = world
        .with_headers("/ocean/main/g/a/c/0", &[("Range", "bytes=-10")])
        .await;
    assert_eq!(
        (part.status, part.body),
        (206, bytes(0, 2000)[1990..].to_vec())
    );
    let tag = head.header("etag").unwrap();
    assert_eq!(
        world
            .with_headers("/ocean/main/g/a/c/0", &[("If-None-Match", tag)])
            .await
            .status,
        304
    );
    assert_eq!(
        world
            .with_headers("/ocean/main/g/a/c/0", &[("If-Match", "\"x\"")])
            .await
            .status,
        412
    );
    assert_eq!(world.get("/ocean-v2/main/g/a/0").await.body, bytes(0, 2000));
    for key in [
        "main/g/a/c/3",
        "main/g/a",
        "main/g/a/",
        "main/",
        "main",
        "main//zarr.json",
        "main/.zgroup",
        "nowhere/zarr.json",
    ] {
        let reply = world.get(&format!("/ocean/{key}")).await;
        assert_eq!(reply.status, 404, "{key}");
        assert_eq!(elements(reply.text(), "Code"), ["NoSuchKey"], "{key}");
    }
    let reply = world.get("/lake/main/zarr.json").await;
    assert_eq!(
        (reply.status, elements(reply.text(), "Code")),
        (404, vec!["NoSuchBucket".to_owned()])
    );
    for method in ["PUT", "POST", "DELETE"] {
        let reply = world.ask(method, "/ocean/main/x", &[]).await;
        assert_eq!(elements(reply.text(), "Code"), ["AccessDenied"], "{method}");
    }
}

#[tokio::test]
async fn buckets_are_repositories_and_their_views() {
    let (store, _) = Store::small().await;
    let world = serving(&store).await;
    let reply = world.get("/").await;
    assert_eq!(elements(reply.text(), "Name"), ["ocean", "ocean-v2"]);
    assert_eq!(world.head("/ocean").await.status, 200);
    assert_eq!(world.head("/lake").await.status, 404);
    assert!(
        world
            .get("/ocean?location")
            .await
            .text()
            .contains("LocationConstraint")
    );
}

#[tokio::test]
async fn directories_are_listed_by_both_requests() {
    let (store, _) = Store::small().await;
    icefield::landed(
        store
            .writer
            .create_branch("dev", store.session().await.snapshot_id().unwrap())
            .await
            .unwrap(),
    )
    .unwrap();
    let world = serving(&store).await;
    for version in ["&list-type=2", ""] {
        for (bucket, prefix, keys, prefixes) in [
            ("ocean", "", &[][..], &["dev/", "main/"][..]),
            ("ocean", "main/", &["main/zarr.json"], &["main/g/"]),
            (
                "ocean",
                "main/g/a/",
                &["main/g/a/zarr.json"],
                &["main/g/a/c/"],
            ),
            (
                "ocean",
                "main/g/a/c/",
                &["main/g/a/c/0", "main/g/a/c/1", "main/g/a/c/2"],
                &[],
            ),
            ("ocean", "main/g", &[], &["main/g/"]),
            ("ocean", "nowhere/", &[], &[]),
            (
                "ocean-v2",
                "main/g/a/",
                &[
                    "main/g/a/.zarray",
                    "main/g/a/.zattrs",
                    "main/g/a/0",
                    "main/g/a/1",
                    "main/g/a/2",
                ],
                &[],
            ),
            (
                "ocean-v2",
                "main/",
                &["main/.zattrs", "main/.zgroup", "main/.zmetadata"],
                &["main/g/"],
            ),
        ] {
            let reply = world
                .get(&format!("/{bucket}?delimiter=%2F&prefix={prefix}{version}"))
                .await;
            assert_eq!(reply.status, 200);
            assert_eq!(elements(reply.text(), "Key"), keys, "{bucket} {prefix}");
            let found: Vec<String> = elements(reply.text(), "CommonPrefixes")
                .iter()
                .flat_map(|it| elements(it, "Prefix"))
                .collect();
            assert_eq!(found, prefixes, "{bucket} {prefix}");
        }
    }
    let reply = world.get("/ocean?prefix=main/g/a/c/1").await;
    assert_eq!(elements(reply.text(), "Size"), ["3000"]);
}

#[tokio::test]
async fn chunks_come_in_pages_in_the_order_of_their_keys() {
    let store = Store::new().await;
    let session = store.session().await;
    put(&session, "/a", &array(120)).await;
    for index in 0..120 {
        chunk(&session, "/a", &[index], vec![1]).await;
    }
    commit(&session, "many").await;
    let world = serving(&store).await;
    let mut expected: Vec<String> = (0..120).map(|index| format!("main/a/c/{index}")).collect();
    expected.push("main/a/zarr.json".to_owned());
    expected.sort_unstable();
    for bucket in ["ocean", "ocean-v2"] {
        let (mut found, mut token) = (Vec::new(), String::new());
        for _ in 0..20 {
            let next = match token.is_empty() {
                true => String::new(),
                false => format!("&continuation-token={}", token.replace('/', "%2F")),
            };
            let reply = world
                .get(&format!(
                    "/{bucket}?list-type=2&max-keys=25&prefix=main%2Fa%2F{next}"
                ))
                .await;
            let keys = elements(reply.text(), "Key");
            assert!(keys.len() <= 25);
            found.extend(keys);
            match elements(reply.text(), "NextContinuationToken").pop() {
                Some(next) => token = next,
                None => break,
            }
        }
        match bucket {
            "ocean" => assert_eq!(found, expected),
            _ => assert_eq!(found.len(), 122),
        }
        assert!(found.is_sorted());
    }
}

#[tokio::test]
async fn where_a_token_is_needed_there_is_no_s3() {
    let (store, _) = Store::small().await;
    let served = Served {
        name: "ocean".to_owned(),
        location: "memory:".to_owned(),
        repository: store.writer.clone(),
    };
    let settings = Settings {
        access: Access::Token("0123456789abcdef".to_owned()),
        ..Settings::default()
    };
    let gateway = Gateway::new(vec![served], settings).unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let refused = Server::bind_s3(address, gateway).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::Unsupported);
}
