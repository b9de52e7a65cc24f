//! The result of an import: the same history, the same nodes, the same bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::TryStreamExt;
use icefield_alpha::{ALPHA, AlphaRepository, Import, ImportError};
use icefield_core::{
    BranchName, ByteRange, ChunkLocation, EditOutcome, NodePath, Repository, RepositoryError,
    SnapshotId, WriteMode,
};
use icefield_storage::wrap::FaultyStorage;
use icefield_storage::wrap::fault::{Decision, Matcher, Plan, Verb};
use icefield_testkit::stores;
use serde_json::{Value, json};

use crate::world::{VECTORS, chunk_key, document, import, load, memory, object, sha256};

/// All refs by name, with the id of the old snapshot that each leads to.
async fn refs(
    repository: &Repository,
    old: &BTreeMap<SnapshotId, String>,
) -> Vec<(String, String)> {
    let refs = repository.refs().await.unwrap();
    let branches = refs.branches.into_iter();
    let branches = branches.map(|(name, tip)| (format!("branch {name}"), tip.unwrap()));
    let tags = refs.tags.into_iter();
    let tags = tags.map(|(name, tip)| (format!("tag {name}"), tip.unwrap()));
    let all = branches.chain(tags);
    all.map(|(name, tip)| (name, old[&tip].clone())).collect()
}

fn expected_refs(expected: &Value) -> Vec<(String, String)> {
    let branches = object(&expected["branches"]).into_iter();
    let branches = branches.map(|(name, it)| (format!("branch {name}"), it["snapshot"].clone()));
    let tags = object(&expected["tags"]).into_iter();
    let tags = tags.map(|(name, it)| (format!("tag {name}"), it));
    let all = branches.chain(tags);
    all.map(|(name, id)| (name, id.as_str().unwrap().to_owned()))
        .collect()
}

/// Every snapshot that refs reach, with the id of the old one.
async fn old_ids(repository: &Repository, expected: &Value) -> BTreeMap<SnapshotId, String> {
    let refs = repository.refs().await.unwrap();
    let mut old = BTreeMap::new();
    let initial = object(&expected["snapshots"]);
    let initial = initial.iter().find(|(_, it)| it["total_parents"] == 0);
    old.insert(SnapshotId::INITIAL, initial.unwrap().0.clone());
    for tip in refs.branches.into_values().chain(refs.tags.into_values()) {
        let mut history = repository.ancestry(tip.unwrap());
        while let Some(info) = history.try_next().await.unwrap() {
            if info.id != SnapshotId::INITIAL {
                let said = info
                    .metadata
                    .iter()
                    .filter(|(name, _)| name.starts_with(ALPHA));
                let origin = said
                    .map(|(_, it)| it["id"].as_str())
                    .find_map(|it| it)
                    .unwrap();
                old.insert(info.id, origin.to_owned());
            }
        }
    }
    old
}

icefield_testkit::both_versions!(the_imported_history_is_that_of_the_vector);
async fn the_imported_history_is_that_of_the_vector() {
    for name in VECTORS {
        let (storage, expected) = load(name).await;
        let (repository, report) = import(&storage, &memory()).await.unwrap();
        let snapshots = object(&expected["snapshots"]);
        assert_eq!(report.commits as usize, snapshots.len() - 1, "{name}");
        assert_eq!((report.branches, report.hidden_chunks), (2, 0), "{name}");
        let old = old_ids(&repository, &expected).await;
        assert_eq!(old.len(), snapshots.len(), "{name}");
        assert_eq!(
            refs(&repository, &old).await,
            expected_refs(&expected),
            "{name}"
        );
        for (id, old_id) in &old {
            let wanted = &snapshots[old_id];
            let info = repository.ancestry(*id).try_next().await.unwrap().unwrap();
            let parent = info.parent_id.map(|it| old[&it].as_str());
            assert_eq!(parent, wanted["parent"].as_str());
            if *id != SnapshotId::INITIAL {
                assert_eq!(info.message, wanted["message"].as_str().unwrap());
                let mut metadata = json!(info.metadata);
                let items = metadata.as_object_mut().unwrap();
                let own = match wanted["properties"].get(ALPHA) {
                    Some(_) => "alpha_",
                    None => ALPHA,
                };
                let origin = items.remove(own).unwrap();
                assert_eq!(origin["written_at"], wanted["written_at"]);
                assert_eq!(metadata, wanted["properties"], "{name}");
            }
            assert_eq!(
                nodes(&repository, *id).await,
                expected_nodes(wanted),
                "{name} {old_id}"
            );
        }
    }
}

/// The nodes of a snapshot with their chunks.
async fn nodes(repository: &Repository, id: SnapshotId) -> BTreeMap<String, Value> {
    let session = repository.read_session(id).await.unwrap();
    let mut nodes = BTreeMap::new();
    for node in session.nodes(&NodePath::root()).unwrap() {
        let text = session.metadata(&node.path).unwrap().unwrap();
        let zarr: Value = serde_json::from_slice(&text).unwrap();
        let mut chunks = BTreeMap::new();
        if zarr["node_type"] == "array" {
            let mut listed = session.chunks(&node.path).unwrap();
            while let Some(chunk) = listed.try_next().await.unwrap() {
                let said = match chunk.location {
                    ChunkLocation::Virtual {
                        location,
                        offset,
                        length,
                        ..
                    } => json!({
                        "location": location, "offset": offset, "length": length}),
                    location => {
                        let bytes = session.chunk(&node.path, &chunk.index, ByteRange::All);
                        let bytes = bytes.await.unwrap().unwrap();
                        json!({"length": location.length(), "sha256": sha256(&bytes)})
                    }
                };
                chunks.insert(chunk_key(&chunk.index), said);
            }
        }
        nodes.insert(
            node.path.to_string(),
            json!({"zarr": zarr, "chunks": chunks}),
        );
    }
    nodes
}

fn expected_nodes(snapshot: &Value) -> BTreeMap<String, Value> {
    let nodes = object(&snapshot["nodes"]).into_iter();
    nodes
        .map(|(path, node)| {
            let chunks = object(&node["chunks"]).into_iter().map(|(key, chunk)| {
                let said = match chunk["kind"].as_str().unwrap() {
                    "virtual" => json!({"location": chunk["location"],
                        "offset": chunk["offset"], "length": chunk["length"]}),
                    _ => json!({"length": chunk["length"], "sha256": chunk["sha256"]}),
                };
                (key, said)
            });
            let chunks: BTreeMap<String, Value> = chunks.collect();
            (
                path,
                json!({"zarr": document(&node["zarr_json"]), "chunks": chunks}),
            )
        })
        .collect()
}

icefield_testkit::both_versions!(a_chunk_that_snapshots_share_is_copied_once);
async fn a_chunk_that_snapshots_share_is_copied_once() {
    let (storage, _) = load("alpha-a").await;
    let new = memory();
    let (_, report) = import(&storage, &new).await.unwrap();
    let copied = stores::keys_below(&new, "chunks/").await;
    assert_eq!(copied.len(), stores::keys_below(&storage, "c/").await.len());
    assert_eq!(report.virtual_chunks, 1);
    assert_eq!(report.tags, 1);
}

icefield_testkit::both_versions!(
    an_import_leaves_no_branch_of_its_own_and_can_be_done_into_an_empty_repository
);
async fn an_import_leaves_no_branch_of_its_own_and_can_be_done_into_an_empty_repository() {
    let (storage, _) = load("alpha-b").await;
    let new = memory();
    Repository::create(Arc::clone(&new)).await.unwrap();
    let (repository, report) = import(&storage, &new).await.unwrap();
    let refs = repository.refs().await.unwrap();
    let names: Vec<_> = refs.branches.keys().map(ToString::to_string).collect();
    assert_eq!(names, ["dev", "main"]);
    let main = refs.branches[&BranchName::main()].as_ref().unwrap();
    assert_eq!(Some(*main), report.main);
}

icefield_testkit::both_versions!(a_repository_with_a_history_is_refused);
async fn a_repository_with_a_history_is_refused() {
    let (storage, _) = load("alpha-a").await;
    let new = memory();
    import(&storage, &new).await.unwrap();
    let before = stores::dump(&new).await;
    let again = import(&storage, &new).await;
    assert!(matches!(again, Err(ImportError::NotEmpty { .. })));
    assert_eq!(stores::dump(&new).await, before);

    let used = memory();
    let repository = Repository::create(Arc::clone(&used)).await.unwrap();
    let tag = repository.create_tag("t", SnapshotId::INITIAL).await;
    assert!(matches!(tag, Ok(EditOutcome::Done(_))));
    let refused = import(&storage, &used).await;
    assert!(matches!(refused, Err(ImportError::NotEmpty { .. })));
}

icefield_testkit::both_versions!(a_place_with_files_of_others_is_refused);
async fn a_place_with_files_of_others_is_refused() {
    let (storage, _) = load("alpha-a").await;
    // Its own, of all places.
    let before = stores::dump(&storage).await;
    let onto = import(&storage, &storage).await;
    assert!(matches!(
        onto,
        Err(ImportError::Repository(RepositoryError::NotEmpty { .. }))
    ));
    assert_eq!(stores::dump(&storage).await, before);
}

icefield_testkit::both_versions!(an_imported_repository_goes_on);
async fn an_imported_repository_goes_on() {
    let (storage, _) = load("alpha-literal-messagepack").await;
    let (repository, _) = import(&storage, &memory()).await.unwrap();
    let session = repository.write_session(BranchName::main()).await.unwrap();
    let path = NodePath::parse("/wide").unwrap();
    let write = session.set_chunk(&path, &[5, 0], vec![1; 2000].into(), WriteMode::Overwrite);
    assert!(write.await.unwrap());
    let outcome = session.commit("after it").await.unwrap();
    assert!(matches!(
        outcome,
        icefield_core::CommitOutcome::Committed(_)
    ));
}

icefield_testkit::both_versions!(a_failing_write_leaves_nothing_half_imported);
/// Whatever write fails, whether it was done or not: the destination is an empty repository, the whole import, or it is
/// said that refs are missing; where it is empty, the import can be done again.
async fn a_failing_write_leaves_nothing_half_imported() {
    let (storage, expected) = load("alpha-b").await;
    let mut whole = 0;
    for (decision, at) in [Decision::FailBefore, Decision::FailAfter]
        .into_iter()
        .flat_map(|decision| (0..80).map(move |at| (decision, at)))
    {
        let inner = memory();
        let faulty = FaultyStorage::new(Arc::clone(&inner), Plan::none());
        faulty.set_plan(Plan::none().on(Matcher::verb(Verb::Put), at, decision));
        let source = AlphaRepository::open(Arc::clone(&storage)).await.unwrap();
        let to = Repository::builder(Arc::new(faulty));
        let to = to.spec_version(icefield_testkit::versions::spec());
        let result = Import::new(source).run(to).await;
        match (&result, Repository::open(Arc::clone(&inner)).await) {
            (Ok(_), opened) => {
                whole += 1;
                let repository = opened.unwrap();
                let old = old_ids(&repository, &expected).await;
                assert_eq!(refs(&repository, &old).await, expected_refs(&expected));
            }
            (Err(_), Err(RepositoryError::NotFound { .. })) => {}
            (Err(error), opened) => {
                let repository = opened.unwrap();
                let main = repository.refs().await.unwrap();
                let main = main.branches[&BranchName::main()].as_ref().unwrap();
                let no_refs = !matches!(error, ImportError::Refs { .. });
                if no_refs {
                    assert_eq!(*main, SnapshotId::INITIAL, "write {at}: {error:?}");
                }
                if no_refs && !error.is_unknown() {
                    let again = import(&storage, &inner).await;
                    assert!(again.is_ok(), "write {at}: {error:?}, then {again:?}");
                }
            }
        }
    }
    assert!(whole >= 2, "some writes come after the last one");
}
