//! Manifests: a whole file, or the flatbuffer of one.

#![no_main]

use icefield_format::{
    EncodedManifest, FileKind, FormatError, FormatFile, LocationCompression, Manifest,
    ManifestFileInfo, ManifestId, Writer,
};
use icefield_fuzz::{Seeds, as_files, limits, roundtrip, seed};
use libfuzzer_sys::fuzz_target;

fn decode(file: &[u8]) -> Option<Manifest> {
    match Manifest::decode(file, ManifestId::from_bytes([0; 12]), &limits()) {
        Err(FormatError::WrongObject {
            found: FormatFile::Manifest(id),
            ..
        }) => Some(Manifest::decode(file, id, &limits()).expect("only the id was wrong")),
        other => other.ok(),
    }
}

fuzz_target!(
    init: seed(&Seeds::Binary("manifests")),
    |input: &[u8]| as_files(input, FileKind::Manifest).iter().for_each(|file| check(file))
);

fn check(file: &[u8]) {
    let Some(manifest) = decode(file) else {
        return;
    };
    for array in manifest.arrays() {
        // Where ranks differ, longer indices may come between an index and the next one.
        let rank = array.refs().next().map_or(0, |first| first.rank());
        let uniform = array.refs().all(|record| record.rank() == rank);
        for (position, record) in array.refs().enumerate() {
            let mut index = record.index().to_vec();
            assert_eq!(array.position(&index), Ok(position));
            let found = manifest.get(&array.node_id(), &index).expect("text was checked");
            assert_eq!(found, record.chunk_ref().ok());
            // The next index is the next ref's, or would be right before it.
            if let Some(last) = index.last_mut().filter(|last| uniform && **last != u32::MAX) {
                *last += 1;
                let (Ok(next) | Err(next)) = array.position(&index);
                assert_eq!(next, position + 1);
            }
        }
    }
    let file = match roundtrip::encode_manifest(&manifest) {
        Ok(file) => file,
        // The largest coordinate can be in a file, but in no extents. Ranks that differ are read
        // because they exist, and not written.
        Err(FormatError::CoordinateTooLarge { .. } | FormatError::RankMismatch { .. }) => return,
        Err(error) => panic!("cannot be written: {error}"),
    };
    let again = decode(&file).expect("what was written can be read");
    assert_eq!(roundtrip::manifest_content(&again), roundtrip::manifest_content(&manifest));

    let info = ManifestFileInfo {
        id: manifest.id(),
        size_bytes: file.len() as u64,
        num_chunk_refs: u32::try_from(manifest.total_refs()).expect("it was written"),
    };
    let settings = LocationCompression {
        min_num_chunks: 2,
        ..Default::default()
    };
    let plain = EncodedManifest { bytes: file, info };
    let compressed = plain.with_compressed_locations(&settings, &Writer::default());
    let compressed = compressed.expect("it is no larger than the limits");
    let compressed = decode(&compressed.bytes).expect("what was written can be read");
    assert_eq!(roundtrip::manifest_content(&compressed), roundtrip::manifest_content(&manifest));
}
