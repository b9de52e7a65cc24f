//! Transaction logs: the net effect of a session, by the rules of the format.

use std::collections::BTreeMap;

use icefield_format::{ChunkIndex, NodeId, TransactionLog};
use serde_json::json;

use super::Trial;
use super::words::*;
use crate::{Repository, Session, SnapshotId};

async fn log_of(repository: &Repository, id: SnapshotId) -> Log {
    let log = repository.transaction_log(id).await.expect("readable");
    assert_eq!(log.id(), id);
    Log::of(&log)
}

/// The contents of a log.
#[derive(Debug, Default, PartialEq)]
struct Log {
    new_groups: Vec<NodeId>,
    new_arrays: Vec<NodeId>,
    deleted_groups: Vec<NodeId>,
    deleted_arrays: Vec<NodeId>,
    updated_groups: Vec<NodeId>,
    updated_arrays: Vec<NodeId>,
    chunks: BTreeMap<NodeId, Vec<ChunkIndex>>,
}

impl Log {
    fn of(log: &TransactionLog) -> Self {
        let chunks = log.updated_chunks();
        Self {
            new_groups: log.new_groups().collect(),
            new_arrays: log.new_arrays().collect(),
            deleted_groups: log.deleted_groups().collect(),
            deleted_arrays: log.deleted_arrays().collect(),
            updated_groups: log.updated_groups().collect(),
            updated_arrays: log.updated_arrays().collect(),
            chunks: chunks
                .map(|array| (array.node_id(), array.chunks().collect()))
                .collect(),
        }
    }
}

fn sorted<const N: usize>(mut ids: [NodeId; N]) -> Vec<NodeId> {
    ids.sort_unstable();
    ids.to_vec()
}

fn one(indices: &[&[u32]]) -> Vec<ChunkIndex> {
    indices.iter().map(|index| index.to_vec().into()).collect()
}

/// A base with two arrays and three groups; returns a session on top of it.
async fn base(repository: &Repository) -> Session {
    let row = || array(&[9], &[1]);
    let nodes = [
        ("/a", row()),
        ("/b", row()),
        ("/g", group()),
        ("/g/h", group()),
        ("/g/h/c", row()),
    ];
    let chunks: &[Chunk<'_>] = &[("/a", &[0], b"0"), ("/a", &[1], b"1"), ("/b", &[0], b"0")];
    commit_edits(repository, "base", &nodes, chunks).await;
    writer(repository).await
}

pub(super) async fn a_log_names_new_nodes_and_their_chunks(trial: Trial) {
    let (_, repository) = trial.create().await;
    let session = writer(&repository).await;
    set(&session, "/g", group()).await;
    set(&session, "/g", group_with(json!({"set": "twice"}))).await;
    set(&session, "/a", array(&[3, 3], &[1, 1])).await;
    set(&session, "/a", array_with(&[3, 3], &[1, 1], json!({}))).await;
    set(&session, "/s", array(&[], &[])).await;
    for index in [[2, 0], [0, 2], [0, 1]] {
        write(&session, "/a", &index, "x").await;
    }
    write(&session, "/s", &[], "x").await;
    let (a, g, s) = (
        node_id(&session, "/a"),
        node_id(&session, "/g"),
        node_id(&session, "/s"),
    );
    let log = log_of(&repository, commit(&session, "one").await).await;
    let expected = Log {
        new_groups: vec![g],
        new_arrays: sorted([a, s]),
        chunks: [(a, one(&[&[0, 1], &[0, 2], &[2, 0]])), (s, one(&[&[]]))].into(),
        ..Log::default()
    };
    assert_eq!(log, expected);
}

pub(super) async fn a_log_names_updates_once(trial: Trial) {
    let (_, repository) = trial.create().await;
    let session = base(&repository).await;
    set(&session, "/a", array_with(&[9], &[1], json!({"n": 1}))).await;
    set(&session, "/a", array_with(&[9], &[1], json!({"n": 2}))).await;
    set(&session, "/g", group_with(json!({"n": 1}))).await;
    write(&session, "/b", &[8], "x").await;
    write(&session, "/b", &[2], "x").await;
    write(&session, "/b", &[8], "y").await;
    is!(session.delete_chunk(&path("/b"), &[0]).await, Ok(()));
    let log = log_of(&repository, commit(&session, "two").await).await;
    let expected = Log {
        updated_groups: vec![node_id(&session, "/g")],
        updated_arrays: vec![node_id(&session, "/a")],
        chunks: [(node_id(&session, "/b"), one(&[&[0], &[2], &[8]]))].into(),
        ..Log::default()
    };
    assert_eq!(log, expected);
}

pub(super) async fn a_log_names_every_node_of_a_deleted_group(trial: Trial) {
    let (_, repository) = trial.create().await;
    let session = base(&repository).await;
    let ids = ["/g", "/g/h", "/g/h/c"].map(|at| node_id(&session, at));
    set(&session, "/g/h/c", array_with(&[9], &[1], json!({"n": 1}))).await;
    write(&session, "/g/h/c", &[0], "x").await;
    set(&session, "/g/brief", group()).await;
    is!(session.delete_node(&path("/g")).await, Ok(true));
    let log = log_of(&repository, commit(&session, "two").await).await;
    let expected = Log {
        deleted_groups: sorted([ids[0], ids[1]]),
        deleted_arrays: vec![ids[2]],
        ..Log::default()
    };
    assert_eq!(log, expected);
}

pub(super) async fn a_log_names_both_of_a_recreated_node(trial: Trial) {
    let (_, repository) = trial.create().await;
    let session = base(&repository).await;
    let (old_a, old_b) = (node_id(&session, "/a"), node_id(&session, "/b"));
    write(&session, "/a", &[5], "x").await;
    is!(session.delete_node(&path("/a")).await, Ok(true));
    set(&session, "/a", array(&[2], &[1])).await;
    write(&session, "/a", &[1], "x").await;
    is!(session.delete_node(&path("/b")).await, Ok(true));
    set(&session, "/b", group()).await;
    let (a, b) = (node_id(&session, "/a"), node_id(&session, "/b"));
    let log = log_of(&repository, commit(&session, "two").await).await;
    let expected = Log {
        new_groups: vec![b],
        new_arrays: vec![a],
        deleted_arrays: sorted([old_a, old_b]),
        chunks: [(a, one(&[&[1]]))].into(),
        ..Log::default()
    };
    assert_eq!(log, expected);
}

pub(super) async fn a_log_names_a_resize_as_an_update(trial: Trial) {
    let (_, repository) = trial.create().await;
    let session = base(&repository).await;
    write(&session, "/a", &[8], "cut off").await;
    write(&session, "/a", &[0], "stays").await;
    set(&session, "/a", array(&[1], &[1])).await;
    let a = node_id(&session, "/a");
    let log = log_of(&repository, commit(&session, "two").await).await;
    let expected = Log {
        updated_arrays: vec![a],
        chunks: [(a, one(&[&[0]]))].into(),
        ..Log::default()
    };
    assert_eq!(log, expected);
}

pub(super) async fn a_log_of_an_empty_commit_is_empty(trial: Trial) {
    let (_, repository) = trial.create().await;
    let session = base(&repository).await;
    let outcome = session.commit("empty").allow_empty().await;
    is!(outcome, Ok(_));
    let id = tip(&repository, "main").await;
    assert_eq!(log_of(&repository, id).await, Log::default());
}
