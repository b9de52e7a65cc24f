//! Nodes that get another path, and what becomes of edits that were made meanwhile. In version 1 of the format, a node that
//! moved is one that went and came; these are the cases of later versions, whose logs name moves.

use std::collections::BTreeMap;

use icefield_format::{ByteRange, NodePath};

use super::Trial;
use super::words::*;
use crate::{
    BasicSolver, CommitOutcome, Conflict, Detector, RebaseOutcome, Repository, RepositoryError,
    Session, SessionError, VersionSelection,
};

/// A group `/g` with an array `/g/a` and a group `/g/h`, a group `/k`, and an array `/b`.
async fn start(trial: &Trial) -> Repository {
    let (_, repository) = trial.create().await;
    let row = || array(&[9], &[1]);
    let nodes = [
        ("/g", group()),
        ("/g/a", row()),
        ("/g/h", group()),
        ("/k", group()),
        ("/b", row()),
    ];
    let chunks: &[Chunk<'_>] = &[("/g/a", &[0], b"a"), ("/b", &[0], b"b")];
    commit_edits(&repository, "base", &nodes, chunks).await;
    trial.tick();
    repository
}

async fn moved(session: &Session, from: &str, to: &str) {
    is!(session.move_node(&path(from), &path(to)).await, Ok(()));
}

/// Commits moves to `main`, in a session of their own.
async fn commit_moves(repository: &Repository, moves: &[(&str, &str)]) {
    let session = writer(repository).await;
    for (from, to) in moves {
        moved(&session, from, to).await;
    }
    commit(&session, "moves").await;
}

fn following() -> BasicSolver {
    BasicSolver::default().follow_moves()
}

async fn rebased(session: &Session, solver: &BasicSolver) -> Vec<Conflict> {
    match session.rebase(solver).await {
        Ok(RebaseOutcome::Rebased { .. }) => Vec::new(),
        Ok(RebaseOutcome::Conflicts { conflicts, .. }) => conflicts,
        other => panic!("{other:?}"),
    }
}

/// The kinds and paths of conflicts.
fn told(conflicts: &[Conflict]) -> Vec<(&'static str, &str)> {
    let told = conflicts.iter();
    told.map(|it| (it.kind(), it.path().as_str())).collect()
}

pub(super) async fn a_log_names_net_moves(trial: Trial) {
    if trial.is_v1() {
        return;
    }
    let repository = start(&trial).await;
    let session = writer(&repository).await;
    let ids: BTreeMap<_, _> = ["/g", "/g/a", "/g/h", "/b"]
        .map(|at| (at, node_id(&session, at)))
        .into();
    moved(&session, "/g", "/t").await;
    moved(&session, "/t", "/k/g").await;
    moved(&session, "/b", "/x").await;
    moved(&session, "/x", "/b").await;
    set(&session, "/k/g/a", array(&[12], &[1])).await;
    write(&session, "/k/g/a", &[10], "new").await;
    set(&session, "/new", group()).await;
    let status = session.status().await.expect("sound");
    let id = commit(&session, "moves and edits").await;
    let log = repository.transaction_log(id).await.expect("readable");
    let moves: Vec<_> = (log.moved_nodes())
        .map(|it| (it.from().to_owned(), it.to().to_owned(), it.id()))
        .collect();
    let expected = [("/g", "/k/g"), ("/g/a", "/k/g/a"), ("/g/h", "/k/g/h")];
    let expected = expected.map(|(from, to)| (from.to_owned(), to.to_owned(), ids[from]));
    assert_eq!(moves, expected);
    assert_eq!(
        log.new_groups().collect::<Vec<_>>(),
        [node_id(&session, "/new")]
    );
    assert_eq!(log.new_arrays().len() + log.deleted_arrays().len(), 0);
    assert_eq!(log.deleted_groups().len(), 0);
    assert_eq!(log.updated_arrays().collect::<Vec<_>>(), [ids["/g/a"]]);
    assert_eq!(log.updated_chunks().len(), 1);
    let parent = history(&repository, id).await[1].id;
    let diff = repository.diff(parent, id).await.expect("readable");
    assert_eq!(diff, status);
    let expected = [("/g", "/k/g"), ("/g/a", "/k/g/a"), ("/g/h", "/k/g/h")];
    let expected = expected.map(|(from, to)| (path(from), path(to)));
    assert_eq!(diff.moved_nodes, BTreeMap::from(expected));
    let updated: Vec<&NodePath> = diff.updated_arrays.iter().collect();
    assert_eq!(updated, [&path("/k/g/a")]);
    super::walk::assert_sound(repository.storage()).await;
}

pub(super) async fn edits_beside_a_move_are_carried_over(trial: Trial) {
    if trial.is_v1() {
        return;
    }
    let repository = start(&trial).await;
    let session = writer(&repository).await;
    set(&session, "/new", group()).await;
    set(&session, "/g", group_with(serde_json::json!({"n": 1}))).await;
    write(&session, "/b", &[3], "3").await;
    commit_moves(&repository, &[("/g/a", "/k/a")]).await;
    trial.tick();
    let outcome = session.commit("beside").rebase_with(Detector::Strict).await;
    is!(outcome, Ok(CommitOutcome::Committed(_)));
    let session = read_main(&repository).await;
    assert_eq!(
        paths(&session, "/"),
        ["/b", "/g", "/g/h", "/k", "/k/a", "/new"]
    );
    holds(&session, "/k/a", &[0], Some(b"a")).await;
    holds(&session, "/b", &[3], Some(b"3")).await;
    super::walk::assert_sound(repository.storage()).await;
}

pub(super) async fn edits_of_a_moved_node_collide_or_follow(trial: Trial) {
    if trial.is_v1() {
        return;
    }
    let repository = start(&trial).await;
    let session = writer(&repository).await;
    write(&session, "/g/a", &[5], "5").await;
    set(
        &session,
        "/g/a",
        array_with(&[9], &[1], serde_json::json!({"n": 1})),
    )
    .await;
    set(&session, "/g/h/new", array(&[2], &[1])).await;
    write(&session, "/g/h/new", &[1], "n").await;
    commit_moves(&repository, &[("/g/a", "/a"), ("/g", "/k/g")]).await;
    trial.tick();
    let conflicts = rebased(&session, &BasicSolver::default()).await;
    assert_eq!(
        told(&conflicts),
        [("EditOfMovedNode", "/g/a"), ("EditOfMovedNode", "/g/h/new")]
    );
    is!(&conflicts[0], Conflict::EditOfMovedNode { from, to, .. }
        if (from.as_str(), to.as_str()) == ("/g/a", "/a"));
    is!(&conflicts[1], Conflict::EditOfMovedNode { from, to, .. }
        if (from.as_str(), to.as_str()) == ("/g/h", "/k/g/h"));
    let compatible = BasicSolver {
        detector: Detector::Compatible,
        ..following()
    };
    let conflicts = rebased(&session, &compatible).await;
    is!(
        &conflicts[..],
        [Conflict::MoveOperationCannotBeRebased { .. }]
    );
    assert_eq!(rebased(&session, &following()).await, []);
    holds(&session, "/a", &[5], Some(b"5")).await;
    commit(&session, "followed").await;
    let session = read_main(&repository).await;
    assert_eq!(
        paths(&session, "/"),
        ["/a", "/b", "/k", "/k/g", "/k/g/h", "/k/g/h/new"]
    );
    holds(&session, "/a", &[0], Some(b"a")).await;
    holds(&session, "/a", &[5], Some(b"5")).await;
    holds(&session, "/k/g/h/new", &[1], Some(b"n")).await;
    let document = session
        .metadata(&path("/a"))
        .expect("sound")
        .expect("there");
    assert!(document.windows(5).any(|it| it == b"\"n\":1"));
    super::walk::assert_sound(repository.storage()).await;
}

pub(super) async fn a_move_is_no_update_of_metadata(trial: Trial) {
    if trial.is_v1() {
        return;
    }
    let repository = start(&trial).await;
    for (detector, number) in [(Detector::Compatible, 1), (Detector::Strict, 2)] {
        let at = |number| format!("/k/a{number}");
        let (from, to) = match number {
            1 => ("/g/a".to_owned(), at(1)),
            _ => (at(1), at(2)),
        };
        let session = writer(&repository).await;
        moved(&session, &from, &to).await;
        let attributes = serde_json::json!({ "n": number });
        let theirs = array_with(&[9], &[1], attributes);
        commit_edits(&repository, "theirs", &[(&*from, theirs.clone())], &[]).await;
        trial.tick();
        let solver = BasicSolver {
            detector,
            ..BasicSolver::default()
        };
        assert_eq!(rebased(&session, &solver).await, [], "{detector:?}");
        commit(&session, "moved").await;
        trial.tick();
        let session = read_main(&repository).await;
        let document = session.metadata(&path(&to)).expect("sound");
        assert_eq!(document.expect("there"), theirs.as_bytes(), "{detector:?}");
    }
    super::walk::assert_sound(repository.storage()).await;
}

pub(super) async fn nothing_at_the_target_of_a_move_is_lost(trial: Trial) {
    if trial.is_v1() {
        return;
    }
    let repository = start(&trial).await;
    // The move comes second.
    let session = writer(&repository).await;
    moved(&session, "/g/a", "/k/a").await;
    commit_edits(&repository, "there", &[("/k/a", group())], &[]).await;
    trial.tick();
    let conflicts = rebased(&session, &following()).await;
    assert_eq!(
        told(&conflicts),
        [("NewNodeConflictsWithExistingNode", "/k/a")]
    );
    // The move comes first.
    let session = writer(&repository).await;
    set(&session, "/k/b", group()).await;
    commit_moves(&repository, &[("/b", "/k/b")]).await;
    let conflicts = rebased(&session, &following()).await;
    assert_eq!(
        told(&conflicts),
        [("NewNodeConflictsWithExistingNode", "/k/b")]
    );
    // A node that another commit moves into a deleted group is not deleted with it.
    let session = writer(&repository).await;
    is!(session.delete_node(&path("/k")).await, Ok(true));
    commit_moves(&repository, &[("/g/h", "/k/h")]).await;
    let solver = BasicSolver {
        on_delete_of_updated_group: VersionSelection::Fail,
        ..following()
    };
    let conflicts = rebased(&session, &solver).await;
    is!(&conflicts[..], [Conflict::DeleteOfUpdatedGroup { child: Some(child), .. }]
        if child.as_str() == "/k/h");
    let session = writer(&repository).await;
    is!(session.delete_node(&path("/g")).await, Ok(true));
    commit_moves(&repository, &[("/g/a", "/a")]).await;
    let conflicts = rebased(&session, &following()).await;
    assert_eq!(told(&conflicts), [("EditOfMovedNode", "/g/a")]);
}

pub(super) async fn two_moves_of_one_node_collide_unless_they_agree(trial: Trial) {
    if trial.is_v1() {
        return;
    }
    let repository = start(&trial).await;
    let (same, other) = (writer(&repository).await, writer(&repository).await);
    moved(&same, "/b", "/k/b").await;
    write(&same, "/k/b", &[1], "1").await;
    moved(&other, "/b", "/g/b").await;
    commit_moves(&repository, &[("/b", "/k/b")]).await;
    trial.tick();
    assert_eq!(rebased(&same, &BasicSolver::default()).await, []);
    let status = same.status().await.expect("sound");
    assert!(status.moved_nodes.is_empty(), "{status:?}");
    commit(&same, "one chunk").await;
    trial.tick();
    let conflicts = rebased(&other, &BasicSolver::default()).await;
    assert_eq!(told(&conflicts), [("EditOfMovedNode", "/g/b")]);
    assert_eq!(rebased(&other, &following()).await, []);
    commit(&other, "moved on").await;
    let session = read_main(&repository).await;
    assert_eq!(paths(&session, "/g"), ["/g", "/g/a", "/g/b", "/g/h"]);
    holds(&session, "/g/b", &[1], Some(b"1")).await;
    super::walk::assert_sound(repository.storage()).await;
}

pub(super) async fn a_rearranging_session_only_moves(trial: Trial) {
    let repository = start(&trial).await;
    let session = repository.rearrange_session(branch("main")).await;
    if trial.is_v1() {
        is!(session, Err(RepositoryError::NeedsSpecVersion2 { .. }));
        return;
    }
    let session = session.expect("opened");
    assert!(session.is_rearranging());
    is!(
        try_write(&session, "/b", &[0], "x").await,
        Err(SessionError::RearrangesOnly)
    );
    is!(
        session.delete_node(&path("/b")).await,
        Err(SessionError::RearrangesOnly)
    );
    is!(
        session.shift(&path("/b"), &[1]).await,
        Err(SessionError::RearrangesOnly)
    );
    moved(&session, "/b", "/k/b").await;
    commit(&session, "moved").await;
    let session = read_main(&repository).await;
    let chunk = session.chunk(&path("/k/b"), &[0], ByteRange::All).await;
    is!(chunk, Ok(Some(bytes)) if *bytes == *b"b");
}
