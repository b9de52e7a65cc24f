//! Merges of forks: the places of edits, and writes while a merge is under way.

use std::pin::pin;

use icefield_core::test_suite::view::tree;
use icefield_core::{
    Conflict, ForkBlobError, ForkError, MergeOutcome, Repository, Session, VersionSelection,
};

use crate::edits::*;

const FAIL: VersionSelection = VersionSelection::Fail;

fn forks(session: &Session) -> [Session; 2] {
    [(); 2].map(|()| session.fork().expect("open"))
}

#[tokio::test]
async fn a_node_where_a_group_was_deleted_is_no_conflict_of_the_session_with_itself() {
    let repository = start().await;
    let session = writer(&repository).await;
    apply(&session, &[Delete("/g"), Meta("/g/new", array(10, ""))]).await;
    let fork = session.fork().expect("open");
    apply(&fork, &[Chunk("/b", 1, 1)]).await;
    let merged = session.merge_forks([&fork], FAIL).await;
    assert_eq!(merged.expect("an outcome"), MergeOutcome::Merged);
    // Nor of a fork, which did both.
    let fork = session.fork().expect("open");
    apply(&fork, &[Delete("/g/new"), Meta("/g/other", array(10, ""))]).await;
    let merged = session.merge_forks([&fork], FAIL).await;
    assert_eq!(merged.expect("an outcome"), MergeOutcome::Merged);
    commit(&session).await;
}

#[tokio::test]
async fn a_node_below_a_group_that_another_fork_deleted_is_a_conflict() {
    let repository = start().await;
    let session = writer(&repository).await;
    let (one, other) = (session.fork().expect("open"), session.fork().expect("open"));
    apply(&one, &[Delete("/g")]).await;
    apply(&other, &[Meta("/g/new", array(10, ""))]).await;
    for forks in [[&one, &other], [&other, &one]] {
        let merged = session.merge_forks(forks, FAIL).await.expect("an outcome");
        assert!(
            matches!(&merged, MergeOutcome::Conflicts(all) if matches!(all[..], [Conflict::NewNodeInDeletedGroup { .. }])),
            "{merged:?}"
        );
    }
}

/// The conflicts of two forks, the same in both orders.
async fn conflicts(session: &Session, [one, other]: &[Session; 2]) -> Vec<Conflict> {
    let mut found = Vec::new();
    for forks in [[one, other], [other, one]] {
        let outcome = session.merge_forks(forks, FAIL).await.expect("an outcome");
        let MergeOutcome::Conflicts(conflicts) = outcome else {
            panic!("nothing collided");
        };
        found.push(conflicts);
    }
    assert_eq!(found[0].len(), found[1].len(), "{found:?}");
    found.swap_remove(0)
}

/// A repository with a group in a group.
async fn nested() -> (Repository, Session) {
    let repository = start().await;
    let session = writer(&repository).await;
    apply(&session, &[Meta("/g/h", group("{}"))]).await;
    commit(&session).await;
    let session = writer(&repository).await;
    (repository, session)
}

#[tokio::test]
async fn a_group_that_another_fork_deleted_further_up_is_a_conflict() {
    let (_repository, session) = nested().await;
    let both = forks(&session);
    let made = [Delete("/g/h"), Meta("/g/h/new", array(10, ""))];
    apply(&both[0], &made).await;
    apply(&both[1], &[Delete("/g")]).await;
    let found = conflicts(&session, &both).await;
    assert!(
        matches!(&found[..], [Conflict::NewNodeInDeletedGroup { group, .. }] if *group == path("/g")),
        "{found:?}"
    );
    apply(&both[1], &[Meta("/g", array(10, ""))]).await;
    let found = conflicts(&session, &both).await;
    assert!(
        matches!(&found[..], [Conflict::NewNodeInInvalidGroup { array, .. }] if *array == path("/g")),
        "{found:?}"
    );
    // One fork may delete all of them.
    let both = forks(&session);
    apply(&both[0], &[Delete("/g")]).await;
    apply(&both[0], &made[1..]).await;
    apply(&both[1], &[Chunk("/b", 1, 1)]).await;
    let outcome = session.merge_forks(&both, FAIL).await;
    assert_eq!(outcome.expect("an outcome"), MergeOutcome::Merged);
    commit(&session).await;
}

#[tokio::test]
async fn whether_nodes_collide_does_not_depend_on_their_ids() {
    let repository = start().await;
    // Ids are drawn at random: of two forks, either may have the smaller one.
    for _ in 0..16 {
        let session = writer(&repository).await;
        let both = forks(&session);
        let made = [Delete("/g"), Meta("/g/new", array(10, ""))];
        apply(&both[0], &made).await;
        apply(&both[1], &made[1..]).await;
        let outcome = session.merge_forks(&both, FAIL).await;
        assert_eq!(outcome.expect("an outcome"), MergeOutcome::Merged);
    }
}

#[tokio::test]
async fn what_is_written_during_a_merge_stays() {
    let repository = start().await;
    for (meanwhile, collides) in [
        ([Chunk("/b", 3, 3), Meta("/new", array(10, ""))], false),
        ([Chunk("/b", 1, 7), Meta("/new", array(10, ""))], true),
    ] {
        let session = writer(&repository).await;
        apply(&session, &[Chunk("/b", 0, 9)]).await;
        let both = forks(&session);
        apply(&both[0], &[Chunk("/b", 1, 1)]).await;
        apply(&both[1], &[Chunk("/b", 2, 2), Delete("/g")]).await;
        let mut merge = pin!(session.merge_forks(&both, FAIL));
        assert!(futures::poll!(merge.as_mut()).is_pending());
        apply(&session, &meanwhile).await;
        let written = tree(&session).await;
        let outcome = merge.await.expect("an outcome");
        match collides {
            true => {
                assert!(matches!(outcome, MergeOutcome::Conflicts(_)), "{outcome:?}");
                assert_eq!(tree(&session).await, written);
            }
            false => {
                assert_eq!(outcome, MergeOutcome::Merged);
                for (index, value) in [(0, 9), (1, 1), (2, 2), (3, 3), (4, 100)] {
                    assert_eq!(byte(&session, "/b", index).await, Some(value));
                }
                let tree = format!("{:?}", tree(&session).await);
                assert!(tree.contains("/new") && !tree.contains("/g"), "{tree}");
            }
        }
    }
}

#[tokio::test]
async fn a_fork_is_merged_as_it_was_sent() {
    let repository = start().await;
    let session = writer(&repository).await;
    apply(&session, &[Chunk("/b", 0, 9)]).await;
    let both = forks(&session);
    apply(&both[0], &[Chunk("/b", 1, 1)]).await;
    apply(&both[1], &[Chunk("/b", 2, 2)]).await;
    let whole = both[0].to_bytes().await.expect("a fork");
    let answer = both[1].to_answer().await.expect("a fork");
    let opened = session.open_answer(&whole);
    assert!(
        matches!(opened, Err(ForkError::Blob(ForkBlobError::WholeFork))),
        "{opened:?}"
    );
    let cut = session.merge_forks([&answer[..], &whole[..whole.len() - 1]], FAIL);
    let cut = cut.await;
    assert!(
        matches!(cut, Err(ForkError::Blob(ForkBlobError::Damaged(_)))),
        "{cut:?}"
    );
    assert_eq!(
        byte(&session, "/b", 2).await,
        Some(100),
        "nothing is merged"
    );
    let stranger = writer(&repository).await;
    let other = stranger.merge_forks([&whole], FAIL).await;
    assert!(matches!(other, Err(ForkError::OtherSession)), "{other:?}");
    let outcome = session.merge_forks([&whole, &answer], FAIL).await;
    assert_eq!(outcome.expect("an outcome"), MergeOutcome::Merged);
    for (index, value) in [(0, 9), (1, 1), (2, 2), (3, 100)] {
        assert_eq!(byte(&session, "/b", index).await, Some(value));
    }
    // Forks are merged on what they began with.
    commit(&session).await;
    let after = writer(&repository).await;
    let _of_the_same_family = after.fork();
    let late = session.merge_forks([&whole], FAIL).await;
    assert!(late.is_err(), "{late:?}");
}
