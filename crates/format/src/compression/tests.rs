use super::*;

const FILE: FormatFile = FormatFile::Unnamed;
const LIMIT: u64 = 1 << 20;

fn frame(body: &[u8], parameters: &[CParameter]) -> Vec<u8> {
    let mut context = CCtx::create();
    for parameter in parameters {
        context.set_parameter(*parameter).unwrap();
    }
    let mut bytes = Vec::with_capacity(zstd_safe::compress_bound(body.len()));
    context.compress2(&mut bytes, body).unwrap();
    bytes
}

fn plain(body: &[u8]) -> Vec<u8> {
    compress_after(b"", body, 3, FILE).unwrap()
}

fn open(bytes: &[u8]) -> Result<Vec<u8>, FormatError> {
    decompress(bytes, LIMIT, FILE)
}

fn noise(len: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..len).map(|_| next()).collect()
}

#[test]
fn memory_that_cannot_be_had_is_an_error() {
    let error = buffer(usize::MAX, FILE).unwrap_err();
    assert!(matches!(
        error,
        FormatError::OutOfMemory {
            bytes: usize::MAX,
            ..
        }
    ));
}

#[test]
fn other_kinds_of_frames_are_read() {
    let body = noise(200_000);
    let with_size = frame(&body, &[CParameter::ContentSizeFlag(true)]);
    let with_checksum = frame(&body, &[CParameter::ChecksumFlag(true)]);
    let streamed = zstd::stream::encode_all(&body[..], 3).unwrap();
    let tiny = frame(b"x", &[CParameter::ContentSizeFlag(true)]);
    for bytes in [with_size, with_checksum, streamed] {
        assert_eq!(open(&bytes).unwrap(), body);
    }
    assert_eq!(open(&tiny).unwrap(), b"x");
}

#[test]
fn nothing_is_held_beyond_the_body() {
    for len in [0, 1, 5000, 131_072, 1_000_000] {
        let body = open(&plain(&vec![7; len])).unwrap();
        assert_eq!((body.len(), body.capacity()), (len, len));
    }
}

#[test]
fn a_context_that_was_used_is_as_good_as_a_new_one() {
    let bodies = [noise(0), noise(700), vec![7; 90_000], noise(300_000)];
    let anew = |body: &[u8], level| {
        let of = [
            CParameter::CompressionLevel(level),
            CParameter::ContentSizeFlag(false),
        ];
        frame(body, &of)
    };
    for level in [19, 1, 3] {
        for body in bodies.iter().chain(bodies.iter().rev()) {
            let bytes = compress_after(b"", body, level, FILE).unwrap();
            assert_eq!(bytes, anew(body, level), "level {level}, {}", body.len());
            let mut damaged = bytes.clone();
            damaged[3] ^= 1;
            assert!(open(&damaged).is_err());
            let mut cut = vec![0; body.len() / 2];
            cut.clear();
            // Ends within the frame, for want of room.
            let room = decompress_into(&mut cut, &bytes);
            assert!(room.is_err() || body.len() < 2 || cut.capacity() >= body.len());
            assert_eq!(open(&bytes).unwrap(), *body);
        }
    }
}

#[test]
fn large_contexts_go() {
    compress_after(b"", &noise(1 << 20), 19, FILE).unwrap();
    assert!(taken(&COMPRESSION).is_none_or(|kept| kept.sizeof() <= KEPT));
    compress_after(b"", &noise(5000), 3, FILE).unwrap();
    assert!(taken(&COMPRESSION).is_some(), "that of a small body stays");
}

#[test]
fn d45_frame_truncated_at_every_byte() {
    for bytes in [
        plain(&noise(500)),
        frame(&noise(500), &[CParameter::ChecksumFlag(true)]),
    ] {
        for end in 0..bytes.len() {
            let error = open(&bytes[..end]).unwrap_err();
            assert!(
                matches!(error, FormatError::Truncated { .. }),
                "{end}: {error}"
            );
        }
    }
}

#[test]
fn d48_garbage_and_second_frames() {
    let mut garbage = plain(b"body");
    garbage.push(0);
    assert!(matches!(
        open(&garbage),
        Err(FormatError::TrailingData { bytes: 1, .. })
    ));
    let twice = [plain(b"body"), plain(b"more")].concat();
    assert!(matches!(
        open(&twice),
        Err(FormatError::TrailingData { .. })
    ));
    let skippable = [
        &[0x53, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 9][..],
        &plain(b"body"),
    ]
    .concat();
    assert!(matches!(
        open(&skippable),
        Err(FormatError::SkippableFrame { .. })
    ));
    let skippable_after = [&plain(b"body")[..], &skippable[..9]].concat();
    assert!(matches!(
        open(&skippable_after),
        Err(FormatError::TrailingData { bytes: 9, .. })
    ));
    assert!(matches!(
        open(b"no frame at all"),
        Err(FormatError::Zstd { .. })
    ));
}

#[test]
fn d48_dictionary_frame() {
    // Descriptor: dictionary id of one byte. Then the window, the id, and an empty last block.
    let frame = |id: u8| [0x28, 0xb5, 0x2f, 0xfd, 1, 0x58, id, 1, 0, 0];
    assert!(matches!(
        open(&frame(7)),
        Err(FormatError::DictionaryFrame { dictionary: 7, .. })
    ));
    assert_eq!(open(&frame(0)).unwrap(), b"", "0 means none");
}

#[test]
fn d48_declared_size_lies() {
    let body = [5; 40_000];
    let honest = frame(&body, &[CParameter::ContentSizeFlag(true)]);
    // A size of two bytes follows descriptor and, as there is a single segment, no window.
    assert_eq!(u16::from_le_bytes([honest[5], honest[6]]), 40_000 - 256);
    for lie in [0, 39_999 - 256, 40_001 - 256, u16::MAX] {
        let mut bytes = honest.clone();
        bytes[5..7].copy_from_slice(&lie.to_le_bytes());
        assert!(
            matches!(open(&bytes), Err(FormatError::Zstd { .. })),
            "{lie}"
        );
    }
    let huge = [
        0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0,
    ];
    assert!(matches!(open(&huge), Err(FormatError::TooLarge { .. })));
}

#[test]
fn d48_reserved_bits_and_wrong_checksums() {
    let good = frame(&noise(500), &[CParameter::ChecksumFlag(true)]);
    let mut reserved = good.clone();
    reserved[4] |= 0b1000;
    assert!(matches!(
        open(&reserved),
        Err(FormatError::Zstd {
            reason: "reserved bit set",
            ..
        })
    ));
    let mut checksum = good;
    *checksum.last_mut().unwrap() ^= 1;
    assert!(matches!(open(&checksum), Err(FormatError::Zstd { .. })));
    let block = [0x28, 0xb5, 0x2f, 0xfd, 0, 0, 7, 0, 0];
    assert!(matches!(
        open(&block),
        Err(FormatError::Zstd {
            reason: "reserved block type",
            ..
        })
    ));
}

/// Returns a frame of blocks of four bytes, each of which repeats one byte 128 Ki times.
fn bomb(blocks: u32) -> Vec<u8> {
    let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x58];
    for block in 1..=blocks {
        let header = ((128 << 10) << 3) | (1 << 1) | u32::from(block == blocks);
        bytes.extend_from_slice(&header.to_le_bytes()[..3]);
        bytes.push(0);
    }
    bytes
}

#[test]
fn d49_zstd_bomb_stops_at_the_limit() {
    let large = bomb(6400);
    assert!(large.len() < 26_000, "and it would become 800 MiB");
    assert!(matches!(
        open(&large),
        Err(FormatError::TooLarge { limit: LIMIT, .. })
    ));
    assert_eq!(open(&bomb(8)).unwrap().len(), LIMIT as usize);
    assert!(matches!(open(&bomb(9)), Err(FormatError::TooLarge { .. })));
}

/// Found by fuzzing: libzstd takes it in one pass, but not as a stream, so readers would disagree.
#[test]
fn blocks_larger_than_the_window() {
    // A window of 1 KiB, and one block that repeats a byte 24 576 times.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0, 0, 3, 0, 3, 0x40];
    let reason = "block larger than the window";
    assert!(matches!(open(&frame), Err(FormatError::Zstd { reason: r, .. }) if r == reason));
}

#[test]
fn many_empty_blocks_are_no_bomb() {
    let mut hollow = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x58];
    hollow.extend_from_slice(&[0, 0, 0].repeat(10_000));
    hollow.extend_from_slice(&[1, 0, 0]);
    assert_eq!(open(&hollow).unwrap(), b"");
}

#[test]
fn bodies_just_at_the_limit_pass() {
    let body = noise(LIMIT as usize);
    assert_eq!(open(&plain(&body)).unwrap(), body);
    assert!(matches!(
        open(&plain(&noise(LIMIT as usize + 1))),
        Err(FormatError::TooLarge { .. })
    ));
}
