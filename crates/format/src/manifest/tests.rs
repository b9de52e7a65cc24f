use flatbuffers::FlatBufferBuilder;

use super::encode::{EncodedManifest, ManifestEncoder, ManifestRoot};
use super::*;
use crate::envelope::{SpecVersion, Writer};
use crate::error::SortedList;
use crate::generated as fb;
use crate::id::NodeId;
use crate::verified::Verified;

const ID: ManifestId = ManifestId::from_bytes([7; 12]);
const FILE: FormatFile = FormatFile::Manifest(ID);

fn node(byte: u8) -> NodeId {
    NodeId::from_bytes([byte; 8])
}

fn native(byte: u8) -> ChunkRef<'static> {
    ChunkRef::Native {
        id: ChunkId::from_bytes([byte; 12]),
        offset: 3,
        length: u64::from(byte),
    }
}

fn decode(bytes: &[u8]) -> Result<Manifest, FormatError> {
    Manifest::decode(bytes, ID, &DecodeLimits::default())
}

fn sealed(body: &[u8]) -> Bytes {
    Writer::default()
        .seal(FILE, SpecVersion::V1, FileKind::Manifest, body)
        .unwrap()
}

/// One ref of a hand-made manifest, with fields that the encoder would not combine.
#[derive(Default)]
struct Raw<'a> {
    index: &'a [u32],
    inline: Option<&'a [u8]>,
    offset: u64,
    length: u64,
    chunk_id: Option<[u8; 12]>,
    location: Option<&'a str>,
    etag: Option<&'a str>,
    last_modified: u32,
}

/// Builds a body without any of the encoder's checks.
fn body(arrays: &[(NodeId, &[Raw<'_>])]) -> Vec<u8> {
    let mut b = FlatBufferBuilder::new();
    let arrays: Vec<_> = arrays
        .iter()
        .map(|(node, refs)| {
            let refs: Vec<_> = refs
                .iter()
                .map(|raw| {
                    let chunk_id = raw.chunk_id.map(fb::ObjectId12);
                    let args = fb::ChunkRefArgs {
                        index: Some(b.create_vector(raw.index)),
                        inline: raw.inline.map(|bytes| b.create_vector(bytes)),
                        location: raw.location.map(|text| b.create_string(text)),
                        checksum_etag: raw.etag.map(|text| b.create_string(text)),
                        offset: raw.offset,
                        length: raw.length,
                        chunk_id: chunk_id.as_ref(),
                        checksum_last_modified: raw.last_modified,
                        ..Default::default()
                    };
                    fb::ChunkRef::create(&mut b, &args)
                })
                .collect();
            let refs = Some(b.create_vector(&refs));
            let node_id = fb::ObjectId8(*node.as_bytes());
            let args = fb::ArrayManifestArgs {
                node_id: Some(&node_id),
                refs,
                extra: None,
            };
            fb::ArrayManifest::create(&mut b, &args)
        })
        .collect();
    let arrays = Some(b.create_vector(&arrays));
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

fn decode_refs(refs: &[Raw<'_>]) -> Result<Manifest, FormatError> {
    decode(&sealed(&body(&[(node(1), refs)])))
}

fn inline<'a>(index: &'a [u32]) -> Raw<'a> {
    Raw {
        index,
        inline: Some(b"x"),
        ..Raw::default()
    }
}

/// A manifest with every kind of ref, several arrays and shared strings.
fn varied() -> EncodedManifest {
    let location = "s3://bucket/key.nc";
    let virtual_ref = |offset, checksum| ChunkRef::Virtual {
        location,
        offset,
        length: 9,
        checksum,
    };
    let mut encoder = ManifestEncoder::new(ID);
    encoder.begin_array(node(1)).unwrap();
    encoder.push(&[], ChunkRef::Inline(b"scalar")).unwrap();
    encoder.begin_array(node(2)).unwrap();
    encoder.push(&[0, 1], ChunkRef::Inline(b"bytes")).unwrap();
    encoder.push(&[0, 2], native(1)).unwrap();
    encoder.push(&[1, 0], virtual_ref(0, None)).unwrap();
    encoder
        .push(&[1, 1], virtual_ref(1, Some(Checksum::ETag("\"abc\""))))
        .unwrap();
    encoder
        .push(&[1, 7], virtual_ref(2, Some(Checksum::LastModified(5))))
        .unwrap();
    encoder.begin_array(node(3)).unwrap();
    encoder.begin_array(node(4)).unwrap();
    encoder.push(&[u32::MAX - 1], native(9)).unwrap();
    encoder.finish(&Writer::default()).unwrap()
}

#[test]
fn every_kind_of_ref_comes_back() {
    let manifest = decode(&varied().bytes).unwrap();
    assert_eq!((manifest.id(), manifest.total_refs()), (ID, 7));
    let nodes: Vec<_> = manifest.arrays().map(|array| array.node_id()).collect();
    assert_eq!(
        nodes,
        [node(1), node(2), node(4)],
        "an array without refs is left out"
    );
    let get = |at, index: &[u32]| manifest.get(&node(at), index).unwrap();
    assert_eq!(get(1, &[]), Some(ChunkRef::Inline(b"scalar")));
    assert_eq!(get(2, &[0, 2]), Some(native(1)));
    let Some(ChunkRef::Virtual {
        location,
        offset: 1,
        length: 9,
        checksum,
    }) = get(2, &[1, 1])
    else {
        panic!("a virtual ref");
    };
    assert_eq!(
        (location, checksum),
        ("s3://bucket/key.nc", Some(Checksum::ETag("\"abc\"")))
    );
    for missing in [&[0, 0][..], &[0, 3], &[2, 0], &[0], &[], &[0, 1, 0]] {
        assert_eq!(get(2, missing), None, "{missing:?}");
    }
    assert_eq!(get(3, &[0]), None);
    assert_eq!(get(4, &[u32::MAX - 1]), Some(native(9)));
    let array = manifest.array(&node(2)).unwrap();
    assert_eq!(array.record_at(4).coordinate(1), 7);
    assert_eq!(array.refs().next_back().unwrap().index(), [1, 7].into());
}

#[test]
fn info_and_extents_describe_the_file() {
    let encoded = varied();
    assert_eq!(encoded.info.size_bytes, encoded.bytes.len() as u64);
    assert_eq!((encoded.info.id, encoded.info.num_chunk_refs), (ID, 7));
    let mut encoder = ManifestEncoder::new(ID);
    assert_eq!(encoder.extents_of_current(), None);
    encoder.begin_array(node(1)).unwrap();
    encoder.push(&[1, 9], native(1)).unwrap();
    encoder.push(&[2, 3], native(1)).unwrap();
    assert_eq!(
        encoder.extents_of_current().unwrap().ranges(),
        [1..3, 3..10]
    );
    assert_eq!(encoder.ref_count(), 2);
}

#[test]
fn strings_are_written_once_and_bytes_are_stable() {
    assert_eq!(varied().bytes, varied().bytes);
    let text = "https://example.com/a/long/location/".repeat(20);
    let mut encoder = ManifestEncoder::new(ID);
    encoder.begin_array(node(1)).unwrap();
    for at in 0..1000 {
        let location = if at % 2 == 0 {
            text.as_str()
        } else {
            "s3://other"
        };
        let chunk = ChunkRef::Virtual {
            location,
            offset: 1,
            length: 1,
            checksum: None,
        };
        encoder.push(&[at], chunk).unwrap();
    }
    let manifest = decode(&encoder.finish(&Writer::default()).unwrap().bytes).unwrap();
    assert!(manifest.body_len() < 60_000, "{}", manifest.body_len());
}

#[test]
fn encoder_refuses_what_decoding_would() {
    let mut encoder = ManifestEncoder::new(ID);
    let early = encoder.push(&[0], native(1));
    assert!(matches!(early, Err(FormatError::NoArrayBegun { .. })));
    encoder.begin_array(node(5)).unwrap();
    encoder.push(&[3, 3], native(1)).unwrap();
    let mut push = |index: &[u32], chunk| encoder.push(index, chunk).unwrap_err();
    assert!(matches!(
        push(&[3, 3], native(1)),
        FormatError::Duplicate { position: 1, .. }
    ));
    assert!(matches!(
        push(&[3, 2], native(1)),
        FormatError::Unsorted { position: 1, .. }
    ));
    assert!(matches!(
        push(&[4], native(1)),
        FormatError::RankMismatch {
            expected: 2,
            found: 1,
            ..
        }
    ));
    assert!(matches!(
        push(&[4, u32::MAX], native(1)),
        FormatError::CoordinateTooLarge { .. }
    ));
    let overflow = ChunkRef::Native {
        id: ChunkId::from_bytes([0; 12]),
        offset: u64::MAX,
        length: 1,
    };
    assert!(matches!(
        push(&[4, 0], overflow),
        FormatError::ChunkRangeOverflow { position: 1, .. }
    ));
    assert!(matches!(
        encoder.begin_array(node(5)),
        Err(FormatError::Duplicate { .. })
    ));
    assert!(matches!(
        encoder.begin_array(node(4)),
        Err(FormatError::Unsorted { .. })
    ));
    encoder.push(&[4, 0], native(2)).unwrap();
    encoder.begin_array(node(6)).unwrap();
    let wide = encoder.push(&[0; 257], native(1));
    assert!(matches!(
        wide,
        Err(FormatError::RankTooLarge { found: 257, .. })
    ));
    let manifest = decode(&encoder.finish(&Writer::default()).unwrap().bytes).unwrap();
    assert_eq!(manifest.total_refs(), 2, "refused refs leave no trace");
}

#[test]
fn d52_kind_of_a_ref_follows_from_its_fields_in_order() {
    let all = Raw {
        index: &[0],
        inline: Some(b"i"),
        chunk_id: Some([1; 12]),
        location: Some("file:///x"),
        etag: Some("e"),
        last_modified: 4,
        length: 2,
        ..Raw::default()
    };
    let first = |raw: Raw<'_>, check: &dyn Fn(ChunkRef<'_>)| {
        let manifest = decode_refs(&[raw]).unwrap();
        check(manifest.get(&node(1), &[0]).unwrap().unwrap());
    };
    first(Raw { ..all }, &|chunk| {
        assert!(matches!(chunk, ChunkRef::Native { length: 2, .. }))
    });
    first(
        Raw {
            chunk_id: None,
            ..all
        },
        &|chunk| {
            assert!(matches!(
                chunk,
                ChunkRef::Virtual {
                    checksum: Some(Checksum::ETag("e")),
                    ..
                }
            ));
        },
    );
    let inline_only = Raw {
        chunk_id: None,
        location: None,
        ..all
    };
    first(inline_only, &|chunk| {
        assert_eq!(chunk, ChunkRef::Inline(b"i"))
    });
    let none = Raw {
        index: &[0],
        length: 3,
        etag: Some("e"),
        ..Raw::default()
    };
    assert!(matches!(
        decode_refs(&[none]),
        Err(FormatError::NoChunkLocation { position: 0, .. })
    ));
}

#[test]
fn d113_empty_inline_chunks_are_tolerated() {
    let manifest = decode_refs(&[Raw {
        inline: Some(b""),
        ..inline(&[0])
    }])
    .unwrap();
    assert_eq!(
        manifest.get(&node(1), &[0]).unwrap(),
        Some(ChunkRef::Inline(b""))
    );
}

#[test]
fn d53_manifest_of_another_id() {
    let other = ManifestId::from_bytes([8; 12]);
    let error = Manifest::decode(&varied().bytes, other, &DecodeLimits::default()).unwrap_err();
    let FormatError::WrongObject { expected, found } = error else {
        panic!("{error}");
    };
    assert_eq!((expected, found), (FormatFile::Manifest(other), FILE));
}

#[test]
fn d56_unsorted_and_duplicate_refs_and_arrays() {
    let unsorted = decode_refs(&[inline(&[0, 9]), inline(&[1, 0]), inline(&[0, 10])]);
    let list = SortedList::ChunkRefs;
    assert!(
        matches!(unsorted, Err(FormatError::Unsorted { list: l, position: 2, .. }) if l == list)
    );
    let twice = decode_refs(&[inline(&[1]), inline(&[1])]);
    assert!(matches!(twice, Err(FormatError::Duplicate { list: l, position: 1, .. }) if l == list));
    let list = SortedList::Arrays;
    let arrays = |a, b| {
        decode(&sealed(&body(&[
            (node(a), &[inline(&[0])]),
            (node(b), &[inline(&[0])]),
        ])))
    };
    assert!(arrays(1, 2).is_ok());
    assert!(
        matches!(arrays(2, 1), Err(FormatError::Unsorted { list: l, position: 1, .. }) if l == list)
    );
    assert!(
        matches!(arrays(1, 1), Err(FormatError::Duplicate { list: l, position: 1, .. }) if l == list)
    );
}

#[test]
fn d57_ranks_and_ranges() {
    // The reference writes coordinates of a wrong rank if it is told to; the others stay readable.
    assert!(decode_refs(&[inline(&[0]), inline(&[0, 1])]).is_ok());
    assert!(matches!(
        decode_refs(&[inline(&[0, 1]), inline(&[0])]),
        Err(FormatError::Unsorted { .. })
    ));
    let overflow = Raw {
        offset: u64::MAX,
        length: 1,
        chunk_id: Some([0; 12]),
        ..inline(&[0])
    };
    assert!(matches!(
        decode_refs(&[overflow]),
        Err(FormatError::ChunkRangeOverflow { .. })
    ));
    let wide = decode_refs(&[inline(&[0; 257])]);
    assert!(matches!(
        wide,
        Err(FormatError::RankTooLarge { found: 257, .. })
    ));
}

#[test]
fn strings_without_terminator_are_tolerated() {
    let location = "s3://bucket/some/key";
    let mut body = body(&[(
        node(1),
        &[Raw {
            location: Some(location),
            ..Raw {
                index: &[0],
                ..Raw::default()
            }
        }],
    )]);
    let at = body
        .windows(location.len())
        .position(|part| part == location.as_bytes())
        .unwrap();
    assert_eq!(body[at + location.len()], 0);
    body[at + location.len()] = b'!';
    let manifest = decode(&sealed(&body)).unwrap();
    let chunk = manifest.get(&node(1), &[0]).unwrap().unwrap();
    assert!(matches!(chunk, ChunkRef::Virtual { location: l, .. } if l == location));
    body[at] = 0xff;
    assert!(matches!(
        decode(&sealed(&body)),
        Err(FormatError::Malformed { .. })
    ));
}

/// The verifier of the flatbuffers crate is the judge of structure: ours must not accept more, and
/// must not call malformed what that one accepts.
fn hold_against_the_stock_verifier(body: &[u8]) -> bool {
    let stock = Verified::<ManifestRoot>::check(body);
    let ours = verify::verify(body, FILE, SpecVersion::V1, 0);
    match (&ours, &stock) {
        (Ok(_), Err(error)) => panic!("accepted, but {error}"),
        (Err(FormatError::Malformed { source, .. }), Ok(())) => {
            panic!("refused, but fine: {source}")
        }
        _ => {}
    }
    if let Ok(summary) = ours {
        // And everything that it accepts can be read.
        let body = Bytes::copy_from_slice(body);
        let manifest = Manifest::from_verified(SpecVersion::V1, body, summary);
        for array in manifest.arrays() {
            for record in array.refs() {
                record.chunk_ref().unwrap();
                assert!(array.get(&record.index()).unwrap().is_some());
            }
        }
        return true;
    }
    false
}

#[test]
fn d50_d51_hostile_bodies_are_judged_like_the_stock_verifier_does() {
    let file = varied().bytes;
    let (_, good) =
        envelope::open(&file, FILE, FileKind::Manifest, &DecodeLimits::default()).unwrap();
    assert!(hold_against_the_stock_verifier(&good));
    let mut accepted = 0;
    for at in 0..good.len() {
        // Truncation, and every byte set to what makes offsets zero, huge, negative, cyclic or
        // unaligned.
        hold_against_the_stock_verifier(&good[..at]);
        for value in [0, 1, 2, 3, 4, 8, 0x7f, 0x80, 0xfc, 0xfe, 0xff] {
            let mut body = good.to_vec();
            body[at] = value;
            accepted += usize::from(hold_against_the_stock_verifier(&body));
        }
        // Whole words: lengths and offsets that a single byte does not reach.
        for word in [
            0,
            1,
            u32::MAX,
            i32::MIN.cast_unsigned(),
            1 << 30,
            good.len() as u32,
            0u32.wrapping_sub(at as u32),
        ] {
            if let Some(target) = good.to_vec().get_mut(at..at + 4) {
                target.copy_from_slice(&word.to_le_bytes());
                let mut body = good.to_vec();
                body[at..at + 4].copy_from_slice(&word.to_le_bytes());
                accepted += usize::from(hold_against_the_stock_verifier(&body));
            }
        }
    }
    // And several changes at once, which may hide each other.
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    for _ in 0..20_000 {
        let mut body = good.to_vec();
        for _ in 0..=random(4) {
            let at = random(body.len());
            body[at] = [0, 1, 4, 8, 0xff, random(256) as u8][random(6)];
        }
        accepted += usize::from(hold_against_the_stock_verifier(&body));
    }
    assert!(accepted > 100, "some changes are harmless: {accepted}");
}

#[test]
fn d50_overlapping_refs_cost_no_more_than_the_file() {
    // Many arrays that share one long list of refs: quadratic work, unless refs are counted.
    let refs: Vec<[u32; 1]> = (0..2000).map(|at| [at]).collect();
    let raws: Vec<_> = refs.iter().map(|index| inline(index)).collect();
    let mut b = FlatBufferBuilder::new();
    let refs: Vec<_> = raws
        .iter()
        .map(|raw| {
            let index = Some(b.create_vector(raw.index));
            let inline = Some(b.create_vector(b"x"));
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
    let arrays: Vec<_> = (0..2000_u64)
        .map(|at| {
            let node_id = fb::ObjectId8(at.to_be_bytes());
            fb::ArrayManifest::create(
                &mut b,
                &fb::ArrayManifestArgs {
                    node_id: Some(&node_id),
                    refs,
                    extra: None,
                },
            )
        })
        .collect();
    let arrays = Some(b.create_vector(&arrays));
    let id = fb::ObjectId12(*ID.as_bytes());
    let root = fb::Manifest::create(
        &mut b,
        &fb::ManifestArgs {
            id: Some(&id),
            arrays,
            ..Default::default()
        },
    );
    b.finish(root, None);
    let error = verify::verify(b.finished_data(), FILE, SpecVersion::V1, 0).unwrap_err();
    assert!(matches!(error, FormatError::Malformed { .. }), "{error}");
}

#[test]
fn look_up_in_full_thinned_and_uneven_arrays() {
    let full = |_: u32, _: u32| true;
    let thinned = |a: u32, b: u32| (a * 31 + b * 17).is_multiple_of(5);
    let uneven = |a: u32, b: u32| a == 0 || (a == 99 && b > 90) || b == 50;
    for keep in [&full as &dyn Fn(u32, u32) -> bool, &thinned, &uneven] {
        let mut encoder = ManifestEncoder::new(ID);
        encoder.begin_array(node(1)).unwrap();
        for a in 0..100 {
            for b in 0..100 {
                if keep(a, b) {
                    encoder
                        .push(&[a + 5, 2 * b], native((a + b) as u8))
                        .unwrap();
                }
            }
        }
        let manifest = decode(&encoder.finish(&Writer::default()).unwrap().bytes).unwrap();
        let array = manifest.array(&node(1)).unwrap();
        let mut before = 0;
        for a in 0..112 {
            for b in 0..210 {
                let present = (5..105).contains(&a) && b < 200 && b % 2 == 0 && keep(a - 5, b / 2);
                assert_eq!(
                    array.position(&[a, b]),
                    if present { Ok(before) } else { Err(before) }
                );
                before += usize::from(present);
            }
        }
        assert_eq!(before, array.len());
    }
}

#[test]
fn a_manifest_that_has_no_room_for_compressed_locations_stays_as_it_is() {
    let mut encoder = ManifestEncoder::for_version(SpecVersion::V2, ID);
    encoder.begin_array(node(1)).unwrap();
    for at in 0..1500 {
        let location = format!("s3://bucket/a/prefix/that/all/of/them/share/{at:05}.nc");
        let chunk = ChunkRef::Virtual {
            location: &location,
            offset: 0,
            length: 1,
            checksum: None,
        };
        encoder.push(&[at], chunk).unwrap();
    }
    let writer = Writer::default();
    let plain = encoder.finish(&writer).unwrap();
    let settings = LocationCompression::default();
    let compressed = plain.clone().with_compressed_locations(&settings, &writer);
    let compressed = compressed.unwrap().bytes;
    assert_ne!(compressed, plain.bytes);
    // At every step: between refs, at the end of the array, at that of the manifest.
    for limit in (4096..120_000).step_by(1000) {
        let below = (plain.clone())
            .with_compressed_locations_below(limit, &settings, &writer)
            .unwrap();
        let expected = match below.bytes == compressed {
            true => &compressed,
            false => &plain.bytes,
        };
        assert_eq!(&below.bytes, expected, "{limit}");
        assert_eq!(below.info.size_bytes, below.bytes.len() as u64);
    }
    let none = plain
        .clone()
        .with_compressed_locations_below(4096, &settings, &writer);
    assert_eq!(none.unwrap().bytes, plain.bytes);
}
