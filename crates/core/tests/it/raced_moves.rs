//! Commits whose branch another commit has rearranged since their session was opened, in spec version 2.

use icefield_core::{
    BasicSolver, BranchName, CommitOutcome, Conflict, ManifestRewrite, Repository, Session,
    VersionSelection,
};
use icefield_format::{Snapshot, SpecVersion};

use crate::edits::*;
use crate::support::memory;

/// A repository with the array `/a` of five chunks.
async fn one_array() -> Repository {
    let builder = Repository::builder(memory());
    let builder = builder.spec_version(SpecVersion::V2);
    let repository = builder.create().await.expect("new");
    let session = writer(&repository).await;
    let mut edits = vec![Meta("/", group("{}")), Meta("/a", array(5, ""))];
    edits.extend((0..5).map(|index| Chunk("/a", index, 7)));
    apply(&session, &edits).await;
    commit(&session).await;
    repository
}

async fn moved(session: &Session, from: &str, to: &str) {
    let moved = session.move_node(&path(from), &path(to)).await;
    moved.expect("free");
}

async fn commit_move(repository: &Repository, from: &str, to: &str) {
    let session = writer(repository).await;
    moved(&session, from, to).await;
    commit(&session).await;
}

#[tokio::test]
async fn a_move_goes_on_from_where_another_commit_moved_the_node_if_that_is_asked_for() {
    let repository = one_array().await;
    let session = writer(&repository).await;
    moved(&session, "/a", "/ours").await;
    commit_move(&repository, "/a", "/theirs").await;
    let solver = BasicSolver::of(VersionSelection::Fail);
    let refused = session.commit("ours").rebase_with(solver.clone()).await;
    match refused.expect("valid") {
        CommitOutcome::Conflicts { conflicts, .. } => {
            assert!(
                matches!(&conflicts[..], [Conflict::EditOfMovedNode { .. }]),
                "{conflicts:?}"
            );
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(
        byte(&reader(&repository).await, "/theirs", 4).await,
        Some(7)
    );
    let solver = solver.follow_moves();
    let landed = session.commit("ours").rebase_with(solver).await;
    assert!(
        matches!(landed, Ok(CommitOutcome::Committed(_))),
        "{landed:?}"
    );
    let after = reader(&repository).await;
    assert_eq!(byte(&after, "/ours", 4).await, Some(7));
    assert_eq!(byte(&after, "/theirs", 4).await, None);
}

/// A rewrite is no edit: it is planned on the commit that was first, wherever that has moved the arrays.
#[tokio::test]
async fn manifests_are_rewritten_where_another_commit_moved_their_array() {
    let repository = one_array().await;
    let session = writer(&repository).await;
    commit_move(&repository, "/a", "/theirs").await;
    let before = repository.read_session(BranchName::main());
    let before = before
        .await
        .expect("main exists")
        .snapshot_id()
        .expect("sound");
    let rewrite = session
        .commit("rewritten")
        .rewrite_manifests(ManifestRewrite::All);
    let landed = rewrite.rebase_with(BasicSolver::default()).await;
    let Ok(CommitOutcome::Committed(after)) = landed else {
        panic!("{landed:?}");
    };
    let (before, after) = futures::join!(repository.snapshot(before), repository.snapshot(after));
    let (before, after) = (before.expect("readable"), after.expect("readable"));
    let ids = |snapshot: &Snapshot| {
        let ids: Vec<_> = snapshot.manifest_files().map(|file| file.id).collect();
        ids
    };
    assert_eq!(ids(&after).len(), 1);
    assert_ne!(ids(&before), ids(&after));
    assert_eq!(
        byte(&reader(&repository).await, "/theirs", 4).await,
        Some(7)
    );
}
