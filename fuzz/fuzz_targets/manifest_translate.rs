//! Copies of manifests with their refs elsewhere: what a copy says is what the original says, moved.

#![no_main]

use std::ops::Range;

use icefield_format::{
    ArrayRefs, ChunkRef, FileKind, FormatError, FormatFile, Manifest, ManifestId, Writer,
};
use icefield_fuzz::{Seeds, as_file, limits, number_of, roundtrip, seed};
use libfuzzer_sys::fuzz_target;

const COPY: [u8; 12] = [7; 12];

fn decode(file: &[u8]) -> Option<Manifest> {
    match Manifest::decode(file, ManifestId::from_bytes([0; 12]), &limits()) {
        Err(FormatError::WrongObject {
            found: FormatFile::Manifest(id),
            ..
        }) => Some(Manifest::decode(file, id, &limits()).expect("only the id was wrong")),
        other => other.ok(),
    }
}

/// The box around all refs, as long as they have one rank.
fn tight_box(refs: &ArrayRefs<'_>) -> Option<Vec<Range<u32>>> {
    let rank = refs.refs().next()?.rank();
    let mut around = vec![u32::MAX..0; rank];
    for record in refs.refs() {
        if record.rank() != rank {
            return None;
        }
        for (range, at) in around.iter_mut().zip(record.coordinates()) {
            *range = range.start.min(at)..range.end.max(at.saturating_add(1));
        }
    }
    Some(around)
}

/// Returns whether there was a copy.
fn check(manifest: &Manifest, refs: &ArrayRefs<'_>, within: &[Range<u32>], by: &[i64]) -> bool {
    let id = ManifestId::from_bytes(COPY);
    let copied = manifest.translated(&refs.node_id(), within, by, id, &Writer::default());
    let Some(copy) = copied.expect("there is room") else {
        return false;
    };
    let again = Manifest::decode(&copy.encoded.bytes, id, &limits()).expect("it can be read");
    assert_eq!(
        copy.encoded.info.size_bytes,
        copy.encoded.bytes.len() as u64
    );
    assert_eq!(
        u64::from(copy.encoded.info.num_chunk_refs),
        manifest.total_refs()
    );
    assert_eq!(again.total_refs(), manifest.total_refs());
    assert_eq!(again.array_count(), 1);
    let moved = again.array(&refs.node_id()).expect("the array");
    let held = copy.manifest.array(&refs.node_id()).expect("the array");
    assert_eq!(moved.len(), refs.len());
    assert_eq!(held.len(), refs.len());
    for (position, record) in refs.refs().enumerate() {
        let index: Vec<u32> = record.index().to_vec();
        assert_eq!(index.len(), by.len());
        assert!(
            index
                .iter()
                .zip(within)
                .all(|(at, range)| range.contains(at))
        );
        let expected: Vec<i64> = index
            .iter()
            .zip(by)
            .map(|(at, by)| i64::from(*at) + by)
            .collect();
        for copied in [moved.record_at(position), held.record_at(position)] {
            let found: Vec<u32> = copied.index().to_vec();
            let wide: Vec<i64> = found.iter().copied().map(i64::from).collect();
            assert_eq!(wide, expected);
            assert_eq!(copied.chunk_ref().ok(), record.chunk_ref().ok());
            assert_eq!(moved.position(&found), Ok(position));
        }
    }
    let around = tight_box(&moved).expect("one rank");
    assert_eq!(copy.extents.ranges(), &around[..]);
    true
}

fuzz_target!(
    init: seed(&Seeds::Binary("manifests")),
    |input: &[u8]| {
        let Some(manifest) = decode(&as_file(input, FileKind::Manifest)) else {
            return;
        };
        // Of others, there is no copy, whatever is asked for.
        let Some(refs) = manifest.arrays().next() else {
            return;
        };
        let rank = refs.refs().next().map_or(0, |first| first.rank());
        let everywhere = vec![0..u32::MAX; rank];
        let around = tight_box(&refs);
        let near: Vec<i64> = (0..rank as u64).map(|axis| (number_of(input, axis) % 7) as i64 - 3).collect();
        let far: Vec<i64> = (0..rank as u64).map(|axis| number_of(input, axis) as i64 >> (axis % 40)).collect();
        for by in [&vec![0; rank], &near, &far, &vec![i64::MIN; rank], &vec![1; rank + 1]] {
            check(&manifest, &refs, &everywhere, by);
            if let Some(around) = &around {
                check(&manifest, &refs, around, by);
                let mut less = around.clone();
                if let Some(axis) = less.last_mut() {
                    axis.start = axis.start.saturating_add(1);
                    assert!(!check(&manifest, &refs, &less, by), "a ref lies outside");
                }
            }
        }
        // A manifest of our encoder can be copied, unless comparing its text would take too long.
        let no_text = |refs: ArrayRefs<'_>| {
            refs.refs().all(|it| !matches!(it.chunk_ref(), Ok(ChunkRef::Virtual { .. }) | Err(_)))
        };
        if manifest.array_count() == 1
            && no_text(refs)
            && let Ok(file) = roundtrip::encode_manifest(&manifest)
        {
            let own = decode(&file).expect("what was written can be read");
            if let Some(refs) = own.arrays().next() {
                assert!(check(&own, &refs, &everywhere, &vec![0; rank]), "it can be copied");
            }
        }
    }
);
