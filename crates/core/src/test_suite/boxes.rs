//! Deleting the chunks of a box: as if each had been deleted by itself.

use std::ops::Range;

use super::Trial;
use super::words::*;
use crate::{Repository, Session};

/// Six rows of five chunks, in two commits; one in three is not there.
async fn rows(repository: &Repository) {
    for rows in [0..4, 4..6] {
        let session = writer(repository).await;
        set(&session, "/a", array(&[6, 5], &[1, 1])).await;
        for index in all(&[rows, 0..5]).filter(|at| (at[0] + at[1]) % 3 != 0) {
            write(&session, "/a", &index, chunk(&index)).await;
        }
        commit(&session, "rows").await;
    }
}

fn chunk(index: &[u32]) -> Vec<u8> {
    let seed = u64::from(10 * index[0] + index[1]);
    pattern(seed, if seed.is_multiple_of(2) { 600 } else { 6 })
}

fn all(within: &[Range<u32>; 2]) -> impl Iterator<Item = [u32; 2]> + use<> {
    let [rows, columns] = within.clone();
    rows.flat_map(move |y| columns.clone().map(move |x| [y, x]))
}

/// Edits of all kinds before the box goes: what is there lies elsewhere than the base has it, or is the session's own.
async fn edit(session: &Session, moved: bool) {
    if moved {
        is!(session.shift(&path("/a"), &[1, -1]).await, Ok(()));
        set(session, "/a", array(&[5, 5], &[1, 1])).await;
        set(session, "/a", array(&[9, 5], &[1, 1])).await;
        write(session, "/a", &[7, 2], chunk(&[7, 2])).await;
    }
    write(session, "/a", &[0, 0], chunk(&[0, 0])).await;
    write(session, "/a", &[2, 3], vec![1; 700]).await;
    is!(session.delete_chunk(&path("/a"), &[1, 1]).await, Ok(()));
}

pub(super) async fn a_box_goes_as_its_chunks_one_by_one(trial: Trial) {
    let (storage, repository) = trial.create().await;
    rows(&repository).await;
    let boxes = [
        [0..1, 0..5],
        [1..3, 0..5],
        [0..9, 2..4],
        [2..2, 0..5],
        [5..u32::MAX, 0..u32::MAX],
        [0..u32::MAX, 0..u32::MAX],
    ];
    for within in boxes {
        for moved in [false, true] {
            let (at_once, one_by_one) = (writer(&repository).await, writer(&repository).await);
            edit(&at_once, moved).await;
            edit(&one_by_one, moved).await;
            let before = indices(&at_once, "/a").await.len();
            let grid = [
                within[0].start..within[0].end.min(9),
                within[1].start..within[1].end.min(5),
            ];
            for index in all(&grid) {
                is!(one_by_one.delete_chunk(&path("/a"), &index).await, Ok(()));
            }
            let left = indices(&one_by_one, "/a").await;
            let deleted = at_once.delete_chunks(&path("/a"), &within).await;
            is!(deleted, Ok(count) if count == (before - left.len()) as u64);
            let mut sorted = [indices(&at_once, "/a").await, left.clone()];
            sorted.iter_mut().for_each(|it| it.sort());
            assert_eq!(sorted[0], sorted[1], "{within:?}, moved: {moved}");
            let (a, b) = (at_once.status().await, one_by_one.status().await);
            assert_eq!(a.expect("open"), b.expect("open"));
            is!(at_once.delete_chunks(&path("/a"), &within).await, Ok(0));
        }
    }
    let session = writer(&repository).await;
    is!(session.delete_chunks(&path("/a"), &[0..4, 0..5]).await, Ok(count) if count > 0);
    let left = indices(&session, "/a").await;
    assert!(left.iter().all(|index| index[0] >= 4) && !left.is_empty());
    commit(&session, "trimmed").await;
    let session = read_main(&trial.open(&storage).await).await;
    assert_eq!(indices(&session, "/a").await, left);
    super::walk::assert_sound(&storage).await;
}

pub(super) async fn a_box_has_the_rank_of_its_array(trial: Trial) {
    let (_, repository) = trial.create().await;
    rows(&repository).await;
    let session = writer(&repository).await;
    set(&session, "/s", array(&[], &[])).await;
    write(&session, "/s", &[], b"scalar".to_vec()).await;
    is!(session.delete_chunks(&path("/a"), &[]).await, Ok(0));
    is!(session.delete_chunks(&path("/a"), &[0..6]).await, Ok(0));
    is!(session.delete_chunks(&path("/s"), &[0..1]).await, Ok(0));
    is!(session.delete_chunks(&path("/s"), &[]).await, Ok(1));
    is!(session.delete_chunks(&path("/s"), &[]).await, Ok(0));
    holds(&session, "/s", &[], None).await;
    is!(
        session.delete_chunks(&path("/b"), &[0..1]).await,
        Err(crate::SessionError::NodeNotFound { .. })
    );
}
