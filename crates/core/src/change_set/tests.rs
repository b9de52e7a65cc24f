use std::collections::BTreeSet;
use std::sync::Arc;

use icefield_format::{Checksum, ChunkId, ChunkIndex, ChunkRef, NodeId, NodeKind, NodePath};

use super::*;
use crate::metadata::NodeMetadata;

fn native(byte: u8) -> PendingChunk<'static> {
    PendingChunk::Set(ChunkRef::Native {
        id: ChunkId::from_bytes([byte; 12]),
        offset: 0,
        length: u64::from(byte),
    })
}

fn node(id: u8, shape: &[u64], chunk: &[u64]) -> WrittenNode {
    let document = serde_json::json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "int8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
    })
    .to_string();
    WrittenNode {
        id: NodeId::from_bytes([id; 8]),
        metadata: Arc::new(NodeMetadata::parse_new(document.as_bytes(), 10_000).expect("valid")),
        document: document.into(),
    }
}

fn path(text: &str) -> NodePath {
    NodePath::parse(text).expect("valid")
}

#[test]
fn the_last_write_of_an_index_wins() {
    let mut table = ChunkTable::new(2);
    for i in (0..1000).rev() {
        table.set(&[i % 10, i / 10], native(1));
    }
    table.set(&[3, 4], native(2));
    table.set(&[3, 5], PendingChunk::Deleted);
    table.set(&[3, 6], PendingChunk::Set(ChunkRef::Inline(b"abc")));
    let located = ChunkRef::Virtual {
        location: "s3://bucket/a",
        offset: 7,
        length: 8,
        checksum: Some(Checksum::ETag("\"x\"")),
    };
    table.set(&[3, 7], PendingChunk::Set(located));
    assert_eq!(table.len(), 1000);
    assert_eq!(table.get(&[3, 4]), Some(native(2)));
    assert_eq!(table.get(&[3, 5]), Some(PendingChunk::Deleted));
    assert_eq!(
        table.get(&[3, 6]),
        Some(PendingChunk::Set(ChunkRef::Inline(b"abc")))
    );
    assert_eq!(table.get(&[3, 7]), Some(PendingChunk::Set(located)));
    assert_eq!(table.get(&[10, 0]), None);
    let rows = table.sorted_rows();
    assert!(rows.is_sorted_by(|a, b| table.index(*a) < table.index(*b)));
}

#[test]
fn inline_chunks_that_are_written_again_and_again_need_no_more_memory() {
    let mut table = ChunkTable::new(1);
    let (first, last) = ([7; 400], [39_999_u32 as u8; 500]);
    table.set(&[7], PendingChunk::Set(ChunkRef::Inline(&first)));
    for round in 0..40_000 {
        let bytes = [round as u8; 500];
        table.set(&[round % 5], PendingChunk::Set(ChunkRef::Inline(&bytes)));
    }
    assert!(table.memory_bytes() < 4 << 20, "{}", table.memory_bytes());
    let inline = |bytes| Some(PendingChunk::Set(ChunkRef::Inline(bytes)));
    assert_eq!(table.get(&[7]), inline(&first[..]));
    assert_eq!(table.get(&[4]), inline(&last[..]));
}

#[test]
fn a_table_that_is_made_again_has_new_revisions() {
    let mut changes = ChangeSet::default();
    let (at, id) = (path("/a"), NodeId::from_bytes([1; 8]));
    changes.set_chunk(&at, id, &[0], native(1));
    let revision = changes.chunks()[&id].revision();
    changes.note_deleted(at.clone(), id, NodeKind::Array);
    changes.forget_deleted(&at);
    changes.set_chunk(&at, id, &[1], native(1));
    assert!(changes.chunks()[&id].revision() > revision);
}

#[test]
fn a_scalar_has_one_index() {
    let mut table = ChunkTable::new(0);
    table.set(&[], native(1));
    table.set(&[], native(2));
    assert_eq!(table.len(), 1);
    assert_eq!(table.get(&[]), Some(native(2)));
}

fn shows(changes: &ChangeSet, id: &NodeId, base: u32) -> bool {
    changes.view_of(id).is_none_or(|view| view.shows(&[base]))
}

#[test]
fn a_shrink_and_a_growth_bring_nothing_back() {
    let mut changes = ChangeSet::default();
    let (wide, narrow) = (node(1, &[10], &[1]), node(1, &[5], &[1]));
    let id = wide.id;
    changes.set_chunk(&path("/a"), id, &[7], native(7));
    changes.update_node(&path("/a"), narrow.clone(), Some(&wide.metadata));
    changes.update_node(&path("/a"), wide.clone(), Some(&narrow.metadata));
    assert_eq!(changes.chunk(&id, &[7]), None);
    assert!(shows(&changes, &id, 4));
    assert!(!shows(&changes, &id, 5));
    changes.set_chunk(&path("/a"), id, &[7], native(8));
    assert_eq!(changes.chunk(&id, &[7]), Some(native(8)));
}

#[test]
fn created_and_deleted_again_is_no_change() {
    let mut changes = ChangeSet::default();
    let created = node(2, &[10], &[1]);
    changes.create_node(path("/a"), created.clone());
    changes.set_chunk(&path("/a"), created.id, &[0], native(1));
    assert!(!changes.is_empty());
    changes.delete_node(&path("/a"), None);
    assert!(changes.is_empty());
}

#[test]
fn deleted_and_created_again_keeps_both() {
    let mut changes = ChangeSet::default();
    let base = (NodeId::from_bytes([9; 8]), NodeKind::Array);
    changes.update_node(&path("/a"), node(9, &[1], &[1]), None);
    changes.delete_node(&path("/a"), Some(base));
    assert!(matches!(changes.node(&path("/a")), NodeChange::Deleted));
    changes.create_node(path("/a"), node(3, &[1], &[1]));
    assert!(matches!(changes.node(&path("/a")), NodeChange::Written(_)));
    assert_eq!(changes.deleted().get(&path("/a")), Some(&base));
    assert!(changes.updated().is_empty());
    changes.delete_node(&path("/a"), Some(base));
    assert!(changes.created().is_empty());
    assert_eq!(changes.deleted().len(), 1);
}

#[test]
fn a_change_of_rank_empties_the_table_whatever_was_in_it() {
    let mut changes = ChangeSet::default();
    let forms = [
        node(1, &[10], &[1]),
        node(1, &[2], &[1]),
        node(1, &[3, 3], &[1, 1]),
        node(1, &[], &[]),
        node(1, &[4], &[1]),
    ];
    let id = forms[0].id;
    let at = path("/a");
    changes.set_chunk(&at, id, &[7], native(7));
    for pair in forms.windows(2) {
        changes.update_node(&at, pair[1].clone(), Some(&pair[0].metadata));
        assert!(changes.chunks()[&id].is_empty());
    }
    changes.set_chunk(&at, id, &[3], native(8));
    assert_eq!(changes.chunk(&id, &[3]), Some(native(8)));
    assert_eq!(changes.chunk(&id, &[7]), None);
    assert!(!shows(&changes, &id, 0));
}

mod blobs {
    //! Serialised forks that no session makes.

    use std::io::Read;

    use icefield_format::SnapshotId;
    use icefield_storage_memory::MemoryStorage;

    use super::super::blob::ForkBlob;
    use super::*;
    use crate::{BranchName, ForkBlobError, ForkError, Repository, WriteMode};

    /// A repository with the array `/a` of four chunks, and an empty fork of its tip.
    async fn fork() -> (Repository, NodeId, ForkBlob) {
        let repository = Repository::create(Arc::new(MemoryStorage::new())).await;
        let repository = repository.expect("new");
        let session = repository.write_session(BranchName::main()).await;
        let session = session.expect("open");
        let document = node(0, &[4], &[1]).document;
        session
            .set_metadata(&path("/a"), document, WriteMode::Overwrite)
            .await
            .expect("valid");
        drop(session.commit("array").await.expect("committed"));
        let array = session.nodes(&path("/a")).expect("sound")[0].id;
        let base = Arc::clone(&session.state().expect("sound").base);
        let blob = ForkBlob {
            base: base.snapshot().id(),
            base_time: base.snapshot().flushed_at(),
            family: [1; 12],
            origin_id: [2; 12],
            origin: ChangeSet::default(),
            changes: ChangeSet::default(),
            lease: session.send_lease(),
            taken: Default::default(),
        };
        (repository, array, blob)
    }

    async fn refused(repository: &Repository, blob: &ForkBlob) -> String {
        let bytes = blob.encode().expect("small");
        match repository.open_fork(&bytes).await {
            Err(ForkError::Blob(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn edits_of_what_is_not_there_are_refused() {
        let (repository, array, blob) = fork().await;
        let bytes = blob.encode().expect("small");
        repository
            .open_fork(&bytes)
            .await
            .expect("nothing is wrong");
        type Edit = Box<dyn Fn(&mut ChangeSet)>;
        let stranger = NodeId::from_bytes([9; 8]);
        let cases: [(&str, Edit); 14] = [
            (
                "an update of another node",
                Box::new(move |it| {
                    it.updated.insert(path("/a"), node(9, &[4], &[1]));
                }),
            ),
            (
                "a deletion of another node",
                Box::new(move |it| {
                    it.deleted.insert(path("/a"), (stranger, NodeKind::Array));
                }),
            ),
            (
                "a move from nowhere",
                Box::new(move |it| {
                    it.moved.insert(array, path("/b"));
                }),
            ),
            (
                "a second node of an id",
                Box::new(move |it| {
                    let mut twin = node(0, &[4], &[1]);
                    twin.id = array;
                    it.created.insert(path("/b"), twin);
                }),
            ),
            (
                "two new nodes of an id",
                Box::new(move |it| {
                    it.created.insert(path("/b"), node(5, &[4], &[1]));
                    it.created.insert(path("/c"), node(5, &[4], &[1]));
                }),
            ),
            (
                "a chunk outside",
                Box::new(move |it| it.set_chunk(&path("/a"), array, &[4], native(1))),
            ),
            (
                "a chunk of another rank",
                Box::new(move |it| it.set_chunk(&path("/a"), array, &[0, 0], native(1))),
            ),
            (
                "a box that reaches out of the grid",
                Box::new(move |it| boxed(it, array, &[(2, 5)])),
            ),
            (
                "a box without cells",
                Box::new(move |it| boxed(it, array, &[(2, 2)])),
            ),
            (
                "a box that ends before it begins",
                Box::new(move |it| boxed(it, array, &[(3, 1)])),
            ),
            (
                "a box of another rank",
                Box::new(move |it| boxed(it, array, &[(0, 1), (0, 1)])),
            ),
            (
                "a box of no array",
                Box::new(move |it| boxed_at(it, "/x", stranger, &[(0, 2)])),
            ),
            (
                "a chunk of no array",
                Box::new(move |it| it.set_chunk(&path("/x"), stranger, &[0], native(1))),
            ),
            (
                "a cut of another node",
                Box::new(move |it| {
                    let home = path("/a");
                    it.views.insert(stranger, BaseView::whole(home, &[1]));
                }),
            ),
        ];
        for (what, edit) in cases {
            for in_origin in [false, true] {
                let (_, _, empty) = fork().await;
                let mut hostile = ForkBlob {
                    base: blob.base,
                    base_time: blob.base_time,
                    ..empty
                };
                match in_origin {
                    true => edit(&mut hostile.origin),
                    false => edit(&mut hostile.changes),
                }
                let said = refused(&repository, &hostile).await;
                assert!(said.contains("makes no sense"), "{what}: {said}");
            }
        }
    }

    fn boxed(changes: &mut ChangeSet, node: NodeId, within: &[(u32, u32)]) {
        boxed_at(changes, "/a", node, within);
    }

    /// Erases a box, sound or not.
    fn boxed_at(changes: &mut ChangeSet, at: &str, node: NodeId, within: &[(u32, u32)]) {
        let within = within.iter().map(|(start, end)| *start..*end).collect();
        let erased = super::super::erased::ErasedBoxes::of(vec![within], BTreeSet::new());
        changes.table_mut(&path(at), node, 1).set_erased(erased);
    }

    /// Boxes came with version 5. Without them, version 4 is the same but for two empty columns of each array.
    #[tokio::test]
    async fn a_fork_of_version_4_is_read() {
        let (repository, array, mut blob) = fork().await;
        (blob.changes).set_chunk(&path("/a"), array, &[1], PendingChunk::Deleted);
        let bytes = blob.encode().expect("small");
        let (head, frame) = bytes.split_at(9);
        assert_eq!(head, b"ICEFORK\0\x05");
        let mut packed = zstd::decode_all(frame).expect("ours");
        // Lists of 15 and of 13, in MessagePack; the node is the first entry.
        let mut begin = vec![0x9f, 0xc4, 8];
        begin.extend(array.as_bytes());
        let at = |packed: &[u8], what: &[u8]| packed.windows(what.len()).position(|it| it == what);
        let begin = at(&packed, &begin).expect("one array");
        packed[begin] = 0x9d;
        let end = [0xc4, 0, 0x90, 0xc4, 0, 0xc4, 0];
        let end = begin + at(&packed[begin..], &end).expect("no foreign objects, no boxes") + 3;
        packed.drain(end..end + 4);
        let mut old = b"ICEFORK\0\x04".to_vec();
        old.extend(zstd::encode_all(&packed[..], 3).expect("in memory"));
        let opened = repository.open_fork(&old).await.expect("it is read");
        {
            let state = opened.state().expect("sound");
            let table = &state.changes.chunks()[&array];
            assert_eq!(table.get(&[1]), Some(PendingChunk::Deleted));
            assert!(!table.has_boxes());
        }
        old[8] = 3;
        let refused = repository.open_fork(&old).await;
        assert!(matches!(
            refused,
            Err(ForkError::Blob(ForkBlobError::OtherVersion(3)))
        ));
    }

    #[tokio::test]
    async fn boxes_and_what_they_spare_come_back() {
        let (repository, array, mut blob) = fork().await;
        boxed(&mut blob.origin, array, &[(0, 3)]);
        blob.changes = blob.origin.clone();
        let spared = [ChunkIndex::from([1])].into_iter().collect();
        blob.changes.forget_chunks(&array, &spared);
        blob.changes.set_chunk(&path("/a"), array, &[2], native(2));
        let bytes = blob.encode().expect("small");
        let opened = repository.open_fork(&bytes).await.expect("it is sound");
        let state = opened.state().expect("sound");
        let table = &state.changes.chunks()[&array];
        let gone = Some(PendingChunk::Deleted);
        let expected = [gone, None, Some(native(2)), None];
        for (index, expected) in expected.into_iter().enumerate() {
            assert_eq!(table.get(&[index as u32]), expected, "{index}");
        }
    }

    /// Each accepted blob is an edit of this base: it can be written again, and comes back.
    #[tokio::test]
    async fn forks_with_any_bytes_changed_are_refused_or_make_sense() {
        let (repository, array, mut blob) = fork().await;
        boxed(&mut blob.origin, array, &[(0, 3)]);
        blob.changes = blob.origin.clone();
        let spared = [ChunkIndex::from([1])].into_iter().collect();
        blob.changes.forget_chunks(&array, &spared);
        blob.changes.set_chunk(&path("/a"), array, &[2], native(2));
        let bytes = blob.encode().expect("small");
        let packed = zstd::decode_all(&bytes[9..]).expect("ours");
        let mut accepted = 0;
        for at in 0..packed.len() {
            for change in [1, 2, 0x10, 0x80, 0xff] {
                let mut hostile = packed.clone();
                hostile[at] ^= change;
                let mut file = bytes[..9].to_vec();
                file.extend(zstd::encode_all(&hostile[..], 1).expect("in memory"));
                let Ok(opened) = repository.open_fork(&file).await else {
                    continue;
                };
                accepted += 1;
                let again = opened.to_bytes().await.expect("small");
                repository.open_fork(&again).await.expect("it is ours");
            }
        }
        assert!(accepted > 100, "{accepted}");
    }

    #[tokio::test]
    async fn the_first_snapshot_of_another_repository_is_another_one() {
        let (repository, _, mut blob) = fork().await;
        blob.base = SnapshotId::INITIAL;
        let said = refused(&repository, &blob).await;
        assert!(said.contains("another repository"), "{said}");
    }

    #[tokio::test]
    async fn a_bomb_is_refused_before_it_fills_the_memory() {
        let (repository, ..) = fork().await;
        let mut bytes = b"ICEFORK\0\x05".to_vec();
        let frame = zstd::encode_all(std::io::repeat(0).take(256 << 20), 19).expect("in memory");
        assert!(frame.len() < 100_000);
        bytes.extend(frame);
        match repository.open_fork(&bytes).await {
            Err(ForkError::Blob(ForkBlobError::TooLong)) => {}
            other => panic!("{other:?}"),
        }
    }

    /// A state that a session can reach, though it cannot be written down.
    #[tokio::test]
    async fn what_is_sound_and_odd_comes_back() {
        let (repository, array, blob) = fork().await;
        let (home, gone) = (path("/a"), NodeId::from_bytes([7; 8]));
        // An array that others deleted, of whose chunks nothing is left; and one that lost its only row.
        let mut origin = ChangeSet::default();
        for (at, node) in [(path("/gone"), gone), (home.clone(), array)] {
            origin.set_chunk(&at, node, &[0], native(1));
            let all = [ChunkIndex::from(vec![0])].into_iter().collect();
            origin.forget_chunks(&node, &all);
        }
        let mut changes = origin.clone();
        changes.drop_table(&array);
        let mut flat = node(0, &[4, 4], &[1, 1]);
        flat.id = array;
        changes.updated.insert(home.clone(), flat);
        changes.set_chunk(&home, array, &[1, 1], native(2));
        let odd = ForkBlob {
            origin,
            changes,
            ..blob
        };
        let bytes = odd.encode().expect("small");
        let opened = repository.open_fork(&bytes).await.expect("it is sound");
        let state = opened.state().expect("sound");
        let table = &state.changes.chunks()[&array];
        assert_eq!(table.get(&[1, 1]), Some(native(2)));
    }

    #[tokio::test]
    async fn a_fork_that_shrinks_like_a_bomb_is_none() {
        const CHUNKS: u32 = 20_000;
        let (repository, array, mut blob) = fork().await;
        let mut long = node(0, &[u64::from(CHUNKS)], &[1]);
        long.id = array;
        blob.changes.updated.insert(path("/a"), long);
        let zeros = vec![0; 4096];
        for index in 0..CHUNKS {
            let chunk = PendingChunk::Set(ChunkRef::Inline(&zeros));
            blob.changes.set_chunk(&path("/a"), array, &[index], chunk);
        }
        let bytes = blob.encode().expect("it has a place");
        assert!(bytes.len() < 2 << 20, "{}", bytes.len());
        let opened = repository.open_fork(&bytes).await.expect("it is ours");
        {
            let state = opened.state().expect("sound");
            let table = &state.changes.chunks()[&array];
            assert_eq!(table.len(), CHUNKS as usize);
        }
        let cut = repository.open_fork(&bytes[..bytes.len() - 1]).await;
        assert!(cut.is_err(), "truncated");
    }
}
