//! Headers and zstd frames: a file as it is, and the input as the compressed body of one.

#![no_main]

use icefield_format::{FileKind, FormatError, FormatFile, Header, Snapshot, SnapshotId};
use icefield_fuzz::{Seeds, limits, seed, with_header};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seed(&Seeds::Binary("snapshots")),
    |input: &[u8]| {
        let id = SnapshotId::INITIAL;
        if let Ok(header) = Header::decode(input, FormatFile::Unnamed) {
            assert!(header.implementation().len() <= 72, "24 bytes, each at worst replaced");
        }
        let _ = Snapshot::decode(input, id, &limits());
        let outcome = Snapshot::decode(&with_header(FileKind::Snapshot, 1, input), id, &limits());
        // A body that passes the envelope equals the output of zstd itself.
        let passed = match outcome {
            Ok(_) => true,
            Err(error) => matches!(error, FormatError::Malformed { .. } | FormatError::WrongObject { .. }),
        };
        if passed {
            match zstd::stream::decode_all(input) {
                Ok(body) => assert!(body.len() as u64 <= limits().max_decompressed),
                // A window that a stream must hold; in one pass there is none.
                Err(error) => assert!(error.to_string().contains("too much memory"), "{error}"),
            }
        }
    }
);
