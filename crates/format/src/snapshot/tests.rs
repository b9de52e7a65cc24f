use serde_json::json;

use super::encode::{
    ManifestRef, NewNode, NewNodeData, NewSnapshot, SnapshotEncoder, initial_snapshot,
};
use super::*;
use crate::envelope::{SpecVersion, Writer};
use crate::error::SortedList;
use crate::id::NodeId;
use crate::index::Extents;

const ID: SnapshotId = SnapshotId::from_bytes([5; 12]);
const MANIFEST: ManifestId = ManifestId::from_bytes([6; 12]);

fn node_id(byte: u8) -> NodeId {
    NodeId::from_bytes([byte; 8])
}

fn info(byte: u8) -> ManifestFileInfo {
    ManifestFileInfo {
        id: ManifestId::from_bytes([byte; 12]),
        size_bytes: 9,
        num_chunk_refs: 2,
    }
}

fn group<'a>(id: u8, path: &'a str) -> NewNode<'a> {
    NewNode {
        id: node_id(id),
        path,
        user_data: b"{}",
        data: NewNodeData::Group,
    }
}

fn decode(bytes: &[u8]) -> Result<Snapshot, FormatError> {
    Snapshot::decode(bytes, ID, &DecodeLimits::default())
}

fn header<'a>(
    metadata: &'a BTreeMap<String, serde_json::Value>,
    manifest_files: &'a [ManifestFileInfo],
) -> NewSnapshot<'a> {
    NewSnapshot {
        id: ID,
        parent_id: Some(SnapshotId::INITIAL),
        flushed_at: 1_726_660_801_000_000,
        message: "mésságe",
        metadata,
        manifest_files,
    }
}

#[test]
fn a_snapshot_comes_back() {
    let metadata = BTreeMap::from([
        ("a".to_owned(), json!([1, null])),
        ("b".to_owned(), json!({"x": -1.5})),
    ]);
    let files = [info(8), info(6), info(8)];
    let mut encoder = SnapshotEncoder::new(header(&metadata, &files));
    let dimension = DimensionShape::regular;
    let shape = [dimension(10, 3), dimension(u64::MAX, 1)];
    let names = [Some("x".to_owned()), None];
    let manifests = [ManifestRef {
        id: MANIFEST,
        extents: Extents::new(vec![0..4, 1..9]),
    }];
    let array = NewNodeData::Array {
        shape: &shape,
        dimension_names: Some(&names),
        manifests: &manifests,
    };
    encoder.push(group(1, "/")).unwrap();
    encoder
        .push(NewNode {
            id: node_id(2),
            path: "/a",
            user_data: b"\x00not json",
            data: array,
        })
        .unwrap();
    encoder.push(group(3, "/a-b")).unwrap();
    let scalar = NewNodeData::Array {
        shape: &[],
        dimension_names: None,
        manifests: &[],
    };
    encoder
        .push(NewNode {
            data: scalar,
            ..group(4, "/b")
        })
        .unwrap();
    let snapshot = decode(&encoder.finish(&Writer::default()).unwrap()).unwrap();

    assert_eq!(snapshot.parent_id(), Some(SnapshotId::INITIAL));
    assert_eq!(
        (snapshot.flushed_at(), snapshot.message()),
        (1_726_660_801_000_000, "mésságe")
    );
    assert_eq!(snapshot.metadata().unwrap(), metadata);
    assert_eq!(
        snapshot.manifest_files().collect::<Vec<_>>(),
        [info(6), info(8)]
    );
    assert_eq!(snapshot.manifest_file(&info(8).id), Some(info(8)));
    assert_eq!(snapshot.manifest_file(&info(7).id), None);
    let node = snapshot.node(&NodePath::parse("/a").unwrap()).unwrap();
    assert_eq!(
        (node.id(), node.kind(), node.user_data()),
        (node_id(2), NodeKind::Array, &b"\x00not json"[..])
    );
    let array = node.array().unwrap();
    assert_eq!(array.shape().collect::<Vec<_>>(), shape);
    assert_eq!(
        array.dimension_names().unwrap().collect::<Vec<_>>(),
        [Some("x"), None]
    );
    let manifest = array.manifests().next().unwrap();
    assert_eq!(
        (manifest.id(), manifest.extents()),
        (MANIFEST, manifests[0].extents.clone())
    );
    assert!(manifest.contains(&[3, 8]) && !manifest.contains(&[4, 8]) && manifest.contains(&[3]));
    assert_eq!(
        snapshot.node_position(&NodePath::parse("/a/b").unwrap()),
        Err(3)
    );
    assert_eq!(snapshot.node_at(3).array().unwrap().rank(), 0);
    assert!(
        snapshot
            .nodes()
            .next_back()
            .unwrap()
            .array()
            .unwrap()
            .dimension_names()
            .is_none()
    );
    assert_eq!(snapshot.node_at(0).array().map(|array| array.rank()), None);
}

#[test]
fn the_initial_snapshot_is_that_of_the_specification() {
    let file = initial_snapshot(77, &Writer::default());
    let snapshot = Snapshot::decode(&file, SnapshotId::INITIAL, &DecodeLimits::default()).unwrap();
    assert_eq!((snapshot.parent_id(), snapshot.flushed_at()), (None, 77));
    assert_eq!(snapshot.message(), "Repository initialized");
    assert_eq!(
        snapshot.metadata().unwrap(),
        BTreeMap::from([("__root".to_owned(), json!(true))])
    );
    assert_eq!(
        (snapshot.node_count(), snapshot.manifest_files().len()),
        (0, 0)
    );
}

#[test]
fn encoder_refuses_what_decoding_would() {
    let metadata = BTreeMap::new();
    let files = [info(6)];
    let mut encoder = SnapshotEncoder::new(header(&metadata, &files));
    encoder.push(group(1, "/b")).unwrap();
    let mut push = |node| encoder.push(node).unwrap_err();
    assert!(matches!(
        push(group(2, "/b")),
        FormatError::Duplicate { position: 1, .. }
    ));
    assert!(matches!(
        push(group(2, "/a")),
        FormatError::Unsorted { position: 1, .. }
    ));
    assert!(matches!(
        push(group(2, "/c/")),
        FormatError::InvalidPath { position: 1, .. }
    ));
    let array = |shape, names, manifests| NewNode {
        data: NewNodeData::Array {
            shape,
            dimension_names: names,
            manifests,
        },
        ..group(2, "/c")
    };
    let shape = [DimensionShape::regular(1, 1)];
    let mismatch = push(array(&shape, Some(&[]), &[]));
    assert!(matches!(
        mismatch,
        FormatError::RankMismatch {
            expected: 1,
            found: 0,
            ..
        }
    ));
    let manifest = |id, ranges: Option<_>| {
        [ManifestRef {
            id,
            extents: ranges.into_iter().collect(),
        }]
    };
    #[expect(clippy::reversed_empty_ranges, reason = "what the test is about")]
    let inverted = manifest(MANIFEST, Some(2..1));
    assert!(matches!(
        push(array(&shape, None, &inverted)),
        FormatError::InvertedExtents { .. }
    ));
    let unlisted = manifest(info(7).id, Some(0..1));
    assert!(matches!(
        push(array(&shape, None, &unlisted)),
        FormatError::UnlistedManifest { .. }
    ));
    let wide = [shape[0]; 257];
    assert!(matches!(
        push(array(&wide, None, &[])),
        FormatError::RankTooLarge { found: 257, .. }
    ));
    encoder.push(group(1, "/d")).unwrap();
    let error = encoder.finish(&Writer::default()).unwrap_err();
    assert!(matches!(error, FormatError::DuplicateNodeId { node, .. } if node == node_id(1)));
}

#[test]
fn d59_a_snapshot_that_is_its_own_parent() {
    let metadata = BTreeMap::new();
    let header = NewSnapshot {
        id: ID,
        parent_id: Some(ID),
        ..header(&metadata, &[])
    };
    let error = SnapshotEncoder::new(header)
        .finish(&Writer::default())
        .unwrap_err();
    assert!(matches!(error, FormatError::OwnParent { .. }));
    let parent = raw(&Raw { parent: ID, ..FINE });
    assert!(matches!(parent, Err(FormatError::OwnParent { .. })));
}

/// Nodes and lists for a body that the encoder would refuse to write.
struct Raw<'a> {
    parent: SnapshotId,
    nodes: &'a [(u8, &'a str, Option<u8>)],
    metadata: &'a [&'a str],
    files: &'a [ManifestFileInfo],
    rank: usize,
    names: usize,
    extents: (u32, u32),
}

const FINE: Raw<'static> = Raw {
    parent: SnapshotId::INITIAL,
    nodes: &[(1, "/", Some(2)), (2, "/a", Some(1))],
    metadata: &["a", "b"],
    files: &[ManifestFileInfo {
        id: MANIFEST,
        size_bytes: 1,
        num_chunk_refs: 1,
    }],
    rank: 2,
    names: 2,
    extents: (1, 2),
};

/// Builds a file without the encoder's checks. A node's type may be any tag, or none.
fn raw(raw: &Raw<'_>) -> Result<Snapshot, FormatError> {
    let mut b = flatbuffers::FlatBufferBuilder::new();
    let nodes: Vec<_> = raw
        .nodes
        .iter()
        .map(|(id, path, tag)| {
            let extents = [fb::ChunkIndexRange::new(raw.extents.0, raw.extents.1); 2];
            let extents = Some(b.create_vector(&extents));
            let object_id = fb::ObjectId12(*MANIFEST.as_bytes());
            let args = fb::ManifestRefArgs {
                object_id: Some(&object_id),
                extents,
            };
            let manifest = fb::ManifestRef::create(&mut b, &args);
            let manifests = Some(b.create_vector(&[manifest]));
            let name = fb::DimensionName::create(&mut b, &fb::DimensionNameArgs { name: None });
            let dimension_names = Some(b.create_vector(&vec![name; raw.names]));
            let shape = Some(b.create_vector(&vec![fb::DimensionShape::new(1, 1); raw.rank]));
            let args = fb::ArrayNodeDataArgs {
                shape,
                dimension_names,
                manifests,
                shape_v2: None,
            };
            let data = fb::ArrayNodeData::create(&mut b, &args).as_union_value();
            let args = fb::NodeSnapshotArgs {
                id: Some(&fb::ObjectId8([*id; 8])),
                path: Some(b.create_string(path)),
                user_data: Some(b.create_vector(b"{}")),
                node_data_type: fb::NodeData(tag.unwrap_or(0)),
                node_data: Some(data),
                extra: None,
            };
            fb::NodeSnapshot::create(&mut b, &args)
        })
        .collect();
    let nodes = Some(b.create_vector(&nodes));
    let metadata: Vec<_> = raw
        .metadata
        .iter()
        .map(|name| {
            let (name, value) = (Some(b.create_string(name)), Some(b.create_vector(b"\xc4")));
            fb::MetadataItem::create(&mut b, &fb::MetadataItemArgs { name, value })
        })
        .collect();
    let metadata = Some(b.create_vector(&metadata));
    let files: Vec<_> = raw
        .files
        .iter()
        .map(|info| fb::ManifestFileInfo::new(&fb::ObjectId12(*info.id.as_bytes()), 1, 1))
        .collect();
    let manifest_files = Some(b.create_vector(&files));
    let message = Some(b.create_string(""));
    let id = fb::ObjectId12(*ID.as_bytes());
    let parent_id = fb::ObjectId12(*raw.parent.as_bytes());
    let args = fb::SnapshotArgs {
        id: Some(&id),
        parent_id: Some(&parent_id),
        nodes,
        message,
        metadata,
        manifest_files,
        ..Default::default()
    };
    let root = fb::Snapshot::create(&mut b, &args);
    b.finish(root, None);
    let file = FormatFile::Snapshot(ID);
    decode(&Writer::default().seal(file, SpecVersion::V1, FileKind::Snapshot, b.finished_data())?)
}

#[test]
fn d52_nodes_of_no_known_type() {
    assert!(raw(&FINE).is_ok());
    let unknown = raw(&Raw {
        nodes: &[(1, "/", Some(3))],
        ..FINE
    });
    assert!(matches!(
        unknown,
        Err(FormatError::UnknownNodeKind {
            position: 0,
            found: 3,
            ..
        })
    ));
    let no_tag = raw(&Raw {
        nodes: &[(1, "/", None)],
        ..FINE
    });
    assert!(
        matches!(no_tag, Err(FormatError::Malformed { .. })),
        "a union with a value and no tag"
    );
}

#[test]
fn d53_snapshot_of_another_id() {
    let file = initial_snapshot(1, &Writer::default());
    let error = decode(&file).unwrap_err();
    assert!(matches!(error, FormatError::WrongObject { .. }));
    assert_eq!(
        error.to_string(),
        format!("snapshot {ID} states to be snapshot 1CECHNKREP0F1RSTCMT0")
    );
}

#[test]
fn d56_unsorted_and_duplicate_lists() {
    let list = |error: Result<Snapshot, FormatError>| match error {
        Err(FormatError::Unsorted {
            list, position: 1, ..
        }) => (list, false),
        Err(FormatError::Duplicate {
            list, position: 1, ..
        }) => (list, true),
        other => panic!("{other:?}"),
    };
    let nodes = |nodes| list(raw(&Raw { nodes, ..FINE }));
    assert_eq!(
        nodes(&[(1, "/b", Some(2)), (2, "/a", Some(2))]),
        (SortedList::Nodes, false)
    );
    assert_eq!(
        nodes(&[(1, "/b", Some(2)), (2, "/b", Some(2))]),
        (SortedList::Nodes, true)
    );
    let metadata = |metadata| list(raw(&Raw { metadata, ..FINE }));
    assert_eq!(metadata(&["b", "a"]), (SortedList::Metadata, false));
    assert_eq!(metadata(&["a", "a"]), (SortedList::Metadata, true));
    let files = |a, b| {
        list(raw(&Raw {
            files: &[info(a), info(b)],
            ..FINE
        }))
    };
    assert_eq!(files(7, 6), (SortedList::ManifestFiles, false));
    assert_eq!(files(6, 6), (SortedList::ManifestFiles, true));
    let ids = raw(&Raw {
        nodes: &[(1, "/", Some(2)), (1, "/a", Some(2))],
        ..FINE
    });
    assert!(matches!(ids, Err(FormatError::DuplicateNodeId { .. })));
}

#[test]
fn d57_ranks_and_extents() {
    for (rank, names) in [(1, 2), (2, 1)] {
        let mismatch = raw(&Raw {
            rank,
            names,
            ..FINE
        });
        assert!(
            matches!(mismatch, Err(FormatError::RankMismatch { .. })),
            "{rank} {names}"
        );
    }
    let wide = raw(&Raw {
        rank: 257,
        names: 257,
        ..FINE
    });
    assert!(matches!(
        wide,
        Err(FormatError::RankTooLarge { found: 257, .. })
    ));
    let inverted = raw(&Raw {
        extents: (2, 1),
        ..FINE
    });
    assert!(matches!(inverted, Err(FormatError::InvertedExtents { .. })));
    assert!(
        raw(&Raw {
            extents: (1, 1),
            ..FINE
        })
        .is_ok()
    );
    let unlisted = raw(&Raw {
        files: &[info(9)],
        ..FINE
    });
    assert!(matches!(
        unlisted,
        Err(FormatError::UnlistedManifest { .. })
    ));
}

#[test]
fn d58_paths_beyond_the_limit() {
    let long = format!("/{}", "x".repeat(1 << 20));
    for path in [long.as_str(), "", "a", "/a/../b", "//"] {
        let error = raw(&Raw {
            nodes: &[(1, path, Some(2))],
            ..FINE
        });
        assert!(matches!(
            error,
            Err(FormatError::InvalidPath { position: 0, .. })
        ));
    }
}

#[test]
fn metadata_that_is_not_messagepack_is_named() {
    let error = raw(&FINE).unwrap().metadata().unwrap_err();
    assert!(
        matches!(&error, FormatError::MessagePack { name, .. } if name == "a"),
        "{error}"
    );
}

#[test]
fn the_room_for_a_node_is_not_underestimated() {
    let metadata = BTreeMap::new();
    let files = [info(6)];
    let extents = Extents::new(vec![0..1; 64]);
    let manifests = vec![
        ManifestRef {
            id: MANIFEST,
            extents
        };
        100
    ];
    let names = vec![Some("x".to_owned()); 2];
    let shape = [DimensionShape::regular(1, 1); 2];
    let array = |shape, dimension_names| NewNodeData::Array {
        shape,
        dimension_names,
        manifests: &manifests,
    };
    for data in [
        NewNodeData::Group,
        array(&[], None),
        array(&shape, Some(&names)),
    ] {
        let mut encoder = SnapshotEncoder::new(header(&metadata, &files));
        let node = NewNode {
            data,
            ..group(1, "/a")
        };
        let before = encoder.body_so_far();
        encoder.push(node).unwrap();
        let taken = encoder.body_so_far() - before;
        let estimate = encode::size_of_node(&node);
        assert!(taken <= estimate, "{taken} bytes, {estimate} estimated");
    }
}

#[test]
fn another_parent_changes_its_twelve_bytes_and_nothing_else() {
    let metadata = BTreeMap::from([("a".to_owned(), json!([1, null]))]);
    let files = [info(8)];
    let mut encoder = SnapshotEncoder::new(header(&metadata, &files));
    encoder.push(group(1, "/")).unwrap();
    let writer = Writer {
        implementation: "another implementation".to_owned(),
        ..Writer::default()
    };
    let file = encoder.finish(&writer).unwrap();
    let parent = SnapshotId::from_bytes([9; 12]);
    let limits = DecodeLimits::default();
    let edited = Snapshot::reparented(&file, ID, parent, &limits)
        .unwrap()
        .unwrap();
    assert_eq!(edited[..39], file[..39], "the header");
    let (before, after) = (decode(&file).unwrap(), decode(&edited).unwrap());
    assert_eq!(after.parent_id(), Some(parent));
    let (old, new) = (before.body.bytes(), after.body.bytes());
    assert_eq!(old.len(), new.len());
    let differ: Vec<usize> = (0..old.len()).filter(|at| old[*at] != new[*at]).collect();
    assert!(
        differ.len() <= 12 && differ[differ.len() - 1] - differ[0] < 12,
        "{differ:?}"
    );
    let back = Snapshot::reparented(&edited, ID, SnapshotId::INITIAL, &limits);
    assert_eq!(back.unwrap().unwrap(), file);
}

#[test]
fn the_first_snapshot_has_no_parent_to_replace() {
    let file = initial_snapshot(7, &Writer::default());
    let edited = Snapshot::reparented(&file, SnapshotId::INITIAL, ID, &DecodeLimits::default());
    assert_eq!(edited.unwrap(), None);
}
