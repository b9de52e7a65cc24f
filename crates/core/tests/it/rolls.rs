//! The cost of a roll of a window: the array is shifted by a slab of chunks, a new slab comes, all in one commit.

use std::sync::Arc;

use icefield_core::test_suite::Trial;
use icefield_core::test_suite::words::*;
use icefield_core::{ChunkIndex, Repository, RepositoryConfig, Session, SnapshotId};
use icefield_format::{ChunkRef, Extents, ManifestRef};
use icefield_storage::Storage;
use icefield_storage::wrap::Meter;
use icefield_testkit::forge::{Forge, ForgedArray, ForgedSnapshot};
use icefield_testkit::forge::{manifest_id, node_id, snapshot_id};

use crate::support::{memory, trial};

/// Slabs of the window, and chunks of each.
const SLABS: u32 = 6;
const EACH: u32 = 20;

/// One manifest for so many slabs.
fn split(slabs: u32) -> RepositoryConfig {
    let rule = format!("[any_array, [{{condition: !Axis 0, num_chunks: {slabs}}}]]");
    let text = format!("manifest:\n  splitting:\n    split_sizes:\n    - {rule}\n");
    RepositoryConfig::decode(text.as_bytes()).expect("a configuration")
}

async fn open(trial: &Trial, storage: &Arc<dyn Storage>, slabs: u32) -> Repository {
    let builder = trial.builder(storage).config(split(slabs));
    builder.open().await.expect("opened")
}

fn chunk(label: u32, at: u32) -> Vec<u8> {
    pattern(u64::from(label * EACH + at), 600)
}

async fn write_slab(session: &Session, place: u32, label: u32) {
    for at in 0..EACH {
        write(session, "/a", &[place, at], chunk(label, at)).await;
    }
}

async fn window(trial: &Trial, slabs: u32) -> Arc<dyn Storage> {
    let (storage, _) = trial.create().await;
    let session = writer(&open(trial, &storage, slabs).await).await;
    let shape = [u64::from(SLABS), u64::from(EACH)];
    set(&session, "/a", array(&shape, &[1, 1])).await;
    for label in 0..SLABS {
        write_slab(&session, label, label).await;
    }
    commit(&session, "window").await;
    storage
}

/// Asserts that the window begins with a label, in a session that knows nothing yet.
async fn begins(trial: &Trial, storage: &Arc<dyn Storage>, label: u32) {
    let session = read_main(&trial.open(storage).await).await;
    let all = (0..SLABS).flat_map(|slab| (0..EACH).map(move |at| [slab, at].into()));
    let all: Vec<ChunkIndex> = all.collect();
    assert_eq!(indices(&session, "/a").await, all);
    for slab in 0..SLABS {
        for at in 0..EACH {
            let expected = chunk(label + slab, at);
            holds(&session, "/a", &[slab, at], Some(&expected)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_roll_by_whole_manifests_reads_and_writes_each_once_and_no_chunk() {
    let trial = trial("aligned roll");
    let storage = window(&trial, 1).await;
    for roll in 1..4 {
        let meter = Meter::new(Arc::clone(&storage));
        let repository = open(&trial, &meter.storage(), 1).await;
        let session = writer(&repository).await;
        let at = path("/a");
        let (shifted, cost) = meter.measure(session.shift(&at, &[-1, 0])).await;
        is!(shifted, Ok(()));
        assert_eq!(cost.counts.total.requests(), 0);
        write_slab(&session, SLABS - 1, SLABS - 1 + roll).await;

        let (_, cost) = meter.measure(commit(&session, "roll")).await;
        let of = |folder| cost.counts.of(folder);
        println!("a roll: {} rounds, {:?}", cost.rounds, cost.counts);
        // The oldest is read for the log.
        assert_eq!(of("manifests").get, u64::from(SLABS));
        assert_eq!(of("manifests").put, u64::from(SLABS));
        assert_eq!(of("manifests").requests(), 2 * u64::from(SLABS));
        assert_eq!((of("snapshots").put, of("transactions").put), (1, 1));
        assert_eq!(of("chunks").requests(), 0);
        assert_eq!((cost.counts.total.list, cost.counts.total.copy), (0, 0));
        // Ids of chunks are random, all else of a reference compresses.
        let each = of("manifests").bytes_written / u64::from(SLABS * EACH);
        assert!(each < 40, "{each} bytes for each reference");
        begins(&trial, &storage, roll).await;
        icefield_core::test_suite::walk::assert_sound(&storage).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_roll_by_parts_of_manifests_reads_each_once_all_the_same() {
    let trial = trial("roll by parts");
    let storage = window(&trial, 2).await;
    for roll in 1..4 {
        let meter = Meter::new(Arc::clone(&storage));
        let session = writer(&open(&trial, &meter.storage(), 2).await).await;
        is!(session.shift(&path("/a"), &[-1, 0]).await, Ok(()));
        write_slab(&session, SLABS - 1, SLABS - 1 + roll).await;
        let (_, cost) = meter.measure(commit(&session, "roll")).await;
        let manifests = u64::from(SLABS / 2);
        let of_manifests = cost.counts.of("manifests");
        assert_eq!((of_manifests.get, of_manifests.put), (manifests, manifests));
        assert_eq!(cost.counts.of("chunks").requests(), 0);
        assert_eq!(cost.counts.total.list, 0);
        begins(&trial, &storage, roll).await;
        icefield_core::test_suite::walk::assert_sound(&storage).await;
    }
}

/// The facts in a snapshot about its manifests may be wrong in any way.
#[tokio::test]
async fn a_roll_of_manifests_with_more_places_than_can_be_counted_moves_their_chunks() {
    let storage = memory();
    let forge = Forge::new(&storage);
    forge.create().await;
    let (all, last) = (u32::MAX, u32::MAX - 1);
    let extents = [
        vec![0..1, 0..1, 0..1],
        vec![1..all, 0..all, 0..all],
        vec![last..all, last..all, last..all],
        vec![all..all, all..all, all..all],
    ];
    let mut array = ForgedArray::new(
        "/a",
        node_id(1),
        &[u64::from(all); 3],
        manifest_id(0),
        Extents::default(),
    );
    array.manifests.clear();
    let mut files = Vec::new();
    for (at, extents) in (0..).zip(extents) {
        let chunk = (&[at, at, at][..], ChunkRef::Inline(b"x"));
        let id = manifest_id(u8::try_from(at).expect("few"));
        files.push(forge.manifest(id, &[(node_id(1), &[chunk])]).await);
        let extents = Extents::new(extents);
        array.manifests.push(ManifestRef { id, extents });
    }
    let mut snapshot = ForgedSnapshot::new(snapshot_id(1), Some(SnapshotId::INITIAL), 1);
    snapshot.arrays.push(array);
    snapshot.manifest_files = files;
    forge.snapshot(&snapshot).await;
    forge.branch("main", snapshot_id(1)).await;
    let trial = trial("huge roll");
    let rules = "manifest:\n  splitting:\n    split_sizes:\n    - [any_array, [{condition: Any, num_chunks: 1}]]\n";
    let rules = RepositoryConfig::decode(rules.as_bytes()).expect("a configuration");
    let repository = trial.builder(&storage).config(rules).open().await;
    let session = writer(&repository.expect("opened")).await;
    is!(session.shift(&path("/a"), &[1, 0, 0]).await, Ok(()));
    commit(&session, "rolled").await;
    let session = read_main(&trial.open(&storage).await).await;
    holds(&session, "/a", &[1, 0, 0], Some(b"x")).await;
    holds(&session, "/a", &[2, 1, 1], Some(b"x")).await;
}
