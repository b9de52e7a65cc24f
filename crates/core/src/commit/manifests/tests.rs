use std::ops::Range;
use std::sync::Arc;

use icefield_format::{
    ChunkRef, DecodeLimits, Extents, Manifest, ManifestEncoder, ManifestId, ManifestRef, NodeId,
    NodePath, SpecVersion, Writer,
};
use icefield_storage::SeededEntropy;

use super::{ManifestJob, WrittenManifests};
use crate::change_set::{ChangeSet, PendingChunk};
use crate::file_writer::FileWriter;
use crate::splits::Cells;

const NODE: NodeId = NodeId::from_bytes([7; 8]);

fn writer() -> FileWriter {
    FileWriter::new(SpecVersion::V1, Writer::default())
}

fn input(number: u8, range: Range<u32>) -> ManifestRef {
    ManifestRef {
        id: ManifestId::from_bytes([number; 12]),
        extents: Extents::new(vec![range]),
    }
}

fn job(inputs: &[ManifestRef], rows: &[u32]) -> ManifestJob {
    ManifestJob {
        node: NODE,
        grid: vec![100],
        cells: Cells::whole(1),
        part: None,
        rows: rows.into(),
        inputs: inputs.to_vec(),
        relocations: Arc::default(),
        entropy: Arc::new(SeededEntropy::new(1)),
    }
}

fn edits(indices: &[u32]) -> ChangeSet {
    let mut changes = ChangeSet::default();
    let path = NodePath::parse("/a").expect("a path");
    for index in indices {
        let chunk = PendingChunk::Set(ChunkRef::Inline(b"new"));
        changes.set_chunk(&path, NODE, &[*index], chunk);
    }
    changes
}

#[test]
fn what_was_stored_is_used_again_for_the_very_same_alone() {
    let changes = edits(&[1, 2, 30]);
    let stored_for = job(&[input(1, 0..10)], &[0, 1]);
    let new = stored_for.run(&changes, &[Arc::new(manifest(1, &[5]))], &writer());
    let new = new.expect("merged");
    let mut written = WrittenManifests::default();
    written.note(&stored_for, &changes, &new);

    let found = written.find(&stored_for, &changes).expect("stored");
    assert!(found.iter().all(|manifest| manifest.file.is_none()));
    assert_eq!(found[0].info.id, new[0].info.id);

    let other: [(&str, ManifestJob); 7] = [
        ("another manifest", job(&[input(2, 0..10)], &[0, 1])),
        ("another box of it", job(&[input(1, 0..9)], &[0, 1])),
        ("none", job(&[], &[0, 1])),
        ("other edits", job(&[input(1, 0..10)], &[0, 2])),
        ("no edits", job(&[input(1, 0..10)], &[])),
        (
            "other cells",
            ManifestJob {
                cells: Cells::of(vec![10]),
                ..stored_for.clone()
            },
        ),
        (
            "another shape",
            ManifestJob {
                grid: vec![99],
                ..stored_for.clone()
            },
        ),
    ];
    for (what, job) in other {
        assert!(written.find(&job, &changes).is_none(), "{what}");
    }
    let mut later = changes.clone();
    let path = NodePath::parse("/a").expect("a path");
    later.set_chunk(&path, NODE, &[1], PendingChunk::Deleted);
    assert!(written.find(&stored_for, &later).is_none(), "later edits");

    // Manifests noted for later edits replace all that were stored for earlier ones.
    let other = job(&[], &[2]);
    written.note(&other, &later, &[]);
    assert!(written.find(&other, &later).is_some());
    assert!(written.find(&stored_for, &changes).is_none());
}

fn manifest(number: u8, indices: &[u32]) -> Manifest {
    let id = ManifestId::from_bytes([number; 12]);
    let mut encoder = ManifestEncoder::new(id);
    encoder.begin_array(NODE).expect("begun");
    for index in indices {
        let pushed = encoder.push(&[*index], ChunkRef::Inline(&[number]));
        pushed.expect("in order");
    }
    let encoded = encoder.finish(writer().writer()).expect("encoded");
    Manifest::decode(&encoded.bytes, id, &DecodeLimits::default()).expect("decoded")
}

#[test]
fn references_that_no_reader_finds_are_not_carried_over() {
    // Two files that say something of index 5; by their boxes, readers look into the second.
    let job = job(&[input(1, 0..5), input(2, 5..8)], &[]);
    let files = [
        Arc::new(manifest(1, &[4, 5, 60])),
        Arc::new(manifest(2, &[5, 7])),
    ];
    let new = job.run(&ChangeSet::default(), &files, &writer());
    let new = new.expect("merged");
    let [only] = &new[..] else {
        panic!("one cell: {new:?}")
    };
    let file = only.file.as_ref().expect("new");
    let merged = Manifest::decode(file, only.info.id, &DecodeLimits::default()).expect("decoded");
    let refs = merged.array(&NODE).expect("of the array");
    let found: Vec<(Vec<u32>, Vec<u8>)> = (0..refs.len())
        .map(|at| {
            let record = refs.record_at(at);
            let mut index = Vec::new();
            record.index_into(&mut index);
            let ChunkRef::Inline(bytes) = record.chunk_ref().expect("a ref") else {
                panic!("inline")
            };
            (index, bytes.to_vec())
        })
        .collect();
    assert_eq!(
        found,
        [(vec![4], vec![1]), (vec![5], vec![2]), (vec![7], vec![2])]
    );
    assert_eq!(only.reference.extents.ranges(), [4..8]);
}

#[test]
fn fields_that_are_reserved_are_carried_over() {
    let writer = FileWriter::new(SpecVersion::V2, Writer::default());
    let limits = DecodeLimits::up_to(SpecVersion::V2);
    let file = |number: u8, indices: &[u32], array: &[u8]| {
        let id = ManifestId::from_bytes([number; 12]);
        let mut encoder = writer.manifest(id);
        encoder.extra(b"all");
        let begun = encoder.begin_array_with_extra(NODE, Some(array));
        begun.expect("begun");
        for index in indices {
            let extra = [number];
            let chunk = ChunkRef::Inline(b"old");
            let pushed = encoder.push_with_extra(&[*index], chunk, Some(&extra));
            pushed.expect("in order");
        }
        let encoded = encoder.finish(writer.writer()).expect("encoded");
        Arc::new(Manifest::decode(&encoded.bytes, id, &limits).expect("decoded"))
    };
    let changes = edits(&[4, 6]);
    let inputs = [input(1, 0..5), input(2, 5..9)];
    for (second, expected) in [
        (&b"array"[..], Some(&b"array"[..])),
        (&b"another"[..], None),
    ] {
        let files = [file(1, &[3, 4], b"array"), file(2, &[5], second)];
        let new = job(&inputs, &[0, 1]).run(&changes, &files, &writer);
        let new = new.expect("merged");
        let bytes = new[0].file.as_ref().expect("new");
        let merged = Manifest::decode(bytes, new[0].info.id, &limits).expect("decoded");
        assert_eq!(merged.extra(), Some(&b"all"[..]));
        let refs = merged.array(&NODE).expect("of the array");
        assert_eq!(refs.extra(), expected);
        let extras: Vec<Option<&[u8]>> = refs.refs().map(|record| record.extra()).collect();
        // A chunk that is written anew is another one.
        assert_eq!(extras, [Some(&[1][..]), None, Some(&[2]), None]);
    }
}
