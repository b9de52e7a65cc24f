use std::ops::Range;
use std::sync::Arc;

use icefield_format::{
    ChunkRef, DecodeLimits, Extents, ManifestEncoder, NodeId, NodePath, SpecVersion, Writer,
};
use icefield_storage::SeededEntropy;

use super::*;
use crate::change_set::PendingChunk;
use crate::file_writer::FileWriter;
use crate::splits::Cells;

const NODE: NodeId = NodeId::from_bytes([7; 8]);
const ID: ManifestId = ManifestId::from_bytes([3; 12]);

/// A row of ten chunks that was shifted by each of these, one after another.
fn shifted(by: &[i64]) -> ChangeSet {
    let path = NodePath::parse("/a").expect("a path");
    let mut changes = ChangeSet::default();
    for by in by {
        changes.shift_chunks(&path, NODE, &[10], &[*by], true);
    }
    changes
}

/// The job of writing one manifest whose references should lie within a box.
fn job(boxed: Range<u32>, part: Option<Range<u32>>) -> ManifestJob {
    ManifestJob {
        node: NODE,
        grid: vec![10],
        cells: Cells::of(vec![2]),
        part: part.map(|part| vec![part]),
        rows: [].into(),
        inputs: vec![ManifestRef {
            id: ID,
            extents: Extents::new(vec![boxed]),
        }],
        relocations: Arc::default(),
        entropy: Arc::new(SeededEntropy::new(1)),
    }
}

fn manifest(indices: &[u32]) -> Arc<Manifest> {
    let mut encoder = ManifestEncoder::new(ID);
    encoder.begin_array(NODE).expect("begun");
    for index in indices {
        let pushed = encoder.push(&[*index], ChunkRef::Inline(&[*index as u8]));
        pushed.expect("in order");
    }
    let encoded = encoder.finish(&Writer::default()).expect("encoded");
    let manifest = Manifest::decode(&encoded.bytes, ID, &DecodeLimits::default());
    Arc::new(manifest.expect("decoded"))
}

/// Where which chunks are by a new manifest, as it is stored.
fn refs(new: &NewManifest) -> Vec<(u32, u8)> {
    let file = new.file.as_ref().expect("to be stored");
    let stored = Manifest::decode(file, new.info.id, &DecodeLimits::default()).expect("valid");
    assert_eq!(u64::from(new.info.num_chunk_refs), stored.total_refs());
    let refs = stored.array(&NODE).expect("of the array");
    let one = |record: icefield_format::RefRecord<'_>| match record.chunk_ref() {
        Ok(ChunkRef::Inline(bytes)) => (record.coordinate(0), bytes[0]),
        other => panic!("{other:?}"),
    };
    let found: Vec<(u32, u8)> = refs.refs().map(one).collect();
    let around = found.first().expect("one").0..found.last().expect("one").0 + 1;
    assert_eq!(new.reference.extents.ranges(), [around]);
    found
}

#[test]
fn a_copy_is_what_a_merge_would_have_written() {
    let (changes, job) = (shifted(&[-4]), job(4..6, Some(0..2)));
    assert_eq!(job.lone_input(&changes), Some(&job.inputs[0]));
    for (held, expected) in [
        (&[4, 5][..], &[(0, 4), (1, 5)][..]),
        (&[5][..], &[(1, 5)][..]),
    ] {
        let held = manifest(held);
        let copy = job.copy(&changes, &held, &Writer::default());
        let copy = copy.expect("copied").expect("it can be");
        assert_eq!(refs(&copy), expected);
        let decoded = copy.decoded.as_ref().expect("it is known");
        assert_eq!(decoded.id(), copy.info.id);
        let writer = FileWriter::new(SpecVersion::V1, Writer::default());
        let merged = job.run(&changes, &[held], &writer);
        let merged = merged.expect("merged");
        assert_eq!(merged.iter().map(refs).collect::<Vec<_>>(), [expected]);
    }
}

#[test]
fn nothing_is_brought_back_that_readers_do_not_find() {
    type Case = (
        &'static str,
        &'static [i64],
        Range<u32>,
        Range<u32>,
        &'static [u32],
    );
    let cases: [Case; 4] = [
        ("outside of its box", &[-4], 4..6, 0..2, &[4, 5, 6]),
        ("before its box", &[-4], 5..6, 0..2, &[4, 5]),
        ("cut off", &[-5, 5], 4..6, 4..6, &[4, 5]),
        ("out of the grid", &[3], 6..8, 8..10, &[6, 7]),
    ];
    for (what, by, boxed, part, held) in cases {
        let (changes, job) = (shifted(by), job(boxed, Some(part)));
        let held = manifest(held);
        let copy = job.copy(&changes, &held, &Writer::default());
        assert!(copy.expect("no error").is_none(), "{what}");
        // The rest of it is merged.
        let writer = FileWriter::new(SpecVersion::V1, Writer::default());
        let merged = job.run(&changes, &[held], &writer);
        assert!(merged.expect("merged").len() == 1, "{what}");
    }
}

#[test]
fn only_one_manifest_within_one_cell_is_copied() {
    let changes = shifted(&[-4]);
    let lone = |job: &ManifestJob| job.lone_input(&changes).is_some();
    assert!(lone(&job(4..6, Some(0..2))));
    assert!(!lone(&job(4..7, Some(0..2))), "two cells");
    assert!(!lone(&job(4..6, None)), "all cells");
    assert!(!lone(&job(0..4, Some(0..2))), "nothing is left");
    let mut two = job(4..5, Some(0..2));
    two.inputs.push(two.inputs[0].clone());
    assert!(!lone(&two));
    let mut edited = changes.clone();
    let path = NodePath::parse("/a").expect("a path");
    edited.set_chunk(&path, NODE, &[1], PendingChunk::Deleted);
    let edited_job = ManifestJob {
        rows: [0].into(),
        ..job(4..6, Some(0..2))
    };
    assert!(edited_job.lone_input(&edited).is_none());
    assert!(
        job(4..6, Some(0..2))
            .lone_input(&ChangeSet::default())
            .is_none(),
        "not shifted"
    );
}
