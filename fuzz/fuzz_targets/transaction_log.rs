//! Transaction logs: a whole file, or the flatbuffer of one.

#![no_main]

use icefield_format::{FileKind, FormatError, FormatFile, SnapshotId, TransactionLog};
use icefield_fuzz::{Seeds, as_file, limits, roundtrip, seed};
use libfuzzer_sys::fuzz_target;

fn decode(file: &[u8]) -> Option<TransactionLog> {
    match TransactionLog::decode(file, SnapshotId::from_bytes([0; 12]), &limits()) {
        Err(FormatError::WrongObject {
            found: FormatFile::TransactionLog(id),
            ..
        }) => TransactionLog::decode(file, id, &limits()).ok(),
        other => other.ok(),
    }
}

fuzz_target!(
    init: seed(&Seeds::Binary("transactions")),
    |input: &[u8]| {
        let Some(log) = decode(&as_file(input, FileKind::TransactionLog)) else {
            return;
        };
        let file = roundtrip::encode_log(&log).expect("what was read can be written");
        let again = decode(&file).expect("what was written can be read");
        // Bodies have other lengths, contents have not.
        assert_eq!(roundtrip::log_content(&again), roundtrip::log_content(&log));
    }
);
