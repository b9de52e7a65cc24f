//! Answers of forks: what they changed goes back, and what they began with does not.

use std::pin::pin;

use icefield_core::test_suite::view::tree;
use icefield_core::test_suite::words;
use icefield_core::{
    CommitOutcome, Detector, ForkBlobError, ForkError, MergeOutcome, RebaseOutcome, Repository,
    Returned, Session, SessionError, VersionSelection, WriteMode,
};

use crate::edits::*;

async fn answered(session: &Session, fork: &Session) -> Session {
    let bytes = fork.to_answer().await.expect("a fork");
    session.open_answer(&bytes).expect("an answer to it")
}

async fn merged(session: &Session, fork: &Session) -> MergeOutcome {
    let outcome = session.merge_forks([fork], VersionSelection::Fail).await;
    outcome.expect("an outcome")
}

async fn state(session: &Session) -> String {
    let status = session.status().await.expect("sound");
    format!("{:?} {status:?}", tree(session).await)
}

/// Any edit that a session of `start` allows, or none.
async fn any_edit(session: &Session, draw: &mut impl FnMut(u64) -> u64) {
    let at = path(["/b", "/g/a", "/n", "/g/n"][draw(4) as usize]);
    // An array may get another rank, and what knew its chunks by the old one has to notice.
    let index = match draw(4) {
        0 => vec![draw(4) as u32, draw(4) as u32],
        _ => vec![draw(10) as u32],
    };
    // An edit without a meaning in the receiver is refused, and changes nothing.
    match draw(9) {
        0..=2 => {
            let (byte, length) = (draw(3) as u8, if draw(2) == 0 { 6 } else { 600 });
            let chunk = vec![byte; length].into();
            drop(
                session
                    .set_chunk(&at, &index, chunk, WriteMode::Overwrite)
                    .await,
            );
        }
        3 => drop(session.delete_chunk(&at, &index).await),
        4 | 5 => {
            let attributes = attributes(&format!(r#"{{"x":{}}}"#, draw(3)));
            let document = match draw(6) {
                0 => words::array(&[4, 4], &[1, 1]),
                at => array([10, 10, 10, 6, 12][at as usize - 1], &attributes),
            };
            let document = document.into();
            let written = session.set_metadata(&at, document, WriteMode::Overwrite);
            drop(written.await);
        }
        6 => drop(
            session
                .delete_node(&path(["/g", "/b", "/n"][draw(3) as usize]))
                .await,
        ),
        7 => {
            let by: Vec<i64> = index.iter().map(|_| draw(5) as i64 - 2).collect();
            drop(session.shift(&at, &by).await);
        }
        _ if draw(2) == 0 => drop(session.follow_shifts(&at)),
        _ => drop(session.move_node(&at, &path("/n2")).await),
    }
}

#[tokio::test]
async fn an_answer_says_all_that_its_fork_changed() {
    for seed in 0..300_u64 {
        let mut draw = words::dice(seed);
        let repository = start().await;
        let session = writer(&repository).await;
        for _ in 0..draw(12) {
            any_edit(&session, &mut draw).await;
        }
        let fork = session.fork().expect("open");
        let sent = fork.to_bytes().await.expect("a fork");
        // Of another process, in which only the bytes are known.
        let fork = repository.open_fork(&sent).await.expect("of it");
        for _ in 0..draw(12) {
            any_edit(&fork, &mut draw).await;
        }
        let answer = answered(&session, &fork).await;
        assert_eq!(state(&answer).await, state(&fork).await, "seed {seed}");
        // And what is made of it is the same, too.
        let again = answered(&session, &answer).await;
        assert_eq!(state(&again).await, state(&fork).await, "seed {seed}");
        let one = session.fork().expect("open");
        for _ in 0..draw(6) {
            any_edit(&one, &mut draw).await;
        }
        let sent = one.to_bytes().await.expect("a fork");
        // The same edits, in tables that no other session shares.
        let other = repository.open_fork(&sent).await.expect("of it");
        let (outcome, expected) = (merged(&one, &answer).await, merged(&other, &fork).await);
        assert_eq!(outcome, expected, "seed {seed}");
        assert_eq!(state(&one).await, state(&other).await, "seed {seed}");
        let bytes = fork.to_answer().await.expect("a fork");
        let taken = session.merge_forks([&bytes], VersionSelection::Fail).await;
        let taken = taken.expect("an outcome");
        assert_eq!(taken, MergeOutcome::Merged, "seed {seed}");
        assert_eq!(state(&session).await, state(&fork).await, "seed {seed}");
    }
}

/// The lengths of an answer and of a whole fork, where a session wrote so many chunks before and a fork ten since.
async fn lengths(chunks: u32) -> (usize, usize) {
    let repository = start().await;
    let session = writer(&repository).await;
    apply(&session, &[Meta("/big", array(100_000, ""))]).await;
    let big = path("/big");
    let write = async |session: &Session, index: u32| {
        let (index, bytes) = ([index], vec![1; 600].into());
        let wrote = session.set_chunk(&big, &index, bytes, WriteMode::Overwrite);
        assert!(wrote.await.expect("valid"));
    };
    for index in 0..chunks {
        write(&session, index).await;
    }
    for number in 0..chunks / 50 {
        let at = path(&format!("/made{number}"));
        let document = group("{}").into();
        let made = session.set_metadata(&at, document, WriteMode::Overwrite);
        assert!(made.await.expect("valid"));
    }
    let sent = session.fork().expect("open").to_bytes().await;
    let sent = sent.expect("a fork");
    let fork = repository.open_fork(&sent).await.expect("of it");
    for index in 0..10 {
        write(&fork, 50_000 + index).await;
    }
    let answer = fork.to_answer().await.expect("a fork").len();
    (answer, fork.to_bytes().await.expect("a fork").len())
}

#[tokio::test]
async fn an_answer_is_as_long_as_what_its_fork_changed() {
    let (few, _) = lengths(0).await;
    let (many, whole) = lengths(5_000).await;
    assert!(whole > 5_000 * 12, "{whole}");
    // Random ids and times compress as they may.
    assert!(many < few + 100, "{few} {many}");
    assert!(many < 1_000, "{many}");
}

async fn asked(repository: &Repository) -> (Session, Session) {
    let session = writer(repository).await;
    apply(&session, &[Chunk("/b", 7, 7)]).await;
    let fork = session.fork().expect("open");
    apply(&fork, &[Chunk("/b", 1, 1)]).await;
    (session, fork)
}

#[tokio::test]
async fn answers_go_to_who_asked() {
    let repository = start().await;
    let (session, fork) = asked(&repository).await;
    let bytes = fork.to_answer().await.expect("a fork");
    let (other, fork_of_other) = asked(&repository).await;
    let opened = reader(&repository).await.open_answer(&bytes);
    let is_refused = matches!(opened, Err(ForkError::Session(SessionError::ReadOnly)));
    assert!(is_refused, "{opened:?}");
    for other in [&other, &fork_of_other] {
        let opened = other.open_answer(&bytes);
        assert!(matches!(opened, Err(ForkError::OtherSession)), "{opened:?}");
    }
    let opened = repository.open_fork(&bytes).await;
    assert!(
        matches!(opened, Err(ForkError::Blob(ForkBlobError::Answer))),
        "{opened:?}"
    );
    assert!(matches!(
        session.to_answer().await,
        Err(ForkError::NotAFork)
    ));
    let whole = fork.to_bytes().await.expect("a fork");
    let opened = session.open_answer(&whole);
    assert!(
        matches!(opened, Err(ForkError::Blob(ForkBlobError::WholeFork))),
        "{opened:?}"
    );
    for length in 0..bytes.len() {
        let opened = session.open_answer(&bytes[..length]);
        assert!(matches!(opened, Err(ForkError::Blob(_))), "{opened:?}");
    }
    // Edits of the session since do not matter, unless it is forked again.
    apply(&session, &[Chunk("/b", 2, 2)]).await;
    drop(session.open_answer(&bytes).expect("the last fork"));
    let later = session.fork().expect("open");
    for one in [&session, &later] {
        let opened = one.open_answer(&bytes);
        assert!(
            matches!(opened, Err(ForkError::OriginForgotten)),
            "{opened:?}"
        );
    }
    // Who was made together with it has what it began with.
    let opened = fork.open_answer(&bytes).expect("its own");
    assert_eq!(merged(&session, &opened).await, MergeOutcome::Merged);
    assert_eq!(byte(&session, "/b", 1).await, Some(1));
    assert_eq!(byte(&session, "/b", 2).await, Some(2));
    assert_eq!(byte(&session, "/b", 7).await, Some(7));
}

#[tokio::test]
async fn an_answer_to_a_session_that_was_rebased_is_refused() {
    let repository = start().await;
    let (session, fork) = asked(&repository).await;
    let bytes = fork.to_answer().await.expect("a fork");
    let others = writer(&repository).await;
    apply(&others, &[Chunk("/g/a", 1, 1)]).await;
    commit(&others).await;
    let rebased = session.rebase(&Detector::Strict).await;
    assert!(rebased.is_ok(), "{rebased:?}");
    let opened = session.open_answer(&bytes);
    assert!(
        matches!(opened, Err(ForkError::OtherBase { .. })),
        "{opened:?}"
    );
}

#[tokio::test]
async fn an_answer_of_an_array_that_has_another_rank_now() {
    let repository = start().await;
    let session = writer(&repository).await;
    words::set(&session, "/two", words::array(&[4, 4], &[1, 1])).await;
    words::write(&session, "/two", &[3, 3], vec![3]).await;
    // Of its chunks nothing is left but that there were some.
    words::set(&session, "/two", words::array(&[2, 2], &[1, 1])).await;
    let sent = session.fork().expect("open").to_bytes().await;
    let fork = repository.open_fork(&sent.expect("a fork")).await;
    let fork = fork.expect("of this repository");
    words::set(&fork, "/two", words::array(&[4], &[1])).await;
    words::write(&fork, "/two", &[2], vec![2]).await;
    let answer = answered(&session, &fork).await;
    assert_eq!(state(&answer).await, state(&fork).await);
    assert_eq!(merged(&session, &answer).await, MergeOutcome::Merged);
    words::holds(&session, "/two", &[2], Some(&[2])).await;
}

#[tokio::test]
async fn an_answer_to_a_session_that_was_committed_says_so() {
    let repository = start().await;
    let (session, fork) = asked(&repository).await;
    let bytes = fork.to_answer().await.expect("a fork");
    commit(&session).await;
    let opened = session.open_answer(&bytes);
    let committed = matches!(opened, Err(ForkError::Session(SessionError::Committed(_))));
    assert!(committed, "{opened:?}");
}

#[tokio::test]
async fn an_answer_says_which_chunks_follow_shifts() {
    let repository = start().await;
    let window =
        |origin: i64| words::array_with(&[10], &[1], serde_json::json!({ "origin": [origin] }));
    let first = writer(&repository).await;
    words::set(&first, "/w", window(0)).await;
    commit(&first).await;
    let session = writer(&repository).await;
    let sent = session.fork().expect("open").to_bytes().await;
    let fork = repository.open_fork(&sent.expect("a fork")).await;
    let fork = fork.expect("of this repository");
    fork.follow_shifts(&path("/w")).expect("open");
    words::write(&fork, "/w", &[7], vec![7]).await;
    let answer = answered(&session, &fork).await;
    assert_eq!(merged(&session, &answer).await, MergeOutcome::Merged);
    // Meanwhile the window moves by two.
    let others = writer(&repository).await;
    others.shift(&path("/w"), &[-2]).await.expect("open");
    words::set(&others, "/w", window(2)).await;
    commit(&others).await;
    let rebased = session.rebase(&Detector::Strict).await;
    assert!(
        matches!(rebased, Ok(RebaseOutcome::Rebased { .. })),
        "{rebased:?}"
    );
    words::holds(&session, "/w", &[5], Some(&[7])).await;
    words::holds(&session, "/w", &[7], None).await;
}

#[tokio::test]
async fn answers_are_merged_all_or_none() {
    let repository = start().await;
    let (session, fork) = asked(&repository).await;
    let other = session.fork().expect("open");
    apply(&other, &[Chunk("/b", 1, 2), Chunk("/b", 2, 2)]).await;
    let third = session.fork().expect("open");
    apply(&third, &[Chunk("/b", 3, 3)]).await;
    let (fork, other) = (fork.to_answer().await, other.to_answer().await);
    let (fork, other) = (fork.expect("a fork"), other.expect("a fork"));
    let before = state(&session).await;
    let merge = async |returned: &[Returned<'_>]| {
        let returned = returned.iter().copied();
        session.merge_forks(returned, VersionSelection::Fail).await
    };
    let outcome = merge(&[(&third).into(), (&fork).into(), (&other).into()]).await;
    let outcome = outcome.expect("an outcome");
    assert!(
        matches!(&outcome, MergeOutcome::Conflicts(all) if all.len() == 1),
        "{outcome:?}"
    );
    assert_eq!(state(&session).await, before);
    // Damage that is found after others were taken over leaves the session as it was, too.
    let damaged = merge(&[(&fork).into(), other[..other.len() - 1].into()]).await;
    assert!(
        matches!(damaged, Err(ForkError::Blob(ForkBlobError::Damaged(_)))),
        "{damaged:?}"
    );
    assert_eq!(state(&session).await, before);
    let outcome = merge(&[(&third).into(), (&other).into()]).await;
    assert_eq!(outcome.expect("an outcome"), MergeOutcome::Merged);
    words::holds(&session, "/b", &[2], Some(&[2; 600])).await;
}

#[tokio::test]
async fn answers_that_came_before_a_commit_belong_to_it() {
    let repository = start().await;
    let (session, fork) = asked(&repository).await;
    let other = session.fork().expect("open");
    apply(&other, &[Chunk("/b", 2, 2)]).await;
    let (fork, other) = (fork.to_answer().await, other.to_answer().await);
    let returned = [fork.expect("a fork"), other.expect("a fork")];
    let mut merge = pin!(session.merge_forks(&returned, VersionSelection::Fail));
    assert!(futures::poll!(merge.as_mut()).is_pending());
    let mut commit = pin!(session.commit("both").into_future());
    assert!(futures::poll!(commit.as_mut()).is_pending());
    let (merged, committed) = futures::join!(merge, commit);
    assert_eq!(merged.expect("in time"), MergeOutcome::Merged);
    assert!(
        matches!(committed, Ok(CommitOutcome::Committed(_))),
        "{committed:?}"
    );
    let after = writer(&repository).await;
    words::holds(&after, "/b", &[1], Some(&[1; 600])).await;
    words::holds(&after, "/b", &[2], Some(&[2; 600])).await;
}
