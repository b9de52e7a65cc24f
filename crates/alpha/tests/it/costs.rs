//! The costs of reading, in requests and bytes: nothing is read twice that need not be.

use std::sync::Arc;

use icefield_alpha::{AlphaChunk, AlphaRepository, AlphaVersion, Import};
use icefield_core::{NodePath, Repository};
use icefield_storage::Storage;
use icefield_storage::wrap::{CountingStorage, Tally};
use icefield_testkit::stores;

use crate::world::{VECTORS, load, memory};

/// A vector whose requests are counted.
async fn counted(name: &str) -> (CountingStorage, Arc<dyn Storage>) {
    let (storage, _) = load(name).await;
    let counting = CountingStorage::new(Arc::clone(&storage));
    (counting, storage)
}

async fn size(storage: &Arc<dyn Storage>, key: &str) -> u64 {
    stores::read(storage, key).await.len() as u64
}

fn path(text: &str) -> NodePath {
    NodePath::parse(text).unwrap()
}

/// Reads, lists and bytes.
fn said(tally: Tally) -> (u64, u64, u64) {
    assert_eq!(tally.writes(), 0);
    assert_eq!(tally.head, 0);
    (tally.get, tally.list_pages, tally.bytes_read)
}

#[tokio::test]
async fn a_version_costs_a_list_a_ref_and_a_snapshot_and_a_chunk_the_manifest_once() {
    let (counting, storage) = counted("alpha-b").await;
    let repository = AlphaRepository::open(Arc::new(counting.clone()))
        .await
        .unwrap();
    assert_eq!(said(counting.reset().total), (0, 1, 0));

    let tip = repository.branch("main").await.unwrap().unwrap();
    let ref_size = size(&storage, "r/branch:main/ZZZZZZZZZZZZT.json").await;
    assert_eq!(said(counting.reset().total), (1, 1, ref_size));
    let snapshot = repository
        .snapshot(tip.file.snapshot, &tip.key)
        .await
        .unwrap();
    let snapshot_size = size(&storage, "s/YZB8QF212DQV4X0A54CA2RMMZ0.msgpack").await;
    assert_eq!(said(counting.reset().total), (1, 0, snapshot_size));

    // The hierarchy is in the snapshot.
    let version = AlphaVersion::new(repository, snapshot);
    assert_eq!(
        version.snapshot().child_names(&path("/")),
        ["g", "g-x", "scalar"]
    );
    assert!(version.chunk(&path("/g"), &[0]).await.is_err());
    assert_eq!(said(counting.reset().total), (0, 0, 0));

    // The first chunk takes the manifest along, which has the small ones.
    let half = path("/g-x/half");
    let Some(AlphaChunk::Bytes(inline)) = version.chunk(&half, &[0]).await.unwrap() else {
        panic!("it is in the manifest");
    };
    assert_eq!(inline.len(), 9);
    let manifest = size(&storage, "m/0FCYWZ7ZM9901BCA6BMR1HHA7R.msgpack").await;
    assert_eq!(said(counting.reset().total), (1, 0, manifest));
    assert_eq!(version.chunks(&path("/scalar")).await.unwrap().len(), 1);
    assert!(version.chunk(&half, &[3]).await.unwrap().is_none());
    assert!(matches!(
        version.chunk(&half, &[2]).await.unwrap(),
        Some(AlphaChunk::Virtual { length: 800, .. })
    ));
    assert_eq!(said(counting.reset().total), (0, 0, 0));

    // Which of the two names chunks have is found out once.
    for requests in [2, 1] {
        let Some(AlphaChunk::Bytes(native)) = version.chunk(&half, &[1]).await.unwrap() else {
            panic!("it is an object");
        };
        assert_eq!(native.len(), 700);
        assert_eq!(said(counting.reset().total), (requests, 0, 700));
    }
}

#[tokio::test]
async fn refs_cost_one_list_and_a_read_for_each() {
    for (name, refs) in [("alpha-b", 3), ("alpha-literal-json", 4)] {
        let (counting, _) = counted(name).await;
        let repository = AlphaRepository::open(Arc::new(counting.clone()))
            .await
            .unwrap();
        counting.reset();
        let tips = repository.tips().await.unwrap();
        assert_eq!((tips.branches.len() + tips.tags.len()) as u64, refs);
        let (reads, lists, _) = said(counting.reset().total);
        assert_eq!(
            (reads, lists),
            (refs, 1),
            "{name}: old files of branches are not read"
        );
        let tag = repository.tag("v1").await.unwrap();
        assert!(tag.is_some());
        assert!(repository.tag("main").await.unwrap().is_none());
        let (reads, lists, _) = said(counting.reset().total);
        assert_eq!((reads, lists), (2, 0), "{name}");
    }
}

/// Reads, lists and bytes of an import, by what is read.
struct ImportCosts {
    chunks: (u64, u64, u64),
    manifests: (u64, u64, u64),
    refs: (u64, u64, u64),
    snapshots: (u64, u64, u64),
}

#[tokio::test]
async fn an_import_reads_each_ref_and_chunk_once_and_the_rest_a_fixed_number_of_times() {
    let costs = [
        ImportCosts {
            chunks: (2, 0, 1660),
            manifests: (7, 0, 1131),
            refs: (5, 1, 505),
            snapshots: (13, 1, 5744),
        },
        // One request more finds out which name chunks have.
        ImportCosts {
            chunks: (3, 0, 1660),
            manifests: (7, 0, 1201),
            refs: (6, 1, 246),
            snapshots: (13, 1, 5777),
        },
        // The initial snapshot has the id that is in it, and need not be looked for.
        ImportCosts {
            chunks: (5, 0, 3013),
            manifests: (9, 0, 1930),
            refs: (8, 1, 736),
            snapshots: (12, 0, 15004),
        },
        ImportCosts {
            chunks: (5, 0, 3013),
            manifests: (9, 0, 5576),
            refs: (8, 1, 964),
            snapshots: (12, 0, 44450),
        },
    ];
    for (name, expected) in VECTORS.into_iter().zip(costs) {
        let (storage, _) = load(name).await;
        let counting = CountingStorage::new(Arc::clone(&storage));
        let source = AlphaRepository::open(Arc::new(counting.clone()))
            .await
            .unwrap();
        counting.reset();
        let to = Repository::builder(memory());
        let (_, report) = Import::new(source).run(to).await.unwrap();
        let counts = counting.snapshot();
        assert_eq!(said(counts.of("c")), expected.chunks, "{name}");
        assert_eq!(said(counts.of("m")), expected.manifests, "{name}");
        assert_eq!(said(counts.of("r")), expected.refs, "{name}");
        assert_eq!(said(counts.of("s")), expected.snapshots, "{name}");

        // Whatever the numbers are: nothing is read of native chunks but what is copied, once.
        assert!(counts.of("c").bytes_read <= report.bytes, "{name}");
        let keys = stores::keys(&storage).await;
        let refs = keys.iter().filter(|it| it.starts_with("r/"));
        let refs = refs.filter(|it| it.ends_with(".json")).count() as u64;
        assert_eq!(counts.of("r").get, refs, "{name}");
    }
}
