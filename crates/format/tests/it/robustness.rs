//! Broken and hostile files: each gives a typed error, or a value that can be used, never a panic.
//!
//! Tests are named after their case in `docs/faults.md`.

use std::collections::BTreeSet;
use std::io::Write as _;

use crate::common::{Decoded, Sample, decode, v1_samples};
use icefield_format::layout::IdKey;
use icefield_format::{
    ChunkId, ChunkRef, Compression, DecodeLimits, FormatError, HEADER_LEN, Manifest,
    ManifestEncoder, ManifestId, NodeId, Snapshot, SnapshotId, Writer,
};

/// One file of each shape: the fixtures hold hundreds of like ones.
fn small_samples() -> Vec<Sample> {
    let mut seen = BTreeSet::new();
    let mut samples = v1_samples();
    samples.retain(|sample| {
        let kind = std::mem::discriminant(&sample.key);
        sample.bytes.len() < 700 && seen.insert((format!("{kind:?}"), sample.bytes.len() / 4))
    });
    assert!(samples.len() > 50, "{}", samples.len());
    samples
}

/// Returns the file with its body stored as it is, so that changes reach the flatbuffer.
fn uncompressed(sample: &Sample) -> Vec<u8> {
    let mut file = sample.bytes[..HEADER_LEN].to_vec();
    file[38] = Compression::None as u8;
    file.extend(zstd::stream::decode_all(&sample.bytes[HEADER_LEN..]).unwrap());
    file
}

/// Decodes and reads all of it.
fn read(key: IdKey, file: &[u8]) -> Result<String, FormatError> {
    let decoded = decode(key, file)?;
    if let Decoded::Manifest(manifest) = &decoded {
        for array in manifest.arrays() {
            for (position, record) in array.refs().enumerate() {
                assert_eq!(array.position(&record.index()), Ok(position));
            }
        }
    }
    Ok(decoded.content())
}

/// Each file that can be decoded comes back when it is encoded.
fn write_and_read(key: IdKey, file: &[u8], content: &str) {
    if let Ok(written) = decode(key, file).unwrap().encode() {
        assert_eq!(decode(key, &written).unwrap().content(), content);
    }
}

#[test]
fn d45_truncated_at_every_byte() {
    for sample in v1_samples() {
        for end in 0..sample.bytes.len() {
            match decode(sample.key, &sample.bytes[..end]) {
                Err(FormatError::Empty { .. }) => assert_eq!(end, 0),
                Err(FormatError::Truncated { found, needed, .. }) => {
                    assert!(
                        found == end && needed > end,
                        "{}: {end}",
                        sample.path.display()
                    );
                }
                Err(error) => panic!("{} cut at {end}: {error}", sample.path.display()),
                Ok(_) => panic!("{} cut at {end} was read", sample.path.display()),
            }
        }
    }
}

#[test]
fn d45_bodies_truncated_at_every_byte() {
    for sample in small_samples() {
        let file = uncompressed(&sample);
        for end in HEADER_LEN..file.len() {
            // The last bytes of a flatbuffer may be padding.
            if let Ok(content) = read(sample.key, &file[..end]) {
                assert_eq!(
                    content,
                    decode(sample.key, &sample.bytes).unwrap().content()
                );
                assert!(
                    file.len() - end < 8,
                    "{} cut at {end} was read",
                    sample.path.display()
                );
            }
        }
    }
}

/// The effects of flipped bits, by the kind of file.
#[derive(Debug, Default)]
struct Flips {
    refused: usize,
    without_effect: usize,
    undetected: usize,
}

impl Flips {
    fn try_one(&mut self, sample: &Sample, file: &mut [u8], content: &str, bit: usize) {
        file[bit / 8] ^= 1 << (bit % 8);
        match read(sample.key, file) {
            Err(_) => self.refused += 1,
            Ok(found) if found == content => self.without_effect += 1,
            Ok(_) => self.undetected += 1,
        }
        file[bit / 8] ^= 1 << (bit % 8);
    }

    /// The format has no checksum: a flip in the text of a message, say, cannot be noticed. So more
    /// undetected ones than at the time of writing are the sign of a check that was lost.
    #[track_caller]
    fn expect_at_most(&self, kind: &str, percent: usize) {
        let all = self.refused + self.without_effect + self.undetected;
        let found = 100 * self.undetected / all.max(1);
        println!("flips in {kind}: {self:?}, {found}% undetected");
        assert!(all > 300 && found <= percent, "{kind}: {found}%, {self:?}");
    }
}

/// The place of a kind in a list of three.
fn kind_of(key: IdKey) -> usize {
    match key {
        IdKey::Snapshot(_) => 0,
        IdKey::Manifest(_) => 1,
        _ => 2,
    }
}

#[test]
fn d46_one_bit_flipped_at_every_position() {
    let mut flips: [Flips; 3] = Default::default();
    for sample in small_samples() {
        let content = decode(sample.key, &sample.bytes).unwrap().content();
        let flips = &mut flips[kind_of(sample.key)];
        let mut file = sample.bytes.clone();
        for bit in 0..8 * file.len() {
            flips.try_one(&sample, &mut file, &content, bit);
        }
    }
    for (flips, (kind, percent)) in flips.iter().zip([
        ("snapshots", 37),
        ("manifests", 14),
        ("transaction logs", 9),
    ]) {
        flips.expect_at_most(kind, percent);
    }
}

#[test]
fn d46_bits_flipped_at_random_in_larger_files() {
    let mut flips: [Flips; 3] = Default::default();
    let mut state = 46_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % below
    };
    let mut samples = v1_samples();
    samples.retain(|sample| sample.bytes.len() >= 700);
    assert!(samples.len() > 5, "{}", samples.len());
    for sample in samples {
        let content = decode(sample.key, &sample.bytes).unwrap().content();
        let flips = &mut flips[kind_of(sample.key)];
        for mut file in [sample.bytes.clone(), uncompressed(&sample)] {
            for _ in 0..100 {
                let bit = random(8 * file.len());
                flips.try_one(&sample, &mut file, &content, bit);
            }
        }
    }
    // More than in the small ones: here most bytes of a body are ids, offsets and user data.
    for (flips, (kind, percent)) in flips.iter().zip([
        ("large snapshots", 57),
        ("large manifests", 65),
        ("large transaction logs", 35),
    ]) {
        flips.expect_at_most(kind, percent);
    }
}

#[test]
fn d50_every_byte_and_word_of_a_body_made_hostile() {
    let mut accepted = 0;
    for sample in small_samples().iter().step_by(6) {
        let good = uncompressed(sample);
        let mut offer = |file: &[u8]| {
            if let Ok(content) = read(sample.key, file) {
                accepted += 1;
                if accepted % 32 == 0 {
                    write_and_read(sample.key, file, &content);
                }
            }
        };
        for at in HEADER_LEN..good.len() {
            for value in [0, 1, 4, 0x7f, 0x80, 0xfc, 0xff] {
                let mut file = good.clone();
                file[at] = value;
                offer(&file);
            }
            // Lengths and offsets: huge, negative, to itself, to the start, just past the end.
            let here = (at - HEADER_LEN) as u32;
            let to_end = (good.len() - at) as u32;
            for word in [
                0,
                u32::MAX,
                1 << 31,
                1 << 30,
                here,
                here.wrapping_neg(),
                to_end,
            ] {
                let mut file = good.clone();
                if let Some(target) = file.get_mut(at..at + 4) {
                    target.copy_from_slice(&word.to_le_bytes());
                    offer(&file);
                }
            }
        }
    }
    println!("{accepted} changed bodies are still valid files");
    assert!(accepted > 1000);
}

#[test]
fn d53_files_under_each_others_names() {
    let samples = v1_samples();
    for pair in samples.windows(2) {
        if std::mem::discriminant(&pair[0].key) == std::mem::discriminant(&pair[1].key)
            && pair[0].key != pair[1].key
        {
            let error = decode(pair[0].key, &pair[1].bytes).map(drop).unwrap_err();
            assert!(matches!(error, FormatError::WrongObject { .. }), "{error}");
        }
    }
}

/// A snapshot whose body claims 800 MB of zeros, with the key that it is to be read under.
fn bomb() -> (IdKey, Vec<u8>) {
    let sample = v1_samples()
        .into_iter()
        .find(|sample| matches!(sample.key, IdKey::Snapshot(_)))
        .unwrap();
    let mut bomb = sample.bytes[..HEADER_LEN].to_vec();
    let mut encoder = zstd::stream::Encoder::new(&mut bomb, 3).unwrap();
    for _ in 0..800 {
        encoder.write_all(&[0; 1 << 20]).unwrap();
    }
    encoder.finish().unwrap();
    assert!(bomb.len() < 100_000, "{}", bomb.len());
    (sample.key, bomb)
}

#[test]
fn d49_a_small_file_cannot_claim_much_memory() {
    let (key, bomb) = bomb();
    let floor = DecodeLimits::default().ratio_floor;
    let error = decode(key, &bomb).map(drop).unwrap_err();
    assert!(
        matches!(error, FormatError::TooLarge { limit, .. } if limit == floor),
        "{error}"
    );
    // Who asks for it gets it, and then it is no snapshot.
    let limits = DecodeLimits {
        max_ratio: u64::MAX,
        ..DecodeLimits::default()
    };
    let IdKey::Snapshot(id) = key else {
        unreachable!()
    };
    let error = Snapshot::decode(&bomb, id, &limits).unwrap_err();
    assert!(matches!(error, FormatError::Malformed { .. }), "{error}");
}

/// The memory peak is one of a whole process, so this test starts itself in one of its own.
#[cfg(target_os = "linux")]
#[test]
fn d49_the_memory_for_a_bomb_is_bounded() {
    const ALONE: &str = "ICEFIELD_TEST_ALONE";
    const NAME: &str = "robustness::d49_the_memory_for_a_bomb_is_bounded";
    if std::env::var_os(ALONE).is_none() {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", NAME])
            .env(ALONE, "1")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let peak = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let kib = line.unwrap().split_whitespace().nth(1).unwrap();
        kib.parse::<u64>().unwrap() << 10
    };
    let (key, bomb) = bomb();
    let limit = DecodeLimits::default().ratio_floor;
    let before = peak();
    assert!(before < limit / 2, "the bomb itself took {before} bytes");
    assert!(decode(key, &bomb).is_err());
    let taken = peak() - before;
    assert!(taken < limit + (16 << 20), "{taken} bytes");
}

#[test]
fn what_compresses_well_can_be_written_and_read() {
    let id = ManifestId::from_bytes([3; 12]);
    let mut encoder = ManifestEncoder::new(id);
    encoder.begin_array(NodeId::from_bytes([1; 8])).unwrap();
    let chunk = [7; 4096];
    for at in 0..25_000 {
        encoder.push(&[at], ChunkRef::Inline(&chunk)).unwrap();
    }
    let file = encoder.finish(&Writer::default()).unwrap().bytes;
    assert!(file.len() < 400_000, "{}", file.len());
    let manifest = Manifest::decode(&file, id, &DecodeLimits::default()).unwrap();
    assert_eq!(manifest.total_refs(), 25_000);
}

/// Writes and reads a manifest of so many refs, in an array of one dimension, or of two.
fn reads(refs: u32, columns: Option<u32>) {
    let index = |at: u32| match columns {
        Some(columns) => vec![at / columns, at % columns],
        None => vec![at],
    };
    let (id, array) = (ManifestId::from_bytes([3; 12]), NodeId::from_bytes([1; 8]));
    let mut encoder = ManifestEncoder::new(id);
    encoder.begin_array(array).unwrap();
    for at in 0..refs {
        let mut chunk = [0; 12];
        chunk[..4].copy_from_slice(&at.wrapping_mul(2_654_435_761).to_le_bytes());
        let chunk = ChunkRef::Native {
            id: ChunkId::from_bytes(chunk),
            offset: 0,
            length: 4096,
        };
        encoder.push(&index(at), chunk).unwrap();
    }
    let writer = Writer::default().with_compression_level(1);
    let file = encoder.finish(&writer).unwrap().bytes;
    let manifest = Manifest::decode(&file, id, &DecodeLimits::default()).unwrap();
    assert_eq!(manifest.total_refs(), u64::from(refs));
    for at in [0, refs / 2, refs - 1] {
        assert!(manifest.get(&array, &index(at)).unwrap().is_some());
    }
    assert!(manifest.get(&array, &index(refs)).unwrap().is_none());
}

#[test]
fn d51_more_refs_than_the_stock_verifier_allows() {
    reads(1_100_000, Some(1000));
}

#[test]
fn d51_five_million_refs() {
    reads(5_000_000, None);
}

#[test]
#[ignore = "needs 2 GB of memory; run by `cargo xtask test`, stage `large`"]
fn d51_ten_million_refs() {
    reads(10_000_000, Some(1000));
}

#[test]
#[ignore = "needs 6 GB of memory; run by `cargo xtask test`, stage `large`"]
fn d51_a_body_beyond_the_readers_limits_is_not_written() {
    let id = ManifestId::from_bytes([3; 12]);
    let mut encoder = ManifestEncoder::new(id);
    encoder.begin_array(NodeId::from_bytes([1; 8])).unwrap();
    let bytes = vec![1; 1 << 20];
    let refused = (0..3000).find_map(|at| encoder.push(&[at], ChunkRef::Inline(&bytes)).err());
    assert!(matches!(refused, Some(FormatError::TooLarge { .. })));
    assert!(encoder.ref_count() > 1000);
}

#[test]
fn d58_large_node_data_is_carried() {
    let id = SnapshotId::from_bytes([1; 12]);
    let metadata = Default::default();
    let mut encoder = icefield_format::SnapshotEncoder::new(icefield_format::NewSnapshot {
        id,
        parent_id: None,
        flushed_at: 0,
        message: "",
        metadata: &metadata,
        manifest_files: &[],
    });
    let user_data: Vec<u8> = (0..8_u32 << 20)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let data = icefield_format::NewNodeData::Group;
    let node = icefield_format::NewNode {
        id: NodeId::from_bytes([1; 8]),
        path: "/",
        user_data: &user_data,
        data,
    };
    encoder.push(node).unwrap();
    let file = encoder.finish(&Writer::default()).unwrap();
    let snapshot = Snapshot::decode(&file, id, &DecodeLimits::default()).unwrap();
    assert!(snapshot.node_at(0).user_data() == user_data);
}

#[test]
fn d58_a_million_attributes_are_refused_both_ways() {
    let id = SnapshotId::from_bytes([1; 12]);
    let attributes = |count: usize| {
        let items = (0..count).map(|at| (at.to_string(), at.into()));
        let object = serde_json::Value::Object(items.collect());
        std::collections::BTreeMap::from([("attributes".to_owned(), object)])
    };
    let encode = |metadata: &std::collections::BTreeMap<String, serde_json::Value>| {
        let header = icefield_format::NewSnapshot {
            id,
            parent_id: None,
            flushed_at: 0,
            message: "",
            metadata,
            manifest_files: &[],
        };
        icefield_format::SnapshotEncoder::new(header).finish(&Writer::default())
    };
    let error = encode(&attributes(1_000_000)).unwrap_err();
    assert!(
        matches!(error, FormatError::MetadataTooLarge { .. }),
        "{error}"
    );
    let metadata = attributes(100_000);
    let file = encode(&metadata).unwrap();
    let read = |max_metadata| {
        let limits = DecodeLimits {
            max_metadata,
            ..DecodeLimits::default()
        };
        // The rest of the snapshot stays readable.
        Snapshot::decode(&file, id, &limits).unwrap().metadata()
    };
    assert!(read(64 << 20).unwrap() == metadata);
    let error = read(8 << 20).unwrap_err();
    assert!(
        matches!(error, FormatError::MetadataTooLarge { limit, .. } if limit == 8 << 20),
        "{error}"
    );
    // Many small items count like one large.
    let many = (0..1_000_000).map(|at| (at.to_string(), serde_json::Value::Null));
    let error = encode(&many.collect()).unwrap_err();
    assert!(
        matches!(error, FormatError::MetadataTooLarge { .. }),
        "{error}"
    );
}
