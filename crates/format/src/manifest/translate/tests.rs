use std::fs;
use std::path::Path;

use flatbuffers::FlatBufferBuilder;

use super::*;
use crate::envelope::{DecodeLimits, SpecVersion};
use crate::generated as fb;
use crate::{Checksum, ChunkId, ManifestEncoder};

const ID: ManifestId = ManifestId::from_bytes([7; 12]);
const NEW: ManifestId = ManifestId::from_bytes([9; 12]);
const NODE: NodeId = NodeId::from_bytes([1; 8]);

fn everywhere(rank: usize) -> Vec<Range<u32>> {
    vec![0..u32::MAX; rank]
}

fn decode(file: &[u8], id: ManifestId) -> Manifest {
    Manifest::decode(file, id, &DecodeLimits::default()).expect("it is valid")
}

fn copy(manifest: &Manifest, within: &[Range<u32>], by: &[i64]) -> Option<TranslatedManifest> {
    let copy = manifest.translated(&NODE, within, by, NEW, &Writer::default());
    copy.expect("there is room")
}

/// Decodes a copy, and holds it against the refs of the original, each moved.
fn check(manifest: &Manifest, node: &NodeId, by: &[i64], copy: &TranslatedManifest) {
    assert_eq!(
        copy.encoded.info.size_bytes,
        copy.encoded.bytes.len() as u64
    );
    assert_eq!(
        u64::from(copy.encoded.info.num_chunk_refs),
        manifest.total_refs()
    );
    assert_eq!(copy.encoded.info.id, NEW);
    let old = manifest.array(node).expect("it has the array");
    let moved = |record: crate::RefRecord<'_>| -> Vec<u32> {
        let axes = record.coordinates().zip(by);
        axes.map(|(at, by)| u32::try_from(i64::from(at) + by).expect("a coordinate"))
            .collect()
    };
    for read in [&decode(&copy.encoded.bytes, NEW), &copy.manifest] {
        assert_eq!((read.id(), read.total_refs()), (NEW, manifest.total_refs()));
        assert_eq!(read.array_count(), 1);
        let new = read.array(node).expect("it has the array");
        assert_eq!(new.len(), old.len());
        let mut indices = Vec::new();
        for (position, (old, new)) in old.refs().zip(new.refs()).enumerate() {
            let index = moved(old);
            assert_eq!(*new.index(), index[..]);
            assert_eq!(new.chunk_ref().ok(), old.chunk_ref().ok());
            assert_eq!(
                read.array(node).expect("again").position(&index),
                Ok(position)
            );
            indices.push(index);
        }
        let around = Extents::bounding(indices.iter().map(|index| &index[..]));
        assert_eq!(Some(&copy.extents), around.as_ref());
    }
}

fn varied(count: u32) -> Manifest {
    let mut encoder = ManifestEncoder::new(ID);
    encoder.begin_array(NODE).expect("the first");
    for at in 0..count {
        let id = ChunkId::from_bytes([at as u8; 12]);
        let (offset, length, location) = (u64::from(at), 9, "s3://bucket/key.nc");
        let checksum = [
            None,
            Some(Checksum::ETag("\"abc\"")),
            Some(Checksum::LastModified(5)),
        ];
        let checksum = checksum[(at / 4) as usize % 3];
        let virtual_ref = |location| ChunkRef::Virtual {
            location,
            offset,
            length,
            checksum,
        };
        let chunk = match at % 4 {
            0 => ChunkRef::Native { id, offset, length },
            1 => ChunkRef::Inline(&[1, 2, 3, 4, 5, 6, 7][..(at as usize / 4) % 8]),
            2 => virtual_ref(location),
            _ => virtual_ref("https://example.com/another"),
        };
        encoder
            .push(&[10 + at / 16, at % 16], chunk)
            .expect("in order");
    }
    decode(
        &encoder.finish(&Writer::default()).expect("small").bytes,
        ID,
    )
}

#[test]
fn every_kind_of_ref_is_moved() {
    for count in [1, 2, 70, 1000] {
        let manifest = varied(count);
        for by in [[-10, 0], [5, 3], [0, 0], [-1, 100_000], [4_294_967_000, 0]] {
            let copy = copy(&manifest, &everywhere(2), &by).expect("it can be moved");
            check(&manifest, &NODE, &by, &copy);
        }
    }
}

#[test]
fn nothing_leaves_the_coordinates() {
    let manifest = varied(40);
    for by in [
        [-11, 0],
        [0, -1],
        [i64::from(u32::MAX) - 11, 0],
        [i64::MAX, 0],
        [0, i64::MIN],
    ] {
        assert!(copy(&manifest, &everywhere(2), &by).is_none(), "{by:?}");
    }
    // The largest number is in no half-open range.
    let last = i64::from(u32::MAX) - 13;
    let copy = copy(&manifest, &everywhere(2), &[last, 0]).expect("the last that there is");
    check(&manifest, &NODE, &[last, 0], &copy);
}

#[test]
fn refs_outside_of_the_box_are_not_brought_back() {
    let manifest = varied(40);
    assert!(copy(&manifest, &[10..13, 0..16], &[-1, 0]).is_some());
    for within in [
        vec![10..12, 0..16],
        vec![11..13, 0..16],
        vec![10..13, 0..15],
    ] {
        assert!(copy(&manifest, &within, &[-1, 0]).is_none(), "{within:?}");
    }
}

#[test]
fn only_one_array_of_one_rank_is_moved() {
    let manifest = varied(4);
    assert!(copy(&manifest, &everywhere(3), &[0, 0, 1]).is_none());
    assert!(copy(&manifest, &everywhere(1), &[1]).is_none());
    assert!(copy(&manifest, &everywhere(3), &[0, 1]).is_none());
    let other = NodeId::from_bytes([2; 8]);
    let of_other = manifest.translated(&other, &everywhere(2), &[1, 0], NEW, &Writer::default());
    assert!(of_other.expect("there is room").is_none());
    let mut encoder = ManifestEncoder::new(ID);
    for node in [NODE, other] {
        encoder.begin_array(node).expect("in order");
        encoder
            .push(&[0], ChunkRef::Inline(b"x"))
            .expect("the first");
    }
    let two = decode(
        &encoder.finish(&Writer::default()).expect("small").bytes,
        ID,
    );
    assert!(copy(&two, &everywhere(1), &[1]).is_none());
}

/// A body of inline refs whose coordinates are written in some order, or shared.
fn body(indices: &[[u32; 1]], backwards: bool, shared: bool) -> Vec<u8> {
    let mut b = FlatBufferBuilder::new();
    let mut lists = vec![None; indices.len()];
    let mut order: Vec<usize> = (0..indices.len()).collect();
    if backwards {
        order.reverse();
    }
    for at in order {
        lists[at] = Some(b.create_vector(&indices[at]));
    }
    // One chunk of which the list of a ref's coordinates is the contents.
    let inline = shared.then(|| flatbuffers::WIPOffset::new(lists[0].expect("set").value()));
    let inline = inline.unwrap_or_else(|| b.create_vector(b"chunk"));
    let refs: Vec<_> = (lists.iter())
        .map(|index| {
            let (index, inline) = (*index, Some(inline));
            fb::ChunkRef::create(
                &mut b,
                &fb::ChunkRefArgs {
                    index,
                    inline,
                    ..Default::default()
                },
            )
        })
        .collect();
    let refs = Some(b.create_vector(&refs));
    let node_id = fb::ObjectId8(*NODE.as_bytes());
    let args = fb::ArrayManifestArgs {
        node_id: Some(&node_id),
        refs,
        extra: None,
    };
    let array = fb::ArrayManifest::create(&mut b, &args);
    let arrays = Some(b.create_vector(&[array]));
    let id = fb::ObjectId12(*ID.as_bytes());
    let args = fb::ManifestArgs {
        id: Some(&id),
        arrays,
        ..Default::default()
    };
    let root = fb::Manifest::create(&mut b, &args);
    b.finish(root, None);
    b.finished_data().to_vec()
}

fn manifest_of(body: &[u8]) -> Option<Manifest> {
    let summary = verify::verify(body, FormatFile::Manifest(ID), SpecVersion::V1, 0).ok()?;
    Some(Manifest::from_verified(
        SpecVersion::V1,
        Bytes::copy_from_slice(body),
        summary,
    ))
}

#[test]
fn lists_in_either_order_are_moved_and_shared_ones_are_not() {
    let indices: Vec<[u32; 1]> = (3..103).map(|at| [at]).collect();
    for backwards in [false, true] {
        let manifest = manifest_of(&body(&indices, backwards, false)).expect("valid");
        check(
            &manifest,
            &NODE,
            &[-3],
            &copy(&manifest, &everywhere(1), &[-3]).expect("moved"),
        );
        // A chunk is never changed.
        let manifest = manifest_of(&body(&indices, backwards, true)).expect("valid");
        assert!(copy(&manifest, &everywhere(1), &[-3]).is_none());
    }
}

/// Whatever a body is made of, a copy has the same refs elsewhere, or there is none.
#[test]
fn hostile_bodies_are_moved_right_or_not_at_all() {
    let file = varied(9).body.to_vec();
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    let (mut moved, mut refused) = (0, 0);
    let mut attempt = |body: &[u8]| {
        let Some(manifest) = manifest_of(body) else {
            return;
        };
        for by in [[-1, 0], [1, 7], [-10, 0x0101_0101]] {
            match copy(&manifest, &everywhere(2), &by) {
                Some(copy) => {
                    check(&manifest, &NODE, &by, &copy);
                    moved += 1;
                }
                None => refused += 1,
            }
        }
    };
    for at in 0..file.len() {
        for value in [0, 1, 2, 4, 8, 12, 16, 0x7f, 0x80, 0xff] {
            let mut body = file.clone();
            body[at] = value;
            attempt(&body);
        }
        // Offsets that point at other places of the body: overlaps of every kind.
        for _ in 0..8 {
            if at % 4 != 0 || at + 4 > file.len() {
                continue;
            }
            let to = random(file.len() / 4) * 4;
            let offset = (to as u32).wrapping_sub(at as u32);
            let mut body = file.clone();
            body[at..at + 4].copy_from_slice(&offset.to_le_bytes());
            attempt(&body);
        }
    }
    assert!(
        moved > 100 && refused > 100,
        "{moved} moved, {refused} refused"
    );
}

#[test]
fn manifests_of_the_reference_are_moved() {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut folders = vec![vectors];
    let (mut moved, mut kinds) = (0, [0; 3]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("it is there") {
            let entry = entry.expect("it is listed").path();
            if entry.is_dir() {
                folders.push(entry);
                continue;
            }
            let parent = entry.parent().and_then(Path::file_name);
            if parent.is_none_or(|parent| parent != "manifests") {
                continue;
            }
            let name = entry.file_name().and_then(|name| name.to_str());
            let Some(id) = name.and_then(|name| name.parse().ok()) else {
                continue;
            };
            let file = fs::read(&entry).expect("it is readable");
            let Ok(manifest) = Manifest::decode(&file, id, &DecodeLimits::default()) else {
                // Of a later version of the format.
                continue;
            };
            for array in manifest.arrays().filter(|array| !array.is_empty()) {
                let rank = array.record_at(0).rank();
                let one_rank = array.refs().all(|record| record.rank() == rank);
                let by: Vec<i64> = (1..=rank as i64).collect();
                let node = array.node_id();
                let copy =
                    manifest.translated(&node, &everywhere(rank), &by, NEW, &Writer::default());
                let copy = copy.expect("there is room");
                let alone = manifest.array_count() == 1 && one_rank;
                assert_eq!(copy.is_some(), alone, "{}", entry.display());
                let Some(copy) = copy else { continue };
                check(&manifest, &node, &by, &copy);
                moved += 1;
                for record in array.refs() {
                    kinds[match record.chunk_ref().expect("it is readable") {
                        ChunkRef::Inline(_) => 0,
                        ChunkRef::Native { .. } => 1,
                        ChunkRef::Virtual { .. } => 2,
                    }] += 1;
                }
            }
        }
    }
    assert!(
        moved > 20 && kinds.iter().all(|count| *count > 0),
        "{moved} of {kinds:?}"
    );
}
