//! Broken and hostile files: each gives a typed error, or a value that can be used, never a panic.
//!
//! Tests are named after their case in the project's fault catalogue, section D.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;
use std::io::Write as _;

use common::{Decoded, Sample, decode, v1_samples};
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

/// What can be decoded comes back when it is written.
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

#[test]
fn d46_one_bit_flipped_at_every_position() {
    let (mut errors, mut same, mut other, mut other_by_kind) = (0, 0, 0, [0; 3]);
    for sample in small_samples() {
        let content = decode(sample.key, &sample.bytes).unwrap().content();
        let mut file = sample.bytes.clone();
        for bit in 0..8 * file.len() {
            file[bit / 8] ^= 1 << (bit % 8);
            match read(sample.key, &file) {
                Err(_) => errors += 1,
                Ok(found) if found == content => same += 1,
                Ok(_) => {
                    other += 1;
                    other_by_kind[usize::from(file[37]).min(3) - 1] += 1;
                }
            }
            file[bit / 8] ^= 1 << (bit % 8);
        }
    }
    // The format has no checksum: a flip in the text of a message, say, cannot be noticed.
    println!(
        "flips: {errors} refused, {same} without effect, {other} undetected {other_by_kind:?}"
    );
    assert!(errors > same + other, "most flips must be noticed");
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

#[test]
fn d49_a_small_file_cannot_claim_much_memory() {
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
    let error = decode(sample.key, &bomb).map(drop).unwrap_err();
    assert!(
        matches!(error, FormatError::TooLarge { limit, .. } if limit == 64 << 20),
        "{error}"
    );
    // Who asks for it gets it, and then it is no snapshot.
    let limits = DecodeLimits {
        max_ratio: u64::MAX,
        ..DecodeLimits::default()
    };
    let IdKey::Snapshot(id) = sample.key else {
        unreachable!()
    };
    let error = Snapshot::decode(&bomb, id, &limits).unwrap_err();
    assert!(matches!(error, FormatError::Malformed { .. }), "{error}");
}

fn manifest_of(refs: u32) -> (ManifestId, Vec<u8>) {
    let id = ManifestId::from_bytes([3; 12]);
    let mut encoder = ManifestEncoder::new(id);
    encoder.begin_array(NodeId::from_bytes([1; 8])).unwrap();
    for at in 0..refs {
        let mut chunk = [0; 12];
        chunk[..4].copy_from_slice(&at.wrapping_mul(2_654_435_761).to_le_bytes());
        let chunk = ChunkRef::Native {
            id: ChunkId::from_bytes(chunk),
            offset: 0,
            length: 4096,
        };
        encoder.push(&[at / 1000, at % 1000], chunk).unwrap();
    }
    let writer = Writer::default().with_compression_level(1);
    (id, encoder.finish(&writer).unwrap().bytes.to_vec())
}

fn reads(refs: u32) {
    let (id, file) = manifest_of(refs);
    let manifest = Manifest::decode(&file, id, &DecodeLimits::default()).unwrap();
    assert_eq!(manifest.total_refs(), u64::from(refs));
    let last = [(refs - 1) / 1000, (refs - 1) % 1000];
    assert!(
        manifest
            .get(&NodeId::from_bytes([1; 8]), &last)
            .unwrap()
            .is_some()
    );
}

#[test]
fn d51_more_refs_than_the_stock_verifier_allows() {
    reads(1_100_000);
}

#[test]
#[ignore = "takes a minute and 2 GB; run with `--ignored`"]
fn d51_five_and_ten_million_refs() {
    reads(5_000_000);
    reads(10_000_000);
}

#[test]
#[ignore = "takes a minute and 6 GB; run with `--ignored`"]
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
