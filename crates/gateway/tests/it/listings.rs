//! Listings: what fsspec and GDAL find in a directory.

use crate::world::{GROUP, Store, World, array, chunk, commit, put};

/// The links of a page, as fsspec finds them.
fn links(html: &str) -> Vec<String> {
    html.split("href=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_directory_lists_its_children_and_no_chunks() {
    let (store, _) = Store::small().await;
    let world = World::serving(&store).await;
    for (directory, expected) in [
        ("/main/", &["g/", "zarr.json"][..]),
        ("/main/g/", &["a/", "zarr.json"]),
        ("/main/g/a/", &["c/", "zarr.json"]),
        ("/main/g/a/c/", &[]),
        ("/-/v2/main/", &[".zattrs", ".zgroup", ".zmetadata", "g/"]),
        ("/-/v2/main/g/a/", &[".zarray", ".zattrs"]),
    ] {
        let page = world.get(directory).await;
        assert_eq!(page.status, 200, "{directory}");
        assert_eq!(
            page.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        assert_eq!(links(page.text()), expected, "{directory}");
    }
}

#[tokio::test]
async fn a_directory_without_its_slash_is_nothing() {
    let (store, _) = Store::small().await;
    let world = World::serving(&store).await;
    for target in [
        "/main",
        "/main/g",
        "/main/g/a",
        "/main/g/a/c",
        "/main/nothing/",
        "/main/g/a/c/0/",
        "/-/v2/main/nothing/",
    ] {
        assert_eq!(world.get(target).await.status, 404, "{target}");
    }
}

#[tokio::test]
async fn names_and_attributes_of_others_make_no_links() {
    let store = Store::new().await;
    let session = store.session().await;
    put(
        &session,
        "/",
        &GROUP.replace("{}", r#"{"x": "<a href=\"evil\">"}"#),
    )
    .await;
    put(&session, "/<a href=\"evil\">", &array(1)).await;
    chunk(&session, "/<a href=\"evil\">", &[0], b"<script>".to_vec()).await;
    commit(&session, "hostile").await;
    let world = World::serving(&store).await;
    let page = world.get("/main/").await;
    assert_eq!(
        links(page.text()),
        ["%3Ca%20href%3D%22evil%22%3E/", "zarr.json"]
    );
    assert!(
        page.header("content-security-policy")
            .unwrap()
            .contains("sandbox")
    );
    // A chunk that looks like a page stays bytes.
    let reply = world.get("/main/%3Ca%20href%3D%22evil%22%3E/c/0").await;
    assert_eq!(reply.text(), "<script>");
    assert_eq!(
        reply.header("content-type"),
        Some("application/octet-stream")
    );
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    assert!(
        reply
            .header("content-security-policy")
            .unwrap()
            .contains("sandbox")
    );
}

#[tokio::test]
async fn the_versions_are_listed_at_the_root() {
    let (store, id) = Store::small().await;
    icefield::landed(store.writer.create_tag("v 1", id).await.unwrap()).unwrap();
    icefield::landed(store.writer.create_branch("-", id).await.unwrap()).unwrap();
    let world = World::serving(&store).await;
    let page = world.get("/").await;
    let links = links(page.text());
    for link in [
        "main/",
        "branch%3A-/",
        "tag%3Av%201/",
        "/-/explore/",
        &format!("/{id}/"),
    ] {
        assert!(links.contains(&link.to_owned()), "{link} in {links:?}");
    }
    for target in [
        "/branch%3A-/g/a/c/2",
        "/tag%3Av%201/g/a/c/2",
        "/v%201/g/a/c/2",
        "/main~0/g/a/c/2",
    ] {
        assert_eq!(world.get(target).await.text(), "inline", "{target}");
    }
    let resolved = world.get("/-/resolve/main").await.json();
    assert_eq!(resolved["snapshot"], id.to_string());
    assert_eq!(world.get("/-/resolve/nowhere").await.status, 404);
}
