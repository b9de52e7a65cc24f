//! Bundles: what goes in comes out, and what is damaged stays out.

mod damaged;
mod forged;
mod hostile;

use std::io::{self, Cursor};
use std::sync::Arc;

use bytes::Bytes;
use icefield_core::{Repository, SnapshotId};
use icefield_format::{DecodeLimits, RepoEdit, RepoInfo, SpecVersion, UpdateKind, Writer};
use icefield_maintenance::{
    BundleReport, BundleRepository, CopyBounds, CopyError, CopyRepository, RefAction, RefChoice,
    Unbundle, UnbundleReport,
};
use icefield_storage::wrap::CountingStorage;
use icefield_storage::wrap::fault::{FaultyStorage, Plan, crash_points};
use icefield_storage::{KeyForm, Storage};
use icefield_storage_memory::MemoryStorage;
use icefield_testkit::{fixtures, stores};

use crate::copies::{assert_same, empty};
use crate::source::Source;
use forged::{Entries, entry};

async fn bundle(of: &Repository, how: BundleRepository) -> (Bytes, BundleReport) {
    let (report, file) = how.run(of, Vec::new(), &()).await.unwrap();
    (file.into(), report)
}

async fn unbundle(file: &Bytes, to: &Arc<dyn Storage>) -> Result<UnbundleReport, CopyError> {
    let open = || Ok::<_, io::Error>(Cursor::new(file.clone()));
    Unbundle::new().run(open, Arc::clone(to), &()).await
}

versions!(
    a_copy_bundled_and_unbundled_has_the_same_keys_and_bytes,
    unbundled_again_nothing_is_written,
    a_bundle_cut_short_anywhere_is_refused_and_writes_nothing,
    a_bundle_with_a_flipped_bit_is_refused_and_writes_nothing,
    an_unbundling_stopped_at_any_operation_is_completed_by_the_next,
    an_incremental_bundle_has_only_what_is_new_and_needs_the_rest,
    depth_leaves_ancestors_behind,
    a_branch_of_its_own_is_refused_before_anything_is_written,
    a_later_bundle_moves_branches_forward,
    a_damaged_source_gives_no_bundle,
);

async fn a_copy_bundled_and_unbundled_has_the_same_keys_and_bytes(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let copied = empty();
    CopyRepository::new()
        .run(&source.repository, Arc::clone(&copied), &())
        .await
        .unwrap();
    let copied = Repository::open(copied).await.unwrap();
    let (file, report) = bundle(&copied, BundleRepository::new()).await;
    assert_eq!(
        (report.chunks.objects, report.snapshots.objects, report.refs),
        (5, 5, 4)
    );
    assert_eq!(report.spec_version, spec as u8);
    let to = empty();
    let unbundled = unbundle(&file, &to).await.unwrap();
    assert_same(&source.storage(), &to).await;
    assert!(unbundled.created);
    assert_eq!(
        (
            unbundled.chunks,
            unbundled.manifests,
            unbundled.transaction_logs.objects,
            unbundled.snapshots
        ),
        (
            report.chunks,
            report.manifests,
            // A repository of spec version 2 is created with that of its first snapshot.
            report.transaction_logs.objects - (spec as u64 - 1),
            report.snapshots
        )
    );
    assert!(
        unbundled
            .refs
            .iter()
            .all(|it| matches!(it.action, RefAction::Created | RefAction::Deleted))
    );
    // The same repository gives the same file, but for what it calls itself.
    let again = BundleRepository::new()
        .described("memory")
        .bounds(CopyBounds {
            memory: 1,
            requests: 1,
            ..CopyBounds::default()
        });
    assert_eq!(bundle(&source.repository, again).await.0, file);
}

#[tokio::test]
async fn every_fixture_of_the_reference_survives_a_bundle() {
    for name in fixtures::names("v1-") {
        let from = empty();
        fixtures::load(&name, &from).await;
        let source = Repository::open(from).await.unwrap();
        let copied = empty();
        CopyRepository::new()
            .run(&source, Arc::clone(&copied), &())
            .await
            .unwrap();
        let (file, _) = bundle(&source, BundleRepository::new()).await;
        let raw: Arc<dyn Storage> =
            Arc::new(MemoryStorage::builder().key_form(KeyForm::Raw).build());
        unbundle(&file, &raw)
            .await
            .unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let to = empty();
        unbundle(&file, &to).await.unwrap();
        assert_same(&copied, &to).await;
        assert_eq!(
            stores::keys(&raw).await.len(),
            stores::keys(&to).await.len()
        );
    }
}

async fn unbundled_again_nothing_is_written(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let (file, _) = bundle(&source.repository, BundleRepository::new()).await;
    let to = CountingStorage::new(empty());
    let into: Arc<dyn Storage> = Arc::new(to.clone());
    unbundle(&file, &into).await.unwrap();
    to.reset();
    let report = unbundle(&file, &into).await.unwrap();
    assert_eq!(to.snapshot().total.writes(), 0, "{:?}", to.snapshot());
    assert!(!report.created);
    assert!(
        report
            .refs
            .iter()
            .all(|it| it.action == RefAction::Unchanged)
    );
}

async fn a_bundle_cut_short_anywhere_is_refused_and_writes_nothing(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let (file, _) = bundle(&source.repository, BundleRepository::new()).await;
    let to = empty();
    let lengths = (0..file.len()).filter(|at| at % 97 == 0 || at % 512 < 2);
    for length in lengths.chain(file.len() - 1600..file.len()) {
        let error = unbundle(&file.slice(..length), &to).await.unwrap_err();
        assert!(
            matches!(error, CopyError::BadBundle { .. }),
            "{length}: {error:?}"
        );
    }
    assert_eq!(stores::keys(&to).await, [""; 0]);
    let mut longer = file.to_vec();
    longer.extend(b"x");
    assert!(unbundle(&longer.into(), &to).await.is_err());
    let mut padded = file.to_vec();
    padded.resize(file.len() + 9 * 512, 0);
    unbundle(&padded.into(), &to).await.unwrap();
}

async fn a_bundle_with_a_flipped_bit_is_refused_and_writes_nothing(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let (file, _) = bundle(&source.repository, BundleRepository::new()).await;
    let to = empty();
    let mut tried = 0;
    for at in (0..file.len()).step_by(13) {
        let mut bad = file.to_vec();
        bad[at] ^= 1 << (at % 8);
        let refused = unbundle(&bad.into(), &to).await;
        let error = refused.expect_err("a flipped bit");
        assert!(
            matches!(
                error,
                CopyError::BadBundle { .. } | CopyError::NewerBundle { .. }
            ),
            "byte {at}: {error:?}"
        );
        tried += 1;
    }
    assert!(tried > 1000, "{tried}");
    assert_eq!(stores::keys(&to).await, [""; 0]);
}

async fn an_unbundling_stopped_at_any_operation_is_completed_by_the_next(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let (file, _) = bundle(&source.repository, BundleRepository::new()).await;
    let dry = FaultyStorage::new(empty(), Plan::none());
    let into: Arc<dyn Storage> = Arc::new(dry.clone());
    unbundle(&file, &into).await.unwrap();
    // The last operation ends the lease, which would end by itself.
    for (at, when) in crash_points(dry.operations() - 1) {
        let inner = empty();
        let dying = FaultyStorage::new(Arc::clone(&inner), Plan::stop_at(at, when));
        let into: Arc<dyn Storage> = Arc::new(dying.clone());
        assert!(unbundle(&file, &into).await.is_err(), "{at} {when:?}");
        dying.deliver_pending().await;
        unbundle(&file, &inner).await.unwrap();
        assert_same(&source.storage(), &inner).await;
    }
}

async fn an_incremental_bundle_has_only_what_is_new_and_needs_the_rest(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let (first, _) = bundle(&source.repository, BundleRepository::new()).await;
    let since = source.tip("main").await;
    source.commit("main", &[("/a", 20), ("/c", 3)]).await;
    source.tag("later", "main").await;
    let how = BundleRepository::new()
        .refs([
            RefChoice::parse("main").unwrap(),
            RefChoice::parse("tag:later").unwrap(),
        ])
        .since(since);
    let (second, report) = bundle(&source.repository, how).await;
    assert_eq!(
        [
            report.chunks,
            report.manifests,
            report.transaction_logs,
            report.snapshots
        ]
        .map(|it| it.objects),
        [2, 2, 1, 1]
    );
    let to = empty();
    for _ in 0..2 {
        let error = unbundle(&second, &to).await.unwrap_err();
        assert!(
            matches!(error, CopyError::BaseMissing { snapshot } if snapshot == since),
            "{error:?}"
        );
        assert_eq!(stores::keys(&to).await, [""; 0]);
    }
    unbundle(&first, &to).await.unwrap();
    unbundle(&second, &to).await.unwrap();
    assert_same(&source.storage(), &to).await;
    // The other branch parted before: its own bundle needs the snapshot where it did.
    let how = BundleRepository::new()
        .refs([RefChoice::parse("odd {x} é").unwrap()])
        .since(since);
    let (third, report) = bundle(&source.repository, how).await;
    assert_eq!(report.snapshots.objects, 1);
    unbundle(&third, &to).await.unwrap();
    assert!(unbundle(&third, &empty()).await.is_err());
}

async fn depth_leaves_ancestors_behind(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let tip = source.tip("main").await;
    let how = || [RefChoice::parse("main").unwrap()];
    let (file, report) = bundle(
        &source.repository,
        BundleRepository::new().refs(how()).depth(1),
    )
    .await;
    assert_eq!(report.shortened, [tip]);
    let to = empty();
    assert_eq!(unbundle(&file, &to).await.unwrap().shortened, [tip]);
    let copied = empty();
    let copy = CopyRepository::new().refs(how()).depth(1);
    copy.run(&source.repository, Arc::clone(&copied), &())
        .await
        .unwrap();
    assert_same(&copied, &to).await;
}

async fn a_branch_of_its_own_is_refused_before_anything_is_written(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let (file, _) = bundle(&source.repository, BundleRepository::new()).await;
    let mut other = Source::seeded_in(spec, 2).await;
    other.repository = {
        let to = empty();
        unbundle(&file, &to).await.unwrap();
        Repository::open(to).await.unwrap()
    };
    let to = Arc::clone(other.repository.storage());
    // Ahead of the bundle, and beside a later one.
    let own = other.commit("main", &[("/c", 0)]).await;
    source.commit("main", &[("/a", 30)]).await;
    let (later, _) = bundle(&source.repository, BundleRepository::new()).await;
    let before = stores::dump(&to).await;
    for file in [&file, &later] {
        let error = unbundle(file, &to).await.unwrap_err();
        assert!(error.to_string().contains(&own.to_string()), "{error}");
        assert_eq!(stores::dump(&to).await, before);
    }
    let open = || Ok::<_, io::Error>(Cursor::new(later.clone()));
    Unbundle::new()
        .force(true)
        .run(open, Arc::clone(&to), &())
        .await
        .unwrap();
    let main = other.tip("main").await;
    assert_eq!(main, source.tip("main").await);
}

async fn a_later_bundle_moves_branches_forward(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let (first, _) = bundle(&source.repository, BundleRepository::new()).await;
    source.commit("main", &[("/a", 30)]).await;
    let (second, _) = bundle(&source.repository, BundleRepository::new()).await;
    let to = empty();
    unbundle(&first, &to).await.unwrap();
    let report = unbundle(&second, &to).await.unwrap();
    assert_eq!((report.chunks.objects, report.snapshots.objects), (1, 1));
    assert_same(&source.storage(), &to).await;
    // An older one does not take them back.
    let error = unbundle(&first, &to).await.unwrap_err();
    assert!(matches!(error, CopyError::Diverged { .. }), "{error:?}");
}

async fn a_damaged_source_gives_no_bundle(spec: SpecVersion) {
    let source = Source::with_history_in(spec).await;
    let keys = stores::keys(&source.storage()).await;
    for key in keys.iter().filter(|key| {
        ["chunks", "manifests", "snapshots"]
            .iter()
            .any(|it| key.starts_with(it))
    }) {
        let from: Arc<dyn Storage> = Arc::new(source.store.duplicate());
        stores::delete(&from, key).await;
        let open = Repository::open(from).await.unwrap();
        let error = BundleRepository::new()
            .run(&open, Vec::new(), &())
            .await
            .unwrap_err();
        let said = crate::copies::chain(&error);
        assert!(
            said.contains(key.rsplit('/').next().unwrap()),
            "{key}: {said}"
        );
    }
}

#[tokio::test]
async fn a_repo_that_does_not_fit_its_bundle_is_refused_and_writes_nothing() {
    let spec = SpecVersion::V2;
    let source = Source::with_history_in(spec).await;
    let (file, _) = bundle(&source.repository, BundleRepository::new()).await;
    let whole = Entries::of(&file);
    let limits = DecodeLimits::up_to(spec);
    let info = RepoInfo::decode(whole.clone().bytes("repo"), &limits).unwrap();
    let changed = |change: &dyn Fn(&mut RepoEdit)| {
        let mut edit = info.edit();
        change(&mut edit);
        let at = info.log().newest_at() + 1;
        let next = edit.finish([(UpdateKind::MetadataChanged, at)], "x", 10);
        next.unwrap().encode(&Writer::default()).unwrap().to_vec()
    };
    let tip = source.tip("main").await;
    let other = Source::seeded_in(spec, 9).await;
    other.commit("main", &[("/a", 1)]).await;
    let (strange, _) = bundle(&other.repository, BundleRepository::new()).await;
    let mut damaged = Vec::new();
    let mut with = |repo: Vec<u8>, said: &'static str| {
        let mut entries = whole.clone();
        *entries.bytes("repo") = repo;
        damaged.push((entries, said));
    };
    let moved = changed(&|edit| assert!(edit.set_branch("main", SnapshotId::INITIAL).is_ok()));
    with(moved, "has another branch main");
    let more = changed(&|edit| assert!(edit.set_branch("more", tip).is_ok()));
    with(more, "its index has no branch more");
    let tag = changed(&|edit| assert!(edit.create_tag("more", tip).is_ok()));
    with(tag, "another tag more");
    let gone = changed(&|edit| assert!(edit.delete_tag("first").is_ok()));
    with(gone, "lacks a tag");
    with(Entries::of(&strange).bytes("repo").clone(), "does not list");
    with(b"no file of the format".to_vec(), "repo");
    let mut entries = whole.clone();
    entries.remove("repo");
    damaged.push((entries, "no object `repo`"));
    let mut entries = whole.clone();
    let at = entries.all.len() - 1;
    entries
        .all
        .insert(at, ("config.yaml".to_owned(), b"{}".to_vec()));
    damaged.push((entries, "another version of the format"));
    let mut entries = whole.clone();
    let index = String::from_utf8(entries.index).unwrap();
    entries.index = index.replace("\"version\": 2", "\"version\": 1").into();
    damaged.push((entries, "not that of a bundle"));
    let to = empty();
    for (entries, said) in damaged {
        let error = unbundle(&entries.file(), &to).await.unwrap_err();
        assert!(matches!(error, CopyError::BadBundle { .. }), "{error:?}");
        assert!(error.to_string().contains(said), "{said}: {error}");
        assert_eq!(stores::keys(&to).await, [""; 0]);
    }
    unbundle(&whole.file(), &to).await.unwrap();
    assert_same(&source.storage(), &to).await;
}

#[tokio::test]
async fn a_later_version_of_bundles_is_refused_by_name() {
    let mut file = Vec::new();
    entry(
        &mut file,
        "icefield-bundle.json",
        br#"{"version": 3, "everything": "else"}"#,
    );
    let error = unbundle(&file.into(), &empty()).await.unwrap_err();
    assert!(
        matches!(
            error,
            CopyError::NewerBundle {
                found: 3,
                supported: 2
            }
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn large_objects_go_through_in_pieces() {
    use icefield_format::{ChunkRef, Extents};
    use icefield_testkit::forge::{
        Forge, ForgedArray, ForgedSnapshot, chunk_id, manifest_id, node_id, snapshot_id,
    };

    const LARGE: usize = 9 << 20;
    let from = empty();
    let forge = Forge::new(&from);
    forge.create().await;
    let bytes: Vec<u8> = (0..LARGE).map(|at| ((at * 31) >> 7) as u8).collect();
    forge.chunk(chunk_id(1), bytes).await;
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
    let snapshot = ForgedSnapshot::new(snapshot_id(1), Some(SnapshotId::INITIAL), 1);
    forge.snapshot(&snapshot.with(array, info)).await;
    forge.branch("main", snapshot_id(1)).await;

    let counting = CountingStorage::new(Arc::clone(&from));
    let source = Repository::open(Arc::new(counting.clone())).await.unwrap();
    let to = empty();
    let copy = CopyRepository::new();
    copy.run(&source, Arc::clone(&to), &()).await.unwrap();
    assert_same(&from, &to).await;
    assert_eq!(counting.snapshot().of("chunks").get_range, 3);
    let (file, _) = bundle(&source, BundleRepository::new()).await;
    let to = empty();
    unbundle(&file, &to).await.unwrap();
    assert_same(&from, &to).await;
    // One that is there already is passed over.
    assert_eq!(unbundle(&file, &to).await.unwrap().chunks.objects, 0);
}
