//! Each vector is read as its expectation says.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures::TryStreamExt;
use icefield_alpha::{AlphaError, AlphaRepository, Layout, Payload};
use icefield_testkit::stores;
use serde_json::{Value, json};

use crate::world::{VECTORS, chunk_key, document, load, memory, object, sha256};

#[tokio::test]
async fn refs_are_those_of_the_vector_with_all_files_of_branches() {
    for name in VECTORS {
        let (storage, expected) = load(name).await;
        let repository = AlphaRepository::open(Arc::clone(&storage)).await.unwrap();
        let refs = repository.refs().await.unwrap();
        let mut branches = BTreeMap::new();
        for (branch, files) in &refs.branches {
            let newest = files.last().unwrap();
            let said = json!({"file": newest.key, "sequence": newest.number,
                "snapshot": newest.file.snapshot.to_string()});
            branches.insert(branch.clone(), said);
            let numbers: Vec<u64> = files.iter().map(|file| file.number).collect();
            assert_eq!(numbers, (0..=newest.number).collect::<Vec<_>>());
            let timed = files.iter().all(|file| file.file.timestamp.is_some());
            assert_eq!(timed, name != "alpha-b", "{name}");
        }
        assert_eq!(branches, object(&expected["branches"]), "{name}");
        let tags = refs.tags.iter();
        let tags: BTreeMap<_, _> = tags
            .map(|(tag, (_, file))| (tag.clone(), json!(file.snapshot.to_string())))
            .collect();
        assert_eq!(tags, object(&expected["tags"]), "{name}");
    }
}

#[tokio::test]
async fn snapshots_nodes_and_chunks_are_those_of_the_vector() {
    for name in VECTORS {
        let (storage, expected) = load(name).await;
        let repository = AlphaRepository::open(storage).await.unwrap();
        let mut found = BTreeMap::new();
        for id in object(&expected["snapshots"]).keys() {
            let snapshot = repository
                .snapshot(id.parse().unwrap(), "a test")
                .await
                .unwrap();
            let parent = repository.parent(&snapshot).await.unwrap();
            let history: Vec<_> = snapshot
                .history
                .iter()
                .map(|it| it.id.to_string())
                .collect();
            if let Some(ids) = expected["snapshots"][id].get("history_ids") {
                assert_eq!(*ids, json!(history));
            }
            let mut nodes = BTreeMap::new();
            for node in snapshot.nodes() {
                let mut chunks = BTreeMap::new();
                let zarr: Value = serde_json::from_slice(&node.document).unwrap();
                for id in &node.manifests {
                    let manifest = repository.manifest(*id, "a test").await.unwrap();
                    for entry in manifest.of(node.id) {
                        let bytes = repository.chunk(&entry.payload, "a test").await.unwrap();
                        let digest = bytes.as_deref().map(sha256);
                        let said = match &entry.payload {
                            Payload::Inline(bytes) => json!({"kind": "inline", "offset": 0,
                                "length": bytes.len(), "sha256": digest}),
                            Payload::Native { id, offset, length } => json!({"kind": "native",
                                "id": id.to_string(), "offset": offset, "length": length,
                                "sha256": digest}),
                            Payload::Virtual {
                                location,
                                offset,
                                length,
                            } => json!({
                                "kind": "virtual", "location": **location, "offset": offset,
                                "length": length}),
                        };
                        chunks.insert(chunk_key(&entry.index), said);
                    }
                }
                let said = json!({"id": node.id, "zarr_json": zarr, "chunks": chunks});
                nodes.insert(node.path.to_string(), said);
            }
            let said = json!({
                "inner_id": snapshot.inner_id.to_string(), "message": snapshot.message,
                "written_at": snapshot.written_at, "properties": snapshot.properties,
                "total_parents": snapshot.history.len(), "nodes": nodes,
                "parent": parent.map(|it| it.id.to_string()),
            });
            found.insert(id.clone(), said);
        }
        let mut expected = object(&expected["snapshots"]);
        for snapshot in expected.values_mut() {
            snapshot.as_object_mut().unwrap().remove("history_ids");
            for node in snapshot["nodes"].as_object_mut().unwrap().values_mut() {
                node["zarr_json"] = document(&node["zarr_json"]);
            }
        }
        assert_eq!(found, expected, "{name}");
    }
}

#[tokio::test]
async fn histories_lead_to_the_file_of_the_initial_snapshot() {
    for name in VECTORS {
        let (storage, expected) = load(name).await;
        let repository = AlphaRepository::open(storage).await.unwrap();
        let snapshots = object(&expected["snapshots"]);
        let parents: HashMap<&str, Option<&str>> = snapshots
            .iter()
            .map(|(id, it)| (id.as_str(), it["parent"].as_str()))
            .collect();
        for branch in ["main", "dev"] {
            let tip = expected["branches"][branch]["snapshot"].as_str().unwrap();
            let walk = repository.ancestry(tip.parse().unwrap(), branch);
            let walk: Vec<_> = walk.try_collect().await.unwrap();
            let mut wanted = Some(tip);
            for snapshot in &walk {
                assert_eq!(Some(snapshot.id.to_string().as_str()), wanted, "{name}");
                wanted = parents[wanted.unwrap()];
            }
            assert_eq!(wanted, None, "{name} {branch}");
            let initial = walk.last().unwrap();
            assert!(initial.is_initial());
            // The trap: the code drew the id inside apart from the name.
            assert_eq!(initial.inner_id != initial.id, !name.contains("literal"));
        }
    }
}

#[tokio::test]
async fn the_layout_is_known_by_the_files_of_main() {
    for (name, layout) in [
        ("alpha-a", Layout::Code),
        ("alpha-b", Layout::Code),
        ("alpha-literal-json", Layout::Literal),
    ] {
        let (storage, _) = load(name).await;
        let found = AlphaRepository::detect(&*storage).await.unwrap();
        assert_eq!(found, Some(layout), "{name}");
    }
    for vector in ["v1-history", "v2-history"] {
        let (storage, _) = load(vector).await;
        assert_eq!(AlphaRepository::detect(&*storage).await.unwrap(), None);
    }
    // A Zarr hierarchy with a group `r` and an array `main`, and a branch whose files no known writer made.
    let storage = memory();
    for key in [
        "r/zarr.json",
        "r/main/zarr.json",
        "r/main/c/0",
        "r/branch:main/ref.json",
    ] {
        stores::put(&storage, key, "{}").await;
    }
    let opened = AlphaRepository::open(storage).await;
    assert!(matches!(opened, Err(AlphaError::NotFound { .. })));
}

#[tokio::test]
async fn a_repository_that_both_codes_wrote_has_chunks_of_both_names() {
    let (storage, expected) = load("alpha-a").await;
    let mut renamed = 0;
    for key in stores::keys_below(&storage, "c/").await.into_iter().take(1) {
        let bytes = stores::read(&storage, &key).await;
        stores::put(&storage, key.strip_suffix(".msgpack").unwrap(), bytes).await;
        stores::delete(&storage, &key).await;
        renamed += 1;
    }
    assert_eq!(renamed, 1);
    let (_, report) = crate::world::import(&storage, &memory()).await.unwrap();
    assert_eq!(
        report.commits as usize,
        object(&expected["snapshots"]).len() - 1
    );
}
