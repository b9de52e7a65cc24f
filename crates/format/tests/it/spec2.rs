//! Spec 2: whatever can be written comes back, and any bytes can be offered for reading.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{decode, repo_objects, roundtrip, v2_samples};
use bytes::Bytes;
use icefield_format::*;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

const ID: SnapshotId = SnapshotId::from_bytes([5; 12]);
const MANIFEST: ManifestId = ManifestId::from_bytes([3; 12]);

fn node(byte: u8) -> NodeId {
    NodeId::from_bytes([byte; 8])
}

fn limits() -> DecodeLimits {
    DecodeLimits::up_to(SpecVersion::V2)
}

/// Returns a file with its body stored as it is, so that changes reach the flatbuffer.
fn uncompressed(file: &[u8]) -> Vec<u8> {
    let mut plain = file[..HEADER_LEN].to_vec();
    plain[38] = Compression::None as u8;
    plain.extend(zstd::stream::decode_all(&file[HEADER_LEN..]).unwrap());
    plain
}

/// Reads a version of `repo` whole, and writes it again.
fn read_repo(file: &[u8]) -> Result<(), FormatError> {
    let info = RepoInfo::decode(file, &limits())?;
    let _ = (info.metadata(1 << 20), info.config());
    for snapshot in info.snapshots().snapshots() {
        let _ = snapshot.metadata(1 << 20);
    }
    if let Ok(file) = info.encode(&Writer::default()) {
        assert_eq!(RepoInfo::decode(&file, &limits()).unwrap(), info);
    }
    Ok(())
}

#[test]
fn files_of_spec_2_truncated_at_every_byte() {
    let is_cut = |error: FormatError| match error {
        FormatError::Empty { .. } | FormatError::Truncated { .. } => {}
        error => panic!("{error}"),
    };
    for sample in v2_samples()
        .iter()
        .filter(|it| it.bytes.len() < 600)
        .step_by(3)
    {
        for end in 0..sample.bytes.len() {
            is_cut(
                decode(sample.key, &sample.bytes[..end])
                    .map(drop)
                    .unwrap_err(),
            );
        }
    }
    for (_, file) in repo_objects().iter().step_by(10) {
        for end in 0..file.len() {
            is_cut(RepoInfo::decode(&file[..end], &limits()).unwrap_err());
        }
    }
}

#[test]
fn every_byte_and_word_of_a_body_of_spec_2_made_hostile() {
    let mut accepted = 0;
    let mut offer = |file: &[u8], read: &dyn Fn(&[u8]) -> Result<(), FormatError>| {
        let good = uncompressed(file);
        for at in HEADER_LEN..good.len() {
            let here = (at - HEADER_LEN) as u32;
            for word in [0, u32::MAX, 1 << 31, 1 << 30, here, here.wrapping_neg()] {
                let mut bad = good.clone();
                if let Some(target) = bad.get_mut(at..at + 4) {
                    target.copy_from_slice(&word.to_le_bytes());
                    accepted += usize::from(read(&bad).is_ok());
                }
            }
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[at] = byte;
                accepted += usize::from(read(&bad).is_ok());
            }
        }
    };
    for sample in v2_samples()
        .iter()
        .filter(|it| it.bytes.len() < 500)
        .step_by(12)
    {
        offer(&sample.bytes, &|file| {
            let decoded = decode(sample.key, file)?;
            let content = decoded.content();
            if let Ok(written) = decoded.encode() {
                assert_eq!(decode(sample.key, &written).unwrap().content(), content);
            }
            Ok(())
        });
    }
    for (_, file) in repo_objects()
        .iter()
        .filter(|(_, file)| file.len() < 500)
        .step_by(12)
    {
        offer(file, &read_repo);
    }
    println!("{accepted} changed bodies are still valid files");
    assert!(accepted > 1000, "{accepted}");
}

#[test]
fn files_of_each_kind_are_no_files_of_another() {
    let samples = v2_samples();
    let (_, repo) = &repo_objects()[0];
    for sample in samples.iter().step_by(20) {
        let error = decode(sample.key, repo).map(drop).unwrap_err();
        assert!(matches!(error, FormatError::WrongKind { .. }), "{error}");
        let error = RepoInfo::decode(&sample.bytes, &limits()).unwrap_err();
        assert!(matches!(error, FormatError::WrongKind { .. }), "{error}");
        assert!(error.to_string().starts_with("repo is a "), "{error}");
    }
    let mut old = repo.clone();
    old[36] = 1;
    let error = RepoInfo::decode(&old, &limits()).unwrap_err();
    assert!(
        matches!(error, FormatError::InvalidSpecVersion { found: 1, .. }),
        "{error}"
    );
}

#[test]
fn a_file_of_spec_1_that_calls_itself_spec_2_lacks_fields() {
    let mut told = 0;
    for sample in crate::common::v1_samples() {
        let mut file = sample.bytes.clone();
        file[36] = 2;
        match decode(sample.key, &file) {
            Err(FormatError::MissingField { field, .. }) => {
                assert!(
                    ["manifest_files_v2", "shape_v2"].contains(&field),
                    "{field}"
                );
                told += 1;
            }
            Err(error) => panic!("{error}"),
            // Manifests and logs differ in nothing that must be there.
            Ok(_) => assert!(!matches!(sample.key, layout::IdKey::Snapshot(_))),
        }
    }
    assert!(told > 20, "{told}");
}

#[test]
fn the_first_files_of_a_repository_are_those_of_the_reference() {
    let root = crate::common::vectors().join("v2-empty/repo");
    let theirs = std::fs::read(root.join(layout::snapshot_key(SnapshotId::INITIAL))).unwrap();
    let theirs = Snapshot::decode(&theirs, SnapshotId::INITIAL, &limits()).unwrap();
    let writer = Writer::default();
    let ours = initial_snapshot_in(SpecVersion::V2, theirs.flushed_at(), &writer);
    let ours = Snapshot::decode(&ours, SnapshotId::INITIAL, &limits()).unwrap();
    assert_eq!(
        roundtrip::snapshot_content(&ours),
        roundtrip::snapshot_content(&theirs)
    );
    let metadata = writer.object_metadata_in(SpecVersion::V2, FileKind::RepoInfo);
    assert_eq!(metadata[0], ("ic_spec_ver", "2".to_owned()));
    assert_eq!(metadata[2], ("ic_file_type", "repo-info".to_owned()));
}

fn locations(count: usize) -> Vec<String> {
    let name = |at| format!("s3://some-bucket/data/model-run-7/output-{at:05}.nc");
    (0..count).map(name).collect()
}

#[test]
fn locations_are_compressed_with_a_trained_dictionary() {
    let locations = locations(2000);
    let texts = || locations.iter().map(String::as_str);
    let settings = LocationCompression::default();
    let dictionary = LocationDictionary::train(texts(), &settings).unwrap();
    assert_eq!(
        LocationDictionary::train(texts(), &settings),
        Some(dictionary.clone())
    );
    assert!(dictionary.as_bytes().len() <= 2048);
    assert_eq!(
        LocationDictionary::train(texts().take(999), &settings),
        None
    );
    assert_eq!(
        LocationDictionary::train(vec!["s3://b"; 2000].into_iter(), &settings),
        None
    );

    let encode = |dictionary: Option<&LocationDictionary>| {
        let mut encoder = ManifestEncoder::for_version(SpecVersion::V2, MANIFEST);
        if let Some(dictionary) = dictionary {
            encoder = encoder
                .with_location_dictionary(dictionary.clone(), 3)
                .unwrap();
        }
        encoder.begin_array(node(1)).unwrap();
        for (at, location) in (0..).zip(&locations) {
            let (offset, length, checksum) = (7, 9, Some(Checksum::LastModified(at)));
            let chunk = |location| ChunkRef::Virtual {
                location,
                offset,
                length,
                checksum,
            };
            encoder.push(&[2 * at], chunk(location)).unwrap();
            // A neighbour shares its location.
            encoder.push(&[2 * at + 1], chunk(location)).unwrap();
        }
        // One is too long for a frame.
        let long = format!("s3://some-bucket/{}", "x".repeat(2000));
        let chunk = ChunkRef::Virtual {
            location: &long,
            offset: 0,
            length: 1,
            checksum: None,
        };
        encoder.push(&[u32::MAX - 1], chunk).unwrap();
        encoder.finish(&Writer::default()).unwrap().bytes
    };
    let plain = Manifest::decode(&encode(None), MANIFEST, &limits()).unwrap();
    let file = encode(Some(&dictionary));
    let manifest = Manifest::decode(&file, MANIFEST, &limits()).unwrap();
    assert_eq!(manifest.location_dictionary(), Some(dictionary.as_bytes()));
    assert_eq!(
        roundtrip::manifest_content(&manifest),
        roundtrip::manifest_content(&plain)
    );
    let refs = manifest.array(&node(1)).unwrap();
    let compressed = refs.refs().filter(|it| it.is_location_compressed()).count();
    assert_eq!(compressed, 4000);
    assert!(
        !plain
            .array(&node(1))
            .unwrap()
            .record_at(0)
            .is_location_compressed()
    );
    // Decompressed bytes count, in the weight and in the limit.
    assert!(manifest.body_len() > 100_000);
    let most = uncompressed(&file).len() as u64 - HEADER_LEN as u64;
    let tight = |more: u64| DecodeLimits {
        max_decompressed: most + more,
        ..limits()
    };
    let error = Manifest::decode(&file, MANIFEST, &tight(1000)).unwrap_err();
    assert!(matches!(error, FormatError::TooLarge { .. }), "{error}");
    assert!(Manifest::decode(&file, MANIFEST, &tight(200_000)).is_ok());
    // A copy whose refs lie elsewhere keeps its locations.
    let by = [5];
    let within = [0..u32::MAX - 5];
    let moved = manifest.translated(
        &node(1),
        &within,
        &by,
        ManifestId::from_bytes([4; 12]),
        &Writer::default(),
    );
    let moved = moved.unwrap();
    if let Some(moved) = moved {
        let moved = moved.manifest;
        assert_eq!(moved.spec_version(), SpecVersion::V2);
        assert_eq!(
            moved.get(&node(1), &[5]).unwrap(),
            manifest.get(&node(1), &[0]).unwrap()
        );
    }
}

/// A manifest of two arrays whose refs are virtual, but for one in a hundred, with fields that no version knows yet.
fn with_locations(version: SpecVersion, locations: &[String]) -> EncodedManifest {
    let mut encoder = ManifestEncoder::for_version(version, MANIFEST);
    encoder.extra(b"of the manifest");
    for array in [1, 2] {
        let begun = encoder.begin_array_with_extra(node(array), Some(b"of the array"));
        begun.unwrap();
        for (at, location) in (0..).zip(locations) {
            let chunk = match at % 100 {
                99 => ChunkRef::Inline(b"inline"),
                _ => ChunkRef::Virtual {
                    location,
                    offset: 7 * u64::from(at),
                    length: 9,
                    checksum: Some(Checksum::ETag("tag")),
                },
            };
            let extra = (at % 7 == 0).then_some(&b"of the ref"[..]);
            encoder.push_with_extra(&[at, 1], chunk, extra).unwrap();
        }
    }
    encoder.finish(&Writer::default()).unwrap()
}

#[test]
fn a_manifest_with_many_locations_is_smaller_with_a_dictionary_of_its_own() {
    let (settings, writer) = (LocationCompression::default(), Writer::default());
    let decode =
        |encoded: &EncodedManifest| Manifest::decode(&encoded.bytes, MANIFEST, &limits()).unwrap();
    let plain = with_locations(SpecVersion::V2, &locations(3000));
    let compress = |encoded: &EncodedManifest, settings: &LocationCompression| {
        let compressed = encoded.clone().with_compressed_locations(settings, &writer);
        compressed.unwrap()
    };
    let compressed = compress(&plain, &settings);
    assert_eq!(
        compressed.bytes,
        compress(&plain, &settings).bytes,
        "the same refs give the same bytes"
    );
    let (before, after) = (decode(&plain), decode(&compressed));
    assert!(before.location_dictionary().is_none() && after.location_dictionary().is_some());
    assert_eq!(
        roundtrip::manifest_content(&after),
        roundtrip::manifest_content(&before)
    );
    assert_eq!(compressed.info.num_chunk_refs, plain.info.num_chunk_refs);
    assert_eq!(compressed.info.size_bytes, compressed.bytes.len() as u64);
    let bodies = [&plain, &compressed].map(|it| uncompressed(&it.bytes).len());
    let files = [&plain, &compressed].map(|it| it.bytes.len());
    println!("bodies before and after: {bodies:?}; files: {files:?}");
    assert!(bodies[1] + 40_000 < bodies[0], "{bodies:?}");
    // Frames do not compress again.
    assert!(files[1] < 2 * files[0], "{files:?}");

    // Left as they are: too few, of spec 1, all the same, compressed already.
    let many = LocationCompression {
        min_num_chunks: 6000,
        ..settings
    };
    assert_eq!(compress(&plain, &many).bytes, plain.bytes);
    let first = with_locations(SpecVersion::V1, &locations(3000));
    assert_eq!(compress(&first, &settings).bytes, first.bytes);
    let same = with_locations(SpecVersion::V2, &vec!["s3://b/c".to_owned(); 3000]);
    assert_eq!(compress(&same, &settings).bytes, same.bytes);
    let none = LocationCompression {
        dictionary_max_training_samples: 0,
        ..settings
    };
    assert_eq!(compress(&plain, &none).bytes, plain.bytes);
    assert_eq!(compress(&compressed, &settings).bytes, compressed.bytes);
    // Absurd settings claim no memory.
    let large = LocationCompression {
        dictionary_max_size_bytes: u32::MAX,
        dictionary_max_training_samples: u16::MAX,
        compression_level: i32::MAX,
        ..settings
    };
    let large = compress(&plain, &large);
    assert!(
        decode(&large)
            .location_dictionary()
            .unwrap_or_default()
            .len()
            < 1 << 20
    );
    assert_eq!(
        roundtrip::manifest_content(&decode(&large)),
        roundtrip::manifest_content(&before)
    );
}

#[test]
fn what_is_wrong_with_compressed_locations_is_told() {
    let locations = locations(1200);
    let texts = locations.iter().map(String::as_str);
    let dictionary = LocationDictionary::train(texts, &LocationCompression::default()).unwrap();
    let mut reader = dictionary.reader().unwrap();
    let frame = dictionary.writer(3).unwrap().write(&locations[7]).unwrap();
    assert_eq!(reader.read(&frame), Ok(locations[7].as_str()));
    for end in 0..frame.len() {
        assert!(
            matches!(reader.read(&frame[..end]), Err(LocationError::Frame(_))),
            "{end}"
        );
    }
    let twice = [frame.as_slice(), frame.as_slice()].concat();
    assert!(matches!(reader.read(&twice), Err(LocationError::Frame(_))));
    let long = zstd::bulk::compress(&[b'x'; 2000], 3).unwrap();
    assert!(matches!(reader.read(&long), Err(LocationError::Frame(_))));
    let binary = zstd::bulk::compress(&[0xff; 20], 3).unwrap();
    assert_eq!(reader.read(&binary), Err(LocationError::Utf8));
    assert_eq!(
        reader.read(&[0; 5000]),
        Err(LocationError::TooLong { len: 5000 })
    );
    let mut broken = dictionary.as_bytes().to_vec();
    broken.truncate(20);
    let broken = LocationDictionary::from_bytes(Bytes::from(broken));
    assert_eq!(broken, Err(LocationError::Dictionary));

    // The same in a manifest: another dictionary, and none.
    let samples = v2_samples();
    let has_dictionary = |sample: &&crate::common::Sample| match decode(sample.key, &sample.bytes) {
        Ok(crate::common::Decoded::Manifest(manifest)) => manifest.location_dictionary().is_some(),
        _ => false,
    };
    let sample = samples.iter().find(has_dictionary).unwrap();
    let good = uncompressed(&sample.bytes);
    let magic = 0xec30_a437_u32.to_le_bytes();
    let at = good.windows(4).position(|it| it == magic).unwrap();
    let mut other = good.clone();
    other[at + 4] ^= 1;
    let error = decode(sample.key, &other).map(drop).unwrap_err();
    assert!(
        matches!(error, FormatError::CompressedLocation { position: 0, .. }),
        "{error}"
    );
    let mut shorter = good;
    shorter[at - 4..at].copy_from_slice(&8_u32.to_le_bytes());
    let error = decode(sample.key, &shorter).map(drop).unwrap_err();
    assert!(
        matches!(error, FormatError::LocationDictionary { .. }),
        "{error}"
    );
}

#[test]
fn spec_1_has_no_moves_and_no_dictionaries() {
    let moved = MovedNode {
        from: "/a".parse().unwrap(),
        to: "/b".parse().unwrap(),
        id: node(1),
        kind: NodeKind::Group,
    };
    let mut encoder = TransactionLogEncoder::new(ID);
    encoder.moved_nodes([moved]);
    let error = encoder.finish(&Writer::default()).unwrap_err();
    assert!(matches!(error, FormatError::NotInVersion { .. }), "{error}");
    let locations = locations(1200);
    let texts = locations.iter().map(String::as_str);
    let dictionary = LocationDictionary::train(texts, &LocationCompression::default()).unwrap();
    let error = ManifestEncoder::new(MANIFEST).with_location_dictionary(dictionary, 3);
    assert!(matches!(error, Err(FormatError::NotInVersion { .. })));
}

#[test]
fn moves_are_in_the_order_of_segments() {
    let moved = |byte: u8, to: &str| MovedNode {
        from: format!("/from-{byte}").parse().unwrap(),
        to: to.parse().unwrap(),
        id: node(byte),
        kind: if byte.is_multiple_of(2) {
            NodeKind::Group
        } else {
            NodeKind::Array
        },
    };
    let finish = |moves: &[MovedNode]| {
        let mut encoder = TransactionLogEncoder::for_version(SpecVersion::V2, ID);
        encoder.moved_nodes(moves.iter().cloned());
        encoder.finish(&Writer::default())
    };
    // By bytes `/a-b` would come before `/a/b`.
    let moves = ["/ab", "/a-b", "/a/b", "/a", "/"];
    let moves: Vec<_> = (1..).zip(moves).map(|(byte, to)| moved(byte, to)).collect();
    let log = TransactionLog::decode(&finish(&moves).unwrap(), ID, &limits()).unwrap();
    let found: Vec<_> = log.moved_nodes().map(|moved| moved.to()).collect();
    assert_eq!(found, ["/", "/a", "/a/b", "/a-b", "/ab"]);
    let found: BTreeSet<_> = log
        .moved_nodes()
        .map(|it| format!("{:?}", it.moved()))
        .collect();
    let expected: BTreeSet<_> = moves.iter().map(|it| format!("{it:?}")).collect();
    assert_eq!(found, expected);
    let error = finish(&[moved(1, "/a"), moved(2, "/a")]).unwrap_err();
    assert!(matches!(
        error,
        FormatError::Duplicate {
            list: SortedList::MovedNodes,
            ..
        }
    ));
    let error = finish(&[moved(1, "/a"), moved(1, "/b")]).unwrap_err();
    assert!(
        matches!(error, FormatError::DuplicateNodeId { .. }),
        "{error}"
    );
    // An empty list is written, too.
    let empty = TransactionLog::decode(&finish(&[]).unwrap(), ID, &limits()).unwrap();
    assert_eq!(
        (empty.moved_nodes().len(), empty.spec_version()),
        (0, SpecVersion::V2)
    );
}

#[test]
fn extra_fields_are_kept_in_spec_2_and_left_out_of_spec_1() {
    let metadata = BTreeMap::new();
    let files = [ManifestFileInfo {
        id: MANIFEST,
        size_bytes: 1,
        num_chunk_refs: 2,
    }];
    for version in [SpecVersion::V1, SpecVersion::V2] {
        let expected = |extra: &'static [u8]| (version == SpecVersion::V2).then_some(extra);
        let mut encoder = SnapshotEncoder::for_version(
            version,
            NewSnapshot {
                id: ID,
                parent_id: None,
                flushed_at: 1,
                message: "",
                metadata: &metadata,
                manifest_files: &files,
            },
        );
        let root = NewNode {
            id: node(1),
            path: "/",
            user_data: b"{}",
            data: NewNodeData::Group,
        };
        encoder.push_with_extra(root, Some(b"node")).unwrap();
        encoder
            .extra(b"snapshot")
            .manifest_file_extra(MANIFEST, b"file");
        let file = encoder.finish(&Writer::default()).unwrap();
        let snapshot = Snapshot::decode(&file, ID, &limits()).unwrap();
        assert_eq!(snapshot.extra(), expected(b"snapshot"));
        assert_eq!(snapshot.node_at(0).extra(), expected(b"node"));
        assert_eq!(snapshot.manifest_file_extra(&MANIFEST), expected(b"file"));
        assert_eq!(snapshot.manifest_file(&MANIFEST), Some(files[0]));

        let mut encoder = ManifestEncoder::for_version(version, MANIFEST);
        encoder.extra(b"manifest");
        encoder
            .begin_array_with_extra(node(1), Some(b"array"))
            .unwrap();
        encoder
            .push_with_extra(&[0], ChunkRef::Inline(b"x"), Some(b"ref"))
            .unwrap();
        let file = encoder.finish(&Writer::default()).unwrap().bytes;
        let manifest = Manifest::decode(&file, MANIFEST, &limits()).unwrap();
        assert_eq!(manifest.extra(), expected(b"manifest"));
        let refs = manifest.array(&node(1)).unwrap();
        assert_eq!(refs.extra(), expected(b"array"));
        assert_eq!(refs.record_at(0).extra(), expected(b"ref"));

        let mut encoder = TransactionLogEncoder::for_version(version, ID);
        encoder.extra(b"log");
        let file = encoder.finish(&Writer::default()).unwrap();
        let log = TransactionLog::decode(&file, ID, &limits()).unwrap();
        assert_eq!(log.extra(), expected(b"log"));
    }
}

#[test]
fn more_chunks_than_spec_2_can_count_are_refused() {
    let metadata = BTreeMap::new();
    for (version, is_taken) in [(SpecVersion::V1, true), (SpecVersion::V2, false)] {
        let mut encoder = SnapshotEncoder::for_version(
            version,
            NewSnapshot {
                id: ID,
                parent_id: None,
                flushed_at: 1,
                message: "",
                metadata: &metadata,
                manifest_files: &[],
            },
        );
        let shape = [DimensionShape::regular(u64::MAX, 1)];
        let pushed = encoder.push(NewNode {
            id: node(1),
            path: "/a",
            user_data: b"{}",
            data: NewNodeData::Array {
                shape: &shape,
                dimension_names: None,
                manifests: &[],
            },
        });
        match pushed {
            Ok(()) => assert!(is_taken),
            Err(error) => assert!(
                !is_taken && matches!(error, FormatError::TooManyChunks { .. }),
                "{error}"
            ),
        }
    }
}

proptest! {
    #[test]
    fn dimensions_come_back_in_either_version(
        lengths in vec((any::<u64>(), any::<u32>()), 0..5),
        names in btree_map("[a-z]{1,3}", any::<i64>(), 0..3),
        message in ".*",
    ) {
        let shape: Vec<_> = lengths.iter()
            .map(|(length, count)| DimensionShape::counted(*length, *count))
            .collect();
        let metadata: BTreeMap<_, _> = names.into_iter().map(|(name, value)| (name, value.into())).collect();
        for version in [SpecVersion::V1, SpecVersion::V2] {
            let header = NewSnapshot {
                id: ID,
                parent_id: Some(SnapshotId::INITIAL),
                flushed_at: 1,
                message: &message,
                metadata: &metadata,
                manifest_files: &[],
            };
            let mut encoder = SnapshotEncoder::for_version(version, header);
            let data = NewNodeData::Array { shape: &shape, dimension_names: None, manifests: &[] };
            encoder.push(NewNode { id: node(1), path: "/a", user_data: b"{}", data }).unwrap();
            let file = encoder.finish(&Writer::default()).unwrap();
            let snapshot = Snapshot::decode(&file, ID, &limits()).unwrap();
            prop_assert_eq!(snapshot.spec_version(), version);
            prop_assert_eq!(snapshot.metadata().unwrap(), metadata.clone());
            prop_assert_eq!(snapshot.message(), message.as_str());
            prop_assert_eq!(snapshot.parent_id().is_some(), version == SpecVersion::V1);
            let array = snapshot.node_at(0).array().unwrap();
            prop_assert_eq!(array.rank(), shape.len());
            for (found, given) in array.shape().zip(&shape) {
                prop_assert_eq!(found.array_length, given.array_length);
                match version {
                    SpecVersion::V1 => prop_assert_eq!(found.chunk_length(), given.chunk_length()),
                    _ => prop_assert_eq!(found, *given),
                }
                prop_assert!(found.num_chunks() <= u64::from(u32::MAX));
            }
        }
    }
}
