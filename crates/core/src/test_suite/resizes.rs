//! Resizing: what is cut off is gone for good, also if the array grows again.

use super::Trial;
use super::words::*;
use crate::{Repository, Session};

/// A row of ten chunks, the even ones native.
async fn ten(repository: &Repository) {
    let session = writer(repository).await;
    set(&session, "/a", array(&[10], &[1])).await;
    for i in 0..10 {
        write(&session, "/a", &[i], chunk(i)).await;
    }
    commit(&session, "ten").await;
}

fn chunk(i: u32) -> Vec<u8> {
    pattern(u64::from(i), if i.is_multiple_of(2) { 600 } else { 6 })
}

async fn resize(session: &Session, length: u64) {
    set(session, "/a", array(&[length], &[1])).await;
}

/// Asserts which of the ten chunks there are, in every way of asking.
async fn are(session: &Session, expected: &[u32]) {
    let listed = indices(session, "/a").await;
    let listed: Vec<u32> = listed.iter().map(|index| index[0]).collect();
    assert_eq!(listed, expected);
    for i in 0..12 {
        let bytes = expected.contains(&i).then(|| chunk(i));
        holds(session, "/a", &[i], bytes.as_deref()).await;
    }
}

pub(super) async fn a_shrink_drops_what_is_outside(trial: Trial) {
    let (storage, repository) = trial.create().await;
    ten(&repository).await;
    let session = writer(&repository).await;
    resize(&session, 4).await;
    are(&session, &[0, 1, 2, 3]).await;
    commit(&session, "four").await;
    are(&read_main(&trial.open(&storage).await).await, &[0, 1, 2, 3]).await;
    super::walk::assert_sound(&storage).await;
}

pub(super) async fn a_growth_keeps_everything(trial: Trial) {
    let (storage, repository) = trial.create().await;
    ten(&repository).await;
    let session = writer(&repository).await;
    resize(&session, 12).await;
    are(&session, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]).await;
    write(&session, "/a", &[11], chunk(11)).await;
    commit(&session, "twelve").await;
    let session = read_main(&trial.open(&storage).await).await;
    are(&session, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11]).await;
    super::walk::assert_sound(&storage).await;
}

pub(super) async fn shrinking_and_growing_in_one_session_brings_nothing_back(trial: Trial) {
    for also_written in [false, true] {
        let (storage, repository) = trial.create().await;
        ten(&repository).await;
        let session = writer(&repository).await;
        for length in [7, 3, 10] {
            resize(&session, length).await;
        }
        are(&session, &[0, 1, 2]).await;
        let mut kept = vec![0, 1, 2];
        if also_written {
            write(&session, "/a", &[8], chunk(8)).await;
            kept.push(8);
        }
        are(&session, &kept).await;
        commit(&session, "back").await;
        are(&read_main(&trial.open(&storage).await).await, &kept).await;
        super::walk::assert_sound(&storage).await;
    }
}

pub(super) async fn shrinking_and_growing_across_commits_brings_nothing_back(trial: Trial) {
    let (storage, repository) = trial.create().await;
    ten(&repository).await;
    for (length, message) in [(5, "five"), (10, "ten again")] {
        let session = writer(&repository).await;
        resize(&session, length).await;
        commit(&session, message).await;
        are(&read_main(&repository).await, &[0, 1, 2, 3, 4]).await;
    }
    are(
        &read_main(&trial.open(&storage).await).await,
        &[0, 1, 2, 3, 4],
    )
    .await;
    super::walk::assert_sound(&storage).await;
}

pub(super) async fn a_shrink_drops_pending_chunks_too(trial: Trial) {
    let (storage, repository) = trial.create().await;
    ten(&repository).await;
    let session = writer(&repository).await;
    resize(&session, 12).await;
    write(&session, "/a", &[11], chunk(11)).await;
    write(&session, "/a", &[1], chunk(1)).await;
    resize(&session, 2).await;
    resize(&session, 12).await;
    are(&session, &[0, 1]).await;
    commit(&session, "cut").await;
    are(&read_main(&trial.open(&storage).await).await, &[0, 1]).await;
    super::walk::assert_sound(&storage).await;
}

pub(super) async fn a_shrink_to_nothing_leaves_no_manifest(trial: Trial) {
    let (storage, repository) = trial.create().await;
    ten(&repository).await;
    let session = writer(&repository).await;
    resize(&session, 0).await;
    are(&session, &[]).await;
    let id = commit(&session, "none").await;
    let snapshot = repository.snapshot(id).await.expect("readable");
    assert_eq!(snapshot.manifest_files().len(), 0);
    let session = writer(&trial.open(&storage).await).await;
    resize(&session, 10).await;
    are(&session, &[]).await;
    commit(&session, "ten").await;
    are(&read_main(&repository).await, &[]).await;
    super::walk::assert_sound(&storage).await;
}

pub(super) async fn each_dimension_is_cut_on_its_own(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let session = writer(&repository).await;
    set(&session, "/a", array(&[4, 4], &[1, 1])).await;
    for x in 0..4 {
        for y in 0..4 {
            write(&session, "/a", &[x, y], pattern(u64::from(4 * x + y), 9)).await;
        }
    }
    commit(&session, "square").await;
    let session = writer(&repository).await;
    set(&session, "/a", array(&[4, 2], &[1, 1])).await;
    set(&session, "/a", array(&[3, 4], &[1, 1])).await;
    for session in [session.clone(), {
        commit(&session, "cut").await;
        read_main(&trial.open(&storage).await).await
    }] {
        let kept = indices(&session, "/a").await;
        let expected = [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]];
        assert_eq!(kept, expected.map(|index| index.to_vec().into()));
    }
    super::walk::assert_sound(&storage).await;
}

pub(super) async fn another_number_of_dimensions_drops_every_chunk(trial: Trial) {
    let shapes: [&[u64]; 4] = [&[], &[6], &[3, 2], &[1, 2, 3]];
    for from in shapes {
        for to in shapes.into_iter().filter(|to| to.len() != from.len()) {
            for pending in [false, true] {
                rank_change(&trial, from, to, pending).await;
            }
        }
    }
}

/// Changes the number of dimensions and back, with chunks in the base or only pending.
async fn rank_change(trial: &Trial, from: &[u64], to: &[u64], pending: bool) {
    let (storage, repository) = trial.create().await;
    let ones = |shape: &[u64]| vec![1; shape.len()];
    let first = |shape: &[u64]| vec![0_u32; shape.len()];
    let last = |shape: &[u64]| -> Vec<u32> { shape.iter().map(|n| *n as u32 - 1).collect() };
    let mut session = writer(&repository).await;
    set(&session, "/a", array(from, &ones(from))).await;
    write(&session, "/a", &last(from), "old").await;
    if !pending {
        commit(&session, "old").await;
        session = writer(&repository).await;
    }
    set(&session, "/a", array(to, &ones(to))).await;
    assert!(indices(&session, "/a").await.is_empty());
    holds(&session, "/a", &last(to), None).await;
    holds(&session, "/a", &last(from), None).await;
    let there = session.clone();
    commit(&there, "reshaped").await;
    super::walk::assert_sound(&storage).await;
    let session = writer(&trial.open(&storage).await).await;
    assert!(indices(&session, "/a").await.is_empty(), "{from:?} {to:?}");
    write(&session, "/a", &first(to), "new").await;
    // There and back in one session, with pending chunks of both forms.
    set(&session, "/a", array(from, &ones(from))).await;
    holds(&session, "/a", &last(from), None).await;
    set(&session, "/a", array(to, &ones(to))).await;
    holds(&session, "/a", &first(to), None).await;
    write(&session, "/a", &last(to), "newer").await;
    commit(&session, "there and back").await;
    let session = read_main(&trial.open(&storage).await).await;
    assert_eq!(indices(&session, "/a").await, [last(to).into()]);
    holds(&session, "/a", &last(to), Some(b"newer")).await;
    super::walk::assert_sound(&storage).await;
}
