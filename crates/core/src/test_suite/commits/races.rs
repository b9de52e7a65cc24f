//! Several writers on one branch, and branches that are edited under a writer.

use std::sync::Arc;

use crate::test_suite::Trial;
use crate::test_suite::words::*;
use crate::{
    CommitOutcome, Conflict, EditOutcome, RebaseError, RebaseOutcome, Repository, SnapshotId,
};

/// Asserts that a commit finds the branch elsewhere, and that the session is as before.
async fn moved(session: &crate::Session, expected: SnapshotId, found: Option<SnapshotId>) {
    let status = session.status().await.expect("sound");
    is!(
        session.commit("too late").await,
        Ok(CommitOutcome::BranchMoved { expected: was, found: is })
            if was == expected && is == found,
    );
    assert_eq!(
        session.status().await.expect("sound"),
        status,
        "the edits stay"
    );
    is!(session.snapshot_id(), Ok(id) if id == expected);
    assert!(!session.is_read_only());
}

pub(in super::super) async fn a15_of_two_writers_one_is_refused_and_keeps_its_edits(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let (one, two) = (writer(&repository).await, writer(&repository).await);
    set(&one, "/a", group()).await;
    set(&two, "/b", array(&[2], &[1])).await;
    write(&two, "/b", &[0], pattern(1, 1000)).await;
    let first = commit(&one, "one").await;
    moved(&two, SnapshotId::INITIAL, Some(first)).await;
    // It stays refused, and it goes on taking edits.
    write(&two, "/b", &[1], "x").await;
    moved(&two, SnapshotId::INITIAL, Some(first)).await;
    holds(&two, "/b", &[0], Some(&pattern(1, 1000))).await;
    assert_eq!(
        messages(&repository, "main").await,
        ["one", "Repository initialized"]
    );
    let again = writer(&repository).await;
    set(&again, "/b", group()).await;
    commit(&again, "two").await;
    assert_eq!(messages(&repository, "main").await[..2], ["two", "one"]);
    crate::test_suite::walk::assert_sound(&storage).await;
}

pub(in super::super) async fn a_writer_of_another_process_is_noticed(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let other = trial.open(&storage).await;
    for round in 0..3 {
        let (one, two) = (writer(&repository).await, writer(&other).await);
        let base = tip(&repository, "main").await;
        let at = format!("/g{round}");
        set(&one, &at, group()).await;
        set(&two, &at, array(&[1], &[1])).await;
        let first = commit(&two, &at).await;
        moved(&one, base, Some(first)).await;
    }
    assert_eq!(messages(&repository, "main").await.len(), 4);
}

pub(in super::super) async fn b22_a_branch_deleted_under_a_writer_stays_deleted(trial: Trial) {
    let (_, repository) = trial.create().await;
    done(repository.create_branch("dev", SnapshotId::INITIAL).await);
    let session = writer_on(&repository, "dev").await;
    set(&session, "/a", group()).await;
    done(repository.delete_branch(&branch("dev")).await);
    for _ in 0..2 {
        moved(&session, SnapshotId::INITIAL, None).await;
    }
    let refs = repository.refs().await.expect("listed");
    assert_eq!(refs.branches.len(), 1, "no resurrection");
}

pub(in super::super) async fn b22_a_branch_reset_under_a_writer_is_noticed(trial: Trial) {
    let (_, repository) = trial.create().await;
    let one = commit_edits(&repository, "one", &[("/a", group())], &[]).await;
    let session = writer(&repository).await;
    set(&session, "/b", group()).await;
    let main = branch("main");
    done(
        repository
            .reset_branch(&main, SnapshotId::INITIAL, Some(one))
            .await,
    );
    moved(&session, one, Some(SnapshotId::INITIAL)).await;
    assert_eq!(tip(&repository, "main").await, SnapshotId::INITIAL);
}

pub(in super::super) async fn b23_a_branch_moved_away_and_back_is_noticed(trial: Trial) {
    if !trial.is_v1() {
        // A request on its way expects another `repo`: it cannot take the one for the other.
        return;
    }
    let (_, repository) = trial.create().await;
    let one = commit_edits(&repository, "one", &[("/a", group())], &[]).await;
    let main = branch("main");
    let session = writer(&repository).await;
    set(&session, "/b", group()).await;
    for target in [SnapshotId::INITIAL, one] {
        done(repository.reset_branch(&main, target, None).await);
    }
    moved(&session, one, Some(one)).await;
    done(repository.create_branch("dev", one).await);
    let session = writer_on(&repository, "dev").await;
    set(&session, "/b", group()).await;
    done(repository.delete_branch(&branch("dev")).await);
    done(repository.create_branch("dev", one).await);
    moved(&session, one, Some(one)).await;
}

pub(in super::super) async fn branches_are_committed_to_independently(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let one = commit_edits(&repository, "one", &[("/a", group())], &[]).await;
    done(repository.create_branch("dev", one).await);
    let (main, dev) = (
        writer(&repository).await,
        writer_on(&repository, "dev").await,
    );
    set(&main, "/m", group()).await;
    set(&dev, "/d", group()).await;
    commit(&main, "on main").await;
    commit(&dev, "on dev").await;
    assert_eq!(messages(&repository, "main").await[..2], ["on main", "one"]);
    assert_eq!(messages(&repository, "dev").await[..2], ["on dev", "one"]);
    assert_eq!(paths(&read_main(&repository).await, "/"), ["/a", "/m"]);
    crate::test_suite::walk::assert_sound(&storage).await;
}

/// Commits one message, from a fresh session whenever another was first. Returns the snapshot.
async fn commit_at_last(repository: &Repository, message: &str) -> SnapshotId {
    for _ in 0..10_000 {
        let session = writer(repository).await;
        set(&session, &format!("/{message}"), group()).await;
        match session.commit(message).await {
            Ok(CommitOutcome::Committed(id)) => return id,
            Ok(CommitOutcome::BranchMoved { .. }) => tokio::task::yield_now().await,
            other => panic!("{other:?}"),
        }
    }
    panic!("{message} starves")
}

pub(in super::super) async fn every_commit_of_many_writers_lands_once(trial: Trial) {
    let (storage, _) = trial.create().await;
    let writers = (0..8).map(|w| {
        let (trial, storage) = (trial.clone(), Arc::clone(&storage));
        tokio::spawn(async move {
            let repository = trial.open(&storage).await;
            let mut ids = Vec::new();
            for i in 0..5 {
                ids.push(commit_at_last(&repository, &format!("w{w}-{i}")).await);
            }
            ids
        })
    });
    let mut acknowledged = Vec::new();
    for writer in futures::future::join_all(writers).await {
        acknowledged.extend(writer.expect("no panic"));
    }
    let repository = trial.open(&storage).await;
    let history = history(&repository, tip(&repository, "main").await).await;
    let mut landed: Vec<_> = history.iter().map(|info| info.id).collect();
    assert_eq!(landed.pop(), Some(SnapshotId::INITIAL));
    landed.sort_unstable();
    acknowledged.sort_unstable();
    assert_eq!(landed, acknowledged);
    assert_eq!(paths(&read_main(&repository).await, "/").len(), 40);
    crate::test_suite::walk::assert_sound(&storage).await;
}

pub(in super::super) async fn racing_edits_of_one_ref_have_one_winner(trial: Trial) {
    let (_, repository) = trial.create().await;
    let mut ids = vec![SnapshotId::INITIAL];
    for i in 0..4 {
        let at = format!("/g{i}");
        ids.push(commit_edits(&repository, &at, &[(&at, group())], &[]).await);
    }
    let winners = |outcomes: Vec<Result<EditOutcome, crate::RepositoryError>>| {
        let won = |outcome: &Result<EditOutcome, _>| matches!(outcome, Ok(EditOutcome::Done(_)));
        for outcome in outcomes.iter().filter(|outcome| !won(outcome)) {
            is!(outcome, Ok(EditOutcome::Refused(_)));
        }
        outcomes.iter().filter(|outcome| won(outcome)).count()
    };
    let tags = ids.iter().map(|id| repository.create_tag("v1", *id));
    assert_eq!(winners(futures::future::join_all(tags).await), 1);
    let branches = ids.iter().map(|id| repository.create_branch("dev", *id));
    assert_eq!(winners(futures::future::join_all(branches).await), 1);
    let tag: crate::TagName = "v1".parse().expect("valid");
    let deletes = ids.iter().map(|_| repository.delete_tag(&tag));
    assert_eq!(winners(futures::future::join_all(deletes).await), 1);
}

pub(in super::super) async fn edits_discarded_after_a_lost_race_stay_discarded(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let nodes = [("/a", array(&[4], &[1]))];
    commit_edits(&repository, "base", &nodes, &[("/a", &[0], b"base")]).await;
    let session = writer(&repository).await;
    write(&session, "/a", &[1], "discarded").await;
    commit_edits(&repository, "other", &[("/other", group())], &[]).await;
    // Stores a manifest that a later attempt could use again.
    is!(
        session.commit("mine").await,
        Ok(CommitOutcome::BranchMoved { .. })
    );
    is!(session.discard_changes(), Ok(()));
    write(&session, "/a", &[2], "kept").await;
    let outcome = session
        .commit("mine")
        .rebase_with(crate::BasicSolver::default())
        .await;
    is!(outcome, Ok(CommitOutcome::Committed(_)));
    let session = read_main(&trial.open(&storage).await).await;
    holds(&session, "/a", &[0], Some(b"base")).await;
    holds(&session, "/a", &[1], None).await;
    holds(&session, "/a", &[2], Some(b"kept")).await;
    crate::test_suite::walk::assert_sound(&storage).await;
}

pub(in super::super) async fn edits_pass_a_reset_of_their_branch(trial: Trial) {
    let (_, repository) = trial.create().await;
    let nodes = [("/a", array(&[4], &[1])), ("/b", array(&[4], &[1]))];
    let one = commit_edits(&repository, "one", &nodes, &[]).await;
    trial.tick();
    commit_edits(
        &repository,
        "two",
        &[("/two", group())],
        &[("/a", &[0], b"2")],
    )
    .await;
    let (beside, on_top) = (writer(&repository).await, writer(&repository).await);
    write(&beside, "/b", &[1], "beside").await;
    write(&on_top, "/a", &[0], "on top").await;
    trial.tick();
    done(repository.reset_branch(&branch("main"), one, None).await);
    let rebased = beside.rebase(&crate::Detector::Strict).await;
    if trial.is_v1() {
        is!(rebased, Err(RebaseError::BaseNotInHistory { .. }));
        return;
    }
    is!(rebased, Ok(RebaseOutcome::Rebased { .. }));
    // The chunks that the reset took back have changed, too.
    let rebased = on_top.rebase(&crate::Detector::Strict).await;
    is!(rebased, Ok(RebaseOutcome::Conflicts { conflicts, .. }) if matches!(
        &conflicts[..], [Conflict::ChunkDoubleUpdate { .. }]
    ));
    commit(&beside, "three").await;
    assert_eq!(messages(&repository, "main").await.len(), 3);
    let session = read_main(&repository).await;
    assert_eq!(paths(&session, "/"), ["/a", "/b"]);
    holds(&session, "/b", &[1], Some(b"beside")).await;
    super::super::walk::assert_sound(repository.storage()).await;
}
