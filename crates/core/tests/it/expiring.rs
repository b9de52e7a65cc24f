//! Rebases, and the search for a commit, while an expiration gives snapshots other parents.

use std::sync::Arc;
use std::time::Duration;

use icefield_core::test_suite::Trial;
use icefield_core::test_suite::words::*;
use icefield_core::{
    BasicSolver, CommitError, CommitOutcome, Conflict, RebaseOutcome, Repository, Session,
    SessionError, SnapshotId, VersionSelection,
};
use icefield_format::{SpecVersion, layout};
use icefield_refs::Edit;
use icefield_storage::wrap::fault::{Decision, Matcher, Plan, Verb};
use icefield_storage::wrap::{FaultyStorage, Meter};
use icefield_storage::{Storage, StorageExt};

use crate::support::*;

/// An array, and two commits that write chunks 1 and 2 of it.
struct Story {
    trial: Trial,
    inner: Arc<dyn Storage>,
    repository: Repository,
    base: SnapshotId,
    between: SnapshotId,
    last: SnapshotId,
}

impl Story {
    /// Adds the edits of `at_base` once only the array is there.
    async fn new<T>(
        name: &'static str,
        at_base: impl AsyncFnOnce(&Trial, &Arc<dyn Storage>) -> T,
    ) -> (Self, T) {
        let trial = trial(name);
        let (inner, repository) = trial.create().await;
        let base = commit_edits(&repository, "base", &[("/a", array(&[4], &[1]))], &[]).await;
        let made = at_base(&trial, &inner).await;
        let chunk = pattern(1, 1000);
        let between = commit_edits(&repository, "between", &[], &[("/a", &[1], &chunk)]).await;
        let last = commit_edits(&repository, "last", &[], &[("/a", &[2], &chunk)]).await;
        let story = Self {
            trial,
            inner,
            repository,
            base,
            between,
            last,
        };
        (story, made)
    }

    /// Lets the commit in between expire, as an expiration does it: the log first.
    async fn expire(&self) {
        let absorbed = self.repository.absorb_into_log(self.last, self.base).await;
        done(absorbed);
        let edit = reparented(self.last, self.between, self.base);
        is!(
            self.repository.ledger().apply(edit).await,
            Ok(icefield_core::EditOutcome::Done(_))
        );
    }
}

fn reparented(snapshot: SnapshotId, expected: SnapshotId, parent: SnapshotId) -> Edit {
    Edit::Reparent {
        snapshot,
        expected,
        parent,
    }
}

async fn rebase(session: &Session) -> RebaseOutcome {
    let solver = BasicSolver::of(VersionSelection::Fail);
    session.rebase(&solver).await.expect("decided")
}

/// The session has written chunk 1, as the commit that expired has.
fn assert_seen(outcome: &RebaseOutcome) {
    let RebaseOutcome::Conflicts { conflicts, .. } = outcome else {
        panic!("a chunk that both wrote is lost: {outcome:?}");
    };
    let twice = |it: &Conflict| matches!(it, Conflict::ChunkDoubleUpdate { .. });
    assert!(conflicts.iter().any(twice), "{conflicts:?}");
}

/// A session on the base that has written chunk 1, on a store whose requests can be held up.
async fn gated(trial: &Trial, inner: &Arc<dyn Storage>) -> (FaultyStorage, Gate, Session) {
    let gate = Gate::new();
    let (handle, _) = faulty(inner, Plan::none());
    let storage: Arc<dyn Storage> = Arc::new(handle.clone().with_clock(Arc::new(gate.clone())));
    let session = writer(&trial.open(&storage).await).await;
    write(&session, "/a", &[1], pattern(2, 1000)).await;
    (handle, gate, session)
}

#[tokio::test]
async fn c37_a_rebase_reads_a_log_that_is_as_new_as_the_snapshot_that_it_belongs_to() {
    let (story, (handle, gate, session)) = Story::new("c37", gated).await;
    // Its request for the newest snapshot is answered only after an expiration has rewritten log and snapshot.
    let snapshots = Matcher::verb(Verb::Get).below("snapshots/");
    let slow = Decision::Delay(Duration::from_secs(1));
    handle.set_plan(Plan::none().on(snapshots, 0, slow));
    let rebasing = tokio::spawn(async move { rebase(&session).await });
    gate.reached().await;
    story.expire().await;
    gate.pass();
    assert_seen(&rebasing.await.expect("no panic"));
}

#[tokio::test]
async fn c37_a_log_in_memory_is_not_believed_for_a_snapshot_that_was_read_later() {
    let (story, session) = Story::new("c37 memory", async |trial: &Trial, inner: &_| {
        let repository = trial.open(inner).await;
        let session = writer(&repository).await;
        write(&session, "/a", &[1], pattern(2, 1000)).await;
        (repository, session)
    })
    .await;
    let (repository, session) = session;
    // The log before the expiration, the snapshot after it.
    is!(repository.transaction_log(story.last).await, Ok(_));
    story.expire().await;
    let info = repository
        .snapshot_info(story.last)
        .await
        .expect("readable");
    assert_eq!(info.parent_id, Some(story.base));
    assert_seen(&rebase(&session).await);
}

#[tokio::test]
async fn c37_both_from_before_the_expiration_are_right_by_the_old_history() {
    let (story, (repository, session)) =
        Story::new("c37 both", async |trial: &Trial, inner: &_| {
            let repository = trial.open(inner).await;
            let session = writer(&repository).await;
            write(&session, "/a", &[1], pattern(2, 1000)).await;
            (repository, session)
        })
        .await;
    is!(repository.snapshot_info(story.last).await, Ok(_));
    is!(repository.transaction_log(story.last).await, Ok(_));
    story.expire().await;
    assert_seen(&rebase(&session).await);
}

#[tokio::test(start_paused = true)]
async fn a_rebase_takes_a_round_for_each_snapshot_and_one_for_the_last_log() {
    let (story, (meter, session)) = Story::new("rounds", async |trial: &Trial, inner: &_| {
        let meter = Meter::new(Arc::clone(inner));
        let session = writer(&trial.open(&meter.storage()).await).await;
        write(&session, "/a", &[3], pattern(2, 1000)).await;
        (meter, session)
    })
    .await;
    let (outcome, cost) = meter.measure(rebase(&session)).await;
    is!(outcome, RebaseOutcome::Rebased { onto, commits: 2 } if onto == story.last);
    assert_eq!(cost.rounds, 4, "ref, snapshot, snapshot and log, log");
    assert_eq!(cost.counts.total.requests(), 5, "{cost:?}");
}

/// A commit that landed, although the session knows nothing of it.
async fn unheard(story: &Story) -> (FaultyStorage, Session, SnapshotId) {
    let (handle, storage) = faulty(&story.inner, Plan::none());
    let session = writer(&story.trial.open(&storage).await).await;
    write(&session, "/a", &[0], pattern(3, 1000)).await;
    let looks = Matcher::verb(Verb::Get).below("refs/");
    let puts = Matcher::verb(Verb::Put).below("refs/");
    let blind = (1..20).fold(Plan::none(), |plan, n| {
        plan.on(looks.clone(), n, Decision::FailBefore)
    });
    handle.set_plan(blind.on(puts, 0, Decision::FailAfter));
    let unknown = match session.commit("unheard").await {
        Ok(CommitOutcome::Unknown { snapshot, .. }) => snapshot,
        other => panic!("{other:?}"),
    };
    handle.set_plan(Plan::none());
    (handle, session, unknown)
}

fn assert_untraceable(
    outcome: &Result<CommitOutcome, CommitError>,
    unknown: SnapshotId,
    on: SnapshotId,
) {
    match outcome {
        Err(CommitError::Session(SessionError::Untraceable { snapshot, base })) => {
            assert_eq!((*snapshot, *base), (unknown, on));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_commit_that_has_expired_together_with_its_parent_is_not_called_refused() {
    let (story, ()) = Story::new("resolve", async |_: &Trial, _: &_| ()).await;
    let (_, session, unknown) = unheard(&story).await;
    let other = story.trial.open(&story.inner).await;
    let top = commit_edits(&other, "top", &[("/b", group())], &[]).await;
    let edit = reparented(top, unknown, SnapshotId::INITIAL);
    is!(
        other.ledger().apply(edit).await,
        Ok(icefield_core::EditOutcome::Done(_))
    );
    assert_untraceable(&session.resolve().await, unknown, story.last);
    // It stays so, and the session takes no writes.
    assert_untraceable(&session.resolve().await, unknown, story.last);
    is!(
        try_write(&session, "/a", &[3], "x").await,
        Err(SessionError::Unresolved(id)) if id == unknown,
    );
}

#[tokio::test]
async fn a_commit_whose_branch_was_reset_behind_its_parent_or_deleted_is_not_called_refused() {
    for delete in [false, true] {
        let (story, ()) = Story::new("resolve", async |_: &Trial, _: &_| ()).await;
        let dev = branch("dev");
        done(story.repository.create_branch("dev", story.last).await);
        let (handle, storage) = faulty(&story.inner, Plan::none());
        let session = writer_on(&story.trial.open(&storage).await, "dev").await;
        write(&session, "/a", &[0], pattern(3, 1000)).await;
        let puts = Matcher::verb(Verb::Put).below("refs/");
        let looks = Matcher::verb(Verb::Get).below("refs/");
        let blind = (1..20).fold(Plan::none(), |plan, n| {
            plan.on(looks.clone(), n, Decision::FailBefore)
        });
        handle.set_plan(blind.on(puts, 0, Decision::FailAfter));
        let unknown = match session.commit("unheard").await {
            Ok(CommitOutcome::Unknown { snapshot, .. }) => snapshot,
            other => panic!("{other:?}"),
        };
        handle.set_plan(Plan::none());
        match delete {
            false => done(story.repository.reset_branch(&dev, story.base, None).await),
            true => done(story.repository.delete_branch(&dev).await),
        }
        assert_untraceable(&session.resolve().await, unknown, story.last);
    }
}

#[tokio::test]
async fn a_commit_that_is_not_between_its_parent_and_the_tip_was_refused() {
    let (story, ()) = Story::new("resolve", async |_: &Trial, _: &_| ()).await;
    let (handle, storage) = faulty(&story.inner, Plan::none());
    let session = writer(&story.trial.open(&storage).await).await;
    write(&session, "/a", &[0], pattern(3, 1000)).await;
    let looks = Matcher::verb(Verb::Get).below("refs/");
    let puts = Matcher::verb(Verb::Put).below("refs/");
    // The write never arrives, and the ref cannot be read back.
    let late = Decision::Late(icefield_storage::wrap::fault::Delivery::OnDemand);
    let blind = (1..20).fold(Plan::none(), |plan, n| {
        plan.on(looks.clone(), n, Decision::FailBefore)
    });
    handle.set_plan(blind.on(puts, 0, late));
    is!(
        session.commit("unheard").await,
        Ok(CommitOutcome::Unknown { .. })
    );
    handle.set_plan(Plan::none());
    let other = story.trial.open(&story.inner).await;
    let top = commit_edits(&other, "top", &[("/b", group())], &[]).await;
    is!(
        session.resolve().await,
        Ok(CommitOutcome::BranchMoved { found: Some(found), .. }) if found == top,
    );
}

async fn moved(session: &Session, from: &str, to: &str) {
    is!(session.move_node(&path(from), &path(to)).await, Ok(()));
}

#[tokio::test]
async fn logs_that_are_written_anew_move_on_from_where_those_of_expired_commits_leave_off() {
    let trial = Trial::new("moved on", SpecVersion::V2, |_| async { memory() });
    let (storage, repository) = trial.create().await;
    let base = commit_edits(&repository, "base", &[("/b", array(&[4], &[1]))], &[]).await;
    trial.tick();
    let session = writer(&repository).await;
    set(&session, "/n", array(&[4], &[1])).await;
    moved(&session, "/b", "/c").await;
    let between = commit(&session, "between").await;
    trial.tick();
    let session = writer(&repository).await;
    moved(&session, "/c", "/d").await;
    moved(&session, "/n", "/m").await;
    let last = commit(&session, "last").await;
    trial.tick();
    let expire = Edit::Expire {
        release: [between].into(),
        branches: Vec::new(),
        tags: Vec::new(),
    };
    done(repository.ledger().apply(expire).await);
    let info = repository.snapshot_info(last).await.expect("listed");
    assert_eq!(info.parent_id, Some(base));
    assert_eq!(info.pruned_logs, [between]);
    // Each handle is a new one: nothing is in memory.
    let moves = async |of| {
        let log = trial.open(&storage).await.transaction_log(of).await;
        let log = log.expect("readable");
        let moves = log.moved_nodes();
        let mut moves: Vec<_> = moves
            .map(|it| format!("{} {}", it.from(), it.to()))
            .collect();
        moves.sort();
        moves
    };
    let lose = async || {
        let log = layout::transaction_log_key(last);
        is!(storage.delete_one(key(&log).into()).await, Ok(_));
    };
    assert_eq!(moves(between).await, ["/b /c"]);

    // The log keeps all that it names already.
    done(trial.open(&storage).await.mend_log(last).await);
    assert_eq!(moves(last).await, ["/c /d", "/n /m"]);
    // Where the node was that the expired commit created, nothing else says.
    lose().await;
    done(trial.open(&storage).await.mend_log(last).await);
    assert_eq!(moves(last).await, ["/c /d"]);

    lose().await;
    let session = writer(&trial.open(&storage).await).await;
    moved(&session, "/d", "/e").await;
    let CommitOutcome::Committed(amended) = session.amend("amended").await.expect("decided") else {
        panic!("no other writer commits");
    };
    assert_eq!(moves(amended).await, ["/c /e"]);
}
