//! Part D of the fault catalogue: histories that cannot be, refs that went back, objects written twice.

use std::sync::Arc;

use futures::StreamExt;
use icefield_core::test_suite::walk::{assert_sound, problems};
use icefield_core::test_suite::words::*;
use icefield_core::{
    BranchName, CommitOutcome, FetchError, RefsError, RepositoryError, Revision, SnapshotId,
};
use icefield_format::FormatError;
use icefield_storage::wrap::fault::{Decision, Matcher, Plan, Verb};
use icefield_testkit::forge::{Forge, ForgedSnapshot, snapshot_id};

use crate::support::*;

#[tokio::test]
async fn d59_a_circle_in_the_history_is_an_error_not_a_loop() {
    let storage = memory();
    let forge = Forge::new(&storage);
    forge.create().await;
    let ids = [1, 2, 3].map(snapshot_id);
    for (i, id) in ids.into_iter().enumerate() {
        let parent = ids[(i + 1) % 3];
        forge
            .snapshot(&ForgedSnapshot::new(id, Some(parent), 10 - i as u64))
            .await;
    }
    forge.branch("main", ids[0]).await;
    forge.tag("v1", SnapshotId::INITIAL).await;
    let trial = trial("d59");
    let repository = trial.open(&storage).await;
    let mut walk = repository.ancestry(ids[0]);
    for id in ids {
        is!(walk.next().await, Some(Ok(info)) if info.id == id);
    }
    is!(walk.next().await, Some(Err(RefsError::Cycle(id))) if id == ids[0]);
    assert!(
        walk.next().await.is_none(),
        "the stream ends after the error"
    );
    is!(
        repository
            .resolve(&Revision::from(BranchName::main()).back(100))
            .await,
        Err(RepositoryError::Refs(RefsError::Cycle(_))),
    );
    is!(
        repository
            .resolve(&Revision::from(BranchName::main()).at(std::time::UNIX_EPOCH))
            .await,
        Err(RepositoryError::Refs(RefsError::Cycle(_))),
    );
    assert!(!problems(&storage).await.is_empty(), "the walk says so");
    // Operations that do not need the history work.
    assert!(paths(&read_main(&repository).await, "/").is_empty());
    is!(repository.diff(ids[0], ids[1]).await, Ok(diff) if diff.is_empty());
    done(
        repository
            .reset_branch(&branch("main"), SnapshotId::INITIAL, None)
            .await,
    );
    assert_sound(&storage).await;
}

#[tokio::test]
async fn d59_a_snapshot_that_is_its_own_parent_is_an_error_not_a_loop() {
    let storage = memory();
    let forge = Forge::new(&storage);
    forge.create().await;
    let id = snapshot_id(1);
    forge.own_parent(id).await;
    forge.branch("main", id).await;
    let repository = trial("d59").open(&storage).await;
    let walk: Vec<_> = repository.ancestry(id).take(10).collect().await;
    is!(
        &walk[..],
        [Err(RefsError::Fetch(FetchError::Format(
            FormatError::OwnParent { .. }
        )))]
    );
    is!(
        repository.read_session(BranchName::main()).await,
        Err(RepositoryError::Fetch(FetchError::Format(
            FormatError::OwnParent { .. }
        ))),
    );
}

#[tokio::test]
async fn d59_a_missing_parent_ends_the_history_with_an_error() {
    let storage = memory();
    let forge = Forge::new(&storage);
    forge.create().await;
    let (id, none) = (snapshot_id(1), snapshot_id(9));
    forge
        .snapshot(&ForgedSnapshot::new(id, Some(none), 1))
        .await;
    forge.branch("main", id).await;
    let trial = trial("d59");
    let repository = trial.open(&storage).await;
    let walk: Vec<_> = repository.ancestry(id).collect().await;
    is!(&walk[..], [Ok(_), Err(RefsError::Fetch(FetchError::Missing { what: "snapshot", id, .. }))]
        if *id == none.to_string());
    // The newest state can be read and written all the same.
    commit_edits(&repository, "on top", &[("/a", group())], &[]).await;
    assert_eq!(
        paths(&read_main(&trial.open(&storage).await).await, "/"),
        ["/a"]
    );
}

#[tokio::test]
async fn d61_a_stale_ref_is_caught_by_the_conditional_write() {
    let trial = trial("d61");
    let (inner, _) = trial.create().await;
    // The wrapper must have seen the states that it shows again.
    let (handle, storage) = faulty(&inner, Plan::none());
    let writer_here = trial.open(&storage).await;
    let one = commit_edits(&writer_here, "one", &[("/a", group())], &[]).await;
    let two = commit_edits(&writer_here, "two", &[("/b", group())], &[]).await;
    // A reader behind a stale cache sees an older version, whole and sound: spec version 1 has nothing in
    // which that could be noticed.
    let refs = Matcher::verb(Verb::Get).below("refs/");
    handle.set_plan(Plan::none().always(refs.clone(), Decision::Stale(1)));
    let repository = trial.open(&storage).await;
    assert_eq!(tip(&repository, "main").await, one);
    assert_eq!(paths(&read_main(&repository).await, "/"), ["/a"]);
    // A writer is not fooled, though each look at the branch is stale.
    let session = writer(&repository).await;
    set(&session, "/c", group()).await;
    is!(session.snapshot_id(), Ok(id) if id == one);
    is!(
        session.commit("three").await,
        Ok(CommitOutcome::BranchMoved { expected, .. }) if expected == one,
    );
    is!(session.has_changes(), Ok(true));
    handle.set_plan(Plan::none());
    assert_eq!(
        tip(&trial.open(&inner).await, "main").await,
        two,
        "nothing was lost"
    );
    is!(
        session.commit("three").await,
        Ok(CommitOutcome::BranchMoved { expected, found }) if expected == one && found == Some(two),
    );
    assert_sound(&inner).await;
}

#[tokio::test]
async fn d61_a_stale_ref_does_not_let_a_branch_be_deleted_or_reset() {
    let trial = trial("d61");
    let (inner, _) = trial.create().await;
    let (handle, storage) = faulty(&inner, Plan::none());
    let repository = trial.open(&storage).await;
    done(repository.create_branch("dev", SnapshotId::INITIAL).await);
    let session = writer_on(&repository, "dev").await;
    set(&session, "/a", group()).await;
    let one = commit(&session, "one").await;
    let refs = Matcher::verb(Verb::Get).below("refs/");
    handle.set_plan(Plan::none().always(refs, Decision::Stale(1)));
    let dev = branch("dev");
    let outcome = repository.delete_branch(&dev).await;
    is!(outcome, Ok(icefield_core::EditOutcome::Refused(_)));
    let outcome = repository
        .reset_branch(&dev, SnapshotId::INITIAL, None)
        .await;
    is!(outcome, Ok(icefield_core::EditOutcome::Refused(_)));
    assert_eq!(tip(&trial.open(&inner).await, "dev").await, one);
}

#[tokio::test]
async fn d63_an_object_that_exists_with_other_bytes_is_never_replaced() {
    let trial = trial("d63");
    let (storage, repository) = trial.create().await;
    commit_edits(&repository, "one", &[("/a", array(&[2], &[1]))], &[]).await;
    // Two processes with the same random numbers.
    let entropy = || Arc::new(icefield_core::SeededEntropy::new(5));
    let open = || async {
        let builder = icefield_core::Repository::builder(Arc::clone(&storage));
        builder.entropy(entropy()).open().await.expect("opened")
    };
    let (one, two) = (writer(&open().await).await, writer(&open().await).await);
    write(&one, "/a", &[0], pattern(1, 1000)).await;
    is!(
        try_write(&two, "/a", &[0], pattern(2, 1000)).await,
        Err(icefield_core::SessionError::IdCollision { key }) if key.as_str().starts_with("chunks/"),
    );
    // The same bytes under the same id are the same object.
    let three = writer(&open().await).await;
    write(&three, "/a", &[0], pattern(1, 1000)).await;
    commit(&one, "two").await;
    holds(
        &read_main(&repository).await,
        "/a",
        &[0],
        Some(&pattern(1, 1000)),
    )
    .await;
    assert_sound(&storage).await;
}
