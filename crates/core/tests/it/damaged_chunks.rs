//! Part D of the fault catalogue: chunks that are shorter than their refs, refs that cannot be right.

use std::sync::Arc;

use icefield_core::test_suite::words::*;
use icefield_core::{ByteRange, SessionError};
use icefield_format::{ChunkRef, Extents, ManifestFileInfo};
use icefield_storage::Storage;
use icefield_storage::wrap::fault::{Decision, Matcher, Plan, Verb};
use icefield_testkit::forge::{
    Forge, ForgedArray, ForgedSnapshot, chunk_id, manifest_id, node_id, snapshot_id,
};
use icefield_testkit::stores;

use crate::support::*;

/// The head of a row of chunks.
type Row<'a> = &'a [(&'a [u32], ChunkRef<'a>)];

/// A repository with one array, `/a`, whose manifest says what it is told to say.
async fn forged(shape: &[u64], extents: Extents, chunks: Row<'_>) -> Arc<dyn Storage> {
    let storage = memory();
    let forge = Forge::new(&storage);
    forge.create().await;
    let file = forge
        .manifest(manifest_id(1), &[(node_id(1), chunks)])
        .await;
    point_main_to(&forge, shape, extents, file).await;
    storage
}

async fn point_main_to(forge: &Forge, shape: &[u64], extents: Extents, file: ManifestFileInfo) {
    let array = ForgedArray::new("/a", node_id(1), shape, file.id, extents);
    let parent = Some(icefield_core::SnapshotId::INITIAL);
    let snapshot = ForgedSnapshot::new(snapshot_id(1), parent, 1).with(array, file);
    forge.snapshot(&snapshot).await;
    forge.branch("main", snapshot.id).await;
}

fn native(offset: u64, length: u64) -> ChunkRef<'static> {
    ChunkRef::Native {
        id: chunk_id(1),
        offset,
        length,
    }
}

#[tokio::test]
async fn d55_a_chunk_shorter_than_its_ref_is_never_padded() {
    let chunks: Row<'_> = &[
        (&[0], native(0, 10)),
        (&[1], native(5, 10)),
        (&[2], native(99, 1)),
    ];
    let storage = forged(&[3], Extents::new(vec![0..3]), chunks).await;
    Forge::new(&storage).chunk(chunk_id(1), "0123456789").await;
    let session = read_main(&trial("d55").open(&storage).await).await;
    holds(&session, "/a", &[0], Some(b"0123456789")).await;
    for (index, offset, end) in [(1, 5, 15), (2, 99, 100)] {
        is!(
            session.chunk(&path("/a"), &[index], ByteRange::All).await,
            Err(SessionError::ChunkTruncated { path, index: at, offset: from, end: to, .. })
                if path.as_str() == "/a" && *at == [index] && from == offset && to == end,
        );
    }
    let part = ByteRange::Range { start: 0, end: 5 };
    is!(session.chunk(&path("/a"), &[1], part).await, Ok(Some(bytes)) if bytes == "56789");
}

#[tokio::test]
async fn d55_a_chunk_object_longer_than_its_ref_is_read_in_part() {
    let chunks: Row<'_> = &[
        (&[0], native(0, 3)),
        (&[1], native(3, 4)),
        (&[2], native(0, 10)),
    ];
    let storage = forged(&[3], Extents::new(vec![0..3]), chunks).await;
    Forge::new(&storage).chunk(chunk_id(1), "0123456789").await;
    let session = read_main(&trial("d55").open(&storage).await).await;
    holds(&session, "/a", &[0], Some(b"012")).await;
    holds(&session, "/a", &[1], Some(b"3456")).await;
    let end = ByteRange::Suffix { length: 2 };
    is!(session.chunk(&path("/a"), &[1], end).await, Ok(Some(bytes)) if bytes == "56");
}

#[tokio::test]
async fn d55_a_body_that_ends_early_is_an_error() {
    let trial = trial("d55");
    let (inner, repository) = trial.create().await;
    let bytes = pattern(1, 1000);
    commit_edits(
        &repository,
        "one",
        &[("/a", array(&[1], &[1]))],
        &[("/a", &[0], &bytes)],
    )
    .await;
    let reads = Matcher::verb(Verb::Get).below("chunks/");
    let (_, storage) = faulty(&inner, Plan::none().on(reads, 0, Decision::Short(1)));
    let session = read_main(&trial.open(&storage).await).await;
    is!(
        session.chunk(&path("/a"), &[0], ByteRange::All).await,
        Err(SessionError::ChunkTruncated { .. }),
    );
    holds(&session, "/a", &[0], Some(&bytes)).await;
}

#[tokio::test]
async fn d57_refs_outside_the_grid_are_never_seen() {
    let chunks: Row<'_> = &[
        (&[0], ChunkRef::Inline(b"in")),
        (&[5], ChunkRef::Inline(b"out")),
        (&[u32::MAX - 1], ChunkRef::Inline(b"far")),
    ];
    let extents = Extents::new(vec![0..u32::MAX]);
    let storage = forged(&[3], extents, chunks).await;
    let trial = trial("d57");
    let session = writer(&trial.open(&storage).await).await;
    assert_eq!(indices(&session, "/a").await, [vec![0].into()]);
    holds(&session, "/a", &[5], None).await;
    holds(&session, "/a", &[u32::MAX - 1], None).await;
    write(&session, "/a", &[1], "new").await;
    let id = commit(&session, "two").await;
    let repository = trial.open(&storage).await;
    let snapshot = repository.snapshot(id).await.expect("readable");
    let files: Vec<_> = snapshot.manifest_files().collect();
    assert!(
        files.len() == 1 && files[0].num_chunk_refs == 2,
        "{files:?}"
    );
    let session = read_main(&repository).await;
    let kept = indices(&session, "/a").await;
    assert_eq!(kept, [vec![0].into(), vec![1].into()]);
    // A chunk outside is not brought in by a growth.
    let session = writer(&trial.open(&storage).await).await;
    set(&session, "/a", array(&[u64::from(u32::MAX)], &[1])).await;
    holds(&session, "/a", &[5], None).await;
    holds(&session, "/a", &[u32::MAX - 1], None).await;
}

/// The reference implementation accepts such refs, reads on, and finds nothing under them.
#[tokio::test]
async fn d57_refs_of_another_rank_are_no_chunks() {
    let storage = memory();
    let forge = Forge::new(&storage);
    forge.create().await;
    let chunks: Row<'_> = &[
        (&[0, 0], ChunkRef::Inline(b"x")),
        (&[1, 0], ChunkRef::Inline(b"y")),
    ];
    let file = forge
        .manifest(manifest_id(1), &[(node_id(1), chunks)])
        .await;
    point_main_to(&forge, &[3], Extents::new(vec![0..2]), file).await;
    let session = read_main(&trial("d57").open(&storage).await).await;
    holds(&session, "/a", &[0], None).await;
    let at = path("/a");
    let odd = session.chunk(&at, &[0, 0], ByteRange::All).await;
    assert_eq!(odd.expect("absent"), None);
    let blocking = session.try_chunk_blocking(&at, &[0], ByteRange::All);
    assert_eq!(blocking.expect("in memory").expect("absent"), None);
    assert_eq!(indices(&session, "/a").await, []);
}

#[tokio::test]
async fn d57_the_largest_grid_and_coordinates_are_handled() {
    let trial = trial("d57");
    let (storage, repository) = trial.create().await;
    let last = u32::MAX - 1;
    let session = writer(&repository).await;
    let huge = u64::from(u32::MAX);
    set(&session, "/a", array(&[huge, huge, huge], &[1, 1, 1])).await;
    for index in [[0, 0, 0], [last, 0, last], [last, last, last]] {
        write(&session, "/a", &index, "x").await;
    }
    is!(
        try_write(&session, "/a", &[u32::MAX, 0, 0], "x").await,
        Err(SessionError::OutOfGrid { .. }),
    );
    let wide = array(&[huge + 1], &[1]);
    let at = path("/b");
    let mode = icefield_core::WriteMode::Overwrite;
    is!(
        session.set_metadata(&at, wide.into(), mode).await,
        Err(SessionError::Metadata(_)),
    );
    set(&session, "/c", array(&[u64::MAX], &[1 << 33])).await;
    commit(&session, "one").await;
    let session = read_main(&trial.open(&storage).await).await;
    assert_eq!(indices(&session, "/a").await.len(), 3);
    holds(&session, "/a", &[last, last, last], Some(b"x")).await;
    icefield_core::test_suite::walk::assert_sound(&storage).await;
}

#[tokio::test]
async fn h113_empty_refs_that_others_wrote_are_read_and_carried_over() {
    let chunks: Row<'_> = &[(&[0], ChunkRef::Inline(b"")), (&[1], native(4, 0))];
    let storage = forged(&[4], Extents::new(vec![0..2]), chunks).await;
    Forge::new(&storage).chunk(chunk_id(1), "0123456789").await;
    let trial = trial("h113");
    let session = writer(&trial.open(&storage).await).await;
    for index in [0, 1] {
        holds(&session, "/a", &[index], Some(b"")).await;
        is!(
            session
                .chunk(&path("/a"), &[index], ByteRange::Suffix { length: 1 })
                .await,
            Err(SessionError::RangeOutOfChunk { length: 0, .. }),
        );
        is!(
            try_write(&session, "/a", &[index], "").await,
            Err(SessionError::EmptyChunk { .. }),
        );
    }
    write(&session, "/a", &[3], "new").await;
    commit(&session, "two").await;
    let session = read_main(&trial.open(&storage).await).await;
    for index in [0, 1] {
        holds(&session, "/a", &[index], Some(b"")).await;
    }
    holds(&session, "/a", &[3], Some(b"new")).await;
}

#[tokio::test]
async fn several_arrays_may_share_a_manifest_and_chunks_an_object() {
    let storage = memory();
    let forge = Forge::new(&storage);
    forge.create().await;
    forge.chunk(chunk_id(1), "0123456789").await;
    let a: Row<'_> = &[(&[0], native(0, 3)), (&[1], native(3, 3))];
    let b: Row<'_> = &[(&[0], native(6, 4)), (&[1], native(0, 10))];
    let file = forge
        .manifest(manifest_id(1), &[(node_id(1), a), (node_id(2), b)])
        .await;
    let extents = || Extents::new(vec![0..2]);
    let mut snapshot =
        ForgedSnapshot::new(snapshot_id(1), Some(icefield_core::SnapshotId::INITIAL), 1);
    snapshot.manifest_files.push(file);
    for (at, id) in [("/a", 1), ("/b", 2)] {
        let array = ForgedArray::new(at, node_id(id), &[2], file.id, extents());
        snapshot.arrays.push(array);
    }
    forge.snapshot(&snapshot).await;
    forge.branch("main", snapshot.id).await;
    let trial = trial("shared");
    let session = writer(&trial.open(&storage).await).await;
    write(&session, "/a", &[0], "new").await;
    let id = commit(&session, "two").await;
    let repository = trial.open(&storage).await;
    let session = read_main(&repository).await;
    for (at, index, bytes) in [
        ("/a", 0, "new"),
        ("/a", 1, "345"),
        ("/b", 0, "6789"),
        ("/b", 1, "0123456789"),
    ] {
        holds(&session, at, &[index], Some(bytes.as_bytes())).await;
    }
    // The array without edits keeps the shared manifest, the other has one of its own.
    let snapshot = repository.snapshot(id).await.expect("readable");
    assert_eq!(snapshot.manifest_files().len(), 2);
    is!(
        session.delete_node(&path("/a")).await,
        Err(SessionError::ReadOnly)
    );
    let session = writer(&repository).await;
    is!(session.delete_node(&path("/b")).await, Ok(true));
    let id = commit(&session, "three").await;
    let snapshot = repository.snapshot(id).await.expect("readable");
    assert_eq!(snapshot.manifest_files().len(), 1);
    assert!(stores::keys(&storage).await.len() > 6);
}
