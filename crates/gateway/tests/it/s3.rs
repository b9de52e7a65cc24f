//! The protocol of S3, as its clients ask.

use std::net::SocketAddr;
use std::sync::Arc;

use icefield::storage::Storage;
use icefield::storage::wrap::CountingStorage;
use icefield::storage::wrap::fault::{Decision, FaultyStorage, Matcher, Plan, Verb};
use icefield_gateway::{Access, Gateway, Served, Server, Settings};

use crate::damage::{GDAL, NAMELESS, delete_below, foreign};
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
        for headers in [&[][..], &[("Content-Length", "5")]] {
            let reply = world.ask(method, "/ocean/main/x", headers).await;
            assert_eq!(reply.status, 403, "{method}");
            assert_eq!(elements(reply.text(), "Code"), ["AccessDenied"], "{method}");
        }
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
                Some(next) => {
                    let is_hex = next.bytes().all(|byte| byte.is_ascii_hexdigit());
                    assert!(is_hex, "clients send it back as it is: {next}");
                    token = next;
                }
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

/// Collects the keys of all pages of a list.
async fn all_keys(world: &World, bucket: &str, query: &str) -> Vec<String> {
    let (mut found, mut next) = (Vec::new(), String::new());
    for _ in 0..100 {
        let target = format!("/{bucket}?list-type=2{query}{next}");
        let reply = world.get(&target).await;
        assert_eq!(reply.status, 200, "{target}: {}", reply.text());
        found.extend(elements(reply.text(), "Key"));
        match elements(reply.text(), "NextContinuationToken").pop() {
            Some(token) => next = format!("&continuation-token={token}"),
            None => return found,
        }
    }
    panic!("the list does not end");
}

#[tokio::test]
async fn refs_whose_names_begin_alike_are_listed_whole() {
    let (store, id) = Store::small().await;
    for name in ["main-2", "main.3", "main2"] {
        icefield::landed(store.writer.create_branch(name, id).await.unwrap()).unwrap();
    }
    let world = serving(&store).await;
    for max in [1, 2, 5, 1000] {
        let found = all_keys(&world, "ocean", &format!("&max-keys={max}")).await;
        // Three chunks and three documents each.
        assert_eq!(found.len(), 4 * 6, "{max}: {found:?}");
        assert!(found.is_sorted(), "{found:?}");
    }
}

#[tokio::test]
async fn keys_keep_their_plus_signs_and_tokens_all_their_characters() {
    let store = Store::new().await;
    let session = store.session().await;
    for name in ["a+b", "a b", "ü&\u{fffe}"] {
        put(&session, &format!("/{name}"), &array(2)).await;
        chunk(&session, &format!("/{name}"), &[0], vec![1]).await;
        chunk(&session, &format!("/{name}"), &[1], vec![1]).await;
    }
    commit(&session, "names").await;
    let world = serving(&store).await;
    for (prefix, name) in [
        ("main/a%2Bb/c/", "a+b"),
        ("main/a+b/c/", "a b"),
        ("main/a%20b/c/", "a b"),
    ] {
        let found = all_keys(&world, "ocean", &format!("&prefix={prefix}")).await;
        let expected = [0, 1].map(|at| format!("main/{name}/c/{at}"));
        assert_eq!(found, expected, "{prefix}");
    }
    let found = all_keys(&world, "ocean", "&max-keys=1").await;
    assert_eq!(found.len(), 9, "{found:?}");
    // XML has no spelling for it.
    assert!(!found.concat().contains('\u{fffe}'));
}

#[tokio::test]
async fn a_list_that_would_lack_inner_chunks_is_refused() {
    let store = Store::new().await;
    let session = store.session().await;
    let sharded = array(2).replace(
        r#"{"name": "bytes"}"#,
        r#"{"name": "sharding_indexed", "configuration": {"chunk_shape": [1], "codecs": [{"name": "bytes"}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}"#,
    );
    put(&session, "/", crate::world::GROUP).await;
    put(&session, "/s", &sharded).await;
    put(&session, "/t", &array(1)).await;
    chunk(&session, "/t", &[0], vec![1]).await;
    commit(&session, "sharded").await;
    let world = serving(&store).await;
    for query in ["prefix=main/s/", "prefix=main/s/&delimiter=/", "prefix="] {
        let reply = world.get(&format!("/ocean-v2?{query}")).await;
        assert_eq!(reply.status, 501, "{query}");
        assert_eq!(elements(reply.text(), "Code"), ["NotImplemented"]);
    }
    let reply = world.get("/ocean-v2?prefix=main/&delimiter=/").await;
    assert!(reply.text().contains("<Prefix>main/s/</Prefix>"));
    let reply = world.get("/ocean-v2?prefix=main/t/").await;
    assert!(elements(reply.text(), "Key").contains(&"main/t/0".to_owned()));
    // s3fs and GDAL ask for what lies below a key that is not there.
    for (below, keys) in [
        ("s/0/", vec![]),
        ("s/.zarray/", vec![]),
        ("s/.zarray.aux.xml/", vec![]),
        ("s/.zarr", vec!["main/s/.zarray"]),
        ("t/0/", vec![]),
        ("t/0", vec!["main/t/0"]),
    ] {
        let query = format!("list-type=2&prefix=main/{below}&delimiter=/");
        let reply = world.get(&format!("/ocean-v2?{query}")).await;
        assert_eq!(reply.status, 200, "{below}: {}", reply.text());
        assert_eq!(elements(reply.text(), "Key"), keys, "{below}");
    }
}

/// Clients of S3 look at the code first: one that means absence makes a chunk of fill values.
#[tokio::test]
async fn failures_have_codes_that_do_not_mean_absence() {
    let codes = async |world: &World, target: &str| -> (u16, String) {
        let reply = world.get(target).await;
        let code = elements(reply.text(), "Code").pop().unwrap_or_default();
        (reply.status, code)
    };
    let expired = "ZZZZZZZZZZZZZZZZZZZ0";
    let gone = (410, "VersionGone".to_owned());
    let (store, _) = Store::small().await;
    let world = serving(&store).await;
    for target in [
        &format!("/ocean/{expired}/g/a/c/0"),
        "/ocean/nowhere/g/a/c/0",
        &format!("/ocean?prefix={expired}/"),
        &format!("/ocean?list-type=2&prefix={expired}/g/a/"),
        &format!("/ocean-v2?prefix={expired}/&delimiter=/"),
    ] {
        assert_eq!(codes(&world, target).await, gone, "{target}");
    }
    let target = format!("/ocean/{expired}/g/a/c/0");
    for headers in [GDAL, NAMELESS] {
        let reply = world.with_headers(&target, &headers).await;
        assert!(reply.stands_for(410), "{headers:?}: {reply:?}");
    }
    delete_below(&store.storage, "manifests/").await;
    delete_below(&store.storage, "chunks/").await;
    // The gateway has the manifest in memory still.
    let writer = icefield::Repository::open(Arc::clone(&store.storage)).await;
    let store = Store {
        writer: writer.unwrap(),
        ..store
    };
    let world = serving(&store).await;
    let reply = codes(&world, "/ocean/main/g/a/c/0").await;
    assert_eq!(reply, (500, "InternalError".to_owned()));
    let reply = codes(&world, "/ocean?prefix=main/g/a/").await;
    assert_eq!(reply, (500, "InternalError".to_owned()));

    let (store, archive) = foreign().await;
    let world = serving(&store).await;
    let reply = codes(&world, "/ocean/main/v/c/0").await;
    assert_eq!(reply, (403, "AccessDenied".to_owned()));
    // GDAL looks at no code, fills in, and has no name in version 3.6.
    for headers in [GDAL, NAMELESS] {
        let reply = world.with_headers("/ocean/main/v/c/0", &headers).await;
        assert!(reply.stands_for(403), "{headers:?}: {reply:?}");
    }
    delete_below(&archive, "").await;
    let access = icefield::VirtualAccess::none()
        .grant_storage("s3://archive/2015", archive)
        .unwrap();
    let granted = icefield::Repository::builder(Arc::clone(&store.storage))
        .virtual_access(access)
        .open()
        .await
        .unwrap();
    let store = Store {
        writer: granted,
        ..store
    };
    let world = serving(&store).await;
    let reply = codes(&world, "/ocean/main/v/c/0").await;
    assert_eq!(reply, (502, "BadGateway".to_owned()));

    let (store, _) = Store::small().await;
    let all = Matcher::verb(Verb::Get).below("manifests/");
    let plan = Plan::none().always(all, Decision::FailBefore);
    let storage: Arc<dyn Storage> = Arc::new(FaultyStorage::new(Arc::clone(&store.storage), plan));
    let writer = icefield::Repository::open(Arc::clone(&storage)).await;
    let silent = Store {
        storage,
        writer: writer.unwrap(),
    };
    let world = serving(&silent).await;
    for target in ["/ocean/main/g/a/c/0", "/ocean?prefix=main/g/a/"] {
        let (status, code) = codes(&world, target).await;
        assert!(status >= 500, "{target}: {status}");
        assert!(!code.starts_with("NoSuch"), "{target}: {code}");
    }
}
