//! Whatever can be written comes back, and any bytes at all can be offered for reading.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::roundtrip;
use icefield_format::config::{
    DimensionCondition, DimensionRule, HttpOptions, ManifestConfig, PreloadCondition,
    PreloadConfig, SplitCondition, SplitRule, SplittingConfig, StorageConfig,
    VirtualChunkContainer, VirtualStore,
};
use icefield_format::layout::{self, KeyForm, RefKey};
use icefield_format::*;
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use serde_json::Value;

/// Failing cases are kept beside this file, in `properties.regressions`.
fn config_of_runs() -> ProptestConfig {
    let failure_persistence =
        Some(Box::new(FileFailurePersistence::WithSource("regressions")) as _);
    ProptestConfig {
        failure_persistence,
        ..ProptestConfig::default()
    }
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 20, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            btree_map(".*", inner, 0..5).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn node_path() -> impl Strategy<Value = NodePath> {
    let segment = "[^/]{1,6}".prop_filter("no dots alone", |text| text != "." && text != "..");
    vec(segment, 0..4)
        .prop_map(|segments| NodePath::parse(&format!("/{}", segments.join("/"))).unwrap())
}

#[derive(Debug, Clone)]
struct Node {
    id: [u8; 8],
    user_data: Vec<u8>,
    array: Option<Array>,
}

#[derive(Debug, Clone)]
struct Array {
    shape: Vec<DimensionShape>,
    names: Option<Vec<Option<String>>>,
    manifests: Vec<ManifestRef>,
}

fn array() -> impl Strategy<Value = Array> {
    (0..4_usize).prop_flat_map(|rank| {
        let dimension = (any::<u64>(), any::<u64>()).prop_map(|(array_length, chunk_length)| {
            DimensionShape::regular(array_length, chunk_length)
        });
        let range = (any::<u32>(), any::<u32>()).prop_map(|(a, b)| a.min(b)..a.max(b));
        let manifest = (any::<[u8; 12]>(), vec(range, rank)).prop_map(|(id, ranges)| ManifestRef {
            id: ManifestId::from_bytes(id),
            extents: Extents::new(ranges),
        });
        let names = option::of(vec(option::of(".+"), rank));
        (vec(dimension, rank), names, vec(manifest, 0..3)).prop_map(|(shape, names, manifests)| {
            Array {
                shape,
                names,
                manifests,
            }
        })
    })
}

fn nodes() -> impl Strategy<Value = BTreeMap<NodePath, Node>> {
    let node = (
        any::<[u8; 8]>(),
        vec(any::<u8>(), 0..40),
        option::of(array()),
    )
        .prop_map(|(id, user_data, array)| Node {
            id,
            user_data,
            array,
        });
    btree_map(node_path(), node, 0..8).prop_filter("unique ids", |nodes| {
        let ids: BTreeSet<_> = nodes.values().map(|node| node.id).collect();
        ids.len() == nodes.len()
    })
}

proptest! {
    #![proptest_config(config_of_runs())]

    #[test]
    fn snapshots_come_back(
        (id, parent) in any::<([u8; 12], Option<[u8; 12]>)>(),
        flushed_at: u64,
        message in ".*",
        metadata in btree_map(".*", json(), 0..4),
        nodes in nodes(),
    ) {
        let id = SnapshotId::from_bytes(id);
        let parent_id = parent.map(SnapshotId::from_bytes).filter(|parent| *parent != id);
        let used = nodes.values().flat_map(|node| &node.array).flat_map(|array| &array.manifests);
        let manifest_files: Vec<_> = used
            .map(|used| ManifestFileInfo { id: used.id, size_bytes: 7, num_chunk_refs: 1 })
            .collect();
        let manifest_files = &manifest_files;
        let header = NewSnapshot { id, parent_id, flushed_at, message: &message, metadata: &metadata, manifest_files };
        let mut encoder = SnapshotEncoder::new(header);
        for (path, node) in &nodes {
            let data = node.array.as_ref().map_or(NewNodeData::Group, |array| NewNodeData::Array {
                shape: &array.shape,
                dimension_names: array.names.as_deref(),
                manifests: &array.manifests,
            });
            let (id, user_data) = (NodeId::from_bytes(node.id), &node.user_data);
            encoder.push(NewNode { id, path: path.as_str(), user_data, data }).unwrap();
        }
        let file = encoder.finish(&Writer::default()).unwrap();
        let snapshot = Snapshot::decode(&file, id, &DecodeLimits::default()).unwrap();
        prop_assert_eq!(snapshot.parent_id(), parent_id);
        prop_assert_eq!((snapshot.flushed_at(), snapshot.message()), (flushed_at, message.as_str()));
        prop_assert_eq!(snapshot.metadata().unwrap(), metadata);
        prop_assert_eq!(snapshot.node_count(), nodes.len());
        for (path, node) in &nodes {
            let found = snapshot.node(path).unwrap();
            prop_assert_eq!(found.id(), NodeId::from_bytes(node.id));
            prop_assert_eq!(found.user_data(), &node.user_data[..]);
            prop_assert_eq!(&found.node_path(), path);
            let Some(array) = &node.array else {
                prop_assert!(found.array().is_none());
                continue;
            };
            let found = found.array().unwrap();
            prop_assert_eq!(found.shape().collect::<Vec<_>>(), &array.shape[..]);
            let names = found.dimension_names().map(|names| names.map(|name| name.map(str::to_owned)).collect());
            prop_assert_eq!(names, array.names.clone());
            let manifests: Vec<_> =
                found.manifests().map(|m| ManifestRef { id: m.id(), extents: m.extents() }).collect();
            prop_assert_eq!(&manifests, &array.manifests);
        }
        let again = roundtrip::encode_snapshot(&snapshot).unwrap();
        prop_assert_eq!(again, file, "same content, same bytes");
    }
}

#[derive(Debug, Clone)]
enum Chunk {
    Inline(Vec<u8>),
    Native([u8; 12], u64, u64),
    Virtual(String, u64, u64, Option<Result<String, u32>>),
}

impl Chunk {
    fn borrowed(&self) -> ChunkRef<'_> {
        match self {
            Self::Inline(bytes) => ChunkRef::Inline(bytes),
            &Self::Native(id, offset, length) => ChunkRef::Native {
                id: ChunkId::from_bytes(id),
                offset,
                length,
            },
            Self::Virtual(location, offset, length, checksum) => ChunkRef::Virtual {
                location,
                offset: *offset,
                length: *length,
                checksum: checksum.as_ref().map(|checksum| match checksum {
                    Ok(etag) => Checksum::ETag(etag),
                    Err(seconds) => Checksum::LastModified(*seconds),
                }),
            },
        }
    }
}

fn chunk() -> impl Strategy<Value = Chunk> {
    let half = 0..u64::MAX / 2;
    let checksum = prop_oneof![".*".prop_map(Ok), (1..u32::MAX).prop_map(Err)];
    // Few distinct locations, so that some are shared.
    let location = prop_oneof!["[ab]", ".*"];
    prop_oneof![
        vec(any::<u8>(), 0..30).prop_map(Chunk::Inline),
        (any::<[u8; 12]>(), half.clone(), half.clone())
            .prop_map(|(id, a, b)| Chunk::Native(id, a, b)),
        (location, half.clone(), half, option::of(checksum))
            .prop_map(|(l, a, b, c)| Chunk::Virtual(l, a, b, c)),
    ]
}

/// Indices of one rank; small numbers, so that neighbours occur, and some of any size.
fn refs() -> impl Strategy<Value = BTreeMap<Vec<u32>, Chunk>> {
    (0..4_usize).prop_flat_map(|rank| {
        let coordinate = prop_oneof![0..5_u32, 0..u32::MAX];
        btree_map(vec(coordinate, rank), chunk(), 1..100)
    })
}

proptest! {
    #![proptest_config(config_of_runs())]

    #[test]
    fn manifests_come_back(
        id: [u8; 12],
        arrays in btree_map(any::<[u8; 8]>(), refs(), 0..4),
        level in -5..20_i32,
    ) {
        let id = ManifestId::from_bytes(id);
        let mut encoder = ManifestEncoder::new(id);
        for (node, refs) in &arrays {
            encoder.begin_array(NodeId::from_bytes(*node)).unwrap();
            for (index, chunk) in refs {
                encoder.push(index, chunk.borrowed()).unwrap();
            }
            let extents = Extents::bounding(refs.keys().map(Vec::as_slice));
            prop_assert_eq!(encoder.extents_of_current(), extents);
        }
        let file = encoder.finish(&Writer::default().with_compression_level(level)).unwrap().bytes;
        let manifest = Manifest::decode(&file, id, &DecodeLimits::default()).unwrap();
        prop_assert_eq!(manifest.array_count(), arrays.len());
        for (node, refs) in &arrays {
            let node = NodeId::from_bytes(*node);
            prop_assert_eq!(manifest.array(&node).unwrap().len(), refs.len());
            for (index, chunk) in refs {
                prop_assert_eq!(manifest.get(&node, index).unwrap(), Some(chunk.borrowed()));
            }
        }
        roundtrip::look_up_everything(&manifest);
        let again = roundtrip::encode_manifest(&manifest).unwrap();
        let again = Manifest::decode(&again, id, &DecodeLimits::default()).unwrap();
        prop_assert_eq!(roundtrip::manifest_content(&again), roundtrip::manifest_content(&manifest));
    }

    #[test]
    fn transaction_logs_come_back(
        id: [u8; 12],
        lists: [BTreeSet<[u8; 8]>; 6],
        chunks in btree_map(any::<[u8; 8]>(), vec(any::<[u32; 2]>(), 0..10), 0..4),
    ) {
        let id = SnapshotId::from_bytes(id);
        let lists = lists.map(|ids| ids.into_iter().map(NodeId::from_bytes).collect::<Vec<_>>());
        let mut encoder = TransactionLogEncoder::new(id);
        let [a, b, c, d, e, f] = lists.each_ref().map(|ids| ids.iter().rev().copied());
        encoder.new_groups(a).new_arrays(b).deleted_groups(c).deleted_arrays(d).updated_arrays(e).updated_groups(f);
        for (node, indices) in &chunks {
            encoder.begin_chunks(NodeId::from_bytes(*node)).unwrap();
            indices.iter().for_each(|index| encoder.push_chunk(index).unwrap());
        }
        let file = encoder.finish(&Writer::default()).unwrap();
        let log = TransactionLog::decode(&file, id, &DecodeLimits::default()).unwrap();
        let found: [Vec<NodeId>; 6] = [
            log.new_groups().collect(),
            log.new_arrays().collect(),
            log.deleted_groups().collect(),
            log.deleted_arrays().collect(),
            log.updated_arrays().collect(),
            log.updated_groups().collect(),
        ];
        prop_assert_eq!(found, lists);
        let found: BTreeMap<_, Vec<_>> = log
            .updated_chunks()
            .map(|array| (*array.node_id().as_bytes(), array.chunks().map(|chunk| [chunk[0], chunk[1]]).collect()))
            .collect();
        prop_assert_eq!(found, chunks);
        prop_assert_eq!(roundtrip::encode_log(&log).unwrap(), file);
    }
}

fn split_condition() -> impl Strategy<Value = SplitCondition> {
    let leaf = prop_oneof![
        Just(SplitCondition::AnyArray),
        ".*".prop_map(|regex| SplitCondition::PathMatches { regex }),
        ".*".prop_map(|regex| SplitCondition::NameMatches { regex }),
    ];
    leaf.prop_recursive(3, 10, 3, |inner| {
        let some = vec(inner, 0..3);
        prop_oneof![
            some.clone().prop_map(SplitCondition::Or),
            some.prop_map(SplitCondition::And)
        ]
    })
}

fn preload_condition() -> impl Strategy<Value = PreloadCondition> {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let leaf = prop_oneof![
        Just(PreloadCondition::True),
        Just(PreloadCondition::False),
        ".*".prop_map(|regex| PreloadCondition::NameMatches { regex }),
        any::<(u32, u32)>().prop_map(|(a, b)| PreloadCondition::NumRefs {
            from: Included(a),
            to: Excluded(b)
        }),
        any::<u32>().prop_map(|a| PreloadCondition::NumRefs {
            from: Unbounded,
            to: Included(a)
        }),
    ];
    leaf.prop_recursive(3, 10, 3, |inner| {
        let some = vec(inner, 0..3);
        prop_oneof![
            some.clone().prop_map(PreloadCondition::Or),
            some.prop_map(PreloadCondition::And)
        ]
    })
}

fn split_rule() -> impl Strategy<Value = SplitRule> {
    let condition = prop_oneof![
        Just(DimensionCondition::Any),
        any::<usize>().prop_map(DimensionCondition::Axis),
        ".*".prop_map(DimensionCondition::DimensionName),
    ];
    let dimension = (condition, any::<u32>()).prop_map(|(condition, num_chunks)| DimensionRule {
        condition,
        num_chunks,
    });
    (split_condition(), vec(dimension, 0..3))
        .prop_map(|(arrays, dimensions)| SplitRule { arrays, dimensions })
}

fn config() -> impl Strategy<Value = RepositoryConfig> {
    let preload = (option::of(any::<u32>()), option::of(preload_condition())).prop_map(
        |(max_total_refs, preload_if)| PreloadConfig {
            max_total_refs,
            preload_if,
            ..Default::default()
        },
    );
    let splitting = option::of(vec(split_rule(), 0..3)).prop_map(|split_sizes| SplittingConfig {
        split_sizes,
        ..Default::default()
    });
    let manifest = (option::of(preload), option::of(splitting)).prop_map(|(preload, splitting)| {
        ManifestConfig {
            preload,
            splitting,
            ..Default::default()
        }
    });
    let store = prop_oneof![
        Just(VirtualStore::InMemory),
        ".*".prop_map(VirtualStore::LocalFileSystem),
        (btree_map("[a-z]", ".*", 0..3), btree_map(".*", ".*", 0..3))
            .prop_map(|(options, headers)| VirtualStore::Http(HttpOptions { options, headers })),
    ];
    let container = ("[a-z]*", option::of(".*"), store).prop_map(|(prefix, name, store)| {
        VirtualChunkContainer {
            name,
            url_prefix: format!("{prefix}/"),
            store,
            unknown: Default::default(),
        }
    });
    let storage = option::of(".*").prop_map(|storage_class| StorageConfig {
        storage_class,
        ..Default::default()
    });
    (
        option::of(any::<u16>()),
        option::of(storage),
        option::of(manifest),
        option::of(vec(container, 0..3)),
    )
        .prop_map(
            |(threshold, storage, manifest, containers)| RepositoryConfig {
                inline_chunk_threshold_bytes: threshold,
                storage,
                manifest,
                virtual_chunk_containers: containers.map(FromIterator::from_iter),
                ..Default::default()
            },
        )
}

proptest! {
    #![proptest_config(config_of_runs())]

    #[test]
    fn configurations_come_back(config in config()) {
        let file = config.encode().unwrap();
        let again = RepositoryConfig::decode(&file).unwrap();
        prop_assert_eq!(&again, &config, "{}", String::from_utf8_lossy(&file));
        prop_assert_eq!(again.merged_over(&config), config);
    }

    #[test]
    fn ids_come_back(object: [u8; 12], node: [u8; 8]) {
        let id = ChunkId::from_bytes(object);
        prop_assert_eq!(id.to_string().len(), 20);
        prop_assert_eq!(id.to_string().parse(), Ok(id));
        prop_assert_eq!(id.to_string().to_lowercase().parse(), Ok(id));
        let id = NodeId::from_bytes(node);
        prop_assert_eq!(id.to_string().len(), 13);
        prop_assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn texts_that_are_ids_are_the_ids_texts(text in "[0-9A-Z]{20}") {
        if let Ok(id) = text.parse::<SnapshotId>() {
            let canonical = text.replace('O', "0").replace(['I', 'L'], "1");
            prop_assert_eq!(id.to_string(), canonical);
        }
    }

    #[test]
    fn paths_come_back(a in node_path(), b in node_path()) {
        prop_assert_eq!(&NodePath::parse(a.as_str()).unwrap(), &a);
        prop_assert_eq!(a.cmp(&b), a.as_str().as_bytes().cmp(b.as_str().as_bytes()));
        prop_assert_eq!(a.is_ancestor_of(&b), b.ancestors().any(|above| above == a));
        prop_assert_eq!(a.cmp_segments(&b), a.segments().collect::<Vec<_>>().cmp(&b.segments().collect()));
        if let Some(parent) = a.parent() {
            prop_assert_eq!(parent.join(a.name()).unwrap(), a);
        }
    }

    #[test]
    fn any_text_is_a_path_or_not(text in ".*") {
        if let Ok(path) = NodePath::parse(&text) {
            prop_assert_eq!(path.as_str(), text.as_str());
            prop_assert_eq!(format!("/{}", path.segments().collect::<Vec<_>>().join("/")), text);
        }
    }

    #[test]
    fn ref_names_come_back_from_keys(name in "[^/]*") {
        for form in [KeyForm::Raw, KeyForm::ObjectStorePath] {
            let parse = |key: String| layout::parse_ref_key(&key, form);
            prop_assert_eq!(parse(layout::branch_key(&name, form)), Some(RefKey::Branch(name.clone())));
            prop_assert_eq!(parse(layout::tag_key(&name, form)), Some(RefKey::Tag(name.clone())));
            prop_assert_eq!(parse(layout::tombstone_key(&name, form)), Some(RefKey::Tombstone(name.clone())));
        }
        // The other spelling is read as the name, or is the store's own for another one.
        for form in [KeyForm::Raw, KeyForm::ObjectStorePath] {
            if let Some(second) = layout::second_form(&name, form) {
                let found = layout::read_ref_key(&layout::branch_key(&name, second), form);
                let (found, spelled) = found.unwrap();
                match form {
                    KeyForm::Raw => prop_assert_eq!(spelled, form),
                    KeyForm::ObjectStorePath => {
                        prop_assert_eq!((found, spelled), (RefKey::Branch(name.clone()), second));
                    }
                }
            }
        }
        let key = layout::branch_key(&name, KeyForm::ObjectStorePath);
        let plain = key.is_ascii() && !key.contains(['{', '#', '\\', '\u{7f}']);
        prop_assert!(plain, "{key}");
    }

    #[test]
    fn id_keys_come_back(id: [u8; 12]) {
        for key in [
            layout::IdKey::Snapshot(SnapshotId::from_bytes(id)),
            layout::IdKey::Manifest(ManifestId::from_bytes(id)),
            layout::IdKey::TransactionLog(SnapshotId::from_bytes(id)),
            layout::IdKey::Chunk(ChunkId::from_bytes(id)),
        ] {
            prop_assert_eq!(layout::parse_id_key(&key.key()), Some(key));
        }
    }

    #[test]
    fn byte_ranges_stay_inside(a: u64, b: u64, size: u64) {
        let ranges = [
            ByteRange::All,
            ByteRange::From { offset: a },
            ByteRange::Range { start: a, end: b },
            ByteRange::Suffix { length: a },
        ];
        for range in ranges.into_iter().filter_map(|range| range.resolve(size)) {
            prop_assert!(range.start <= range.end && range.end <= size);
        }
    }

    #[test]
    fn refs_come_back(id: [u8; 12]) {
        let id = SnapshotId::from_bytes(id);
        prop_assert_eq!(decode_ref(&encode_ref(id)).unwrap(), id);
    }

    #[test]
    fn boxes_hold_what_they_bound(indices in btree_set(vec(0..u32::MAX, 3), 1..20)) {
        let extents = Extents::bounding(indices.iter().map(Vec::as_slice)).unwrap();
        prop_assert!(indices.iter().all(|index| extents.contains(index)));
        prop_assert!(extents.intersects(&extents));
    }

    #[test]
    fn any_bytes_can_be_offered(bytes in vec(any::<u8>(), 0..200), kind in 1..3_u8) {
        let limits = DecodeLimits::default();
        let mut file = MAGIC.to_vec();
        file.extend_from_slice(&[b' '; 24]);
        file.extend_from_slice(&[1, kind, 0]);
        file.extend_from_slice(&bytes);
        for bytes in [&bytes, &file] {
            let _ = Snapshot::decode(bytes, SnapshotId::INITIAL, &limits);
            let _ = Manifest::decode(bytes, ManifestId::from_bytes([0; 12]), &limits);
            let _ = TransactionLog::decode(bytes, SnapshotId::INITIAL, &limits);
            let _ = RepositoryConfig::decode(bytes);
            let _ = decode_ref(bytes);
        }
    }
}
