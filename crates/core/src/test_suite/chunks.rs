//! Chunks: writing, reading whole and in ranges, deleting, where they live.

use icefield_format::ByteRange;

use super::Trial;
use super::words::*;
use crate::{ChunkLocation, SessionError};

pub(super) async fn chunks_come_back_whole_and_in_ranges(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let (inline, native) = (pattern(1, 300), pattern(2, 3000));
    let session = writer(&repository).await;
    set(&session, "/a", array(&[2, 2], &[1, 1])).await;
    write(&session, "/a", &[0, 1], inline.clone()).await;
    write(&session, "/a", &[1, 0], native.clone()).await;
    let uncommitted = session.clone();
    let check = async |session: &crate::Session| {
        for (index, bytes) in [([0, 1], &inline), ([1, 0], &native)] {
            let n = bytes.len();
            let size = n as u64;
            for (range, expected) in [
                (ByteRange::All, &bytes[..]),
                (ByteRange::From { offset: 0 }, &bytes[..]),
                (ByteRange::From { offset: 7 }, &bytes[7..]),
                (ByteRange::From { offset: size }, &[]),
                (ByteRange::Range { start: 3, end: 11 }, &bytes[3..11]),
                (ByteRange::Range { start: 5, end: 5 }, &[]),
                (
                    ByteRange::Range {
                        start: 0,
                        end: size,
                    },
                    &bytes[..],
                ),
                (ByteRange::Suffix { length: 9 }, &bytes[n - 9..]),
                (ByteRange::Suffix { length: size }, &bytes[..]),
                (ByteRange::Suffix { length: 0 }, &[]),
            ] {
                let found = session.chunk(&path("/a"), &index, range).await;
                is!(found, Ok(Some(found)) if found == expected);
            }
            is!(
                session.chunk_location(&path("/a"), &index).await,
                Ok(Some(location)) if location.length() == size,
            );
        }
    };
    check(&uncommitted).await;
    commit(&session, "one").await;
    check(&uncommitted).await;
    check(&read_main(&trial.open(&storage).await).await).await;
}

pub(super) async fn ranges_outside_a_chunk_are_refused(trial: Trial) {
    let (_, repository) = trial.create().await;
    let session = writer(&repository).await;
    set(&session, "/a", array(&[2], &[1])).await;
    write(&session, "/a", &[0], pattern(1, 10)).await;
    write(&session, "/a", &[1], pattern(2, 1000)).await;
    for (index, size) in [(0, 10), (1, 1000)] {
        for range in [
            ByteRange::From { offset: size + 1 },
            ByteRange::Suffix { length: size + 1 },
            ByteRange::Range {
                start: 1,
                end: size + 1,
            },
            ByteRange::Range { start: 2, end: 1 },
            ByteRange::Range {
                start: u64::MAX,
                end: u64::MAX,
            },
        ] {
            is!(
                session.chunk(&path("/a"), &[index], range).await,
                Err(SessionError::RangeOutOfChunk { path, index: at, length, .. })
                    if path.as_str() == "/a" && *at == [index] && length == size,
            );
        }
    }
    let absent = ByteRange::From { offset: 99 };
    is!(session.chunk(&path("/a"), &[9], absent).await, Ok(None));
}

pub(super) async fn the_threshold_decides_between_inline_and_native(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let session = writer(&repository).await;
    set(&session, "/a", array(&[4], &[1])).await;
    let sizes = [1, 511, 512, 513];
    for (index, size) in (0..).zip(sizes) {
        write(&session, "/a", &[index], pattern(size, size as usize)).await;
    }
    let session = {
        commit(&session, "one").await;
        read_main(&trial.open(&storage).await).await
    };
    for (chunk, size) in chunk_list(&session, "/a").await.into_iter().zip(sizes) {
        match chunk.location {
            ChunkLocation::Inline { length } => assert!(length == size && size <= 512),
            ChunkLocation::Native { offset, length, .. } => {
                assert!(length == size && size > 512 && offset == 0);
            }
            other => panic!("{other:?}"),
        }
        let bytes = pattern(size, size as usize);
        holds(&session, "/a", &chunk.index, Some(&bytes)).await;
    }
    if trial.is_v1() {
        let keys = keys(&storage).await;
        let chunks = keys.iter().filter(|key| key.starts_with("chunks/"));
        assert_eq!(chunks.count(), 1);
    }
}

pub(super) async fn a_chunk_is_stored_before_it_can_be_committed(trial: Trial) {
    let (storage, repository) = trial.unpacked().create().await;
    let session = writer(&repository).await;
    set(&session, "/a", array(&[1], &[1])).await;
    let before = keys(&storage).await;
    write(&session, "/a", &[0], pattern(1, 600)).await;
    let mut after = keys(&storage).await;
    after.retain(|key| !before.contains(key));
    assert_eq!(after.len(), 1, "{after:?}");
    assert!(objects(&storage).await[&after[0]] == pattern(1, 600));
}

pub(super) async fn a_scalar_has_one_chunk(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let session = writer(&repository).await;
    set(&session, "/s", array(&[], &[])).await;
    holds(&session, "/s", &[], None).await;
    write(&session, "/s", &[], "v").await;
    is!(
        try_write(&session, "/s", &[0], "v").await,
        Err(SessionError::OutOfGrid { path, index, grid })
            if path.as_str() == "/s" && *index == [0] && grid.is_empty(),
    );
    commit(&session, "one").await;
    let session = writer(&trial.open(&storage).await).await;
    holds(&session, "/s", &[], Some(b"v")).await;
    holds(&session, "/s", &[0], None).await;
    assert_eq!(indices(&session, "/s").await, [vec![].into()]);
    write(&session, "/s", &[], pattern(3, 700)).await;
    commit(&session, "two").await;
    holds(&session, "/s", &[], Some(&pattern(3, 700))).await;
    let session = writer(&repository).await;
    is!(session.delete_chunk(&path("/s"), &[]).await, Ok(()));
    commit(&session, "three").await;
    holds(&read_main(&repository).await, "/s", &[], None).await;
}

pub(super) async fn a_dimension_of_length_zero_has_no_chunk(trial: Trial) {
    let (_, repository) = trial.create().await;
    let session = writer(&repository).await;
    set(&session, "/z", array(&[0, 4], &[1, 2])).await;
    for index in [[0, 0], [0, 1], [1, 0]] {
        is!(
            try_write(&session, "/z", &index, "x").await,
            Err(SessionError::OutOfGrid { grid, .. }) if grid == [0, 2],
        );
        holds(&session, "/z", &index, None).await;
        is!(session.delete_chunk(&path("/z"), &index).await, Ok(()));
    }
    commit(&session, "one").await;
    let session = writer(&repository).await;
    holds(&session, "/z", &[0, 0], None).await;
    set(&session, "/z", array(&[1, 4], &[1, 2])).await;
    write(&session, "/z", &[0, 1], "x").await;
    commit(&session, "two").await;
    holds(&read_main(&repository).await, "/z", &[0, 1], Some(b"x")).await;
}

pub(super) async fn chunks_outside_the_grid_are_absent_and_cannot_be_written(trial: Trial) {
    let (_, repository) = trial.create().await;
    let session = writer(&repository).await;
    set(&session, "/a", array(&[5, 4], &[2, 2])).await;
    let outside: [&[u32]; 6] = [&[3, 0], &[0, 2], &[u32::MAX, 0], &[], &[0], &[0, 0, 0]];
    for index in outside {
        for bytes in [pattern(1, 10), pattern(1, 1000)] {
            is!(
                try_write(&session, "/a", index, bytes).await,
                Err(SessionError::OutOfGrid { path, index: at, grid })
                    if path.as_str() == "/a" && *at == *index && grid == [3, 2],
            );
        }
        holds(&session, "/a", index, None).await;
        is!(session.chunk_location(&path("/a"), index).await, Ok(None));
        is!(session.delete_chunk(&path("/a"), index).await, Ok(()));
    }
    write(&session, "/a", &[2, 1], "edge").await;
    commit(&session, "one").await;
    let session = read_main(&repository).await;
    for index in outside {
        holds(&session, "/a", index, None).await;
    }
    holds(&session, "/a", &[2, 1], Some(b"edge")).await;
}

pub(super) async fn h113_an_empty_chunk_is_refused(trial: Trial) {
    let (_, repository) = trial.create().await;
    let session = writer(&repository).await;
    set(&session, "/a", array(&[1], &[1])).await;
    is!(
        try_write(&session, "/a", &[0], "").await,
        Err(SessionError::EmptyChunk { path, index }) if path.as_str() == "/a" && *index == [0],
    );
    holds(&session, "/a", &[0], None).await;
}

pub(super) async fn deleted_chunks_are_absent(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let native = pattern(1, 1000);
    let chunks: &[Chunk<'_>] = &[("/a", &[0], b"0"), ("/a", &[1], &native)];
    commit_edits(&repository, "one", &[("/a", array(&[4], &[1]))], chunks).await;
    let session = writer(&repository).await;
    is!(session.delete_chunk(&path("/a"), &[4]).await, Ok(()));
    is!(session.has_changes(), Ok(false));
    is!(session.delete_chunk(&path("/a"), &[3]).await, Ok(()));
    is!(session.has_changes(), Ok(true));
    write(&session, "/a", &[2], "2").await;
    for index in [0, 1, 2] {
        is!(session.delete_chunk(&path("/a"), &[index]).await, Ok(()));
        holds(&session, "/a", &[index], None).await;
    }
    is!(
        session.delete_chunk(&path("/none"), &[0]).await,
        Err(SessionError::NodeNotFound { .. }),
    );
    write(&session, "/a", &[1], "again").await;
    commit(&session, "two").await;
    let session = writer(&trial.open(&storage).await).await;
    holds(&session, "/a", &[0], None).await;
    holds(&session, "/a", &[1], Some(b"again")).await;
    is!(session.delete_chunk(&path("/a"), &[1]).await, Ok(()));
    let last = commit(&session, "three").await;
    let session = read_main(&repository).await;
    assert!(indices(&session, "/a").await.is_empty());
    let snapshot = repository.snapshot(last).await.expect("readable");
    let record = snapshot.node(&path("/a")).expect("it stays");
    let manifests = record.array().expect("an array").manifest_count();
    assert_eq!(manifests, 0, "a manifest without refs is never written");
}

pub(super) async fn the_last_write_of_a_chunk_wins(trial: Trial) {
    let (_, repository) = trial.create().await;
    let session = writer(&repository).await;
    set(&session, "/a", array(&[2], &[1])).await;
    let versions = [
        pattern(1, 5),
        pattern(2, 900),
        pattern(3, 7),
        pattern(4, 901),
    ];
    for (i, bytes) in versions.iter().enumerate() {
        write(&session, "/a", &[0], bytes.clone()).await;
        write(&session, "/a", &[1], versions[3 - i].clone()).await;
        holds(&session, "/a", &[0], Some(bytes)).await;
    }
    commit(&session, "one").await;
    let session = read_main(&repository).await;
    holds(&session, "/a", &[0], Some(&versions[3])).await;
    holds(&session, "/a", &[1], Some(&versions[0])).await;
}

pub(super) async fn chunks_belong_to_arrays(trial: Trial) {
    let (_, repository) = trial.create().await;
    let session = writer(&repository).await;
    set(&session, "/g", group()).await;
    is!(
        try_write(&session, "/g", &[0], "x").await,
        Err(SessionError::NotAnArray { path }) if path.as_str() == "/g",
    );
    is!(
        session.delete_chunk(&path("/g"), &[0]).await,
        Err(SessionError::NotAnArray { path }) if path.as_str() == "/g",
    );
    is!(
        try_write(&session, "/none", &[0], "x").await,
        Err(SessionError::NodeNotFound { path }) if path.as_str() == "/none",
    );
}

pub(super) async fn many_chunks_of_many_arrays_come_back(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let expected = |commit: u64, array: u64, x: u32, y: u32| {
        pattern(commit * 1000 + array * 100 + u64::from(x * 10 + y), 20)
    };
    for round in 0..3 {
        let session = writer(&repository).await;
        for a in 0..5 {
            let at = format!("/group/a{a}");
            set(&session, &at, array(&[20, 10], &[2, 1])).await;
            for x in (0..10_u32).filter(|x| (u64::from(*x) + a) % 3 == round) {
                for y in 0..10 {
                    write(&session, &at, &[x, y], expected(round, a, x, y)).await;
                }
            }
        }
        commit(&session, "round").await;
    }
    let session = read_main(&trial.open(&storage).await).await;
    for a in 0..5 {
        let at = format!("/group/a{a}");
        assert_eq!(indices(&session, &at).await.len(), 100);
        for x in 0..10_u32 {
            let round = (u64::from(x) + a) % 3;
            for y in 0..10 {
                holds(&session, &at, &[x, y], Some(&expected(round, a, x, y))).await;
            }
        }
    }
    super::walk::assert_sound(&storage).await;
}
