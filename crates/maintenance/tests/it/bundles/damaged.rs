//! Bundles with the right digest and damage inside, and bundles that change while they are read: no ref is set, and nothing
//! is left that a later bundle would take for its own.

use std::collections::BTreeMap;
use std::io::{self, Cursor};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use icefield_core::Repository;
use icefield_format::{SpecVersion, layout};
use icefield_maintenance::{
    BundleRepository, Check, CopyBounds, CopyError, CopyRepository, FindingKind, RefChoice,
    Unbundle,
};
use icefield_storage::Storage;
use icefield_testkit::forge::{Forge, chunk_id, manifest_id, node_id, snapshot_id};
use icefield_testkit::stores;

use super::forged::Entries;
use super::{bundle, unbundle};
use crate::copies::{assert_same, empty};
use crate::source::Source;

versions!(
    a_damaged_bundle_changes_nothing_at_a_new_or_an_old_destination,
    whatever_bytes_of_metadata_are_flipped_nothing_broken_is_reachable,
    with_hardly_any_memory_the_bundle_is_read_more_often_and_checked_all_the_same,
    a_bundle_that_changes_between_its_readings_leaves_nothing_that_is_believed_later,
    a_large_chunk_that_changes_between_the_readings_is_not_written,
    what_lies_at_the_destination_under_the_right_name_is_not_believed_unread,
    an_incremental_bundle_is_held_against_the_chunks_and_manifests_of_the_destination,
);

/// Whether an object holds refs, or an earlier state of them.
fn is_state(key: &str) -> bool {
    key == layout::REPO
        || ["refs/", "overwritten/"]
            .iter()
            .any(|it| key.starts_with(it))
}

/// The objects that hold refs.
fn states(objects: &BTreeMap<String, Bytes>) -> BTreeMap<&String, &Bytes> {
    objects.iter().filter(|it| is_state(it.0)).collect()
}

/// A bundle, and a destination that has an earlier state of the same repository.
async fn later_bundle(spec: SpecVersion) -> (Source, Entries, Arc<dyn Storage>) {
    let source = Source::with_history_in(spec).await;
    let (first, _) = bundle(&source.repository, BundleRepository::new()).await;
    let there = empty();
    unbundle(&first, &there).await.unwrap();
    source.commit("main", &[("/a", 20), ("/c", 3)]).await;
    let (second, _) = bundle(&source.repository, BundleRepository::new()).await;
    (source, Entries::of(&second), there)
}

async fn sound(storage: &Arc<dyn Storage>) {
    let report = Check::new(Arc::clone(storage)).run(&()).await.unwrap();
    assert!(report.is_sound(), "{report:#?}");
}

const DAMAGES: &[(&str, &str)] = &[
    ("a manifest is truncated", ""),
    ("a manifest is another manifest", ""),
    ("a manifest is empty", ""),
    ("a log is truncated", ""),
    ("a log is another log", ""),
    ("a snapshot is truncated", ""),
    ("a snapshot is another snapshot", ""),
    ("a chunk is missing", "which is not in it"),
    (
        "a chunk is shorter",
        "a manifest has a chunk that ends at byte 600",
    ),
    (
        "a chunk is empty",
        "a manifest has a chunk that ends at byte 600",
    ),
    ("a manifest is missing", "which is not in it"),
    (
        "a manifest reaches behind its chunk",
        "a chunk that ends at byte 601",
    ),
    (
        "a chunk that no snapshot needs",
        "nothing in it needs chunks/",
    ),
    (
        "a manifest that no snapshot needs",
        "nothing in it needs manifests/",
    ),
    (
        "a log that no snapshot needs",
        "nothing in it needs transactions/",
    ),
];

/// Plants one damage.
async fn plant(what: &str, entries: &mut Entries) {
    let (chunks, manifests) = (entries.names("chunks/"), entries.names("manifests/"));
    let logs = entries.names("transactions/");
    let snapshots = entries.names("snapshots/");
    let halve = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2);
    match what {
        "a manifest is truncated" => halve(entries.bytes(&manifests[1])),
        "a manifest is empty" => entries.bytes(&manifests[1]).clear(),
        "a log is truncated" => halve(entries.bytes(&logs[1])),
        "a snapshot is truncated" => halve(entries.bytes(&snapshots[2])),
        "a manifest is another manifest"
        | "a log is another log"
        | "a snapshot is another snapshot" => {
            let (from, to) = match what {
                "a manifest is another manifest" => (&manifests[0], &manifests[1]),
                "a log is another log" => (&logs[0], &logs[1]),
                _ => (&snapshots[1], &snapshots[2]),
            };
            let other = entries.bytes(from).clone();
            *entries.bytes(to) = other;
        }
        "a chunk is missing" => entries.remove(&chunks[2]),
        "a chunk is shorter" => drop(entries.bytes(&chunks[2]).pop()),
        "a chunk is empty" => entries.bytes(&chunks[2]).clear(),
        "a manifest is missing" => entries.remove(&manifests[1]),
        "a chunk that no snapshot needs" => {
            entries.insert(&layout::chunk_key(chunk_id(1)), b"anything");
        }
        "a log that no snapshot needs" => {
            let encoder = icefield_format::TransactionLogEncoder::new(snapshot_id(7));
            let file = encoder.finish(&icefield_format::Writer::default()).unwrap();
            entries.insert(&layout::transaction_log_key(snapshot_id(7)), &file);
        }
        "a manifest that no snapshot needs" | "a manifest reaches behind its chunk" => {
            let scratch = empty();
            let forge = Forge::new(&scratch);
            let id: icefield_format::ChunkId =
                chunks[2].strip_prefix("chunks/").unwrap().parse().unwrap();
            let far = icefield_format::ChunkRef::Native {
                id,
                offset: 1,
                length: 600,
            };
            forge
                .manifest(manifest_id(9), &[(node_id(1), &[(&[0], far)])])
                .await;
            let key = layout::manifest_key(manifest_id(9));
            let file = stores::read(&scratch, &key).await;
            if what == "a manifest that no snapshot needs" {
                let near = icefield_format::ChunkRef::Native {
                    id,
                    offset: 0,
                    length: 600,
                };
                forge
                    .manifest(manifest_id(8), &[(node_id(1), &[(&[0], near)])])
                    .await;
                let key = layout::manifest_key(manifest_id(8));
                let file = stores::read(&scratch, &key).await;
                return entries.insert(&key, &file);
            }
            entries.insert(&key, &file);
            // Chunks are looked at of what snapshots name: a snapshot that names it.
            let snapshot = icefield_testkit::forge::ForgedSnapshot::new(
                snapshot_id(7),
                Some(icefield_core::SnapshotId::INITIAL),
                1,
            );
            let info = icefield_format::ManifestFileInfo {
                id: manifest_id(9),
                size_bytes: file.len() as u64,
                num_chunk_refs: 1,
            };
            let array = icefield_testkit::forge::ForgedArray::new(
                "/a",
                node_id(1),
                &[1],
                manifest_id(9),
                [0..1].into_iter().collect(),
            );
            forge.snapshot(&snapshot.with(array, info)).await;
            let key = layout::snapshot_key(snapshot_id(7));
            let file = stores::read(&scratch, &key).await;
            let last = ["config.yaml", layout::REPO];
            let state = entries.all.iter().position(|it| last.contains(&&*it.0));
            entries.all.insert(state.unwrap(), (key, file.to_vec()));
        }
        other => panic!("the test has no damage called {other:?}"),
    }
}

async fn a_damaged_bundle_changes_nothing_at_a_new_or_an_old_destination(spec: SpecVersion) {
    for (what, said) in DAMAGES {
        let (_, mut entries, there) = later_bundle(spec).await;
        plant(what, &mut entries).await;
        let said = match (*what, spec) {
            // Its snapshot comes first.
            ("a manifest reaches behind its chunk", SpecVersion::V2) => "does not list snapshot",
            _ => said,
        };
        let before = stores::dump(&there).await;
        for to in [&empty(), &there] {
            let error = unbundle(&entries.file(), to).await.expect_err(what);
            let text = error.to_string();
            assert!(
                matches!(error, CopyError::BadBundle { .. }),
                "{what}: {error:?}"
            );
            assert!(text.contains(said), "{what}: {text}");
        }
        assert_eq!(stores::dump(&there).await, before, "{what}");
    }
}

/// Findings that no bundle may bring.
const LOST: &[FindingKind] = &[
    FindingKind::RefDamaged,
    FindingKind::RefDangling,
    FindingKind::SnapshotMissing,
    FindingKind::SnapshotDamaged,
    FindingKind::HistoryCycle,
    FindingKind::ManifestMissing,
    FindingKind::ManifestDamaged,
    FindingKind::ChunkMissing,
    FindingKind::ChunkShort,
    FindingKind::LogMissing,
    FindingKind::LogDamaged,
];

async fn whatever_bytes_of_metadata_are_flipped_nothing_broken_is_reachable(spec: SpecVersion) {
    let (_, entries, _) = later_bundle(spec).await;
    let (mut refused, mut harmless) = (0, 0);
    for kind in ["manifests/", "transactions/", "snapshots/", layout::REPO] {
        let Some(name) = entries.names(kind).pop() else {
            assert_eq!((kind, spec), (layout::REPO, SpecVersion::V1));
            continue;
        };
        let length = entries.clone().bytes(&name).len();
        for at in (0..length).step_by(7) {
            let mut bad = entries.clone();
            bad.bytes(&name)[at] ^= 0x10;
            let to = empty();
            match unbundle(&bad.file(), &to).await {
                Err(error) => {
                    refused += 1;
                    let left = stores::keys(&to).await;
                    assert_eq!(left, [""; 0], "{name} at {at}: {error:?}");
                }
                // The name of the writer, for instance; or a well-formed file that says something else: only its
                // author knows. Everything that it refers to is there.
                Ok(_) => {
                    harmless += 1;
                    let report = Check::new(Arc::clone(&to)).run(&()).await.unwrap();
                    let lost = report.kinds.keys().find(|kind| LOST.contains(kind));
                    assert_eq!(lost, None, "{name} at {at}: {report:#?}");
                }
            }
        }
    }
    assert!(refused > harmless, "{refused} {harmless}");
}

async fn with_hardly_any_memory_the_bundle_is_read_more_often_and_checked_all_the_same(
    spec: SpecVersion,
) {
    let source = Source::with_history_in(spec).await;
    for commit in 0..6 {
        let chunks: Vec<_> = (0..10).map(|at| ("/a", 6 + commit * 10 + at)).collect();
        source.commit("main", &chunks).await;
    }
    let (file, _) = bundle(&source.repository, BundleRepository::new()).await;
    let reads = AtomicUsize::new(0);
    let run = async |file: &Bytes, to: &Arc<dyn Storage>| {
        let open = || {
            reads.fetch_add(1, Ordering::Relaxed);
            Ok::<_, io::Error>(Cursor::new(file.clone()))
        };
        Unbundle::new()
            .bounds(CopyBounds {
                memory: 1,
                ..CopyBounds::default()
            })
            .run(open, Arc::clone(to), &())
            .await
    };
    let to = empty();
    let report = run(&file, &to).await.unwrap();
    assert_same(&source.storage(), &to).await;
    assert_eq!(report.chunks.objects, 65);
    assert!(reads.load(Ordering::Relaxed) > 5, "{reads:?}");
    // Each chunk is looked at, in whichever reading.
    let entries = Entries::of(&file);
    for name in entries.names("chunks/") {
        let mut bad = entries.clone();
        bad.bytes(&name).pop();
        let to = empty();
        let error = run(&bad.file(), &to).await.unwrap_err();
        assert!(error.to_string().contains(&name), "{error}");
        assert_eq!(stores::keys(&to).await, [""; 0]);
    }
}

async fn a_bundle_that_changes_between_its_readings_leaves_nothing_that_is_believed_later(
    spec: SpecVersion,
) {
    let (source, entries, there) = later_bundle(spec).await;
    let good = entries.file();
    for kind in [
        "chunks/",
        "manifests/",
        "transactions/",
        "snapshots/",
        "refs/",
        layout::REPO,
    ] {
        for name in entries.names(kind) {
            let mut bad = entries.clone();
            // Of the same length, and with the digest of what it is now.
            let bytes = bad.bytes(&name);
            if bytes.is_empty() {
                continue;
            }
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
            let bad = bad.file();
            let to: Arc<dyn Storage> = empty();
            unbundle(&Entries::of(&bundle_of(&there).await).file(), &to)
                .await
                .unwrap();
            let before = stores::dump(&to).await;
            let readings = AtomicUsize::new(0);
            let open = || {
                let first = readings.fetch_add(1, Ordering::Relaxed) == 0;
                let file = if first { &good } else { &bad };
                Ok::<_, io::Error>(Cursor::new(file.clone()))
            };
            let done = Unbundle::new().run(open, Arc::clone(&to), &()).await;
            let error = done.expect_err("it changed");
            assert!(
                error.to_string().contains("changed while"),
                "{name}: {error}"
            );
            let after = stores::dump(&to).await;
            assert_eq!(states(&after), states(&before), "{name}");
            let ours = stores::dump(&source.storage()).await;
            for (key, bytes) in after.iter().filter(|it| !is_state(it.0)) {
                assert_eq!(ours.get(key), Some(bytes), "{name}: {key}");
            }
            unbundle(&good, &to).await.unwrap();
            assert_same(&source.storage(), &to).await;
        }
    }
}

async fn bundle_of(storage: &Arc<dyn Storage>) -> Bytes {
    let repository = Repository::open(Arc::clone(storage)).await.unwrap();
    bundle(&repository, BundleRepository::new()).await.0
}

async fn a_large_chunk_that_changes_between_the_readings_is_not_written(spec: SpecVersion) {
    use icefield_format::{ChunkRef, Extents};
    use icefield_testkit::forge::{ForgedArray, ForgedSnapshot};
    const LARGE: usize = 9 << 20;
    let from = empty();
    let forge = Forge::new(&from);
    forge.create().await;
    forge.chunk(chunk_id(1), vec![7; LARGE]).await;
    let whole = ChunkRef::Native {
        id: chunk_id(1),
        offset: 0,
        length: LARGE as u64,
    };
    let info = forge
        .manifest(manifest_id(1), &[(node_id(1), &[(&[0], whole)])])
        .await;
    let extents: Extents = [0..1].into_iter().collect();
    let array = ForgedArray::new("/a", node_id(1), &[1], manifest_id(1), extents);
    let initial = icefield_core::SnapshotId::INITIAL;
    let snapshot = ForgedSnapshot::new(snapshot_id(1), Some(initial), 1);
    forge.snapshot(&snapshot.with(array, info)).await;
    forge.branch("main", snapshot_id(1)).await;
    let from = match spec {
        SpecVersion::V1 => from,
        // The same files, in a repository of a later version.
        _ => {
            let (old, to) = (Repository::open(from).await.unwrap(), empty());
            let copy = CopyRepository::new().spec_version(spec);
            copy.run(&old, Arc::clone(&to), &()).await.unwrap();
            to
        }
    };
    let good = bundle_of(&from).await;
    let mut bad = Entries::of(&good);
    bad.bytes(&layout::chunk_key(chunk_id(1)))[LARGE / 2] = 8;
    let bad = bad.file();
    let readings = AtomicUsize::new(0);
    let open = || {
        let first = readings.fetch_add(1, Ordering::Relaxed) == 0;
        let file = if first { &good } else { &bad };
        Ok::<_, io::Error>(Cursor::new(file.clone()))
    };
    let to = empty();
    let done = Unbundle::new().run(open, Arc::clone(&to), &()).await;
    assert!(done.unwrap_err().to_string().contains("changed while"));
    assert_eq!(stores::keys_below(&to, "chunks/").await, [""; 0]);
    unbundle(&good, &to).await.unwrap();
    assert_same(&from, &to).await;
}

async fn what_lies_at_the_destination_under_the_right_name_is_not_believed_unread(
    spec: SpecVersion,
) {
    let (source, entries, there) = later_bundle(spec).await;
    let kept = stores::dump(&there).await;
    let file = entries.file();
    for kind in ["manifests/", "transactions/", "snapshots/"] {
        let new: Vec<_> = entries.names(kind);
        for name in new.iter().filter(|name| !kept.contains_key(*name)) {
            // As a stopped copy, a collection or an attacker has left it; no ref reaches it.
            let mut broken = entries.clone().bytes(name).clone();
            let last = broken.len() - 1;
            broken[last] ^= 1;
            stores::put(&there, name, broken).await;
            let error = unbundle(&file, &there).await.unwrap_err();
            let text = error.to_string();
            assert!(
                matches!(error, CopyError::OtherBytes { .. }) && text.contains(&**name),
                "{error:?}"
            );
            assert_eq!(states(&stores::dump(&there).await), states(&kept));
            sound(&there).await;
            stores::delete(&there, name).await;
        }
    }
    unbundle(&file, &there).await.unwrap();
    assert_same(&source.storage(), &there).await;
}

async fn an_incremental_bundle_is_held_against_the_chunks_and_manifests_of_the_destination(
    spec: SpecVersion,
) {
    let source = Source::with_history_in(spec).await;
    let (first, _) = bundle(&source.repository, BundleRepository::new()).await;
    let since = source.tip("main").await;
    source.commit("main", &[("/a", 20)]).await;
    let how = || {
        BundleRepository::new()
            .refs([RefChoice::parse("main").unwrap()])
            .since(since)
    };
    let (second, _) = bundle(&source.repository, how()).await;
    let to = empty();
    unbundle(&first, &to).await.unwrap();
    let all = stores::keys_below(&to, "chunks/").await;
    let mut refused = 0;
    for key in &all {
        let bytes = stores::read(&to, key).await;
        for short in [None, Some(bytes.slice(1..))] {
            match short {
                None => stores::delete(&to, key).await,
                Some(bytes) => stores::put(&to, key, bytes).await,
            }
            let before = stores::dump(&to).await;
            match unbundle(&second, &to).await {
                // A chunk of the other branch.
                Ok(_) => {
                    let holds_main =
                        |it: &&String| it.contains("branch.main") || *it == layout::REPO;
                    let main = before.keys().find(holds_main).unwrap();
                    stores::put(&to, main, before[main].clone()).await;
                }
                Err(error) => {
                    assert!(error.to_string().contains(&**key), "{error}");
                    assert_eq!(stores::dump(&to).await, before);
                    refused += 1;
                }
            }
            stores::put(&to, key, bytes.clone()).await;
        }
    }
    assert_eq!(refused, 2 * (all.len() - 1));
    // A manifest that is there, but not one of those that the bundle says it builds on.
    let mut entries = Entries::of(&second);
    let index = String::from_utf8(entries.index.clone()).unwrap();
    let initial = icefield_core::SnapshotId::INITIAL.to_string();
    let mut index: serde_json::Value = serde_json::from_str(&index).unwrap();
    let parent = since.to_string();
    index["requires"] = serde_json::json!([parent, initial]);
    entries.index = serde_json::to_vec(&index).unwrap();
    unbundle(&entries.file(), &to).await.unwrap();
}
