//! Documents: consolidation, compression, and their tags.

use serde_json::Value;

use crate::world::{GROUP, Store, World, array, commit, put};

fn entries(document: &Value) -> Vec<String> {
    let metadata = document["consolidated_metadata"]["metadata"].as_object();
    metadata.unwrap().keys().cloned().collect()
}

#[tokio::test]
async fn every_group_has_the_documents_of_all_nodes_below_it() {
    let (store, id) = Store::small().await;
    let world = World::serving(&store).await;
    let root = world.get(&format!("/{id}/zarr.json")).await.json();
    assert_eq!(root["consolidated_metadata"]["kind"], "inline");
    assert_eq!(root["consolidated_metadata"]["must_understand"], false);
    assert_eq!(entries(&root), ["g", "g/a"]);
    let stored: Value = serde_json::from_str(&array(4)).unwrap();
    assert_eq!(root["consolidated_metadata"]["metadata"]["g/a"], stored);
    let group = world.get(&format!("/{id}/g/zarr.json")).await.json();
    assert_eq!(entries(&group), ["a"]);
    // An array's document is what was stored, byte for byte; so is everything in the raw view.
    assert_eq!(
        world.get(&format!("/{id}/g/a/zarr.json")).await.text(),
        array(4)
    );
    assert_eq!(
        world.get(&format!("/-/raw/{id}/zarr.json")).await.text(),
        GROUP
    );
    assert_eq!(
        world.get(&format!("/-/raw/{id}/g/a/c/2")).await.text(),
        "inline"
    );
}

#[tokio::test]
async fn a_group_that_is_too_large_says_so() {
    let (store, id) = Store::small().await;
    let settings = icefield_gateway::Settings {
        consolidated_nodes: 1,
        ..Default::default()
    };
    let world = World::with(&store, settings).await;
    let root = world.get(&format!("/{id}/zarr.json")).await;
    assert_eq!(root.text(), GROUP);
    assert_eq!(
        root.header("x-icefield-consolidated"),
        Some("no; 2 nodes are more than 1")
    );
    let group = world.get(&format!("/{id}/g/zarr.json")).await;
    assert_eq!(entries(&group.json()), ["a"]);
    assert_eq!(group.header("x-icefield-consolidated"), None);
}

#[tokio::test]
async fn consolidated_metadata_that_is_stored_is_not_believed() {
    let store = Store::new().await;
    let session = store.session().await;
    let stale = r#"{"zarr_format": 3, "node_type": "group", "consolidated_metadata": {"kind": "inline", "metadata": {"gone": {}}}}"#;
    put(&session, "/", stale).await;
    put(&session, "/g", stale).await;
    put(&session, "/g/a", &array(1)).await;
    commit(&session, "stale").await;
    let world = World::serving(&store).await;
    let root = world.get("/main/zarr.json").await;
    assert!(!root.text().contains("gone"), "{}", root.text());
    assert_eq!(entries(&root.json()), ["g", "g/a"]);
}

/// Where nothing can be consolidated, what another time consolidated is left out all the same, and a header says why.
#[tokio::test]
async fn stored_consolidation_is_left_out_wherever_none_is_made() {
    let store = Store::new().await;
    let session = store.session().await;
    let stale = r#"{"zarr_format": 3, "node_type": "group", "consolidated_metadata": {"kind": "inline", "metadata": {"gone": {}}}}"#;
    put(&session, "/", stale).await;
    put(&session, "/a", &array(1)).await;
    put(&session, "/b", &array(1)).await;
    commit(&session, "stale").await;
    let settings = icefield_gateway::Settings {
        consolidated_nodes: 1,
        ..Default::default()
    };
    let world = World::with(&store, settings).await;
    let root = world.get("/main/zarr.json").await;
    assert!(!root.text().contains("gone"), "{}", root.text());
    assert_eq!(
        root.header("x-icefield-consolidated"),
        Some("no; 2 nodes are more than 1")
    );
    assert!(world.get("/-/raw/main/zarr.json").await.text() == stale);
}

#[tokio::test]
async fn long_documents_are_compressed_for_those_who_ask() {
    let store = Store::new().await;
    let session = store.session().await;
    put(&session, "/", GROUP).await;
    for number in 0..20 {
        put(&session, &format!("/a{number}"), &array(1)).await;
    }
    crate::world::chunk(&session, "/a0", &[0], vec![0; 5000]).await;
    commit(&session, "many").await;
    let world = World::serving(&store).await;
    let plain = world.get("/main/zarr.json").await;
    assert_eq!(plain.header("content-encoding"), None);
    assert_eq!(plain.header("vary"), Some("Accept-Encoding"));
    let asking = [("Accept-Encoding", "gzip, deflate")];
    let packed = world.with_headers("/main/zarr.json", &asking).await;
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(packed.body.len() * 5 < plain.body.len());
    assert_ne!(packed.header("etag"), plain.header("etag"));
    let head = world.ask("HEAD", "/main/zarr.json", &asking).await;
    assert_eq!(
        head.header("content-length").unwrap(),
        packed.body.len().to_string()
    );
    // A range is one of the plain text.
    let range = [("Accept-Encoding", "gzip"), ("Range", "bytes=0-9")];
    let part = world.with_headers("/main/zarr.json", &range).await;
    assert_eq!((part.status, &part.body[..]), (206, &plain.body[..10]));
    assert_eq!(part.header("etag"), plain.header("etag"));
    // A chunk is never compressed, whatever its bytes.
    let chunk = world.with_headers("/main/a0/c/0", &asking).await;
    assert_eq!(
        (chunk.header("content-encoding"), chunk.body.len()),
        (None, 5000)
    );
}
