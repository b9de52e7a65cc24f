//! Copies of spec version 1 of repositories of version 2.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::TryStreamExt;
use icefield_core::{
    BranchName, CommitOutcome, NodePath, Repository, RepositoryConfig, SnapshotId, VirtualRefs,
    WriteMode,
};
use icefield_format::config::{VirtualChunkContainer, VirtualStore};
use icefield_format::{
    Availability, ChunkRef, FeatureFlag, ManifestRef, NewNode, NewNodeData, NewSnapshot, Snapshot,
    SnapshotEncoder, SpecVersion, TransactionLogEncoder, Writer, layout,
};
use icefield_maintenance::{
    Check, CopyError, CopyRepository, DowngradeReport, DowngradeRepository, Expire, NotCarriedKind,
    Policy, RefChoice,
};
use icefield_storage::Storage;
use icefield_testkit::{fixtures, stores};
use serde_json::json;

use crate::copies::empty;
use crate::source::Source;

const SPEC: SpecVersion = SpecVersion::V2;

async fn downgrade(
    source: &Repository,
    to: &Arc<dyn Storage>,
) -> Result<DowngradeReport, CopyError> {
    let downgrade = DowngradeRepository::new();
    downgrade.run(source, Arc::clone(to), &()).await
}

fn branch(name: &str) -> BranchName {
    name.parse().unwrap()
}

fn kinds(report: &DowngradeReport) -> BTreeSet<NotCarriedKind> {
    report.not_carried.iter().map(|it| it.kind).collect()
}

/// The location of a chunk ref, with the object of a virtual one.
fn said(repository: &Repository, chunk: ChunkRef<'_>) -> String {
    match chunk {
        ChunkRef::Virtual {
            location,
            offset,
            length,
            checksum,
        } => {
            let location = repository.virtual_source(location);
            let location = location.map(|it| it.location().clone());
            format!("{location:?} {offset} {length} {checksum:?}")
        }
        chunk => format!("{chunk:?}"),
    }
}

/// All that a reader can read of a version.
async fn read(repository: &Repository, id: SnapshotId) -> Vec<String> {
    let snapshot = repository.snapshot(id).await.unwrap();
    let mut said_of = vec![format!("{} {}", snapshot.flushed_at(), snapshot.message())];
    if id != SnapshotId::INITIAL {
        said_of.push(format!("{:?}", snapshot.metadata().unwrap()));
    }
    for node in snapshot.nodes() {
        said_of.push(format!(
            "{} {:?} {:?}",
            node.path(),
            node.id(),
            node.user_data()
        ));
        let Some(array) = node.array() else { continue };
        let shape: Vec<_> = array
            .shape()
            .map(|it| (it.array_length, it.num_chunks()))
            .collect();
        let names = array
            .dimension_names()
            .map(|it| it.map(|it| it.map(str::to_owned)).collect::<Vec<_>>());
        said_of.push(format!("{shape:?} {names:?}"));
        let mut chunks = BTreeMap::new();
        for of in array.manifests() {
            let manifest = repository.manifest(of.id()).await.unwrap();
            let file = snapshot.manifest_file(&of.id()).unwrap();
            let key = layout::manifest_key(of.id());
            let bytes = stores::read(repository.storage(), &key).await;
            assert_eq!(file.size_bytes, bytes.len() as u64, "{key}");
            for record in manifest.array(&node.id()).iter().flat_map(|it| it.refs()) {
                chunks.insert(
                    record.index(),
                    said(repository, record.chunk_ref().unwrap()),
                );
            }
        }
        said_of.push(format!("{chunks:?}"));
    }
    said_of
}

/// Compares two repositories at every ref and every snapshot that it reaches.
async fn assert_reads_the_same(source: &Repository, copy: &Repository, left_out: &[String]) {
    let ours = source.refs().await.unwrap().require_understood().unwrap();
    let theirs = copy.refs().await.unwrap().require_understood().unwrap();
    let mut tips = BTreeSet::new();
    for (name, id) in &ours.branches {
        if !left_out.contains(&format!("branch {name}")) {
            assert_eq!(theirs.branches.get(name), Some(id), "{name}");
            tips.insert(*id);
        }
    }
    for (name, id) in &ours.tags {
        if !left_out.contains(&format!("tag {name}")) {
            assert_eq!(theirs.tags.get(name), Some(id), "{name}");
            tips.insert(*id);
        }
    }
    for tip in tips {
        let ids = |of: &Repository| {
            let infos = of.ancestry(tip);
            async move {
                let infos: Vec<_> = infos.try_collect().await.unwrap();
                infos.into_iter().map(|it| it.id).collect::<Vec<_>>()
            }
        };
        let history = ids(source).await;
        assert_eq!(history, ids(copy).await);
        for id in history {
            assert_eq!(read(source, id).await, read(copy, id).await, "{id}");
        }
    }
}

/// Opens a copy, which must be sound and of version 1 throughout.
async fn opened(to: &Arc<dyn Storage>) -> Repository {
    let report = Check::new(Arc::clone(to))
        .read_chunks()
        .run(&())
        .await
        .unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
    let of_v2 = ["repo", "overwritten/"];
    for (key, bytes) in stores::dump(to).await {
        assert!(!of_v2.iter().any(|it| key.starts_with(it)), "{key}");
        if bytes.starts_with(b"ICE") {
            assert_eq!(bytes[36], 1, "{key}");
        }
    }
    let repository = Repository::open(Arc::clone(to)).await.unwrap();
    assert_eq!(repository.spec_version(), SpecVersion::V1);
    repository
}

#[tokio::test]
async fn every_fixture_of_the_reference_reads_the_same_in_version_1() {
    let mut found = BTreeSet::new();
    for name in fixtures::names("v2-") {
        let from = empty();
        fixtures::load(&name, &from).await;
        let source = Repository::open(Arc::clone(&from)).await.unwrap();
        let before = stores::dump(&from).await;
        let to = empty();
        let lenient = DowngradeRepository::new().leave_out(true);
        let report = lenient.run(&source, Arc::clone(&to), &()).await;
        let report = report.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(stores::dump(&from).await, before, "{name}");
        let copy = opened(&to).await;
        assert_reads_the_same(&source, &copy, &report.left_out).await;
        let refused = report
            .not_carried
            .iter()
            .any(|it| it.kind.changes_reading());
        assert_eq!(refused, !report.left_out.is_empty(), "{name}: {report:?}");
        let strict = downgrade(&source, &empty()).await;
        assert_eq!(strict.is_err(), refused, "{name}: {strict:?}");
        found.extend(kinds(&report));
    }
    use NotCarriedKind::*;
    let expected = [
        ContainerName,
        CompressedLocation,
        Move,
        Status,
        FeatureFlag,
        Metadata,
        DetachedSnapshot,
        OperationsLog,
    ];
    let missed: Vec<_> = expected.iter().filter(|it| !found.contains(it)).collect();
    assert!(missed.is_empty(), "{missed:?} of {found:?}");
}

#[tokio::test]
async fn a_repository_of_version_1_is_told_that_it_is_one() {
    let source = Source::with_history().await;
    let to = empty();
    let error = downgrade(&source.repository, &to).await.unwrap_err();
    assert!(matches!(error, CopyError::IsVersion1), "{error:?}");
    assert_eq!(stores::keys(&to).await.len(), 0);
    let there = Source::with_history_in(SPEC).await;
    let error = downgrade(&there.repository, &there.storage()).await;
    assert!(
        matches!(error, Err(CopyError::SamePlace { .. })),
        "{error:?}"
    );
    let newer = Source::with_history_in(SPEC).await;
    let error = downgrade(&there.repository, &newer.storage()).await;
    let of_2 = matches!(
        error,
        Err(CopyError::OtherVersion {
            found: 2,
            wanted: 1,
            ..
        })
    );
    assert!(of_2, "{error:?}");
}

#[tokio::test]
async fn a_later_downgrade_moves_only_what_is_new_and_a_dry_one_writes_nothing() {
    let source = Source::with_history_in(SPEC).await;
    let of = &source.repository;
    let to = empty();
    let dry = DowngradeRepository::new().dry_run(true);
    let planned = dry.run(of, Arc::clone(&to), &()).await.unwrap();
    assert_eq!(stores::keys(&to).await.len(), 0);
    let first = downgrade(of, &to).await.unwrap();
    let moved = |report: &DowngradeReport| {
        let copy = &report.copy;
        (
            copy.chunks,
            copy.manifests,
            copy.transaction_logs,
            copy.snapshots,
        )
    };
    assert_eq!(moved(&planned), moved(&first));
    assert_eq!(planned.not_carried, first.not_carried);
    assert_eq!(
        kinds(&first),
        BTreeSet::from([NotCarriedKind::OperationsLog])
    );
    let copy = opened(&to).await;
    assert_eq!(copy.config().max_concurrent_requests, Some(7));
    assert_reads_the_same(of, &copy, &[]).await;
    let gone = "gone".parse().unwrap();
    assert!(copy.refs().await.unwrap().deleted_tags.contains(&gone));

    let before = stores::dump(&to).await;
    let again = downgrade(of, &to).await.unwrap();
    assert_eq!(again.copy.snapshots.objects, 0);
    assert_eq!(stores::dump(&to).await, before);
    source.commit("main", &[("/a", 9)]).await;
    let next = downgrade(of, &to).await.unwrap();
    assert_eq!(
        (next.copy.snapshots.objects, next.copy.chunks.objects),
        (1, 1)
    );
    assert_reads_the_same(of, &opened(&to).await, &[]).await;
    // A copy of it is one like any other.
    let copied = empty();
    let copy = Repository::open(Arc::clone(&to)).await.unwrap();
    CopyRepository::new().run(&copy, copied, &()).await.unwrap();
}

#[tokio::test]
async fn refs_that_version_1_cannot_name_are_refused_or_left_out() {
    let source = Source::with_history_in(SPEC).await;
    let of = &source.repository;
    source.branch("a/b", "main").await;
    source.tag("t/1", "main").await;
    let to = empty();
    let error = downgrade(of, &to).await.unwrap_err();
    let CopyError::NotInVersion1 { problems } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(problems.len(), 2);
    assert!(problems[0].contains("branch a/b"), "{problems:?}");
    assert!(error.to_string().contains("tag t/1"), "{error}");
    assert_eq!(stores::keys(&to).await.len(), 0);
    let lenient = DowngradeRepository::new().leave_out(true);
    let report = lenient.run(of, Arc::clone(&to), &()).await.unwrap();
    assert_eq!(report.left_out, ["branch a/b", "tag t/1"]);
    assert_reads_the_same(of, &opened(&to).await, &report.left_out).await;
    // Refs that are not selected do not stop a downgrade.
    let main = DowngradeRepository::new().refs([RefChoice::parse("main").unwrap()]);
    let report = main.run(of, empty(), &()).await.unwrap();
    assert_eq!((report.left_out.len(), report.copy.refs.len()), (0, 1));
}

#[tokio::test]
async fn an_array_that_version_1_refuses_leaves_out_the_refs_that_lead_to_it() {
    let source = Source::with_history_in(SPEC).await;
    let of = &source.repository;
    source.branch("next", "main").await;
    let session = of.write_session(branch("next")).await.unwrap();
    let document = r#"{"zarr_format": 3, "node_type": "array", "shape": [5], "data_type": "int8",
        "chunk_grid": {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[2, 3]]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}"#;
    let path = NodePath::parse("/odd").unwrap();
    let set = session.set_metadata(&path, document.into(), WriteMode::Overwrite);
    set.await.unwrap();
    let CommitOutcome::Committed(first) = session.commit("odd").await.unwrap() else {
        panic!()
    };
    let _ = of.create_tag("odd", first).await.unwrap();
    source.commit("next", &[("/a", 7)]).await;
    let error = downgrade(of, &empty()).await.unwrap_err();
    let rule = format!("array /odd in snapshot {first}: its chunk grid is rectilinear");
    assert!(error.to_string().contains(&rule), "{error}");
    let to = empty();
    let lenient = DowngradeRepository::new().leave_out(true);
    let report = lenient.run(of, Arc::clone(&to), &()).await.unwrap();
    assert_eq!(report.left_out, ["branch next", "tag odd"]);
    assert_reads_the_same(of, &opened(&to).await, &report.left_out).await;
    // Not below what is kept.
    let session = of.write_session(branch("next")).await.unwrap();
    session.delete_node(&path).await.unwrap();
    drop(session.commit("gone again").await.unwrap());
    source.commit("next", &[("/a", 8)]).await;
    let next = RefChoice::parse("next").unwrap();
    let shallow = DowngradeRepository::new().depth(1).refs([next]);
    let to = empty();
    let report = shallow.run(of, Arc::clone(&to), &()).await.unwrap();
    assert_eq!(report.copy.shortened.len(), 1);
    let copy = opened(&to).await;
    let tip = source.tip("next").await;
    assert_eq!(read(of, tip).await, read(&copy, tip).await);
}

#[tokio::test]
async fn moves_are_told_as_deletions_and_creations() {
    let source = Source::with_history_in(SPEC).await;
    let of = &source.repository;
    let session = of.rearrange_session(branch("main")).await.unwrap();
    let (from, to) = (
        NodePath::parse("/a").unwrap(),
        NodePath::parse("/c").unwrap(),
    );
    session.move_node(&from, &to).await.unwrap();
    let CommitOutcome::Committed(moved) = session.commit("moved").await.unwrap() else {
        panic!()
    };
    source.commit("main", &[("/c", 9)]).await;
    let place = empty();
    let report = downgrade(of, &place).await.unwrap();
    let told: Vec<_> = report
        .not_carried
        .iter()
        .filter(|it| it.kind == NotCarriedKind::Move)
        .collect();
    assert_eq!(told.len(), 1);
    assert_eq!(
        told[0].to_string(),
        format!("snapshot {moved}: 1 node moved, the first from /a to /c")
    );
    let copy = opened(&place).await;
    assert_reads_the_same(of, &copy, &[]).await;
    let log = copy.transaction_log(moved).await.unwrap();
    let (new, deleted): (Vec<_>, Vec<_>) =
        (log.new_arrays().collect(), log.deleted_arrays().collect());
    let id = copy.snapshot(moved).await.unwrap().node(&to).unwrap().id();
    assert_eq!((new, deleted), (vec![id], vec![id]));
}

fn containers(name: &str) -> RepositoryConfig {
    containers_at(name, "s3://bucket/a b/")
}

fn containers_at(name: &str, prefix: &str) -> RepositoryConfig {
    let container = VirtualChunkContainer {
        name: Some(name.to_owned()),
        url_prefix: prefix.to_owned(),
        store: VirtualStore::InMemory,
        unknown: Default::default(),
    };
    RepositoryConfig {
        virtual_chunk_containers: Some([container].into_iter().collect()),
        ..RepositoryConfig::default()
    }
}

#[tokio::test]
async fn locations_become_urls_that_lead_to_the_same_objects() {
    let source = Source::new_in(SPEC).await;
    let of = &source.repository;
    drop(of.save_config(containers("archive")).await.unwrap());
    source.commit("main", &[("/a", 0)]).await;
    let session = of.write_session(branch("main")).await.unwrap();
    let texts = [
        "vcc://archive/x%20y é",
        "s3://bucket/a b/x%20y é",
        "s3://bucket/a b/plain",
    ];
    let sources = texts.map(|text| of.virtual_source(text).unwrap());
    let refs = VirtualRefs {
        coordinates: &[1, 2, 3],
        sources: &sources,
        source: &[0, 1, 2],
        offsets: &[0, 1, 2],
        lengths: &[4, 4, 4],
    };
    let path = NodePath::parse("/a").unwrap();
    session.set_virtual_refs(&path, refs).await.unwrap();
    drop(session.commit("virtual").await.unwrap());
    let to = empty();
    let report = downgrade(of, &to).await.unwrap();
    assert_eq!(
        kinds(&report),
        BTreeSet::from([NotCarriedKind::ContainerName, NotCarriedKind::OperationsLog])
    );
    assert!(
        report.not_carried[0].detail.contains("1 chunks"),
        "{report:?}"
    );
    let copy = opened(&to).await;
    assert_reads_the_same(of, &copy, &[]).await;
    let stored = locations(&copy, source.tip("main").await).await;
    let same = "s3://bucket/a%20b/x%2520y%20%C3%A9";
    assert_eq!(stored, [same, same, "s3://bucket/a%20b/plain"]);

    // Nothing tells where a container lies that the configuration does not have.
    drop(of.save_config(containers("other")).await.unwrap());
    let error = downgrade(of, &empty()).await.unwrap_err().to_string();
    assert!(error.contains("vcc://archive/x%20y é"), "{error}");
    assert!(error.contains("no container with the name"), "{error}");
    let lenient = DowngradeRepository::new().leave_out(true);
    let report = lenient.run(of, empty(), &()).await.unwrap();
    assert_eq!(report.left_out, ["branch main"]);
}

/// Returns the locations of virtual chunks in the manifests of a snapshot.
async fn locations(repository: &Repository, id: SnapshotId) -> Vec<String> {
    let snapshot = repository.snapshot(id).await.unwrap();
    let mut stored = Vec::new();
    for file in snapshot.manifest_files() {
        let manifest = repository.manifest(file.id).await.unwrap();
        for record in manifest.arrays().flat_map(|it| it.refs()) {
            if let ChunkRef::Virtual { location, .. } = record.chunk_ref().unwrap() {
                stored.push(location.to_owned());
            }
        }
    }
    stored
}

#[tokio::test]
async fn names_of_containers_are_read_as_they_are_stored_and_not_as_the_handle_has_them() {
    let source = Source::new_in(SPEC).await;
    let of = &source.repository;
    drop(of.save_config(containers("archive")).await.unwrap());
    source.commit("main", &[("/a", 0)]).await;
    let session = of.write_session(branch("main")).await.unwrap();
    let refs = VirtualRefs {
        coordinates: &[1],
        sources: &[of.virtual_source("vcc://archive/x").unwrap()],
        source: &[0],
        offsets: &[0],
        lengths: &[4],
    };
    let path = NodePath::parse("/a").unwrap();
    session.set_virtual_refs(&path, refs).await.unwrap();
    drop(session.commit("virtual").await.unwrap());
    let tip = source.tip("main").await;

    // A handle that looks elsewhere for what the repository refers to.
    let elsewhere = containers_at("archive", "s3://mirror/");
    let builder = Repository::builder(source.storage()).config(elsewhere);
    let mirrored = builder.open().await.unwrap();
    let there = mirrored.virtual_source("vcc://archive/x").unwrap();
    assert_eq!(there.location().as_str(), "s3://mirror/x");
    let to = empty();
    downgrade(&mirrored, &to).await.unwrap();
    assert_eq!(
        locations(&opened(&to).await, tip).await,
        ["s3://bucket/a%20b/x"]
    );

    // One that knows a container which is not stored.
    drop(of.save_config(containers("other")).await.unwrap());
    let builder = Repository::builder(source.storage()).config(containers("archive"));
    let error = downgrade(&builder.open().await.unwrap(), &empty()).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("no container with the name"), "{error}");
}

#[tokio::test]
async fn chunk_lengths_are_never_guessed() {
    let source = Source::with_history_in(SPEC).await;
    let first = source.repository.clone();
    source.branch("next", "main").await;
    source.commit("next", &[("/a", 7)]).await;
    let tip = source.tip("next").await;
    let snapshot = first.snapshot(tip).await.unwrap();
    let key = layout::snapshot_key(tip);
    for (grid, rule) in [
        (
            json!({"name": "spiral"}),
            "the chunk grid \"spiral\" is not known",
        ),
        (
            json!({"name": "regular"}),
            "the chunk grid has no chunk_shape",
        ),
        (json!(null), "the chunk grid has no name"),
        (
            json!({"name": "regular", "configuration": {"chunk_shape": [1, 1, 1]}}),
            "the chunk grid has 3 dimensions",
        ),
    ] {
        let file = with_grid(&snapshot, "/a", &grid);
        stores::put(&source.storage(), &key, file).await;
        let of = Repository::open(source.storage()).await.unwrap();
        let error = downgrade(&of, &empty()).await.unwrap_err();
        let expected = format!("array /a in snapshot {tip}: {rule}");
        assert!(error.to_string().contains(&expected), "{error}");
        let to = empty();
        let lenient = DowngradeRepository::new().leave_out(true);
        let report = lenient.run(&of, Arc::clone(&to), &()).await.unwrap();
        assert_eq!(report.left_out, ["branch next"]);
        let kinds = kinds(&report);
        assert!(kinds.contains(&NotCarriedKind::ChunkGrid), "{report:?}");
        assert_reads_the_same(&of, &opened(&to).await, &report.left_out).await;
    }
}

/// Returns the file of a snapshot, in which the document of an array says another chunk grid.
fn with_grid(snapshot: &Snapshot, at: &str, grid: &serde_json::Value) -> Vec<u8> {
    let (metadata, files) = (
        snapshot.metadata().unwrap(),
        snapshot.manifest_files().collect::<Vec<_>>(),
    );
    let new = NewSnapshot {
        id: snapshot.id(),
        parent_id: snapshot.parent_id(),
        flushed_at: snapshot.flushed_at(),
        message: snapshot.message(),
        metadata: &metadata,
        manifest_files: &files,
    };
    let mut encoder = SnapshotEncoder::for_version(SPEC, new);
    for node in snapshot.nodes() {
        let mut document = node.user_data().to_vec();
        if node.path() == at {
            let mut value: serde_json::Value = serde_json::from_slice(&document).unwrap();
            value["chunk_grid"] = grid.clone();
            document = serde_json::to_vec(&value).unwrap();
        }
        let shape: Vec<_> = node.array().iter().flat_map(|it| it.shape()).collect();
        let manifests = node.array().into_iter().flat_map(|it| it.manifests());
        let manifests: Vec<_> = manifests
            .map(|it| ManifestRef {
                id: it.id(),
                extents: it.extents(),
            })
            .collect();
        let data = match node.array() {
            None => NewNodeData::Group,
            Some(array) => {
                assert!(array.dimension_names().is_none());
                NewNodeData::Array {
                    shape: &shape,
                    dimension_names: None,
                    manifests: &manifests,
                }
            }
        };
        let (id, path) = (node.id(), node.path());
        let user_data = &document;
        let node = NewNode {
            id,
            path,
            user_data,
            data,
        };
        encoder.push(node).unwrap();
    }
    encoder.finish(&Writer::default()).unwrap().to_vec()
}

#[tokio::test]
async fn what_a_repository_says_of_itself_is_named() {
    let source = Source::with_history_in(SPEC).await;
    let of = &source.repository;
    let metadata = [("title".to_owned(), json!("ocean"))];
    drop(
        of.set_metadata(metadata.into_iter().collect())
            .await
            .unwrap(),
    );
    let off = FeatureFlag::CREATE_TAG;
    drop(of.set_feature_flag(off, Some(false)).await.unwrap());
    let session = of.write_session(branch("main")).await.unwrap();
    let path = NodePath::parse("/a").unwrap();
    session
        .set_chunk(&path, &[4], vec![1; 9].into(), WriteMode::Overwrite)
        .await
        .unwrap();
    let flushed = session.flush("flushed").await.unwrap();
    let read_only = Availability::ReadOnly;
    drop(of.set_status(read_only, None, None).await.unwrap());
    let report = downgrade(of, &empty()).await.unwrap();
    let said: Vec<_> = report
        .not_carried
        .iter()
        .map(|it| (it.kind, it.object.clone()))
        .collect();
    let text = |text: &str| text.to_owned();
    assert_eq!(
        said,
        [
            (NotCarriedKind::Status, text("the status ReadOnly")),
            (NotCarriedKind::FeatureFlag, text("create_tag = false")),
            (NotCarriedKind::Metadata, text("title")),
            (NotCarriedKind::DetachedSnapshot, flushed.to_string()),
            (NotCarriedKind::OperationsLog, text("repo")),
        ]
    );
}

#[tokio::test]
async fn what_no_release_knows_is_named_and_left_out() {
    let source = Source::with_history_in(SPEC).await;
    let tip = source.tip("main").await;
    let log = source.repository.transaction_log(tip).await.unwrap();
    let mut strange = TransactionLogEncoder::for_version(SPEC, tip);
    strange.new_arrays(log.new_arrays());
    for array in log.updated_chunks() {
        strange.begin_chunks(array.node_id()).unwrap();
        for index in array.chunks() {
            strange.push_chunk(&index).unwrap();
        }
    }
    strange.extra(b"of a later release");
    let key = layout::transaction_log_key(tip);
    let file = strange.finish(&Writer::default()).unwrap();
    stores::put(&source.storage(), &key, file).await;
    let to = empty();
    let report = downgrade(&source.repository, &to).await.unwrap();
    let extra = &report.not_carried[0];
    assert_eq!((extra.kind, &extra.object), (NotCarriedKind::Extra, &key));
    assert!(extra.detail.contains("`extra`"), "{extra}");
    let copy = opened(&to).await;
    assert_reads_the_same(&source.repository, &copy, &[]).await;
    let written = copy.transaction_log(tip).await.unwrap();
    assert_eq!(written.extra(), None);
}

#[tokio::test]
async fn logs_of_what_expired_go_into_those_of_what_stays() {
    let source = Source::with_history_in(SPEC).await;
    let of = &source.repository;
    source.commit("main", &[("/c", 0)]).await;
    let session = of.rearrange_session(branch("main")).await.unwrap();
    let (from, to) = (
        NodePath::parse("/b").unwrap(),
        NodePath::parse("/d").unwrap(),
    );
    session.move_node(&from, &to).await.unwrap();
    drop(session.commit("moved").await.unwrap());
    let session = of.write_session(branch("main")).await.unwrap();
    session
        .delete_node(&NodePath::parse("/c").unwrap())
        .await
        .unwrap();
    drop(session.commit("gone").await.unwrap());
    source.commit("main", &[("/a", 6)]).await;
    source.tag("kept", "main").await;
    source.commit("main", &[("/a", 7)]).await;
    let mut policy = Policy::default();
    policy.last = 1;
    Expire::new(policy).run(of, &()).await.unwrap();
    let place = empty();
    let report = downgrade(of, &place).await.unwrap();
    assert_eq!(report.copy.missing_logs, []);
    let copy = opened(&place).await;
    assert_reads_the_same(of, &copy, &[]).await;
    let kept = copy.refs().await.unwrap().require_understood().unwrap();
    let kept = kept.tags[&"kept".parse().unwrap()];
    let info = of.snapshot_info(kept).await.unwrap();
    assert!(!info.pruned_logs.is_empty());
    let log = copy.transaction_log(kept).await.unwrap();
    let named: Vec<_> = log.updated_chunks().map(|it| it.len()).collect();
    assert!(named.iter().sum::<usize>() > 1, "{log:?}");

    // Without one of them the log would tell less: there is none.
    let key = layout::transaction_log_key(info.pruned_logs[0]);
    stores::delete(&source.storage(), &key).await;
    let reopened = Repository::open(source.storage()).await.unwrap();
    let place = empty();
    let report = downgrade(&reopened, &place).await.unwrap();
    assert!(report.copy.missing_logs.contains(&kept));
    let copy = Repository::open(place).await.unwrap();
    assert_reads_the_same(of, &copy, &[]).await;
}

#[tokio::test]
async fn files_of_version_1_stay_as_they_are() {
    let old = Source::with_history().await;
    let before = stores::dump(&old.storage()).await;
    let options = icefield_core::UpgradeOptions::default();
    old.repository.upgrade(&options).await.unwrap();
    let mut upgraded = Source::seeded_in(SPEC, 3).await;
    upgraded.repository = Repository::open(old.storage()).await.unwrap();
    upgraded.commit("main", &[("/a", 9)]).await;
    let to = empty();
    downgrade(&upgraded.repository, &to).await.unwrap();
    let after = stores::dump(&to).await;
    for (key, bytes) in before {
        let is_object = ["snapshots/", "manifests/", "transactions/", "chunks/"];
        if is_object.iter().any(|it| key.starts_with(it)) {
            assert_eq!(after.get(&key), Some(&bytes), "{key}");
        }
    }
    assert_reads_the_same(&upgraded.repository, &opened(&to).await, &[]).await;
}
