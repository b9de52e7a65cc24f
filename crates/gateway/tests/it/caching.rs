//! How long a response holds: pinned versions for ever, tags for an hour, branches never.

use icefield_gateway::{Access, Settings};

use crate::world::{Store, World, bytes, chunk, commit};

#[tokio::test]
async fn a_pinned_version_is_immutable_and_a_branch_is_not_kept() {
    let (store, id) = Store::small().await;
    icefield::landed(store.writer.create_tag("v1", id).await.unwrap()).unwrap();
    let world = World::serving(&store).await;
    let ever = "public, max-age=31536000, immutable";
    for key in ["zarr.json", "g/a/c/0", "g/a/c/3", ".zgroup", "g/"] {
        for (version, expected) in [
            (id.to_string().as_str(), ever),
            (&format!("snapshot:{id}"), ever),
            ("main", "no-cache"),
            ("main~0", "no-cache"),
            (&format!("{id}~0"), "no-cache"),
            ("main@2999-01-01T00:00:00Z", "no-cache"),
            ("tag:v1", "public, max-age=3600"),
            ("v1", "public, max-age=3600"),
        ] {
            let reply = world.get(&format!("/{version}/{key}")).await;
            let is_answered_without_asking = key == ".zgroup" && version != id.to_string();
            if !is_answered_without_asking {
                assert_eq!(
                    reply.header("cache-control"),
                    Some(expected),
                    "/{version}/{key}"
                );
                let snapshot = reply.header("x-icefield-snapshot");
                assert_eq!(snapshot, Some(&*id.to_string()), "/{version}/{key}");
            }
        }
    }
    let token = Settings {
        access: Access::Token("0123456789abcdef".to_owned()),
        ..Settings::default()
    };
    let world = World::with(&store, token).await;
    let headers = [("Authorization", "Bearer 0123456789abcdef")];
    let reply = world
        .with_headers(&format!("/{id}/zarr.json"), &headers)
        .await;
    assert_eq!(
        reply.header("cache-control"),
        Some("private, max-age=31536000, immutable")
    );
}

#[tokio::test]
async fn unchanged_chunks_keep_their_tags_across_commits() {
    let (store, first) = Store::small().await;
    let world = World::serving(&store).await;
    let session = store.session().await;
    chunk(&session, "/g/a", &[1], bytes(9, 3000)).await;
    let second = commit(&session, "one chunk").await;
    let tag = async |version: &str, key: &str| {
        let reply = world.head(&format!("/{version}/g/a/c/{key}")).await;
        reply.header("etag").unwrap().to_owned()
    };
    let (first, second) = (first.to_string(), second.to_string());
    for (key, is_kept) in [("0", true), ("1", false), ("2", true)] {
        let kept = tag(&first, key).await == tag(&second, key).await;
        assert_eq!(kept, is_kept, "{key}");
    }
}

#[tokio::test]
async fn who_opens_a_branch_sees_the_last_commit() {
    let (store, first) = Store::small().await;
    let world = World::serving(&store).await;
    assert_eq!(
        world
            .get("/main/g/a/c/1")
            .await
            .header("x-icefield-snapshot"),
        Some(&*first.to_string())
    );
    let session = store.session().await;
    chunk(&session, "/g/a", &[1], bytes(9, 3000)).await;
    let second = commit(&session, "one chunk").await.to_string();
    // The document reads the branch anew, and the chunks come from there.
    let opened = world.get("/main/zarr.json").await;
    assert_eq!(opened.header("x-icefield-snapshot"), Some(second.as_str()));
    let reply = world.get("/main/g/a/c/1").await;
    assert_eq!(reply.header("x-icefield-snapshot"), Some(second.as_str()));
    assert_eq!(reply.body, bytes(9, 3000));
}
