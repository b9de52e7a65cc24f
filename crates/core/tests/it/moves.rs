//! Nodes that get another path, alone and against the commits of others.

use icefield_core::{
    BasicSolver, CommitOutcome, Conflict, NodePath, RebaseOutcome, Session, SessionError,
};

use crate::edits::*;

async fn moved(session: &Session, from: &str, to: &str) {
    let result = session.move_node(&path(from), &path(to)).await;
    result.unwrap_or_else(|error| panic!("{from} to {to}: {error}"));
}

fn paths(session: &Session) -> Vec<String> {
    let nodes = session.nodes(&NodePath::root()).expect("sound");
    nodes
        .into_iter()
        .map(|node| node.path.to_string())
        .collect()
}

#[tokio::test]
async fn a_subtree_moves_with_its_chunks_and_keeps_its_ids_and_manifests() {
    let repository = start().await;
    let before = reader(&repository).await;
    let session = writer(&repository).await;
    apply(&session, &[Chunk("/g/a", 7, 7)]).await;
    moved(&session, "/g", "/h").await;
    moved(&session, "/h/a", "/b2").await;
    moved(&session, "/b2", "/h/a2").await;
    apply(&session, &[Chunk("/h/a2", 1, 9)]).await;
    for at in [&session, &committed(&repository, &session).await] {
        assert_eq!(paths(at), ["/", "/b", "/h", "/h/a2"]);
        assert_eq!(byte(at, "/h/a2", 0).await, Some(100));
        assert_eq!(byte(at, "/h/a2", 1).await, Some(9));
        assert_eq!(byte(at, "/h/a2", 7).await, Some(7));
        assert_eq!(byte(at, "/g/a", 0).await, None);
    }
    let after = reader(&repository).await;
    let id = |session: &Session, at: &str| session.nodes(&path(at)).expect("sound")[0].id;
    assert_eq!(id(&before, "/g/a"), id(&after, "/h/a2"));
}

#[tokio::test]
async fn a_node_that_moves_without_other_edits_keeps_its_manifest() {
    let repository = start().await;
    let tip = |session: &Session| session.snapshot_id().expect("sound");
    let before = tip(&reader(&repository).await);
    let session = writer(&repository).await;
    moved(&session, "/b", "/g/b").await;
    let after = tip(&committed(&repository, &session).await);
    let manifests = async |id| {
        let snapshot = repository.snapshot(id).await.expect("readable");
        let mut ids: Vec<_> = snapshot.manifest_files().map(|file| file.id).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(manifests(before).await, manifests(after).await);
}

#[tokio::test]
async fn a_node_that_moves_there_and_back_has_not_changed() {
    let repository = start().await;
    let session = writer(&repository).await;
    moved(&session, "/g", "/x").await;
    moved(&session, "/x", "/y").await;
    moved(&session, "/y", "/g").await;
    assert!(!session.has_changes().expect("sound"));
    moved(&session, "/b", "/x").await;
    apply(&session, &[Chunk("/x", 6, 6)]).await;
    moved(&session, "/x", "/b").await;
    let status = session.status().await.expect("sound");
    assert!(status.new_arrays.is_empty() && status.deleted_arrays.is_empty());
    assert_eq!(status.updated_chunks.len(), 1);
    assert_eq!(byte(&session, "/b", 6).await, Some(6));
    assert_eq!(byte(&session, "/b", 1).await, Some(100));
}

#[tokio::test]
async fn two_nodes_can_change_places() {
    let repository = start().await;
    let session = writer(&repository).await;
    apply(&session, &[Chunk("/b", 0, 2)]).await;
    moved(&session, "/b", "/t").await;
    moved(&session, "/g/a", "/b").await;
    moved(&session, "/t", "/g/a").await;
    let session = committed(&repository, &session).await;
    assert_eq!(byte(&session, "/b", 0).await, Some(100));
    assert_eq!(byte(&session, "/g/a", 0).await, Some(2));
    assert_eq!(paths(&session), ["/", "/b", "/g", "/g/a"]);
}

#[tokio::test]
async fn a_moved_array_that_shrinks_and_grows_does_not_get_its_chunks_back() {
    let repository = start().await;
    let session = writer(&repository).await;
    moved(&session, "/b", "/c").await;
    apply(
        &session,
        &[Meta("/c", array(2, "")), Meta("/c", array(10, ""))],
    )
    .await;
    for at in [&session, &committed(&repository, &session).await] {
        assert_eq!(byte(at, "/c", 1).await, Some(100));
        assert_eq!(byte(at, "/c", 3).await, None);
    }
}

#[tokio::test]
async fn a_moved_node_can_be_deleted_and_another_take_its_old_place() {
    let repository = start().await;
    let session = writer(&repository).await;
    moved(&session, "/b", "/c").await;
    apply(&session, &[Delete("/c"), Meta("/b", group("{}"))]).await;
    let session = committed(&repository, &session).await;
    assert_eq!(paths(&session), ["/", "/b", "/g", "/g/a"]);
}

#[tokio::test]
async fn moves_that_make_no_sense_are_refused_and_change_nothing() {
    let repository = start().await;
    let session = writer(&repository).await;
    let refused = async |from: &str, to: &str| {
        let result = session.move_node(&path(from), &path(to)).await;
        result.expect_err("not possible")
    };
    assert!(
        matches!(refused("/x", "/y").await, SessionError::NodeNotFound { path } if path == self::path("/x"))
    );
    assert!(
        matches!(refused("/b", "/x/y").await, SessionError::NoGroupToMoveInto { group, .. } if group == self::path("/x"))
    );
    assert!(matches!(
        refused("/b", "/g").await,
        SessionError::PathTaken { .. }
    ));
    assert!(matches!(
        refused("/b", "/").await,
        SessionError::PathTaken { .. }
    ));
    assert!(matches!(
        refused("/b", "/b").await,
        SessionError::MoveIntoItself { .. }
    ));
    assert!(matches!(
        refused("/g", "/g/a/b").await,
        SessionError::MoveIntoItself { .. }
    ));
    assert!(matches!(
        refused("/", "/g/b").await,
        SessionError::MoveIntoItself { .. }
    ));
    assert!(matches!(
        refused("/g", "/b/g").await,
        SessionError::ParentIsArray { .. }
    ));
    assert!(!session.has_changes().expect("sound"));
}

/// Rebases a move of `/g` to `/h` onto edits of others.
async fn against(theirs: &[Edit]) -> (Session, Vec<Conflict>) {
    let repository = start().await;
    let (ours, others) = (writer(&repository).await, writer(&repository).await);
    moved(&ours, "/g", "/h").await;
    apply(&ours, &[Chunk("/h/a", 0, 1)]).await;
    apply(&others, theirs).await;
    commit(&others).await;
    match ours
        .rebase(&icefield_core::Detector::Strict)
        .await
        .expect("decidable")
    {
        RebaseOutcome::Rebased { .. } => {
            let committed = committed(&repository, &ours).await;
            (committed, Vec::new())
        }
        RebaseOutcome::Conflicts { conflicts, .. } => (ours, conflicts),
        RebaseOutcome::BranchGone => panic!("main cannot go"),
    }
}

#[tokio::test]
async fn b24_what_others_did_to_a_moved_node_goes_along_with_it() {
    let theirs = [
        Chunk("/g/a", 5, 5),
        Meta("/g/a", array(20, r#","attributes":{"x":1,"y":1}"#)),
        Meta("/g", group(r#"{"x":2}"#)),
        Chunk("/g/a", 15, 15),
    ];
    let (session, conflicts) = against(&theirs).await;
    assert_eq!(conflicts, []);
    assert_eq!(paths(&session), ["/", "/b", "/h", "/h/a"]);
    for (index, value) in [(0, 1), (1, 100), (5, 5), (15, 15)] {
        assert_eq!(byte(&session, "/h/a", index).await, Some(value), "{index}");
    }
    let group_now = session
        .metadata(&path("/h"))
        .expect("sound")
        .expect("there");
    assert_eq!(group_now, group(r#"{"x":2}"#).as_bytes());
}

#[tokio::test]
async fn b24_a_move_collides_with_what_has_no_place_any_more() {
    for (theirs, kind) in [
        (vec![Delete("/g")], "ZarrMetadataUpdateOfDeleted"),
        (vec![Delete("/g/a")], "ZarrMetadataUpdateOfDeletedArray"),
        (vec![Meta("/g/n", group("{}"))], "DeleteOfUpdatedGroup"),
        (
            vec![Meta("/h", group("{}"))],
            "NewNodeConflictsWithExistingNode",
        ),
        (vec![Chunk("/g/a", 0, 3)], "ChunkDoubleUpdate"),
    ] {
        let (session, conflicts) = against(&theirs).await;
        let text = format!("{conflicts:?}");
        assert!(text.contains(kind), "{theirs:?}: {text}");
        assert_eq!(
            byte(&session, "/h/a", 0).await,
            Some(1),
            "the session is intact"
        );
    }
}

#[tokio::test]
async fn writes_to_a_node_that_others_moved_collide() {
    let repository = start().await;
    let (ours, others) = (writer(&repository).await, writer(&repository).await);
    apply(&ours, &[Chunk("/b", 0, 1)]).await;
    moved(&others, "/b", "/c").await;
    commit(&others).await;
    let outcome = ours
        .rebase(&BasicSolver::default())
        .await
        .expect("decidable");
    let text = format!("{outcome:?}");
    assert!(text.contains("ChunksUpdatedInDeletedArray"), "{text}");
}

#[tokio::test]
async fn what_was_cut_off_on_a_way_there_and_back_stays_cut_off() {
    let repository = start().await;
    let session = writer(&repository).await;
    let original = session
        .metadata(&path("/b"))
        .expect("sound")
        .expect("there");
    session
        .move_node(&path("/b"), &path("/c"))
        .await
        .expect("possible");
    let resized = |length: u64| array(length, r#","attributes":{"x":1,"y":1}"#);
    apply(&session, &[Meta("/c", resized(2)), Meta("/c", resized(10))]).await;
    assert_eq!(
        session.metadata(&path("/c")).expect("sound"),
        Some(original)
    );
    session
        .move_node(&path("/c"), &path("/b"))
        .await
        .expect("possible");
    assert!(session.has_changes().expect("sound"));
    apply(&session, &[Chunk("/g/a", 9, 9)]).await;
    assert_eq!(byte(&session, "/b", 3).await, None);
    let now = committed(&repository, &session).await;
    assert_eq!(byte(&now, "/b", 3).await, None);
    assert_eq!(byte(&now, "/b", 1).await, Some(100));
}

#[tokio::test]
async fn a_delete_of_what_others_renamed_is_no_empty_commit() {
    for at in ["/b", "/g"] {
        let repository = start().await;
        let (ours, theirs) = (writer(&repository).await, writer(&repository).await);
        assert!(ours.delete_node(&path(at)).await.expect("possible"));
        theirs
            .move_node(&path(at), &path("/moved"))
            .await
            .expect("possible");
        commit(&theirs).await;
        let commit = ours.commit("delete").rebase_with(BasicSolver::default());
        let outcome = commit.await.expect("decided");
        assert!(
            matches!(outcome, CommitOutcome::Conflicts { .. }),
            "{at}: {outcome:?}"
        );
    }
}
