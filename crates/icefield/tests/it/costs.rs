//! The cost of opening a revision, in requests and in rounds of dependent requests.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use icefield::storage::Storage;
use icefield::storage::wrap::{Cost, Meter};
use icefield::{
    BranchName, ByteRange, MemoryStorage, NodePath, Repository, RevisionSpec, WriteMode,
};

const ARRAY: &str = r#"{
    "zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
    "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]
}"#;

/// Two commits with a native chunk each; the first has the tag `v1` and the branch `old`.
async fn store() -> Arc<dyn Storage> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let repository = Repository::create(Arc::clone(&storage)).await.unwrap();
    let path = NodePath::parse("/a").unwrap();
    for index in [0, 1] {
        let session = repository.write_session(BranchName::main()).await.unwrap();
        let mode = WriteMode::Overwrite;
        session
            .set_metadata(&path, ARRAY.into(), mode)
            .await
            .unwrap();
        session
            .set_chunk(&path, &[index], vec![1; 1000].into(), mode)
            .await
            .unwrap();
        let id = icefield::committed(session.commit("a chunk").await.unwrap()).unwrap();
        if index == 0 {
            icefield::landed(repository.create_tag("v1", id).await.unwrap()).unwrap();
            icefield::landed(repository.create_branch("old", id).await.unwrap()).unwrap();
        }
    }
    storage
}

/// From nothing to the bytes of a chunk.
async fn to_the_first_chunk(storage: &Arc<dyn Storage>, text: &str) -> Cost {
    let meter = Meter::new(Arc::clone(storage));
    let spec = RevisionSpec::parse(text).unwrap();
    let open = async {
        let (_, session) = spec.open_session(meter.storage()).await.unwrap();
        let path = NodePath::parse("/a").unwrap();
        session.chunk(&path, &[0], ByteRange::All).await.unwrap()
    };
    let (chunk, cost) = meter.measure(open).await;
    assert_eq!(chunk.unwrap().len(), 1000);
    cost
}

#[tokio::test(start_paused = true)]
async fn a_branch_costs_no_more_than_it_does_by_its_name() {
    let storage = store().await;
    for text in ["main", "branch:main", "old", "main~0"] {
        let cost = to_the_first_chunk(&storage, text).await;
        assert_eq!(cost.rounds, 4, "{text}: ref, snapshot, manifest, chunk");
        assert!(cost.counts.total.requests() <= 6, "{text}: {cost:?}");
        assert_eq!(cost.counts.of("refs").get, 1, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_word_that_is_no_branch_is_looked_up_once_as_each_thing() {
    let storage = store().await;
    let prefixed = to_the_first_chunk(&storage, "tag:v1").await;
    let bare = to_the_first_chunk(&storage, "v1").await;
    // A tag is read after opening, together with its tombstone.
    assert_eq!((prefixed.rounds, prefixed.counts.total.requests()), (5, 8));
    // Before that, the word was looked for as a branch while opening; then the repository is opened anew.
    assert_eq!((bare.rounds, bare.counts.total.requests()), (7, 12));
    let refs = bare.counts.of("refs");
    assert_eq!(
        refs.requests() - prefixed.counts.of("refs").requests(),
        2,
        "one read of the branch that is not there, and one of main to see that the repository is"
    );
}
