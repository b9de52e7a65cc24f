//! Amending: a snapshot that takes the place of the tip of its branch. Version 1 of the format has no place for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use icefield_format::{ChunkIndex, NodeId, SnapshotId};
use icefield_refs::{Edit, RefsError, Refusal};
use icefield_storage::wrap::FaultyStorage;
use icefield_storage::wrap::fault::{Decision, Delivery, Matcher, Plan, Verb};
use serde_json::{Value, json};

use super::Trial;
use super::walk::assert_sound;
use super::words::*;
use crate::{
    ApplyOutcome, BasicSolver, CommitError, CommitOutcome, Conflict, Detector, MERGED_SNAPSHOT,
    RebaseOutcome, Repository, RepositoryError, Session, SessionError,
};

/// A group `/g` with an array `/g/a`, and an array `/b`, each with a chunk.
async fn start(trial: &Trial) -> (Repository, SnapshotId) {
    let (_, repository) = trial.create().await;
    let row = || array(&[9], &[1]);
    let nodes = [
        ("/g", group()),
        ("/g/a", row()),
        ("/g/h", group()),
        ("/b", row()),
    ];
    let chunks: &[Chunk<'_>] = &[("/g/a", &[0], b"a"), ("/b", &[0], b"b")];
    let id = commit_edits(&repository, "base", &nodes, chunks).await;
    trial.tick();
    (repository, id)
}

async fn amend(session: &Session, message: &str) -> SnapshotId {
    match session.amend(message).await {
        Ok(CommitOutcome::Committed(id)) => id,
        other => panic!("{message:?} must be amended, is {other:?}"),
    }
}

async fn moved(session: &Session, from: &str, to: &str) {
    is!(session.move_node(&path(from), &path(to)).await, Ok(()));
}

pub(super) async fn an_amended_commit_takes_the_place_of_the_tip(trial: Trial) {
    if trial.is_v1() {
        return;
    }
    let (repository, base) = start(&trial).await;
    let session = writer(&repository).await;
    write(&session, "/b", &[1], "1").await;
    let outcome = session.commit("old").metadata("author", "one").await;
    is!(outcome, Ok(CommitOutcome::Committed(_)));
    let old = tip(&repository, "main").await;
    done(repository.create_tag("v1", old).await);
    done(repository.create_branch("kept", old).await);
    let session = writer(&repository).await;
    write(&session, "/b", &[2], "2").await;
    set(&session, "/new", group()).await;
    let outcome = session.amend("new").metadata("editor", "two").await;
    let Ok(CommitOutcome::Committed(new)) = outcome else {
        panic!("{outcome:?}");
    };
    // As after a commit.
    is!(session.snapshot_id(), Ok(id) if id == new);
    is!(session.has_changes(), Ok(false));
    assert!(session.is_read_only());
    is!(
        try_write(&session, "/b", &[3], "3").await,
        Err(SessionError::Committed(id)) if id == new
    );
    let found = history(&repository, tip(&repository, "main").await).await;
    let ids: Vec<SnapshotId> = found.iter().map(|info| info.id).collect();
    assert_eq!(ids, [new, base, SnapshotId::INITIAL]);
    assert_eq!(found[0].message, "new");
    let editor = BTreeMap::from([("editor".to_owned(), Value::from("two"))]);
    assert_eq!(found[0].metadata, editor, "metadata is replaced");
    // Refs on the old tip stay, and it goes on being read.
    assert_eq!(tip(&repository, "kept").await, old);
    let (before, now) = (
        reader(&repository, branch("kept")).await,
        read_main(&repository).await,
    );
    for session in [&before, &now] {
        holds(session, "/b", &[0], Some(b"b")).await;
        holds(session, "/b", &[1], Some(b"1")).await;
    }
    holds(&before, "/b", &[2], None).await;
    holds(&now, "/b", &[2], Some(b"2")).await;
    // The next commit follows it.
    let next = commit_edits(&repository, "next", &[("/more", group())], &[]).await;
    let found = history(&repository, next).await;
    assert_eq!(found[1].id, new);
    assert_sound(repository.storage()).await;
}

pub(super) async fn version_1_has_no_amended_commits(trial: Trial) {
    if !trial.is_v1() {
        return;
    }
    let (repository, base) = start(&trial).await;
    let session = writer(&repository).await;
    write(&session, "/b", &[1], "1").await;
    let before = keys(repository.storage()).await;
    is!(
        session.amend("new").await,
        Err(CommitError::Repository(
            RepositoryError::NeedsSpecVersion2 { .. }
        ))
    );
    assert_eq!(keys(repository.storage()).await, before);
    assert_eq!(tip(&repository, "main").await, base);
    commit(&session, "a commit instead").await;
}

pub(super) async fn what_cannot_be_amended_is_named(trial: Trial) {
    if trial.is_v1() {
        return;
    }
    let (_, repository) = trial.create().await;
    let session = writer(&repository).await;
    let first = || session.amend("first").allow_empty();
    is!(
        first().await,
        Err(CommitError::Refs(RefsError::NoAmendOfFirst(
            SnapshotId::INITIAL
        )))
    );
    set(&session, "/a", group()).await;
    is!(
        session.amend("first").await,
        Err(CommitError::Refs(RefsError::NoAmendOfFirst(_)))
    );
    let id = commit(&session, "one").await;
    is!(
        session.amend("again").await,
        Err(CommitError::Session(SessionError::Committed(found))) if found == id
    );
    trial.tick();
    let before = keys(repository.storage()).await;
    let session = writer(&repository).await;
    is!(
        session.amend("nothing").await,
        Err(CommitError::NothingToCommit)
    );
    assert_eq!(
        keys(repository.storage()).await,
        before,
        "nothing is written"
    );
    let reading = read_main(&repository).await;
    is!(
        reading.amend("read").await,
        Err(CommitError::Session(SessionError::ReadOnly))
    );
    is!(
        session.amend("another message").allow_empty().await,
        Ok(CommitOutcome::Committed(_))
    );
    assert_eq!(
        messages(&repository, "main").await,
        ["another message", "Repository initialized"]
    );
    assert_eq!(paths(&read_main(&repository).await, "/"), ["/a"]);
    assert_sound(repository.storage()).await;
}

pub(super) async fn of_two_who_amend_one_is_refused_and_keeps_its_edits(trial: Trial) {
    if trial.is_v1() {
        return;
    }
    let (repository, base) = start(&trial).await;
    let (one, two, three) = (
        writer(&repository).await,
        writer(&repository).await,
        writer(&repository).await,
    );
    write(&one, "/b", &[1], "1").await;
    write(&two, "/b", &[2], "2").await;
    write(&three, "/b", &[3], "3").await;
    let amended = amend(&one, "one").await;
    for _ in 0..2 {
        is!(
            two.amend("two").await,
            Ok(CommitOutcome::BranchMoved { expected, found })
                if expected == base && found == Some(amended)
        );
    }
    is!(two.snapshot_id(), Ok(id) if id == base);
    // It goes on taking edits, and reaches the new tip by a rebase.
    write(&two, "/b", &[4], "4").await;
    is!(
        two.rebase(&BasicSolver::default()).await,
        Ok(RebaseOutcome::Rebased { onto, .. }) if onto == amended
    );
    amend(&two, "two").await;
    trial.tick();
    // A commit is carried past both.
    let outcome = three.commit("three").rebase_with(Detector::Strict).await;
    is!(outcome, Ok(CommitOutcome::Committed(_)));
    assert_eq!(
        messages(&repository, "main").await,
        ["three", "two", "Repository initialized"]
    );
    let session = read_main(&repository).await;
    for (index, chunk) in [(0, b"b"), (1, b"1"), (2, b"2"), (3, b"3"), (4, b"4")] {
        holds(&session, "/b", &[index], Some(chunk)).await;
    }
    assert_sound(repository.storage()).await;
}

pub(super) async fn a_commit_beside_an_amended_tip_collides_where_it_must(trial: Trial) {
    if trial.is_v1() {
        return;
    }
    let (repository, _) = start(&trial).await;
    commit_edits(&repository, "old", &[], &[("/b", &[1], b"1")]).await;
    trial.tick();
    let (before, ours) = (writer(&repository).await, writer(&repository).await);
    write(&before, "/b", &[2], "theirs").await;
    write(&ours, "/b", &[2], "ours").await;
    amend(&before, "new").await;
    let outcome = ours.commit("ours").rebase_with(Detector::Strict).await;
    let Ok(CommitOutcome::Conflicts { conflicts, .. }) = outcome else {
        panic!("{outcome:?}");
    };
    is!(&conflicts[..], [Conflict::ChunkDoubleUpdate { .. }]);
}

/// The contents of the log of a snapshot: created, deleted and updated nodes, and chunks.
async fn logged(repository: &Repository, id: SnapshotId) -> [Vec<NodeId>; 3] {
    let log = repository.transaction_log(id).await.expect("readable");
    [
        log.new_groups().chain(log.new_arrays()).collect(),
        log.deleted_groups().chain(log.deleted_arrays()).collect(),
        log.updated_groups().chain(log.updated_arrays()).collect(),
    ]
}

pub(super) async fn the_log_of_an_amended_commit_tells_of_both(trial: Trial) {
    if trial.is_v1() {
        return;
    }
    let (repository, base) = start(&trial).await;
    let session = writer(&repository).await;
    let (b, h) = (node_id(&session, "/b"), node_id(&session, "/g/h"));
    set(&session, "/brief", array(&[3], &[1])).await;
    write(&session, "/brief", &[0], "x").await;
    set(&session, "/stays", array(&[3], &[1])).await;
    write(&session, "/stays", &[0], "s").await;
    write(&session, "/b", &[1], "1").await;
    write(&session, "/b", &[8], "8").await;
    set(&session, "/g/h", group_with(json!({"n": 1}))).await;
    commit(&session, "old").await;
    let (brief, stays) = (node_id(&session, "/brief"), node_id(&session, "/stays"));
    trial.tick();
    let session = writer(&repository).await;
    is!(session.delete_node(&path("/brief")).await, Ok(true));
    is!(session.delete_node(&path("/g/h")).await, Ok(true));
    set(&session, "/b", array(&[5], &[1])).await;
    write(&session, "/b", &[1], "again").await;
    write(&session, "/b", &[3], "3").await;
    write(&session, "/stays", &[1], "t").await;
    set(&session, "/stays", array_with(&[3], &[1], json!({"n": 2}))).await;
    let id = amend(&session, "new").await;
    let [mut came, mut went, updated] = logged(&repository, id).await;
    let mut expected = [brief, stays];
    came.sort_unstable();
    expected.sort_unstable();
    assert_eq!(came, expected, "what was there only for a while came");
    let mut expected = [brief, h];
    went.sort_unstable();
    expected.sort_unstable();
    assert_eq!(went, expected, "and went");
    assert_eq!(updated, [b]);
    let log = repository.transaction_log(id).await.expect("readable");
    let chunks: BTreeMap<NodeId, Vec<ChunkIndex>> = log
        .updated_chunks()
        .map(|array| (array.node_id(), array.chunks().collect()))
        .collect();
    let index = |at: u32| ChunkIndex::from(vec![at]);
    let expected = [
        (b, vec![index(1), index(3)]),
        (stays, vec![index(0), index(1)]),
    ];
    assert_eq!(chunks, BTreeMap::from(expected));
    let diff = repository.diff(base, id).await.expect("readable");
    assert_eq!(diff.new_arrays.len(), 1);
    assert_sound(repository.storage()).await;
}

pub(super) async fn moves_of_an_amended_commit_are_net(trial: Trial) {
    if trial.is_v1() {
        return;
    }
    let (repository, _) = start(&trial).await;
    let session = writer(&repository).await;
    set(&session, "/new", group()).await;
    moved(&session, "/g", "/t").await;
    moved(&session, "/b", "/c").await;
    write(&session, "/c", &[4], "4").await;
    commit(&session, "old").await;
    trial.tick();
    // A session of a tip with moves is an ordinary one.
    let session = writer(&repository).await;
    moved(&session, "/t", "/u").await;
    moved(&session, "/c", "/b").await;
    moved(&session, "/new", "/newer").await;
    is!(session.delete_node(&path("/u/h")).await, Ok(true));
    write(&session, "/u/a", &[1], "1").await;
    let id = amend(&session, "new").await;
    let log = repository.transaction_log(id).await.expect("readable");
    let moves: Vec<_> = (log.moved_nodes())
        .map(|it| (it.from().to_owned(), it.to().to_owned()))
        .collect();
    let expected = [("/g", "/u"), ("/g/a", "/u/a")];
    let expected = expected.map(|(from, to)| (from.to_owned(), to.to_owned()));
    assert_eq!(moves, expected);
    assert_eq!(log.new_groups().len(), 1);
    assert_eq!(log.deleted_groups().len(), 1);
    assert_eq!(log.updated_chunks().len(), 2);
    let session = read_main(&repository).await;
    assert_eq!(paths(&session, "/"), ["/b", "/newer", "/u", "/u/a"]);
    holds(&session, "/b", &[0], Some(b"b")).await;
    holds(&session, "/b", &[4], Some(b"4")).await;
    holds(&session, "/u/a", &[1], Some(b"1")).await;
    // A rearranging session can amend, too.
    trial.tick();
    let session = repository.rearrange_session(branch("main")).await;
    let session = session.expect("opened");
    moved(&session, "/u", "/g").await;
    let id = amend(&session, "back again").await;
    let log = repository.transaction_log(id).await.expect("readable");
    assert_eq!(log.moved_nodes().len(), 0);
    assert_sound(repository.storage()).await;
}

pub(super) async fn an_amended_commit_moves_on_from_where_expired_ones_left_off(trial: Trial) {
    if trial.is_v1() {
        return;
    }
    let (repository, base) = start(&trial).await;
    let session = writer(&repository).await;
    set(&session, "/n", array(&[3], &[1])).await;
    moved(&session, "/b", "/c").await;
    let moves = commit(&session, "moves").await;
    trial.tick();
    let session = writer(&repository).await;
    moved(&session, "/c", "/d").await;
    moved(&session, "/n", "/m").await;
    write(&session, "/m", &[0], "m").await;
    commit(&session, "tip").await;
    trial.tick();
    let session = writer(&repository).await;
    moved(&session, "/d", "/e").await;
    amend(&session, "once").await;
    trial.tick();
    let expire = Edit::Expire {
        release: [base, moves].into(),
        branches: Vec::new(),
        tags: Vec::new(),
    };
    is!(
        repository.ledger().apply(expire).await,
        Ok(crate::EditOutcome::Done(_))
    );
    // Of a handle that knows of no expiration yet, and one that does.
    let behind = writer(&repository).await;
    write(&behind, "/e", &[5], "5").await;
    let session = writer(&trial.open(repository.storage()).await).await;
    moved(&session, "/e", "/f").await;
    write(&session, "/f", &[4], "4").await;
    let id = amend(&session, "twice").await;
    trial.tick();

    let info = repository.snapshot_info(id).await.expect("listed");
    assert_eq!(info.parent_id, Some(SnapshotId::INITIAL));
    assert_eq!(info.pruned_logs, [base, moves]);
    // Each move of the logs begins where the ones before it have left the node.
    let mut at: BTreeMap<NodeId, String> = BTreeMap::new();
    for of in info.pruned_logs.into_iter().chain([id]) {
        let log = repository.transaction_log(of).await.expect("readable");
        for it in log.moved_nodes() {
            let was = at.insert(it.id(), it.to().to_owned());
            assert!(was.is_none_or(|was| was == it.from()), "{at:?}");
        }
    }
    let session = read_main(&repository).await;
    let found = ["/f", "/m"].map(|at| (node_id(&session, at), at.to_owned()));
    assert_eq!(at, BTreeMap::from(found));
    let [came, went, updated] = logged(&repository, id).await;
    assert_eq!([came, went, updated], [vec![], vec![], vec![]]);

    let diff = repository.diff(SnapshotId::INITIAL, id).await;
    let diff = diff.expect("readable");
    assert!(diff.moved_nodes.is_empty(), "{diff:?}");
    let came: Vec<&str> = diff.new_arrays.iter().map(|path| path.as_str()).collect();
    assert_eq!(came, ["/f", "/g/a", "/m"]);
    assert_eq!(
        messages(&repository, "main").await,
        ["twice", "Repository initialized"]
    );
    // Past the amended commit, edits of what it moved collide or follow as past any other.
    let follow = BasicSolver::default().follow_moves();
    is!(
        behind.rebase(&follow).await,
        Ok(RebaseOutcome::Rebased { onto, .. }) if onto == id
    );
    commit(&behind, "behind").await;
    let session = read_main(&repository).await;
    for (index, chunk) in [(0, b"b"), (4, b"4"), (5, b"5")] {
        holds(&session, "/f", &[index], Some(chunk)).await;
    }
    holds(&session, "/m", &[0], Some(b"m")).await;
    assert_sound(repository.storage()).await;
}

pub(super) async fn what_went_and_came_back_is_an_update(trial: Trial) {
    if trial.is_v1() {
        return;
    }
    let (repository, _) = start(&trial).await;
    let session = writer(&repository).await;
    let id = node_id(&session, "/b");
    is!(session.delete_node(&path("/b")).await, Ok(true));
    let gone = commit(&session, "gone").await;
    trial.tick();
    let session = writer(&repository).await;
    is!(
        session.revert(gone, &BasicSolver::default()).await,
        Ok(ApplyOutcome::Applied(_))
    );
    write(&session, "/b", &[1], "1").await;
    let back = amend(&session, "back").await;
    assert_eq!(node_id(&session, "/b"), id, "it is the same node");
    assert_eq!(
        logged(&repository, back).await,
        [Vec::new(), Vec::new(), vec![id]]
    );
    assert_sound(repository.storage()).await;
}

pub(super) async fn an_amended_commit_remembers_merges_and_shifts(trial: Trial) {
    if trial.is_v1() {
        return;
    }
    let (repository, base) = start(&trial).await;
    done(repository.create_branch("dev", base).await);
    let session = writer_on(&repository, "dev").await;
    set(&session, "/dev", group()).await;
    let merged = commit(&session, "dev").await;
    trial.tick();
    let session = writer(&repository).await;
    is!(
        session.merge(merged, &BasicSolver::default()).await,
        Ok(ApplyOutcome::Applied(_))
    );
    commit(&session, "merge").await;
    trial.tick();
    let session = writer(&repository).await;
    is!(session.shift(&path("/b"), &[1]).await, Ok(_));
    amend(&session, "merge and shift").await;
    trial.tick();
    let session = writer(&repository).await;
    is!(session.shift(&path("/g/a"), &[1]).await, Ok(_));
    let id = amend(&session, "merge and shifts").await;
    let info = repository.snapshot_info(id).await.expect("readable");
    assert_eq!(info.metadata[MERGED_SNAPSHOT], merged.to_string());
    let shifted = info.metadata["icefield.shifted-arrays"].as_array();
    assert_eq!(shifted.map(Vec::len), Some(2), "{:?}", info.metadata);
    is!(repository.merge_base(id, merged).await, Ok(found) if found == merged);
    assert_sound(repository.storage()).await;
}

pub(super) async fn an_amend_whose_outcome_was_unknown_is_resolved(trial: Trial) {
    if trial.is_v1() {
        return;
    }
    for landed in [false, true] {
        let (repository, base) = start(&trial).await;
        let decision = match landed {
            true => Decision::FailAfter,
            false => Decision::Late(Delivery::OnDemand),
        };
        // The write of `repo` goes wrong, and so does every look at it from then on.
        let puts = Matcher::verb(Verb::Put).below("repo");
        let mut plan = Plan::none().on(puts, 0, decision);
        // The first one is of the round of the objects.
        for nth in 1..20 {
            plan = plan.on(
                Matcher::verb(Verb::Get).below("repo"),
                nth,
                Decision::FailBefore,
            );
        }
        let faulty = FaultyStorage::new(Arc::clone(repository.storage()), Plan::none());
        let other = trial.open(&(Arc::new(faulty.clone()) as _)).await;
        let session = writer(&other).await;
        write(&session, "/b", &[1], "1").await;
        faulty.set_plan(plan);
        let outcome = session.amend("new").await;
        let Ok(CommitOutcome::Unknown { snapshot, .. }) = outcome else {
            panic!("{outcome:?}");
        };
        is!(
            try_write(&session, "/b", &[2], "2").await,
            Err(SessionError::Unresolved(id)) if id == snapshot
        );
        faulty.set_plan(Plan::none());
        is!(session.resolve().await, Ok(CommitOutcome::Committed(id)) if id == snapshot);
        faulty.deliver_pending().await;
        let found = history(&repository, tip(&repository, "main").await).await;
        let ids: Vec<SnapshotId> = found.iter().map(|info| info.id).collect();
        assert_eq!(ids, [snapshot, SnapshotId::INITIAL], "{base} is amended");
        assert_sound(repository.storage()).await;
    }
}

pub(super) async fn an_amend_forbidden_by_the_repository_changes_nothing(trial: Trial) {
    if trial.is_v1() {
        return;
    }
    let (repository, base) = start(&trial).await;
    let session = writer(&repository).await;
    moved(&session, "/b", "/c").await;
    let flag = icefield_format::FeatureFlag::MOVE_NODE;
    done(repository.set_feature_flag(flag, Some(false)).await);
    is!(
        session.amend("moves").await,
        Err(CommitError::Refs(RefsError::FeatureDisabled { .. }))
    );
    assert_eq!(tip(&repository, "main").await, base);
    done(repository.set_feature_flag(flag, None).await);
    amend(&session, "moves").await;
    let outcome = repository
        .reset_branch(&branch("main"), base, Some(base))
        .await;
    is!(
        outcome,
        Ok(crate::EditOutcome::Refused(Refusal::BranchMoved { .. }))
    );
}
