//! Snapshots: a whole file, or the flatbuffer of one.

#![no_main]

use icefield_format::{FileKind, FormatError, FormatFile, Snapshot, SnapshotId};
use icefield_fuzz::{Seeds, as_files, limits, roundtrip, seed};
use libfuzzer_sys::fuzz_target;

fn decode(file: &[u8]) -> Option<Snapshot> {
    match Snapshot::decode(file, SnapshotId::from_bytes([0; 12]), &limits()) {
        Err(FormatError::WrongObject {
            found: FormatFile::Snapshot(id),
            ..
        }) => Snapshot::decode(file, id, &limits()).ok(),
        other => other.ok(),
    }
}

fuzz_target!(
    init: seed(&Seeds::Binary("snapshots")),
    |input: &[u8]| as_files(input, FileKind::Snapshot).iter().for_each(|file| check(file))
);

fn check(file: &[u8]) {
    let Some(snapshot) = decode(file) else {
        return;
    };
    for (position, node) in snapshot.nodes().enumerate() {
        assert_eq!(snapshot.node_position(&node.node_path()), Ok(position));
    }
    let again = match roundtrip::encode_snapshot(&snapshot) {
        Ok(file) => decode(&file).expect("what was written can be read"),
        // Values of metadata are decoded late.
        Err(FormatError::MessagePack { .. } | FormatError::FlexBuffers { .. }) => return,
        Err(error) => panic!("cannot be written: {error}"),
    };
    assert_eq!(roundtrip::snapshot_content(&again), roundtrip::snapshot_content(&snapshot));
}
