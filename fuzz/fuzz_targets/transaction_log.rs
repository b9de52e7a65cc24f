//! Transaction logs: a whole file, or the flatbuffer of one.

#![no_main]

use icefield_format::{FileKind, FormatError, FormatFile, SnapshotId, TransactionLog};
use icefield_fuzz::{Seeds, as_files, limits, roundtrip, seed};
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
    |input: &[u8]| as_files(input, FileKind::TransactionLog).iter().for_each(|file| check(file))
);

fn check(file: &[u8]) {
    let Some(log) = decode(file) else {
        return;
    };
    let again = match roundtrip::encode_log(&log) {
        Ok(file) => decode(&file).expect("what was written can be read"),
        // Ranks that differ are read because they exist, and not written.
        Err(FormatError::RankMismatch { .. }) => return,
        Err(error) => panic!("cannot be written: {error}"),
    };
    // Bodies have other lengths, contents have not.
    assert_eq!(roundtrip::log_content(&again), roundtrip::log_content(&log));
}
