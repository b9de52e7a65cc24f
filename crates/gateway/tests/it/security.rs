//! The clients that may read, and the requests that are refused.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use icefield_gateway::{Access, Origins, Settings};

use crate::world::{Store, World};

const TOKEN: &str = "0123456789abcdef0123";

fn guarded() -> Settings {
    Settings {
        access: Access::Token(TOKEN.to_owned()),
        ..Settings::default()
    }
}

#[tokio::test]
async fn a_website_that_takes_the_servers_address_reads_nothing() {
    let (store, _) = Store::small().await;
    let settings = Settings {
        hosts: vec!["data.example.org".to_owned()],
        ..Settings::default()
    };
    let world = World::with(&store, settings).await;
    let port = world.address.port();
    for (host, status) in [
        (format!("localhost:{port}"), 200),
        ("127.0.0.1".to_owned(), 200),
        ("[::1]:80".to_owned(), 200),
        ("data.example.org".to_owned(), 200),
        ("rebound.example".to_owned(), 421),
        (format!("rebound.example:{port}"), 421),
        ("127.0.0.1.rebound.example".to_owned(), 421),
    ] {
        let reply = world
            .with_headers("/main/zarr.json", &[("Host", &host)])
            .await;
        assert_eq!(reply.status, status, "{host}");
        assert_eq!(
            reply.text().contains("zarr_format"),
            status == 200,
            "{host}"
        );
    }
    let without = world
        .raw("GET /main/zarr.json HTTP/1.1\r\nConnection: close\r\n\r\n")
        .await;
    assert_eq!(without.status, 400);
}

#[tokio::test]
async fn data_need_the_token_and_the_page_does_not() {
    let (store, id) = Store::small().await;
    let world = World::with(&store, guarded()).await;
    let basic = STANDARD.encode(format!("anybody:{TOKEN}"));
    for target in [
        "/main/zarr.json",
        "/main/",
        "/",
        "/-/v2/main/.zmetadata",
        "/-/raw/main/zarr.json",
        "/-/resolve/main",
        "/-/metrics",
        "/-/api",
        "/-/api/ocean/refs",
        &format!("/{id}/g/a/c/0"),
        "/main/.zgroup",
        "/nowhere/x",
    ] {
        world.reads();
        for refused in [
            vec![],
            vec![("Authorization", "Bearer wrong")],
            vec![("Authorization", "Basic wrong")],
            // Clients that read a failure of a chunk as its absence are asked for the token, too.
            vec![("User-Agent", "")],
            vec![("User-Agent", "GDAL/3.12.2")],
        ] {
            let reply = world.with_headers(target, &refused).await;
            assert_eq!(reply.status, 401, "{target}");
            assert!(reply.header("www-authenticate").is_some());
            assert!(!reply.text().contains(TOKEN));
        }
        assert_eq!(
            world
                .with_headers(&format!("{target}?token={TOKEN}"), &[])
                .await
                .status,
            401
        );
        assert_eq!(world.reads().total.requests(), 0, "{target}");
        for let_in in [format!("Bearer {TOKEN}"), format!("Basic {basic}")] {
            let reply = world
                .with_headers(target, &[("Authorization", &let_in)])
                .await;
            assert_ne!(reply.status, 401, "{target}");
        }
    }
    for target in ["/-/health", "/-/ready", "/-/explore/"] {
        assert_eq!(world.get(target).await.status, 200, "{target}");
    }
    // A script gets no dialogue.
    let reply = world
        .with_headers("/main/zarr.json", &[("Sec-Fetch-Mode", "cors")])
        .await;
    assert_eq!(
        reply.header("www-authenticate"),
        Some("Bearer realm=\"icefield\"")
    );
}

#[tokio::test]
async fn the_token_is_in_no_log() {
    let (store, _) = Store::small().await;
    let world = World::with(&store, guarded()).await;
    let headers = [("Authorization", format!("Bearer {TOKEN}"))];
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    world
        .with_headers(&format!("/main/zarr.json?token={TOKEN}"), &headers)
        .await;
    let log = world.with_headers("/-/api/requests", &headers).await;
    assert!(
        log.text().contains("/main/zarr.json?token=…"),
        "{}",
        log.text()
    );
    assert!(!log.text().contains(TOKEN));
    assert!(!format!("{:?}", world.gateway).contains(TOKEN));
}

#[tokio::test]
async fn pages_of_other_websites_read_nothing_unless_they_are_let() {
    let (store, _) = Store::small().await;
    let script = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "no-cors"),
        ("Sec-Fetch-Dest", "script"),
    ];
    let link = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", "document"),
    ];
    let frame = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", "iframe"),
    ];
    let closed = World::serving(&store).await;
    assert_eq!(
        closed.with_headers("/main/zarr.json", &script).await.status,
        403
    );
    assert_eq!(
        closed.with_headers("/main/zarr.json", &frame).await.status,
        403
    );
    assert_eq!(closed.with_headers("/-/explore/", &link).await.status, 200);
    let reply = closed
        .with_headers("/main/zarr.json", &[("Origin", "https://viewer.example")])
        .await;
    assert_eq!(reply.header("access-control-allow-origin"), None);
    assert_eq!(
        reply.header("cross-origin-resource-policy"),
        Some("same-origin")
    );

    let settings = Settings {
        origins: Origins::Only(vec!["https://viewer.example".to_owned()]),
        ..Settings::default()
    };
    let open = World::with(&store, settings).await;
    let known = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Origin", "https://viewer.example"),
    ];
    let other = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Origin", "https://viewer.example.evil"),
    ];
    for target in ["/main/zarr.json", "/main/g/a/c/0"] {
        let reply = open.with_headers(target, &known).await;
        assert_eq!(reply.status, 200);
        assert_eq!(
            reply.header("access-control-allow-origin"),
            Some("https://viewer.example")
        );
        assert_eq!(open.with_headers(target, &other).await.status, 403);
        let reply = open.with_headers(target, &other[1..]).await;
        assert_eq!(
            reply.header("cross-origin-resource-policy"),
            Some("same-origin")
        );
    }
}

#[tokio::test]
async fn every_response_has_the_headers_that_browsers_ask_for() {
    let (store, _) = Store::small().await;
    let settings = Settings {
        origins: Origins::Any,
        access: Access::Token(TOKEN.to_owned()),
        ..Settings::default()
    };
    let world = World::with(&store, settings).await;
    let token = format!("Bearer {TOKEN}");
    let origin = ("Origin", "https://viewer.example");
    let with = [("Authorization", token.as_str()), origin];
    for (method, target, headers, status) in [
        ("GET", "/main/zarr.json", &with[..], 200),
        ("GET", "/main/g/a/c/3", &with, 404),
        ("GET", "/main/.zgroup", &with, 404),
        ("GET", "/main/zarr.json", &with[1..], 401),
        ("POST", "/main/zarr.json", &with, 405),
        ("GET", "/%zz", &with, 400),
        ("GET", "/-/api/nothing", &with, 404),
        ("HEAD", "/main/g/a/c/0", &with, 200),
    ] {
        let reply = world.ask(method, target, headers).await;
        assert_eq!(reply.status, status, "{method} {target}");
        assert_eq!(
            reply.header("access-control-allow-origin"),
            Some("*"),
            "{method} {target}"
        );
        let exposed = reply.header("access-control-expose-headers").unwrap();
        assert!(exposed.contains("ETag") && exposed.contains("Content-Range"));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    }
    // A preflight comes without the token.
    let preflight = [
        origin,
        ("Access-Control-Request-Headers", "range, authorization"),
    ];
    let reply = world.ask("OPTIONS", "/main/g/a/c/0", &preflight).await;
    assert_eq!((reply.status, reply.body.len()), (204, 0));
    for (name, part) in [
        ("access-control-allow-origin", "*"),
        ("access-control-allow-headers", "Range"),
        ("access-control-allow-headers", "Authorization"),
        ("access-control-allow-methods", "HEAD"),
        ("access-control-max-age", "7200"),
    ] {
        assert!(reply.header(name).unwrap().contains(part), "{name}");
    }
}

/// A page of another website that opens the explorer, or is opened by it, learns nothing of it: neither its window nor its URL.
#[tokio::test]
async fn the_pages_of_the_explorer_are_kept_apart_from_other_websites() {
    let (store, _) = Store::small().await;
    let world = World::serving(&store).await;
    for name in ["", "index.html", "app.js", "worker.js"] {
        let target = format!("/-/explore/{name}");
        let page = world.get(&target).await;
        let tag = [("If-None-Match", page.header("etag").unwrap())];
        let unchanged = world.with_headers(&target, &tag).await;
        let head = world.head(&target).await;
        for (reply, status) in [(&page, 200), (&head, 200), (&unchanged, 304)] {
            assert_eq!(reply.status, status, "{target}");
            for (header, expected) in [
                ("x-content-type-options", "nosniff"),
                ("cross-origin-opener-policy", "same-origin"),
                ("cross-origin-resource-policy", "same-origin"),
                ("referrer-policy", "no-referrer"),
            ] {
                let found = reply.header(header);
                assert_eq!(found, Some(expected), "{status} {target}: {header}");
            }
            let policy = reply.header("content-security-policy").unwrap();
            assert!(policy.starts_with("default-src 'none';"), "{policy}");
        }
    }
}

#[tokio::test]
async fn nothing_is_written_whatever_is_asked() {
    let (store, id) = Store::small().await;
    let settings = Settings {
        repository_files: true,
        ..Settings::default()
    };
    let world = World::with(&store, settings).await;
    for method in ["PUT", "POST", "DELETE", "PATCH", "PROPFIND", "TRACE"] {
        for target in [
            "/main/zarr.json",
            "/main/g/a/c/0",
            "/-/api",
            "/-/repo/config.yaml",
        ] {
            let reply = world.ask(method, target, &[]).await;
            assert_eq!(reply.status, 405, "{method}");
            assert_eq!(reply.header("allow"), Some("GET, HEAD, OPTIONS"));
        }
    }
    for target in [
        "/main/zarr.json",
        "/main/",
        "/-/v2/main/.zmetadata",
        "/-/api/ocean/history",
        "/-/api/ocean/tree/main",
        &format!("/-/api/ocean/diff?from={id}&to=main"),
        "/-/api/ocean/du",
        "/-/api/ocean/du?by=commit",
        "/-/api/ocean/fsck",
        &format!("/-/api/ocean/blame/{id}?path=/g/a"),
        "/-/repo/refs/branch.main/ref.json",
        "/main/g/a/c/0",
        "/-/ready",
    ] {
        assert_eq!(world.get(target).await.status, 200, "{target}");
    }
    require_no_writes(&world);
}

/// Requires that storage was read, and never written.
fn require_no_writes(world: &World) {
    let counts = world.reads().total;
    assert!(counts.get > 0, "{counts:?}");
    assert_eq!(
        (counts.writes(), counts.put, counts.bytes_written),
        (0, 0, 0),
        "{counts:?}"
    );
}

#[tokio::test]
async fn nothing_is_written_by_the_protocol_of_s3() {
    let (store, id) = Store::small().await;
    let world = World::s3(&store, Settings::default()).await;
    for method in ["PUT", "POST", "DELETE", "PATCH"] {
        for target in [
            "/ocean",
            "/ocean?delete",
            "/ocean/main/zarr.json",
            "/ocean/main/new",
            "/ocean/main/new?uploads",
            "/ocean/main/g/a/c/0?partNumber=1&uploadId=1",
            "/ocean-v2/main/.zgroup",
        ] {
            for headers in [&[][..], &[("x-amz-copy-source", "/ocean/main/zarr.json")]] {
                let reply = world.ask(method, target, headers).await;
                assert_eq!(reply.status, 403, "{method} {target}");
            }
        }
    }
    for target in [
        "/",
        "/ocean?list-type=2&prefix=main/",
        "/ocean?prefix=main/g/&delimiter=/",
        "/ocean-v2?prefix=main/",
        "/ocean/main/zarr.json",
        &format!("/ocean/{id}/g/a/c/0"),
        "/ocean-v2/main/g/a/0",
    ] {
        assert_eq!(world.get(target).await.status, 200, "{target}");
    }
    require_no_writes(&world);
}

#[tokio::test]
async fn no_path_leads_out_of_the_repository() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(folder.path().join("secret"), "secret").unwrap();
    let inside = folder.path().join("repository");
    std::fs::create_dir(&inside).unwrap();
    let location = icefield::Location::of_path(&inside);
    let storage = icefield::Schemes::standard()
        .storage(&location)
        .await
        .unwrap();
    let store = Store::on(storage).await;
    let settings = Settings {
        repository_files: true,
        ..Settings::default()
    };
    let world = World::with(&store, settings).await;
    assert_eq!(
        world.get("/-/repo/refs/branch.main/ref.json").await.status,
        200
    );
    for path in [
        "../secret",
        "%2e%2e/secret",
        "..%2Fsecret",
        "%2e%2e%2fsecret",
        "refs/../../secret",
        "/etc/passwd",
        "%2Fetc%2Fpasswd",
        "..%5Csecret",
        "%00",
        "....//secret",
        ".",
    ] {
        for start in [
            "/-/repo/",
            "/main/",
            "/-/raw/main/",
            "/-/v2/main/",
            "/-/explore/",
        ] {
            let reply = world.get(&format!("{start}{path}")).await;
            assert!(
                [400, 404].contains(&reply.status),
                "{start}{path}: {}",
                reply.status
            );
            assert!(!reply.text().contains("secret\n") && reply.text() != "secret");
        }
    }
    let closed = World::serving(&store).await;
    assert_eq!(
        closed.get("/-/repo/refs/branch.main/ref.json").await.status,
        404
    );
}

#[tokio::test]
async fn the_api_shows_where_a_repository_is_to_programs_of_this_computer_alone() {
    let (store, _) = Store::small().await;
    let served = icefield_gateway::Served {
        name: "ocean".to_owned(),
        location: "/home/ada/ocean".to_owned(),
        repository: store.writer.clone(),
    };
    for (is_public, expected) in [
        (false, serde_json::json!("/home/ada/ocean")),
        (true, serde_json::json!("ocean")),
    ] {
        let settings = Settings {
            hides_locations: is_public,
            ..Settings::default()
        };
        let gateway = icefield_gateway::Gateway::new(vec![served.clone()], settings).unwrap();
        let counting = icefield::storage::wrap::CountingStorage::new(Arc::clone(&store.storage));
        let world = World::run(gateway, counting).await;
        let index = world.get("/-/api").await.json();
        assert_eq!(index["repositories"][0]["location"], expected);
    }
}
