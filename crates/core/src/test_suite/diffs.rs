//! Differences of two snapshots.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::Trial;
use super::words::*;
use crate::{ChunkIndex, Diff, NodePath, Repository, Session, SnapshotId};

async fn diff(repository: &Repository, from: SnapshotId, to: SnapshotId) -> Diff {
    let diff = repository.diff(from, to).await;
    diff.unwrap_or_else(|error| panic!("cannot compare {from} with {to}: {error:?}"))
}

fn those(paths: &[&str]) -> BTreeSet<NodePath> {
    paths.iter().map(|at| path(at)).collect()
}

fn chunks(of: &[(&str, &[u32])]) -> BTreeMap<NodePath, BTreeSet<ChunkIndex>> {
    let of = of.iter();
    of.map(|(at, indices)| (path(at), indices.iter().map(|i| vec![*i].into()).collect()))
        .collect()
}

/// Two snapshots between which everything happened that can.
async fn eventful(repository: &Repository) -> [SnapshotId; 2] {
    let row = || array(&[4], &[1]);
    let nodes = [
        ("/", group()),
        ("/kept", row()),
        ("/written", row()),
        ("/described", row()),
        ("/gone", row()),
        ("/gone too", group()),
        ("/again", row()),
    ];
    let old: &[Chunk<'_>] = &[
        ("/kept", &[0], b"k"),
        ("/written", &[0], b"0"),
        ("/written", &[1], b"1"),
        ("/written", &[2], b"2"),
        ("/gone", &[0], b"g"),
        ("/again", &[0], b"a"),
    ];
    let from = commit_edits(repository, "before", &nodes, old).await;
    let session = writer(repository).await;
    set(&session, "/", group_with(json!({"title": "t"}))).await;
    write(&session, "/written", &[0], "changed").await;
    is!(session.delete_chunk(&path("/written"), &[1]).await, Ok(()));
    write(&session, "/written", &[3], pattern(1, 1000)).await;
    set(
        &session,
        "/described",
        array_with(&[4], &[1], json!({"units": "m"})),
    )
    .await;
    for at in ["/gone", "/gone too", "/again"] {
        is!(session.delete_node(&path(at)).await, Ok(true));
    }
    commit(&session, "between").await;
    let session = writer(repository).await;
    set(&session, "/again", row()).await;
    write(&session, "/again", &[0], "a").await;
    set(&session, "/new", row()).await;
    set(&session, "/new too", group()).await;
    write(&session, "/new", &[2], "n").await;
    [from, commit(&session, "after").await]
}

pub(super) async fn a_diff_is_the_net_effect(trial: Trial) {
    let (_, repository) = trial.create().await;
    let [from, to] = eventful(&repository).await;
    let found = diff(&repository, from, to).await;
    assert_eq!(found.new_groups, those(&["/new too"]));
    assert_eq!(found.new_arrays, those(&["/again", "/new"]));
    assert_eq!(found.deleted_groups, those(&["/gone too"]));
    assert_eq!(found.deleted_arrays, those(&["/again", "/gone"]));
    assert_eq!(found.updated_groups, those(&["/"]));
    assert_eq!(found.updated_arrays, those(&["/described"]));
    let expected = chunks(&[("/again", &[0]), ("/new", &[2]), ("/written", &[0, 1, 3])]);
    assert_eq!(found.updated_chunks, expected);
}

pub(super) async fn a_diff_backwards_is_the_reverse(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let [from, to] = eventful(&repository).await;
    let repository = trial.open(&storage).await;
    let there = diff(&repository, from, to).await;
    let back = diff(&repository, to, from).await;
    assert_eq!(back.new_groups, there.deleted_groups);
    assert_eq!(back.new_arrays, there.deleted_arrays);
    assert_eq!(back.deleted_groups, there.new_groups);
    assert_eq!(back.deleted_arrays, there.new_arrays);
    assert_eq!(back.updated_groups, there.updated_groups);
    assert_eq!(back.updated_arrays, there.updated_arrays);
    let expected = chunks(&[("/again", &[0]), ("/gone", &[0]), ("/written", &[0, 1, 3])]);
    assert_eq!(back.updated_chunks, expected);
    for id in [from, to] {
        assert!(diff(&repository, id, id).await.is_empty());
    }
}

pub(super) async fn what_is_changed_back_is_no_difference(trial: Trial) {
    let (_, repository) = trial.create().await;
    let nodes = [("/a", array(&[4], &[1])), ("/g", group())];
    let from = commit_edits(&repository, "old", &nodes, &[("/a", &[0], b"0")]).await;
    let session = writer(&repository).await;
    write(&session, "/a", &[0], "changed").await;
    write(&session, "/a", &[1], pattern(1, 1000)).await;
    set(&session, "/g", group_with(json!({"x": 1}))).await;
    set(&session, "/brief", group()).await;
    let between = commit(&session, "changed").await;
    let session = writer(&repository).await;
    write(&session, "/a", &[0], "0").await;
    is!(session.delete_chunk(&path("/a"), &[1]).await, Ok(()));
    set(&session, "/g", group()).await;
    is!(session.delete_node(&path("/brief")).await, Ok(true));
    let to = commit(&session, "back").await;
    assert!(!diff(&repository, from, between).await.is_empty());
    let found = diff(&repository, from, to).await;
    assert!(found.is_empty(), "{found:?}");
}

pub(super) async fn branches_are_compared_whatever_their_histories(trial: Trial) {
    let (_, repository) = trial.create().await;
    let nodes = [("/a", array(&[4], &[1]))];
    let root = commit_edits(&repository, "root", &nodes, &[("/a", &[0], b"0")]).await;
    done(repository.create_branch("dev", root).await);
    let (main, dev) = (
        writer(&repository).await,
        writer_on(&repository, "dev").await,
    );
    for (session, name) in [(&main, "/m"), (&dev, "/d")] {
        set(session, name, group()).await;
        write(session, "/a", &[1], "both").await;
    }
    write(&main, "/a", &[2], "main").await;
    write(&dev, "/a", &[3], "dev").await;
    let (main, dev) = (commit(&main, "main").await, commit(&dev, "dev").await);
    let found = diff(&repository, main, dev).await;
    assert_eq!(found.new_groups, those(&["/d"]));
    assert_eq!(found.deleted_groups, those(&["/m"]));
    assert_eq!(found.updated_chunks, chunks(&[("/a", &[2, 3])]));
}

pub(super) async fn a_resize_shows_in_the_diff(trial: Trial) {
    let (_, repository) = trial.create().await;
    let nodes = [("/a", array(&[4], &[1]))];
    let old: &[Chunk<'_>] = &[("/a", &[0], b"0"), ("/a", &[3], b"3")];
    let from = commit_edits(&repository, "four", &nodes, old).await;
    let to = commit_edits(&repository, "two", &[("/a", array(&[2], &[1]))], &[]).await;
    let found = diff(&repository, from, to).await;
    assert_eq!(found.updated_arrays, those(&["/a"]));
    assert_eq!(found.updated_chunks, chunks(&[("/a", &[3])]));
    let wider = commit_edits(&repository, "four again", &nodes, &[]).await;
    let found = diff(&repository, to, wider).await;
    assert_eq!(found.updated_arrays, those(&["/a"]));
    assert!(found.updated_chunks.is_empty());
}

/// Any edit of an array, which may be at another place, and of another shape, afterwards. Returns whether it was a shift.
async fn any_edit(
    session: &Session,
    at: &mut &str,
    shape: &mut Vec<u64>,
    mut draw: impl FnMut(u64) -> u64,
) -> bool {
    let inside = |draw: &mut dyn FnMut(u64) -> u64| -> Vec<u32> {
        shape.iter().map(|count| draw(*count) as u32).collect()
    };
    match draw(14) {
        0..=3 => {
            let index = inside(&mut draw);
            // Few different values: some chunks are again what they were, and some equal their neighbours.
            write(session, at, &index, pattern(draw(3), 6)).await;
        }
        4 => write(session, at, &inside(&mut draw), pattern(draw(3), 600)).await,
        5 | 6 => {
            let index = inside(&mut draw);
            is!(session.delete_chunk(&path(at), &index).await, Ok(()));
        }
        7 | 8 => {
            shape.iter_mut().for_each(|count| *count = 1 + draw(6));
            set(session, at, array(shape, &vec![1; shape.len()])).await;
        }
        9 if draw(4) == 0 => {
            *shape = vec![5; if shape.len() == 2 { 1 } else { 2 }];
            set(session, at, array(shape, &vec![1; shape.len()])).await;
        }
        10 if draw(4) == 0 => {
            let to = if *at == "/a" { "/moved" } else { "/a" };
            is!(session.move_node(&path(at), &path(to)).await, Ok(()));
            *at = to;
        }
        _ => {
            let by: Vec<i64> = shape.iter().map(|_| draw(5) as i64 - 2).collect();
            is!(session.shift(&path(at), &by).await, Ok(()));
            return by.iter().any(|by| *by != 0);
        }
    }
    false
}

pub(super) async fn a_status_of_shifts_is_the_diff_of_their_commit(trial: Trial) {
    let mut shifted = 0;
    for seed in 0..60 {
        let (_, repository) = trial.create().await;
        let mut draw = dice(seed);
        let (mut at, mut shape) = ("/a", vec![4, 5]);
        let session = writer(&repository).await;
        set(&session, "/", group()).await;
        set(&session, "/a", array(&shape, &[1, 1])).await;
        for _ in 0..draw(14) {
            let index = [draw(4) as u32, draw(5) as u32];
            let length = if draw(3) == 0 { 600 } else { 6 };
            write(&session, "/a", &index, pattern(draw(3), length)).await;
        }
        let from = commit(&session, "before").await;
        let session = writer(&repository).await;
        let mut is_shifted = false;
        for _ in 0..=draw(9) {
            is_shifted |= any_edit(&session, &mut at, &mut shape, &mut draw).await;
        }
        let status = session.status().await.expect("sound");
        if !is_shifted || !session.has_changes().expect("sound") {
            continue;
        }
        shifted += 1;
        let chunks = status.updated_chunks.get(&path(at));
        let to = commit(&session, "edited").await;
        let found = diff(&repository, from, to).await;
        let expected = found.updated_chunks.get(&path(at));
        assert_eq!(chunks, expected, "seed {seed}: {at} of {shape:?}");
        assert_eq!(status.new_arrays, found.new_arrays, "seed {seed}");
        assert_eq!(status.deleted_arrays, found.deleted_arrays, "seed {seed}");
    }
    assert!(shifted > 30, "{shifted}");
}

pub(super) async fn the_status_names_what_a_shift_moves(trial: Trial) {
    let (_, repository) = trial.create().await;
    let nodes = [("/a", array(&[9], &[1])), ("/b", array(&[9], &[1]))];
    let old: &[Chunk<'_>] = &[
        ("/a", &[0], b"0"),
        ("/a", &[1], b"1"),
        ("/a", &[5], b"5"),
        ("/a", &[6], b"5"),
        ("/b", &[0], b"0"),
    ];
    commit_edits(&repository, "before", &nodes, old).await;
    let session = writer(&repository).await;
    is!(session.shift(&path("/a"), &[1]).await, Ok(()));
    let status = session.status().await.expect("sound");
    // At 6, there is what was there.
    assert_eq!(status.updated_chunks, chunks(&[("/a", &[0, 1, 2, 5, 7])]));
    assert!(status.updated_arrays.is_empty());
    let own = |of: &[u32]| {
        let status = session.clone();
        let of = chunks(&[("/a", of)]);
        async move { assert_eq!(status.status().await.expect("sound").updated_chunks, of) }
    };
    write(&session, "/a", &[0], "0").await;
    own(&[1, 2, 5, 7]).await;
    is!(session.delete_chunk(&path("/a"), &[7]).await, Ok(()));
    own(&[1, 2, 5]).await;
    write(&session, "/a", &[8], "new").await;
    own(&[1, 2, 5, 8]).await;
    is!(session.shift(&path("/a"), &[-9]).await, Ok(()));
    own(&[0, 1, 5, 6]).await;
    is!(session.delete_node(&path("/a")).await, Ok(true));
    let status = session.status().await.expect("sound");
    assert_eq!(status.deleted_arrays, those(&["/a"]));
    assert!(status.updated_chunks.is_empty());
}
