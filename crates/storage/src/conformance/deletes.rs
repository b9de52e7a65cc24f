//! Deletions: one meaning of *missing*, one answer for each.

use futures::stream::{self, StreamExt};

use super::trial::{Trial, key};
use crate::{DeleteOutcome, Deletion, Key, StorageExt, Version};

/// Deletes and returns the answers, which must not be errors.
async fn delete(t: &Trial, deletions: Vec<Deletion>) -> Vec<(Key, DeleteOutcome)> {
    t.store
        .delete(stream::iter(deletions).boxed())
        .map(|(key, result)| {
            let outcome = result.unwrap_or_else(|error| panic!("delete of {key:?}: {error:?}"));
            (key, outcome)
        })
        .collect()
        .await
}

async fn delete_one(t: &Trial, at: &str, version: Option<Version>) -> DeleteOutcome {
    let deletion = Deletion {
        key: key(at),
        version,
    };
    t.store
        .delete_one(deletion)
        .await
        .expect("an answer, not an error")
}

#[track_caller]
fn deleted(outcome: &DeleteOutcome) {
    assert!(
        matches!(outcome, DeleteOutcome::Deleted),
        "must be deleted, is {outcome:?}"
    );
}

#[track_caller]
fn refused(outcome: &DeleteOutcome) {
    assert!(
        matches!(outcome, DeleteOutcome::Refused),
        "must be refused, is {outcome:?}"
    );
}

pub(super) async fn delete_removes_the_object_alone(t: Trial) {
    for at in ["a/b", "a/bc", "a/c/d", "e"] {
        t.store(at, "x").await;
    }
    deleted(&delete_one(&t, "a/b", None).await);
    t.expect_absent("a/b").await;
    assert_eq!(t.keys("").await, ["a/bc", "a/c/d", "e"]);
    t.store("a/b", "again").await;
    t.expect("a/b", b"again").await;
}

pub(super) async fn delete_of_the_missing_succeeds(t: Trial) {
    t.store("a/b", "x").await;
    for at in ["a/c", "c", "a/b/c"] {
        deleted(&delete_one(&t, at, None).await);
    }
    deleted(&delete_one(&t, "a/b", None).await);
    deleted(&delete_one(&t, "a/b", None).await);
    assert!(t.keys("").await.is_empty());
}

pub(super) async fn delete_answers_in_order_of_input(t: Trial) {
    let count = t.effort.many;
    // Every third one does not exist, and the order is not that of the keys.
    let all: Vec<Key> = (0..count)
        .map(|i| key(&format!("m/{}", i * 7919 % count)))
        .collect();
    stream::iter(all.iter().enumerate().filter(|(i, _)| i % 3 != 0))
        .for_each_concurrent(32, |(_, at)| async {
            t.store(at.as_str(), "x").await;
        })
        .await;
    t.store("n", "stays").await;
    let answers = delete(&t, all.iter().cloned().map(Deletion::from).collect()).await;
    let keys: Vec<Key> = answers.iter().map(|(key, _)| key.clone()).collect();
    assert!(
        keys == all,
        "the answers must come in the order of the input"
    );
    answers.iter().for_each(|(_, outcome)| deleted(outcome));
    assert_eq!(t.keys("").await, ["n"]);
}

pub(super) async fn delete_of_one_state(t: Trial) {
    if !t.store.capabilities().conditional_delete {
        return;
    }
    let one = t.store("a/b", "one").await;
    let two = t.store("a/b", "two").await;
    refused(&delete_one(&t, "a/b", Some(one)).await);
    refused(&delete_one(&t, "a/b", Some(Version::new("no version"))).await);
    t.expect("a/b", b"two").await;
    deleted(&delete_one(&t, "a/b", Some(two)).await);
    t.expect_absent("a/b").await;
}

pub(super) async fn delete_of_one_state_of_the_missing_is_refused(t: Trial) {
    if !t.store.capabilities().conditional_delete {
        return;
    }
    let one = t.store("a/b", "one").await;
    refused(&delete_one(&t, "a/c", Some(one.clone())).await);
    deleted(&delete_one(&t, "a/b", None).await);
    refused(&delete_one(&t, "a/b", Some(one)).await);
}

pub(super) async fn delete_of_nothing_answers_nothing(t: Trial) {
    t.store("a/b", "one").await;
    assert!(delete(&t, vec![]).await.is_empty());
    t.expect("a/b", b"one").await;
}

pub(super) async fn delete_twice_in_one_call(t: Trial) {
    t.store("a/b", "one").await;
    let answers = delete(&t, vec![key("a/b").into(), key("a/b").into()]).await;
    assert_eq!(answers.len(), 2);
    answers.iter().for_each(|(_, outcome)| deleted(outcome));
    if t.store.capabilities().conditional_delete {
        let one = t.store("a/b", "one").await;
        let twice = vec![
            Deletion::of(key("a/b"), one.clone()),
            Deletion::of(key("a/b"), one),
        ];
        let answers = delete(&t, twice).await;
        deleted(&answers[0].1);
        refused(&answers[1].1);
    }
    t.expect_absent("a/b").await;
}
