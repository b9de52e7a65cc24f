//! The files of spec version 1 that sessions write, byte rules included.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use icefield_format::layout::{self, IdKey};
use icefield_format::{Extents, Snapshot};
use icefield_storage::Storage;

use super::Trial;
use super::words::*;
use crate::{Repository, SnapshotId};

/// A history with everything in it that a snapshot can hold.
async fn rich(trial: &Trial, storage: &Arc<dyn Storage>) -> Repository {
    let repository = trial.builder(storage).create().await.expect("created");
    let session = writer(&repository).await;
    for at in ["/", "/ab", "/a", "/a-b", "/a.b", "/é"] {
        set(&session, at, group()).await;
    }
    set(&session, "/a/b", array(&[10, 10], &[1, 1])).await;
    set(&session, "/a/none", array(&[3], &[1])).await;
    set(&session, "/scalar", array(&[], &[])).await;
    for index in [[2, 7], [5, 3], [3, 3]] {
        let [x, y] = index;
        write(&session, "/a/b", &index, pattern(u64::from(x), 100)).await;
        write(&session, "/a/b", &[y, x], pattern(u64::from(y), 1000)).await;
    }
    write(&session, "/scalar", &[], "s").await;
    commit(&session, "one").await;
    trial.tick();
    let session = writer(&repository).await;
    is!(session.delete_chunk(&path("/a/b"), &[2, 7]).await, Ok(()));
    is!(session.delete_chunk(&path("/a/b"), &[7, 2]).await, Ok(()));
    is!(session.delete_node(&path("/scalar")).await, Ok(true));
    set(&session, "/scalar", array(&[], &[])).await;
    write(&session, "/a/none", &[1], pattern(1, 600)).await;
    commit(&session, "two").await;
    done(
        repository
            .create_branch("dev", tip(&repository, "main").await)
            .await,
    );
    trial.tick();
    let session = writer_on(&repository, "dev").await;
    set(&session, "/a/b", array(&[5, 10], &[1, 1])).await;
    commit(&session, "three").await;
    repository
}

async fn snapshot_of(repository: &Repository, name: &str) -> Arc<Snapshot> {
    let id = tip(repository, name).await;
    repository.snapshot(id).await.expect("readable")
}

pub(super) async fn a_rich_history_is_sound(trial: Trial) {
    let storage = trial.store().await;
    rich(&trial, &storage).await;
    super::walk::assert_sound(&storage).await;
}

pub(super) async fn nodes_are_sorted_by_the_bytes_of_their_paths(trial: Trial) {
    let storage = trial.store().await;
    let repository = rich(&trial, &storage).await;
    let snapshot = snapshot_of(&repository, "main").await;
    let paths: Vec<_> = snapshot
        .nodes()
        .map(|node| node.path().to_owned())
        .collect();
    assert_eq!(
        paths,
        [
            "/", "/a", "/a-b", "/a.b", "/a/b", "/a/none", "/ab", "/scalar", "/é"
        ]
    );
}

pub(super) async fn manifest_lists_and_extents_are_exact(trial: Trial) {
    let storage = trial.store().await;
    let repository = rich(&trial, &storage).await;
    for (name, extents, count) in [("main", vec![3..6, 3..6], 3), ("dev", vec![3..4, 3..6], 2)] {
        let snapshot = snapshot_of(&repository, name).await;
        let record = snapshot.node(&path("/a/b")).expect("it is there");
        let manifests: Vec<_> = record.array().expect("an array").manifests().collect();
        let [manifest] = &manifests[..] else {
            panic!("one manifest per array, not {manifests:?}")
        };
        assert_eq!(manifest.extents(), Extents::new(extents));
        let info = snapshot.manifest_file(&manifest.id()).expect("listed");
        assert_eq!(info.num_chunk_refs, count);
        let scalar = snapshot.node(&path("/scalar")).expect("it is there");
        assert_eq!(scalar.array().expect("an array").manifest_count(), 0);
        assert_eq!(snapshot.manifest_files().len(), 2);
    }
}

pub(super) async fn objects_lie_where_the_format_says(trial: Trial) {
    let trial = trial.unpacked();
    let storage = trial.store().await;
    rich(&trial, &storage).await;
    let mut folders = BTreeMap::<&str, usize>::new();
    let keys = keys(&storage).await;
    let mut snapshots = BTreeSet::new();
    let mut logs = BTreeSet::new();
    for key in &keys {
        let (folder, _) = key.split_once('/').unwrap_or((key, ""));
        *folders.entry(folder).or_default() += 1;
        match layout::parse_id_key(key) {
            Some(IdKey::Snapshot(id)) => {
                snapshots.insert(id);
            }
            Some(IdKey::TransactionLog(id)) => {
                logs.insert(id);
            }
            Some(_) => {}
            None if trial.is_v1() => assert_eq!(folder, layout::REFS, "{key}"),
            None => assert!(
                [layout::REPO, layout::OVERWRITTEN].contains(&folder),
                "{key}"
            ),
        }
    }
    let mut expected = BTreeMap::from([(layout::CHUNKS, 4), (layout::MANIFESTS, 5)]);
    expected.insert(layout::SNAPSHOTS, 4);
    match trial.is_v1() {
        true => {
            expected.extend([(layout::REFS, 2), (layout::TRANSACTIONS, 3)]);
            assert!(snapshots.remove(&SnapshotId::INITIAL), "it has no log");
        }
        // Of each edit after the first one, the state before it.
        false => expected.extend([
            (layout::REPO, 1),
            (layout::OVERWRITTEN, 4),
            (layout::TRANSACTIONS, 4),
        ]),
    }
    assert_eq!(folders, expected);
    assert_eq!(snapshots, logs);
}

pub(super) async fn equal_seeds_make_equal_bytes(trial: Trial) {
    let mut runs: Vec<BTreeMap<String, Bytes>> = Vec::new();
    for _ in 0..2 {
        let trial = trial.again();
        let storage = trial.store().await;
        rich(&trial, &storage).await;
        runs.push(objects(&storage).await);
    }
    let [one, two] = &runs[..] else {
        unreachable!()
    };
    assert!(
        one.keys().eq(two.keys()),
        "{:?} {:?}",
        one.keys(),
        two.keys()
    );
    for (key, bytes) in one {
        assert!(*bytes == two[key], "{key} differs");
    }
}

pub(super) async fn reading_writes_nothing(trial: Trial) {
    let storage = trial.store().await;
    rich(&trial, &storage).await;
    let before = objects(&storage).await;
    let repository = trial.open(&storage).await;
    let session = read_main(&repository).await;
    super::view::tree(&session).await;
    super::view::view(&storage).await;
    let session = writer(&repository).await;
    set(&session, "/thought/better/of", group()).await;
    drop(session);
    assert!(objects(&storage).await == before);
}
