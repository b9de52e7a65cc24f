//! Copies from place to place.

mod interrupted;
mod refs;
mod spec_v2;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use icefield_core::{ManualClock, Repository, RepositoryBuilder, SnapshotId};
use icefield_format::{DecodeLimits, FormatError, RepoInfo, SpecVersion, layout};
use icefield_maintenance::{CopyBounds, CopyError, CopyReport, CopyRepository, RefChoice};
use icefield_storage::wrap::CountingStorage;
use icefield_storage::{KeyForm, Storage};
use icefield_storage_memory::MemoryStorage;
use icefield_testkit::{fixtures, stores};

use crate::source::{Source, store};

pub(crate) fn empty() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::new())
}

pub(crate) async fn copy(source: &Source, to: &Arc<dyn Storage>) -> Result<CopyReport, CopyError> {
    let copy = CopyRepository::new();
    copy.run(&source.repository, Arc::clone(to), &()).await
}

/// A new repository of a spec version, which is older than a [`Source`].
fn builder(to: &Arc<dyn Storage>, spec: SpecVersion) -> RepositoryBuilder {
    let builder = Repository::builder(Arc::clone(to)).spec_version(spec);
    builder.clock(Arc::new(ManualClock::new(SystemTime::UNIX_EPOCH)))
}

/// Creates one.
pub(crate) async fn create(to: &Arc<dyn Storage>, spec: SpecVersion) {
    builder(to, spec).create().await.unwrap();
}

/// Whether an object is as it is in the source: not a lease of a copy that was stopped, which ends by itself, and not the state
/// of spec version 2, which is another one at each place.
fn is_copied(key: &str) -> bool {
    let own = ["icefield/leases/", "overwritten/"];
    key != "repo" && !own.iter().any(|own| key.starts_with(own))
}

/// The refs of `repo`, the snapshots that they reach, and the state of the repository, as text; its log is that of a place.
fn state(objects: &BTreeMap<String, Bytes>) -> Option<Vec<String>> {
    let limits = DecodeLimits::up_to(SpecVersion::V2);
    let info = RepoInfo::decode(objects.get("repo")?, &limits).unwrap();
    let mut said = Vec::new();
    let mut reached = BTreeSet::from([SnapshotId::INITIAL]);
    for (name, id) in info.branches().chain(info.tags()) {
        said.push(format!("{name} {id}"));
        reached.extend(info.snapshots().ancestry(&id).map(|it| it.id()));
    }
    said.extend(info.deleted_tags().map(|name| format!("deleted {name}")));
    for id in reached {
        let it = info.snapshots().get(&id).unwrap();
        let pruned: Vec<_> = it.pruned_ancestor_tx_logs().collect();
        said.push(format!(
            "{id} {:?} {} {} {:?} {pruned:?}",
            it.parent_id(),
            it.flushed_at(),
            it.message(),
            it.metadata(1 << 20).unwrap(),
        ));
    }
    said.push(format!("{:?}", info.config().unwrap()));
    said.push(format!("{:?}", info.metadata(1 << 20).unwrap()));
    said.push(format!("{:?}", info.flags()));
    let times: Vec<_> = info.log().updates().map(|it| it.updated_at).collect();
    assert!(times.is_sorted_by(|one, next| one > next), "{times:?}");
    Some(said)
}

/// Compares all but what belongs to a place.
pub(crate) fn same(one: &BTreeMap<String, Bytes>, other: &BTreeMap<String, Bytes>) {
    let keys = |objects: &BTreeMap<String, Bytes>| {
        let keys = objects.keys().filter(|key| is_copied(key));
        keys.cloned().collect::<Vec<_>>()
    };
    assert_eq!(keys(one), keys(other));
    for key in keys(one) {
        assert_eq!(one[&key], other[&key], "{key}");
    }
    assert_eq!(state(one), state(other));
}

/// Asserts that two stores hold the same objects.
pub(crate) async fn assert_same(one: &Arc<dyn Storage>, other: &Arc<dyn Storage>) {
    same(&stores::dump(one).await, &stores::dump(other).await);
}

versions!(
    every_key_and_byte_is_copied_and_nothing_else,
    a_second_copy_reads_and_writes_nothing_but_refs,
    what_is_new_moves_and_what_is_there_is_not_read_again,
    little_memory_takes_more_passes_and_gives_the_same,
    a_dry_run_writes_nothing_and_says_what_would_be_moved,
    depth_keeps_the_newest_and_changes_one_file,
    depth_counts_from_each_ref,
    a_damaged_object_is_named_and_no_ref_moves,
    an_oversized_file_is_refused_and_not_read,
    an_object_of_another_size_is_an_error_and_is_not_overwritten,
    a_repository_is_not_copied_onto_itself_nor_over_files_of_others,
);

async fn every_key_and_byte_is_copied_and_nothing_else(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let clean = stores::dump(&source.storage()).await;
    for foreign in [
        "icefield/leases/x",
        "chunks/not an id",
        "chunks/ZZZZZZZZZZZZZZZZZZZG",
        "refs/branch.main/.DS_Store",
        "notes.txt",
    ] {
        stores::put(&source.storage(), foreign, "x").await;
    }
    let to = empty();
    let report = copy(&source, &to).await.unwrap();
    same(&clean, &stores::dump(&to).await);
    assert!(report.created && report.shortened.is_empty() && report.ends_at.is_empty());
    assert_eq!(report.chunks.objects, 5);
    assert_eq!(report.chunks.bytes, 5 * 600);
    assert_eq!(report.snapshots.objects, 5);
    assert_eq!(report.transaction_logs.objects, 4);
    assert_eq!(report.spec_version, spec as u8);
    let there = Repository::open(to).await.unwrap();
    assert_eq!(there.spec_version(), spec);
    assert_eq!(there.config().max_concurrent_requests, Some(7));
}

#[tokio::test]
async fn every_fixture_of_the_reference_is_copied_whole() {
    for name in fixtures::names("v1-") {
        let from = empty();
        fixtures::load(&name, &from).await;
        let Ok(source) = Repository::open(Arc::clone(&from)).await else {
            panic!("{name} does not open");
        };
        let to = empty();
        let report = CopyRepository::new()
            .run(&source, Arc::clone(&to), &())
            .await;
        let report = report.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let (from, mut to) = (stores::dump(&from).await, stores::dump(&to).await);
        for (key, bytes) in &from {
            match to.remove(key) {
                Some(copied) => assert_eq!(&copied, bytes, "{name}: {key}"),
                // Out of the reach of every ref.
                None => assert!(!key.starts_with("refs/"), "{name}: {key} was left behind"),
            }
        }
        assert!(to.is_empty(), "{name}: {:?}", to.keys());
        assert!(report.shortened.is_empty());
    }
}

#[tokio::test]
async fn names_of_refs_are_spelt_as_the_destination_spells_them() {
    let source = Source::with_history().await;
    let raw: Arc<dyn Storage> = Arc::new(MemoryStorage::builder().key_form(KeyForm::Raw).build());
    copy(&source, &raw).await.unwrap();
    let keys = stores::keys_below(&raw, "refs/branch.odd").await;
    assert_eq!(keys, ["refs/branch.odd {x} é/ref.json"]);
    let back = empty();
    let there = Repository::open(raw).await.unwrap();
    CopyRepository::new()
        .run(&there, Arc::clone(&back), &())
        .await
        .unwrap();
    assert_same(&source.storage(), &back).await;
}

async fn a_second_copy_reads_and_writes_nothing_but_refs(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let to = empty();
    copy(&source, &to).await.unwrap();
    let (from, into) = (
        CountingStorage::new(source.storage()),
        CountingStorage::new(Arc::clone(&to)),
    );
    let open = Repository::open(Arc::new(from.clone())).await.unwrap();
    from.reset();
    let report = CopyRepository::new()
        .run(&open, Arc::new(into.clone()), &())
        .await
        .unwrap();
    assert_eq!(report.snapshots.objects, 0);
    for counts in [from.snapshot(), into.snapshot()] {
        assert_eq!(counts.total.writes(), 0, "{counts:?}");
        for kind in ["chunks", "manifests", "transactions", "snapshots"] {
            assert_eq!(counts.of(kind).requests(), 0, "{counts:?}");
        }
    }
}

async fn what_is_new_moves_and_what_is_there_is_not_read_again(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let to = empty();
    copy(&source, &to).await.unwrap();
    source.commit("main", &[("/a", 9)]).await;
    let (from, into) = (
        CountingStorage::new(source.storage()),
        CountingStorage::new(Arc::clone(&to)),
    );
    let open = Repository::open(Arc::new(from.clone())).await.unwrap();
    let report = CopyRepository::new()
        .run(&open, Arc::new(into.clone()), &())
        .await
        .unwrap();
    assert_eq!(
        [
            report.chunks,
            report.manifests,
            report.transaction_logs,
            report.snapshots
        ]
        .map(|it| it.objects),
        [1, 1, 1, 1]
    );
    let (from, into) = (from.snapshot(), into.snapshot());
    assert_eq!(
        (
            from.of("chunks").get,
            from.of("chunks").list,
            from.of("chunks").head
        ),
        (1, 1, 0)
    );
    assert_eq!(
        (
            into.of("chunks").put,
            into.of("chunks").list,
            into.of("chunks").head
        ),
        (1, 1, 0)
    );
    assert_eq!((into.of("chunks").get, into.of("manifests").get), (0, 0));
    // The four, the branch or `repo` with its backup, and a lease.
    let state = if spec == SpecVersion::V1 { 1 } else { 2 };
    assert_eq!(into.total.put, 4 + state + 1);
    assert_same(&source.storage(), &to).await;
}

async fn little_memory_takes_more_passes_and_gives_the_same(spec: SpecVersion) {
    let source = Source::new_in(spec).await;
    for first in [0, 20, 40, 60] {
        let chunks: Vec<_> = (first..first + 20).map(|index| ("/a", index)).collect();
        source.commit("main", &chunks).await;
    }
    let to = CountingStorage::new(empty());
    let copy = CopyRepository::new().bounds(CopyBounds {
        memory: 1,
        requests: 3,
        ..CopyBounds::default()
    });
    let report = copy
        .run(&source.repository, Arc::new(to.clone()), &())
        .await
        .unwrap();
    assert_eq!(report.chunks.objects, 80);
    assert!(to.snapshot().of("chunks").list > 3, "{:?}", to.snapshot());
    let to: Arc<dyn Storage> = Arc::new(to);
    assert_same(&source.storage(), &to).await;
}

async fn a_dry_run_writes_nothing_and_says_what_would_be_moved(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let to = CountingStorage::new(empty());
    let copy = CopyRepository::new().dry_run(true);
    let said = copy
        .run(&source.repository, Arc::new(to.clone()), &())
        .await
        .unwrap();
    assert_eq!(to.snapshot().total.writes(), 0);
    let to: Arc<dyn Storage> = Arc::new(to);
    let mut done = self::copy(&source, &to).await.unwrap();
    done.dry_run = true;
    assert_eq!(said, done);
}

async fn depth_keeps_the_newest_and_changes_one_file(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let tip = source.tip("main").await;
    let to = empty();
    let copy = CopyRepository::new()
        .refs([RefChoice::parse("main").unwrap()])
        .depth(1);
    let report = copy
        .run(&source.repository, Arc::clone(&to), &())
        .await
        .unwrap();
    assert_eq!(report.shortened, [tip]);
    let there = Repository::open(Arc::clone(&to)).await.unwrap();
    let info = there.snapshot_info(tip).await.unwrap();
    assert_eq!(info.parent_id, Some(SnapshotId::INITIAL));
    let (from, copied) = (
        stores::dump(&source.storage()).await,
        stores::dump(&to).await,
    );
    let differ: Vec<_> = copied
        .iter()
        .filter(|(key, bytes)| is_copied(key) && from.get(*key) != Some(bytes))
        .map(|(key, _)| key.clone())
        .collect();
    match spec {
        SpecVersion::V1 => assert_eq!(differ, [format!("snapshots/{tip}")]),
        _ => assert_eq!(differ, [""; 0]),
    }
    assert_eq!(stores::keys_below(&to, "snapshots/").await.len(), 2);
    // In spec version 2, the first snapshot has one, too.
    let logs = stores::keys_below(&to, "transactions/").await.len();
    assert_eq!(logs, spec as usize);
    assert_eq!(stores::keys_below(&to, "chunks/").await.len(), 4);

    // Two commits later, the one below the newest is left out of the copy, and the branch goes on all the same.
    source.commit("main", &[("/a", 7)]).await;
    let tip = source.commit("main", &[("/a", 8)]).await;
    let report = copy
        .run(&source.repository, Arc::clone(&to), &())
        .await
        .unwrap();
    assert_eq!(report.shortened, [tip]);
    // Deep enough to meet what is there: the history is whole from there on.
    let next = source.commit("main", &[("/a", 9)]).await;
    let report = copy
        .clone()
        .depth(2)
        .run(&source.repository, Arc::clone(&to), &())
        .await
        .unwrap();
    assert_eq!(report.shortened, []);
    assert_eq!(report.ends_at, [tip]);
    let there = Repository::open(Arc::clone(&to)).await.unwrap();
    let info = there.snapshot_info(next).await.unwrap();
    assert_eq!(info.parent_id, Some(tip));
}

async fn depth_counts_from_each_ref(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let to = empty();
    let copy = CopyRepository::new().depth(2);
    let report = copy
        .run(&source.repository, Arc::clone(&to), &())
        .await
        .unwrap();
    // Main: its third and second; the branch: its own and the second; the tag: the first. So nothing is left behind.
    assert_eq!(report.shortened, []);
    assert_same(&source.storage(), &to).await;
}

async fn a_damaged_object_is_named_and_no_ref_moves(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let before = source.store.duplicate();
    let keys = stores::keys(&source.storage()).await;
    let objects = keys
        .iter()
        .filter(|key| !key.starts_with("refs/") && !key.starts_with("config") && is_copied(key))
        // A repository of spec version 2 is created with one of its own.
        .filter(|key| **key != layout::transaction_log_key(SnapshotId::INITIAL));
    for key in objects {
        for damage in ["gone", "cut"] {
            let from = store(&before.duplicate());
            match damage {
                "gone" => stores::delete(&from, key).await,
                _ => {
                    let bytes = stores::read(&from, key).await;
                    stores::put(&from, key, bytes.slice(..bytes.len() / 2)).await;
                }
            }
            let open = Repository::open(from).await.unwrap();
            let to = empty();
            let copied = CopyRepository::new().run(&open, Arc::clone(&to), &()).await;
            if key.starts_with("transactions/") && damage == "gone" {
                assert_eq!(copied.unwrap().missing_logs.len(), 1);
                continue;
            }
            let error = copied.expect_err(key);
            let said = chain(&error);
            let id = key.rsplit('/').next().unwrap();
            assert!(said.contains(id), "{damage} {key}: {said}");
            if let Ok(there) = Repository::open(to).await {
                let refs = there.refs().await.unwrap();
                assert!(refs.tags.is_empty() && refs.branches.len() <= 1);
            }
        }
    }
}

async fn an_oversized_file_is_refused_and_not_read(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let limits = DecodeLimits {
        max_decompressed: 256 << 10,
        ..DecodeLimits::default()
    };
    let most = limits.max_file();
    let initial = layout::transaction_log_key(SnapshotId::INITIAL);
    for folder in ["manifests", "transactions"] {
        let from = store(&source.store.duplicate());
        let keys = stores::keys_below(&from, &format!("{folder}/")).await;
        for key in keys.iter().filter(|key| **key != initial) {
            stores::put(&from, key, vec![0; most as usize + 1]).await;
        }
        let counting = CountingStorage::new(from);
        let open = Repository::open(Arc::new(counting.clone())).await.unwrap();
        let copy = CopyRepository::new().bounds(CopyBounds {
            decode_limits: limits,
            ..CopyBounds::default()
        });
        let error = copy.run(&open, empty(), &()).await.unwrap_err();
        let told = matches!(&error, CopyError::Format(FormatError::TooLarge { limit, .. }) if *limit == most);
        assert!(told, "{folder} {error:?}");
        assert_eq!(counting.snapshot().of(folder).bytes_read, 0, "{folder}");
    }
}

pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

async fn an_object_of_another_size_is_an_error_and_is_not_overwritten(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let whole = empty();
    copy(&source, &whole).await.unwrap();
    let keys = stores::keys(&whole).await;
    let sized = ["chunks/", "manifests/", "transactions/"];
    for key in keys
        .iter()
        .filter(|key| sized.iter().any(|kind| key.starts_with(kind)))
        .filter(|key| **key != layout::transaction_log_key(SnapshotId::INITIAL))
    {
        let to = empty();
        create(&to, spec).await;
        stores::put(&to, key, "x").await;
        let error = copy(&source, &to).await.expect_err(key);
        assert!(
            matches!(&error, CopyError::OtherSize { key: found, .. } if found.as_str() == key),
            "{error:?}"
        );
        assert_eq!(stores::read(&to, key).await, "x");
    }
}

#[tokio::test]
async fn packed_objects_are_copied_once() {
    let from = empty();
    fixtures::load("v1-handmade", &from).await;
    let counting = CountingStorage::new(from);
    let source = Repository::open(Arc::new(counting.clone())).await.unwrap();
    let report = CopyRepository::new()
        .run(&source, empty(), &())
        .await
        .unwrap();
    assert_eq!((report.chunks.objects, report.chunks.bytes), (1, 2000));
    assert_eq!(counting.snapshot().of("chunks").get, 1);
}

async fn a_repository_is_not_copied_onto_itself_nor_over_files_of_others(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let error = copy(&source, &source.storage()).await.unwrap_err();
    assert!(matches!(error, CopyError::SamePlace { .. }), "{error:?}");
    let to = empty();
    stores::put(&to, "notes.txt", "x").await;
    let error = copy(&source, &to).await.unwrap_err();
    assert!(error.to_string().contains("notes.txt"), "{error}");
    assert_eq!(stores::keys(&to).await, ["notes.txt"]);
}

#[tokio::test]
async fn what_no_ref_of_the_destination_reaches_is_not_believed_to_be_whole() {
    let source = Source::with_history().await;
    let to = empty();
    copy(&source, &to).await.unwrap();
    // As a stopped copy leaves it, whose first chunks a collection has deleted since.
    for key in stores::keys_below(&to, "refs/").await {
        stores::delete(&to, &key).await;
    }
    let initial = r#"{"snapshot":"1CECHNKREP0F1RSTCMT0"}"#;
    stores::put(&to, "refs/branch.main/ref.json", initial).await;
    let chunk = stores::keys_below(&to, "chunks/").await.remove(0);
    stores::delete(&to, &chunk).await;
    copy(&source, &to).await.unwrap();
    assert_same(&source.storage(), &to).await;
}
