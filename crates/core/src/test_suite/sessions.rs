//! The view of a session, and which sessions may write.

use std::sync::Arc;

use futures::future::join_all;
use icefield_format::ByteRange;

use super::Trial;
use super::words::*;
use crate::{
    BranchName, CommitError, NodePath, RefsError, RepositoryError, Session, SessionError, WriteMode,
};

/// Asserts that a session refuses every write, for the same reason.
async fn refuses_writes(session: &Session, reason: fn(&SessionError) -> bool) {
    let refused = |result: Result<bool, SessionError>| match result {
        Err(error) if reason(&error) => {}
        other => panic!("must be refused, is {other:?}"),
    };
    let at = path("/a");
    let mode = WriteMode::Overwrite;
    refused(session.set_metadata(&at, group().into(), mode).await);
    refused(session.set_chunk(&at, &[0], "x".into(), mode).await);
    refused(session.delete_chunk(&at, &[0]).await.map(|()| true));
    refused(session.delete_node(&at).await);
    refused(session.delete_below(&at).await.map(|()| true));
    refused(session.discard_changes().map(|()| true));
    match session.commit("never").await {
        Err(CommitError::Session(error)) if reason(&error) => {}
        other => panic!("must be refused, is {other:?}"),
    }
}

pub(super) async fn a_read_session_refuses_every_write(trial: Trial) {
    let (storage, repository) = trial.create().await;
    commit_edits(
        &repository,
        "one",
        &[("/a", array(&[1], &[1]))],
        &[("/a", &[0], b"x")],
    )
    .await;
    let before = objects(&storage).await;
    let session = read_main(&repository).await;
    assert!(session.is_read_only());
    refuses_writes(&session, |error| matches!(error, SessionError::ReadOnly)).await;
    is!(
        session.resolve().await,
        Err(CommitError::Session(SessionError::NothingUnresolved)),
    );
    assert!(objects(&storage).await == before, "nothing was written");
}

pub(super) async fn a_committed_session_refuses_every_write(trial: Trial) {
    let (_, repository) = trial.create().await;
    let session = writer(&repository).await;
    assert!(!session.is_read_only());
    set(&session, "/a", array(&[1], &[1])).await;
    commit(&session, "one").await;
    assert!(session.is_read_only());
    refuses_writes(&session, |error| {
        matches!(error, SessionError::Committed(_))
    })
    .await;
}

pub(super) async fn a_write_session_needs_a_branch(trial: Trial) {
    let (_, repository) = trial.create().await;
    is!(
        repository.write_session(branch("dev")).await,
        Err(RepositoryError::Refs(RefsError::BranchNotFound(name))) if name.as_str() == "dev",
    );
}

pub(super) async fn a_read_session_keeps_its_snapshot(trial: Trial) {
    let (_, repository) = trial.create().await;
    let document = array(&[2], &[1]);
    let nodes = [("/a", document.clone())];
    let chunks: &[Chunk<'_>] = &[("/a", &[0], b"old")];
    let first = commit_edits(&repository, "one", &nodes, chunks).await;
    let session = read_main(&repository).await;
    assert_eq!(session.branch(), Some(&BranchName::main()));
    let other = writer(&repository).await;
    is!(other.delete_node(&path("/a")).await, Ok(true));
    set(&other, "/b", group()).await;
    commit(&other, "two").await;
    is!(session.snapshot_id(), Ok(id) if id == first);
    holds(&session, "/a", &[0], Some(b"old")).await;
    assert_eq!(paths(&session, "/"), ["/a"]);
    assert_eq!(paths(&read_main(&repository).await, "/"), ["/b"]);
}

pub(super) async fn clones_of_a_session_share_its_edits(trial: Trial) {
    let (_, repository) = trial.create().await;
    let session = writer(&repository).await;
    set(&session, "/a", array(&[64], &[1])).await;
    let tasks = (0..64).map(|i| {
        let session = session.clone();
        tokio::spawn(async move { write(&session, "/a", &[i], vec![i as u8; 600]).await })
    });
    for task in join_all(tasks).await {
        task.expect("the write succeeds");
    }
    let clone = session.clone();
    assert_eq!(indices(&clone, "/a").await.len(), 64);
    commit(&clone, "one").await;
    is!(session.has_changes(), Ok(false));
    holds(&session, "/a", &[63], Some(&[63; 600])).await;
}

pub(super) async fn sessions_do_not_see_each_others_edits(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let (one, two) = (writer(&repository).await, writer(&repository).await);
    set(&one, "/a", array(&[1], &[1])).await;
    write(&one, "/a", &[0], "1").await;
    assert!(paths(&two, "/").is_empty());
    assert!(paths(&read_main(&repository).await, "/").is_empty());
    drop(one);
    let again = trial.open(&storage).await;
    assert!(paths(&read_main(&again).await, "/").is_empty());
}

pub(super) async fn a_session_reads_its_edits_over_its_base(trial: Trial) {
    let (_, repository) = trial.create().await;
    let nodes = [("/a", array(&[4], &[1]))];
    let chunks: &[Chunk<'_>] = &[("/a", &[0], b"0"), ("/a", &[1], b"1"), ("/a", &[2], b"2")];
    commit_edits(&repository, "one", &nodes, chunks).await;
    let session = writer(&repository).await;
    write(&session, "/a", &[1], "new").await;
    is!(session.delete_chunk(&path("/a"), &[2]).await, Ok(()));
    write(&session, "/a", &[3], vec![3; 1000]).await;
    for session in [session.clone(), {
        commit(&session, "two").await;
        read_main(&repository).await
    }] {
        holds(&session, "/a", &[0], Some(b"0")).await;
        holds(&session, "/a", &[1], Some(b"new")).await;
        holds(&session, "/a", &[2], None).await;
        holds(&session, "/a", &[3], Some(&[3; 1000])).await;
        let listed = indices(&session, "/a").await;
        let listed: Vec<u32> = listed.iter().map(|index| index[0]).collect();
        assert_eq!(listed, [0, 1, 3]);
    }
}

pub(super) async fn discard_forgets_every_edit(trial: Trial) {
    let (_, repository) = trial.create().await;
    let nodes = [("/a", array(&[4], &[1])), ("/g", group())];
    commit_edits(&repository, "one", &nodes, &[("/a", &[0], b"0")]).await;
    let session = writer(&repository).await;
    set(&session, "/a", array(&[2], &[1])).await;
    set(&session, "/new", group()).await;
    write(&session, "/a", &[0], "changed").await;
    is!(session.delete_node(&path("/g")).await, Ok(true));
    assert!(session.pending_bytes().expect("sound") > 0);
    is!(session.discard_changes(), Ok(()));
    is!(session.has_changes(), Ok(false));
    is!(session.pending_bytes(), Ok(0));
    is!(session.status().await, Ok(status) if status.is_empty());
    assert_eq!(paths(&session, "/"), ["/a", "/g"]);
    holds(&session, "/a", &[0], Some(b"0")).await;
    is!(
        session.commit("none").await,
        Err(CommitError::NothingToCommit)
    );
    set(&session, "/later", group()).await;
    commit(&session, "two").await;
    assert_eq!(
        paths(&read_main(&repository).await, "/"),
        ["/a", "/g", "/later"]
    );
}

pub(super) async fn status_is_the_net_effect(trial: Trial) {
    let (_, repository) = trial.create().await;
    let nodes = [
        ("/", group()),
        ("/kept", array(&[4], &[1])),
        ("/gone", array(&[1], &[1])),
        ("/again", array(&[1], &[1])),
    ];
    commit_edits(&repository, "one", &nodes, &[("/gone", &[0], b"x")]).await;
    let session = writer(&repository).await;
    is!(session.status().await, Ok(status) if status.is_empty());
    set(&session, "/brief", group()).await;
    is!(session.delete_node(&path("/brief")).await, Ok(true));
    is!(session.has_changes(), Ok(false));
    set(&session, "/", group_with(serde_json::json!({"title": "t"}))).await;
    set(&session, "/new", array(&[1], &[1])).await;
    set(&session, "/gone", array(&[2], &[1])).await;
    is!(session.delete_node(&path("/gone")).await, Ok(true));
    is!(session.delete_node(&path("/again")).await, Ok(true));
    set(&session, "/again", group()).await;
    write(&session, "/kept", &[2], "2").await;
    is!(session.delete_chunk(&path("/kept"), &[3]).await, Ok(()));
    let status = session.status().await.expect("sound");
    let one = |at: &str| std::collections::BTreeSet::from([path(at)]);
    assert_eq!(status.new_groups, one("/again"));
    assert_eq!(status.new_arrays, one("/new"));
    assert_eq!(status.updated_groups, one("/"));
    assert!(status.updated_arrays.is_empty() && status.deleted_groups.is_empty());
    assert_eq!(
        status.deleted_arrays,
        [path("/again"), path("/gone")].into_iter().collect()
    );
    let chunks: Vec<_> = status.updated_chunks.into_iter().collect();
    assert_eq!(
        chunks,
        [(
            path("/kept"),
            [[2].into(), [3].into()].into_iter().collect()
        )]
    );
    let before = session.snapshot_id().expect("sound");
    let after = commit(&session, "two").await;
    let diff = repository.diff(before, after).await.expect("readable");
    assert_eq!(diff.new_groups, one("/again"));
    assert_eq!(diff.deleted_arrays.len(), 2);
}

pub(super) async fn blocking_reads_agree_with_reads(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let nodes = [("/a", array(&[4], &[1]))];
    let native = pattern(1, 2000);
    let chunks: &[Chunk<'_>] = &[("/a", &[0], b"inline"), ("/a", &[1], &native)];
    commit_edits(&repository, "one", &nodes, chunks).await;
    let repository = trial.open(&storage).await;
    let session = read_main(&repository).await;
    for index in [0, 1, 2, 9] {
        for range in [ByteRange::All, ByteRange::Suffix { length: 3 }] {
            let blocking = {
                let session = session.clone();
                let read = move || session.try_chunk_blocking(&path("/a"), &[index], range);
                tokio::task::spawn_blocking(read).await.expect("no panic")
            };
            let waiting = session.chunk(&path("/a"), &[index], range).await;
            if let Some(blocking) = blocking {
                assert_eq!(blocking.expect("readable"), waiting.expect("readable"));
            }
        }
    }
}

pub(super) async fn missing_nodes_are_absent_or_named(trial: Trial) {
    let (_, repository) = trial.create().await;
    let session = writer(&repository).await;
    set(&session, "/g", group()).await;
    let (none, g) = (path("/none"), path("/g"));
    is!(session.metadata(&none), Ok(None));
    is!(session.node_kind(&none), Ok(None));
    is!(session.delete_node(&none).await, Ok(false));
    is!(session.array(&none), Err(SessionError::NodeNotFound { path }) if path == none);
    is!(session.array(&g), Err(SessionError::NotAnArray { path }) if path == g);
    assert!(
        matches!(session.chunks(&none), Err(SessionError::NodeNotFound { path }) if path == none)
    );
    assert!(matches!(session.chunks(&g), Err(SessionError::NotAnArray { path }) if path == g));
    is!(session.chunk_location(&none, &[0]).await, Ok(None));
    holds(&session, "/none", &[0], None).await;
    holds(&session, "/g", &[0], None).await;
    is!(session.nodes(&NodePath::root()), Ok(nodes) if nodes.len() == 1);
}

pub(super) async fn an_open_session_comes_with_the_repository(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let id = commit_edits(&repository, "one", &[("/a", group())], &[]).await;
    done(repository.create_branch("dev", id).await);
    done(repository.create_tag("v1", id).await);
    let tag: crate::TagName = "v1".parse().expect("valid");
    for revision in [
        branch("main").into(),
        branch("dev").into(),
        tag.into(),
        id.into(),
    ] {
        let revision: crate::Revision = revision;
        let opened = trial.builder(&storage).open_session(revision.clone()).await;
        let (repository, session) = opened.expect("it is there");
        is!(session.snapshot_id(), Ok(found) if found == id);
        assert_eq!(paths(&session, "/"), ["/a"]);
        let older = trial.builder(&storage).open_session(revision.back(1)).await;
        is!(
            older.expect("it is there").1.snapshot_id(),
            Ok(crate::SnapshotId::INITIAL)
        );
        assert_eq!(messages(&repository, "main").await.len(), 2);
    }
    is!(
        trial.builder(&storage).open_session(branch("none")).await,
        Err(RepositoryError::Refs(RefsError::BranchNotFound(_))),
    );
    let _: Arc<dyn icefield_storage::Storage> = Arc::clone(repository.storage());
}
