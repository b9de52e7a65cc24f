//! Failures: none of them looks like a chunk that was never written.

use std::sync::Arc;

use icefield::format::config::{VirtualChunkContainer, VirtualStore};
use icefield::storage::wrap::fault::{Decision, FaultyStorage, Matcher, Plan, Verb};
use icefield::storage::{
    DeleteOutcome, Deletion, Key, ListOptions, Prefix, PutMode, PutOutcome, Storage,
};
use icefield::{
    MemoryStorage, Repository, RepositoryConfig, VirtualAccess, VirtualRefs, VirtualSource,
};

use crate::world::{Store, World, array, commit, path, put};

pub(crate) const GDAL: [(&str, &str); 1] = [("User-Agent", "GDAL/3.12.2")];
/// GDAL 3.6 has no name.
pub(crate) const NAMELESS: [(&str, &str); 1] = [("User-Agent", "")];

pub(crate) async fn delete_below(storage: &Arc<dyn Storage>, prefix: &str) {
    use futures::{StreamExt, TryStreamExt};
    let options = icefield::storage::ListOptions::default();
    let all: Vec<_> = storage.list(options).try_collect().await.unwrap();
    for meta in all
        .into_iter()
        .filter(|meta| meta.key.as_str().starts_with(prefix))
    {
        let one = futures::stream::iter([Deletion::from(meta.key)]).boxed();
        let done: Vec<_> = storage.delete(one).collect().await;
        assert!(matches!(done[0].1, Ok(DeleteOutcome::Deleted)));
    }
}

#[tokio::test]
async fn a_chunk_object_that_is_missing_is_damage_and_is_named() {
    let (store, id) = Store::small().await;
    let world = World::serving(&store).await;
    delete_below(&store.storage, "chunks/").await;
    for version in [id.to_string().as_str(), "main"] {
        let target = format!("/{version}/g/a/c/0");
        let reply = world.get(&target).await;
        assert_eq!(reply.status, 500, "{version}");
        assert!(reply.text().contains("chunks/"), "{}", reply.text());
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        // GDAL fills in for any status. It gets a byte, which is no value: nothing keeps it, and it has no tag.
        for headers in [GDAL, NAMELESS] {
            let reply = world.with_headers(&target, &headers).await;
            assert!(reply.stands_for(500), "{headers:?}: {reply:?}");
        }
        // A client without a name that asks for a part is another one.
        let part = [NAMELESS[0], ("Range", "bytes=0-9")];
        assert_eq!(world.with_headers(&target, &part).await.status, 500);
        // A chunk that was never written is missing to GDAL, too.
        assert_eq!(
            world
                .with_headers(&format!("/{version}/g/a/c/3"), &GDAL)
                .await
                .status,
            404
        );
        assert_eq!(
            world
                .with_headers(&format!("/{version}/g/a/c/2"), &GDAL)
                .await
                .text(),
            "inline"
        );
    }
}

#[tokio::test]
async fn a_manifest_that_is_missing_is_damage_and_is_named() {
    use futures::TryStreamExt;
    let (store, id) = Store::small().await;
    let options = ListOptions::prefix(Prefix::parse("manifests").unwrap());
    let manifests: Vec<_> = store.storage.list(options).try_collect().await.unwrap();
    let [manifest] = manifests.as_slice() else {
        panic!("{manifests:?}");
    };
    delete_below(&store.storage, "manifests/").await;
    let world = World::serving(&store).await;
    for target in [
        format!("/{id}/g/a/c/0"),
        format!("/{id}/g/a/c/1"),
        "/main/g/a/c/2".to_owned(),
    ] {
        let reply = world.get(&target).await;
        assert_eq!(reply.status, 500, "{target}");
        let text = reply.text();
        assert!(text.contains(manifest.key.as_str()), "{target}: {text}");
        assert_eq!(world.head(&target).await.status, 500, "{target}");
        let reply = world.with_headers(&target, &GDAL).await;
        assert!(reply.stands_for(500), "{target}: {reply:?}");
    }
}

#[tokio::test]
async fn a_snapshot_that_has_expired_is_gone() {
    let (store, id) = Store::small().await;
    let world = World::serving(&store).await;
    let never = "/ZZZZZZZZZZZZZZZZZZZ0/zarr.json";
    assert_eq!(world.get(never).await.status, 410);
    assert_eq!(world.get("/nowhere/zarr.json").await.status, 404);
    assert_eq!(world.get("/nowhere/").await.status, 404);
    // It is gone for those who have it open, too, as soon as what it needs is.
    assert_eq!(world.get(&format!("/{id}/g/a/c/0")).await.status, 200);
    delete_below(&store.storage, "snapshots/").await;
    delete_below(&store.storage, "chunks/").await;
    let reply = world.get(&format!("/{id}/g/a/c/0")).await;
    assert_eq!(reply.status, 410, "{}", reply.text());
    assert_eq!(world.get(&format!("/{id}/g/a/c/1")).await.status, 410);
    // A branch that leads there is damage.
    let reply = world.get("/main/zarr.json").await;
    assert_eq!(reply.status, 500, "{}", reply.text());
}

/// A program that has an array open goes on to read its chunks. A ref that was deleted meanwhile is no reason to fill them in.
#[tokio::test]
async fn chunks_of_a_version_that_does_not_exist_are_gone() {
    let (store, id) = Store::small().await;
    let name = icefield::BranchName::parse("dev").unwrap();
    icefield::landed(store.writer.create_branch("dev", id).await.unwrap()).unwrap();
    let settings = icefield_gateway::Settings {
        recency: std::time::Duration::ZERO,
        ..Default::default()
    };
    let world = World::with(&store, settings).await;
    assert_eq!(world.get("/dev/g/a/c/0").await.status, 200);
    icefield::landed(store.writer.delete_branch(&name).await.unwrap()).unwrap();
    for version in ["dev", "tag:nothing", "main~99", "main@1990-01-01T00:00:00Z"] {
        for (view, chunk) in [("", "c/0"), ("-/raw/", "c/3"), ("-/v2/", "0")] {
            let target = format!("/{view}{version}/g/a/{chunk}");
            assert_eq!(world.get(&target).await.status, 410, "{target}");
            assert_eq!(world.head(&target).await.status, 410, "{target}");
            let reply = world.with_headers(&target, &GDAL).await;
            assert!(reply.stands_for(410), "{target}: {reply:?}");
        }
        // A client that opens it learns that it is not there.
        for key in ["zarr.json", "", "g/a/zarr.json", ".zgroup"] {
            let target = format!("/{version}/{key}");
            assert_eq!(world.get(&target).await.status, 404, "{target}");
        }
    }
}

#[tokio::test]
async fn the_log_has_the_status_of_a_failure_that_is_answered_with_a_byte() {
    let (store, _) = Store::small().await;
    let world = World::serving(&store).await;
    delete_below(&store.storage, "chunks/").await;
    let reply = world.with_headers("/main/g/a/c/0", &GDAL).await;
    assert!(reply.stands_for(500), "{reply:?}");
    let page = world.get("/-/metrics").await;
    let line = "icefield_http_requests_total{method=\"GET\",route=\"v3\",status=\"500\"} 1";
    assert!(page.text().contains(line), "{}", page.text());
    let log = world.get("/-/api/requests").await.json();
    let seen = &log["requests"].as_array().unwrap();
    let failed = seen.iter().find(|seen| seen["path"] == "/main/g/a/c/0");
    assert_eq!(failed.unwrap()["status"], 500, "{log}");
}

#[tokio::test]
async fn a_repository_that_vanishes_is_no_absent_version() {
    let (store, _) = Store::small().await;
    let settings = icefield_gateway::Settings {
        recency: std::time::Duration::ZERO,
        ..Default::default()
    };
    let world = World::with(&store, settings).await;
    assert_eq!(world.get("/-/ready").await.status, 200);
    delete_below(&store.storage, "").await;
    assert!(world.get("/main/zarr.json").await.status >= 500);
    assert_eq!(world.get("/-/ready").await.status, 503);
    assert_eq!(world.get("/-/health").await.status, 200);
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_unavailable() {
    let (store, id) = Store::small().await;
    let plan = Plan::none().always(
        Matcher::verb(Verb::Get).below("chunks/"),
        Decision::FailBefore,
    );
    let faulty: Arc<dyn Storage> = Arc::new(FaultyStorage::new(Arc::clone(&store.storage), plan));
    let store = Store {
        storage: faulty,
        writer: store.writer,
    };
    let world = World::serving(&store).await;
    let reply = world.get(&format!("/{id}/g/a/c/0")).await;
    let status = reply.status;
    assert!(status >= 500, "{status}");
    let reply = world.with_headers(&format!("/{id}/g/a/c/0"), &GDAL).await;
    assert!(reply.stands_for(status), "{reply:?}");
}

/// A repository with virtual chunks in a foreign store, which stands for `s3://archive/`, and one of a place in this machine's
/// neighbourhood.
pub(crate) async fn foreign() -> (Store, Arc<dyn Storage>) {
    let container = |prefix: &str| VirtualChunkContainer {
        name: None,
        url_prefix: prefix.to_owned(),
        store: VirtualStore::InMemory,
        unknown: Default::default(),
    };
    let containers = ["s3://archive/2015/", "http://169.254.169.254/latest/"].map(container);
    let config = RepositoryConfig {
        virtual_chunk_containers: Some(containers.into_iter().collect()),
        ..Default::default()
    };
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let builder = Repository::builder(Arc::clone(&storage)).config(config);
    let writer = builder.create().await.unwrap();
    let store = Store { storage, writer };
    let session = store.session().await;
    for (array_path, location) in [
        ("/v", "s3://archive/2015/jan.nc"),
        ("/w", "http://169.254.169.254/latest/meta-data"),
    ] {
        put(&session, array_path, &array(2)).await;
        let source = VirtualSource::new(location).unwrap();
        let refs = VirtualRefs {
            coordinates: &[0],
            sources: std::slice::from_ref(&source),
            source: &[0],
            offsets: &[10],
            lengths: &[50],
        };
        session
            .set_virtual_refs(&path(array_path), refs)
            .await
            .unwrap();
    }
    commit(&session, "virtual").await;
    let archive: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let key = Key::parse("jan.nc").unwrap();
    let body: Vec<u8> = (0..100).collect();
    let written = archive
        .put(&key, body.into(), PutMode::Create.into())
        .await
        .unwrap();
    assert!(matches!(written, PutOutcome::Written(_)));
    (store, archive)
}

#[tokio::test]
async fn virtual_chunks_are_read_under_a_grant_and_are_forbidden_without() {
    let (store, archive) = foreign().await;
    let settings = icefield_gateway::Settings::default;
    let access = VirtualAccess::none()
        .grant_storage("s3://archive/2015", Arc::clone(&archive))
        .unwrap();
    let granted = World::granting(&store, settings(), access).await;
    let reply = granted.get("/main/v/c/0").await;
    assert_eq!(
        (reply.status, &reply.body[..]),
        (200, &(10..60).collect::<Vec<u8>>()[..])
    );
    // No checksum was recorded: the object may be another one tomorrow, and what is read is as new as it can be.
    let pinned = reply.header("x-icefield-snapshot").unwrap();
    let pinned = granted.get(&format!("/{pinned}/v/c/0")).await;
    for reply in [&reply, &pinned, &granted.head("/main/v/c/0").await] {
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("etag"), None);
        assert_eq!(reply.header("cache-control"), Some("no-cache"));
    }
    for condition in [("If-None-Match", "*"), ("If-Range", "\"x\"")] {
        let headers = [condition, ("Range", "bytes=0-1")];
        let reply = granted.with_headers("/main/v/c/0", &headers).await;
        let expected = match condition.1 {
            "*" => 304,
            _ => 200,
        };
        assert_eq!(reply.status, expected, "{condition:?}");
    }
    let range = [("Range", "bytes=-5")];
    assert_eq!(
        granted.with_headers("/main/v/c/0", &range).await.body,
        [55, 56, 57, 58, 59]
    );
    assert_eq!(granted.get("/main/v/c/1").await.status, 404);

    let closed = World::serving(&store).await;
    let reply = closed.get("/main/v/c/0").await;
    assert_eq!(reply.status, 403);
    assert!(
        reply.text().contains("s3://archive/2015"),
        "{}",
        reply.text()
    );
    for headers in [GDAL, NAMELESS] {
        let reply = closed.with_headers("/main/v/c/0", &headers).await;
        assert!(reply.stands_for(403), "{headers:?}: {reply:?}");
    }
    assert_eq!(closed.get("/main/v/c/1").await.status, 404);
    let grants = closed.get("/-/api/ocean/grants").await.json();
    assert_eq!(grants["containers"][0]["granted"], false, "{grants}");
}

#[tokio::test]
async fn what_lies_around_this_machine_is_not_read_for_others() {
    let (store, _) = foreign().await;
    let world = World::serving(&store).await;
    assert_eq!(world.get("/main/w/c/0").await.status, 403);
    // Even a grant of the whole place does not open addresses of this network, unless it says `?private`.
    let access = icefield::grant(VirtualAccess::none(), "http://169.254.169.254/latest").unwrap();
    let world = World::granting(&store, icefield_gateway::Settings::default(), access).await;
    let reply = world.get("/main/w/c/0").await;
    assert_eq!(reply.status, 502, "{}", reply.text());
}

#[tokio::test]
async fn a_foreign_object_that_is_missing_or_short_is_an_error() {
    let (store, archive) = foreign().await;
    let access = VirtualAccess::none()
        .grant_storage("s3://archive/2015", Arc::clone(&archive))
        .unwrap();
    let world = World::granting(&store, icefield_gateway::Settings::default(), access).await;
    delete_below(&archive, "jan").await;
    let reply = world.get("/main/v/c/0").await;
    assert_eq!(reply.status, 502);
    assert!(
        reply.text().contains("s3://archive/2015/jan.nc"),
        "{}",
        reply.text()
    );
    let key = Key::parse("jan.nc").unwrap();
    let _ = archive
        .put(&key, vec![1; 20].into(), PutMode::Create.into())
        .await
        .unwrap();
    assert_eq!(world.get("/main/v/c/0").await.status, 502);
    let reply = world.with_headers("/main/v/c/0", &GDAL).await;
    assert!(reply.stands_for(502), "{reply:?}");
}
